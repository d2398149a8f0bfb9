//! What does the engine hold?
//!
//! Asked of the engine itself, not of Pinfold: what is left over is what the engine says is left over.

use std::cell::RefCell;
use std::collections::HashMap;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::{ContainerConfig, ContainerCreateBody};
use bollard::query_parameters::{
    CommitContainerOptionsBuilder, CreateContainerOptions, ImportImageOptionsBuilder,
    ListContainersOptionsBuilder, ListImagesOptionsBuilder, ListNetworksOptionsBuilder,
    ListVolumesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;

use crate::pinfold::{Home, runtime_image};

/// A container of Pinfold's.
#[derive(Debug, Clone)]
pub struct Container {
    /// Its id.
    pub id: String,
    /// `created`, `running`, `exited`, …
    pub state: String,
    /// The launch that made it, as its label says.
    pub launch: String,
}

thread_local! {
    /// The engine that questions of this thread go to, where it is not everybody's.
    static ELSEWHERE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Longest one answer may take, in seconds.
const PATIENCE: u64 = 120;

/// Asks these questions of the engine at this address instead of everybody's.
pub fn at<T>(address: &str, questions: impl FnOnce() -> T) -> T {
    /// Also when a question fails: the thread goes on with other tests.
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            ELSEWHERE.set(None);
        }
    }
    let _back = Back;
    ELSEWHERE.set(Some(address.to_owned()));
    questions()
}

fn connect() -> Result<Docker, Error> {
    match ELSEWHERE.with_borrow(Clone::clone) {
        Some(address) => Docker::connect_with_unix(&address, PATIENCE, bollard::API_DEFAULT_VERSION),
        None => Docker::connect_with_defaults(),
    }
}

/// Asks the engine something, which it may not answer.
fn try_ask<T>(question: impl AsyncFnOnce(&Docker) -> Result<T, Error>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { question(&connect()?.negotiate_version().await?).await })
}

/// Asks the engine something.
fn ask<T>(question: impl AsyncFnOnce(&Docker) -> Result<T, Error>) -> T {
    try_ask(question).unwrap()
}

/// Whether an engine answers at this address.
pub fn answers(address: &str) -> bool {
    at(address, || try_ask(async |engine| engine.ping().await)).is_ok()
}

/// Carries an image of everybody's engine over to another, as it is.
pub fn carry(image: &str, address: &str) {
    ask(async |from| {
        let to = Docker::connect_with_unix(address, PATIENCE, bollard::API_DEFAULT_VERSION)?;
        let to = to.negotiate_version().await?;
        // a task of its own, since what is uploaded may not borrow
        let (send, receive) = tokio::sync::mpsc::channel(4);
        let (from, image) = (from.clone(), image.to_owned());
        tokio::spawn(async move {
            let mut archive = std::pin::pin!(from.export_image(&image));
            while let Some(piece) = archive.next().await {
                if send.send(piece).await.is_err() {
                    return;
                }
            }
        });
        let archive = futures_util::stream::unfold(receive, async |mut receive| {
            receive.recv().await.map(|piece| (piece, receive))
        });
        let options = ImportImageOptionsBuilder::default().build();
        to.import_image_stream(options, archive.boxed(), None).try_for_each(async |_| Ok(())).await
    });
}

fn labelled(label: String) -> HashMap<String, Vec<String>> {
    HashMap::from([("label".to_owned(), vec![label])])
}

/// The containers of a home, whatever their state.
pub fn containers(state: &str) -> Vec<Container> {
    let filters = labelled(format!("pinfold.state={state}"));
    let found = ask(async |engine| {
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        engine.list_containers(Some(options)).await
    });
    let container = |found: bollard::models::ContainerSummary| Container {
        id: found.id.unwrap_or_default(),
        state: found.state.map(|state| state.to_string()).unwrap_or_default(),
        launch: found.labels.unwrap_or_default().remove("pinfold.launch").unwrap_or_default(),
    };
    found.into_iter().map(container).collect()
}

/// Those of them that run.
pub fn running(state: &str) -> Vec<Container> {
    containers(state).into_iter().filter(|container| container.state == "running").collect()
}

/// Those of one launch.
pub fn of_launch(state: &str, launch: &str) -> Vec<Container> {
    containers(state).into_iter().filter(|container| container.launch == launch).collect()
}

/// Creates a container with these labels and does not start it; its id.
pub fn create(labels: &[(&str, &str)]) -> String {
    let image = Some(runtime_image());
    ask(async |engine| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let body = ContainerCreateBody { image, labels: Some(labels), ..Default::default() };
        Ok(engine.create_container(None::<CreateContainerOptions>, body).await?.id)
    })
}

/// Kills a container, as somebody with the engine's own client can.
pub fn kill(id: &str) {
    ask(async |engine| engine.kill_container(id, None).await);
}

/// Removes a container.
pub fn remove(id: &str) {
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    ask(async |engine| engine.remove_container(id, Some(options.clone())).await);
}

/// Everything the engine says of a container, as `docker inspect` prints it; none if it is gone.
pub fn inspect(id: &str) -> Option<Value> {
    ask(async |engine| match engine.inspect_container(id, None).await {
        Ok(found) => Ok(Some(serde_json::to_value(found).unwrap())),
        Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    })
}

/// The sealed images of a tree digest.
pub fn sealed(tree: &str) -> Vec<String> {
    let filters = labelled(format!("pinfold.tree={tree}"));
    let found = ask(async |engine| {
        let options = ListImagesOptionsBuilder::default().filters(&filters).build();
        engine.list_images(Some(options)).await
    });
    found.into_iter().map(|image| image.id).collect()
}

/// The volumes of a home, by their names.
pub fn volumes(state: &str) -> Vec<String> {
    let filters = labelled(format!("pinfold.state={state}"));
    let found = ask(async |engine| {
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        engine.list_volumes(Some(options)).await
    });
    found.volumes.unwrap_or_default().into_iter().map(|volume| volume.name).collect()
}

/// Nothing is in the engine of what this home made: no container, no sealed image.
#[track_caller]
pub fn nothing_of(home: &Home, after: &str) {
    let Some(state) = home.state() else { return };
    let left = containers(&state);
    assert!(left.is_empty(), "{after}: {left:?}");
    let left = sealed_of(&state);
    assert!(left.is_empty(), "{after}: sealed images are left: {left:?}");
    let left = volumes(&state);
    assert!(left.is_empty(), "{after}: {left:?}");
}

/// The sealed images of a home.
pub fn sealed_of(state: &str) -> Vec<String> {
    images_of(state, "sealed")
}

fn images_of(state: &str, kind: &str) -> Vec<String> {
    let labels = vec![format!("pinfold.state={state}"), format!("pinfold={kind}")];
    let filters = HashMap::from([("label".to_owned(), labels)]);
    let found = ask(async |engine| {
        let options = ListImagesOptionsBuilder::default().filters(&filters).build();
        engine.list_images(Some(options)).await
    });
    found.into_iter().map(|image| image.id).collect()
}

/// Removes an image, its names with it.
pub fn remove_image(id: &str) {
    let options = RemoveImageOptionsBuilder::default().force(true).build();
    ask(async |engine| engine.remove_image(id, Some(options.clone()), None).await);
}

/// The runtime images that a home made.
pub fn runtimes_of(state: &str) -> Vec<String> {
    images_of(state, "runtime")
}

/// Makes an image with these labels out of a runtime image, as anybody can who may use the engine; its id.
pub fn forge(labels: &[(&str, &str)]) -> String {
    let from = create(&[]);
    let made = ask(async |engine| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = ContainerConfig { labels: Some(labels), ..Default::default() };
        let options = CommitContainerOptionsBuilder::default().container(&from).build();
        Ok(engine.commit_container(options, config).await?.id)
    });
    remove(&from);
    made
}

/// A name of an image; none if it has none, or is gone.
pub fn name_of(id: &str) -> Option<String> {
    try_ask(async |engine| engine.inspect_image(id).await).ok()?.repo_tags?.into_iter().next()
}

/// Everything the engine says of an image that may be gone.
pub fn inspect_image_if_there(id: &str) -> Option<Value> {
    Some(serde_json::to_value(try_ask(async |engine| engine.inspect_image(id).await).ok()?).unwrap())
}

/// Everything the engine says of an image.
pub fn inspect_image(id: &str) -> Value {
    ask(async |engine| Ok(serde_json::to_value(engine.inspect_image(id).await?).unwrap()))
}

/// Networks and volumes that bear a mark of Pinfold's: it makes no network, and keeps no volume of what is unmounted.
pub fn networks_and_volumes() -> Vec<String> {
    let filters = labelled("pinfold".to_owned());
    let networks = ask(async |engine| {
        engine.list_networks(Some(ListNetworksOptionsBuilder::default().filters(&filters).build())).await
    });
    let volumes = ask(async |engine| {
        engine.list_volumes(Some(ListVolumesOptionsBuilder::default().filters(&filters).build())).await
    });
    let networks = networks.into_iter().filter_map(|network| network.name);
    let volumes = volumes.volumes.unwrap_or_default().into_iter().map(|volume| volume.name);
    networks.chain(volumes).collect()
}
