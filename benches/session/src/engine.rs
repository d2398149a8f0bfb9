//! What does the bench itself ask of the engine?
//!
//! What only an outsider can see: which process is a cage's init, which images are there, what is inside one.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use bollard::Docker;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptions, DownloadFromContainerOptionsBuilder, ListContainersOptionsBuilder,
    ListImagesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
};
use futures_util::TryStreamExt;
use pinfold::cage::engine::label;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::mounts::pinfold;

/// The engine that `pinfold` uses, through the same socket.
pub struct Engine {
    api: Docker,
    socket: PathBuf,
    runtime: Runtime,
}

impl Engine {
    /// Asks `pinfold doctor` of a home where it is.
    pub fn find(home: &Path) -> Outcome<Self> {
        let doctor = pinfold(home).args(["doctor", "--json"]).output()?;
        let told: Value = serde_json::from_slice(&doctor.stdout)
            .map_err(|_| String::from_utf8_lossy(&doctor.stderr).into_owned())?;
        let address = told["engine"]["address"].as_str().unwrap_or_default();
        let socket = address.strip_prefix("unix://").ok_or_else(|| {
            format!("the engine must be on a unix socket of this machine, not at `{address}`")
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let api = runtime.block_on(async {
            Docker::connect_with_unix(socket, 120, bollard::API_DEFAULT_VERSION)?.negotiate_version().await
        })?;
        Ok(Self { api, socket: socket.into(), runtime })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its name with its version, and its storage driver.
    pub fn describe(&self) -> Outcome<(String, String)> {
        let (version, info) =
            self.runtime.block_on(async { tokio::try_join!(self.api.version(), self.api.info()) })?;
        let name = version.platform.map_or_else(|| "Docker Engine".into(), |platform| platform.name);
        let name = format!("{name} {}", version.version.unwrap_or_default());
        Ok((name, info.driver.unwrap_or_default()))
    }

    /// The sealed images of a tree.
    pub fn sealed(&self, tree: &str) -> Outcome<Vec<String>> {
        let labels = vec![format!("{}=sealed", label::MARK), format!("{}={tree}", label::TREE)];
        let options =
            ListImagesOptionsBuilder::default().filters(&HashMap::from([("label".to_owned(), labels)]));
        let images = self.runtime.block_on(self.api.list_images(Some(options.build())))?;
        Ok(images.into_iter().map(|image| image.id).collect())
    }

    /// Removes an image; gone already is done.
    pub fn remove_image(&self, id: &str) {
        let options = RemoveImageOptionsBuilder::default().force(true).build();
        let _ = self.runtime.block_on(self.api.remove_image(id, Some(options), None));
    }

    /// The cages of a state directory.
    pub fn cages(&self, state: &str) -> Outcome<Vec<String>> {
        let labels = vec![format!("{}={state}", label::STATE)];
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&HashMap::from([("label".to_owned(), labels)]));
        let found = self.runtime.block_on(self.api.list_containers(Some(options.build())))?;
        Ok(found.into_iter().filter_map(|container| container.id).collect())
    }

    /// The process on this machine that is a cage's PID 1.
    pub fn init(&self, cage: &str) -> Outcome<u32> {
        let seen = self.runtime.block_on(self.api.inspect_container(cage, None))?;
        let pid = seen.state.and_then(|state| state.pid).unwrap_or_default();
        u32::try_from(pid).ok().filter(|pid| *pid > 0).ok_or_else(|| "the cage does not run".into())
    }

    /// Removes a container; gone already is done.
    pub fn remove(&self, container: &str) {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let _ = self.runtime.block_on(self.api.remove_container(container, Some(options)));
    }

    /// Unpacks paths of an image into a folder. Nothing of the image runs.
    pub fn copy(&self, image: &str, paths: &[&str], to: &Path) -> Outcome<()> {
        let body = ContainerCreateBody {
            image: Some(image.into()),
            labels: Some(HashMap::from([("pinfold-bench".to_owned(), "copy".to_owned())])),
            ..Default::default()
        };
        let made = self.runtime.block_on(self.api.create_container(None::<CreateContainerOptions>, body))?;
        let copied = paths.iter().try_for_each(|path| self.unpack(&made.id, path, to));
        self.remove(&made.id);
        copied
    }

    fn unpack(&self, container: &str, path: &str, to: &Path) -> Outcome<()> {
        let archive = to.join("archive.tar");
        let mut file = std::fs::File::create(&archive)?;
        let options = DownloadFromContainerOptionsBuilder::default().path(path).build();
        self.runtime.block_on(async {
            let mut chunks = self.api.download_from_container(container, Some(options));
            while let Some(chunk) = chunks.try_next().await? {
                file.write_all(&chunk)?;
            }
            Outcome::Ok(())
        })?;
        tar::Archive::new(std::io::BufReader::new(std::fs::File::open(&archive)?)).unpack(to)?;
        Ok(std::fs::remove_file(archive)?)
    }
}
