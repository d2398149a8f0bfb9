//! How is a profile asked of Docker, and how is it known that Docker heard?
//!
//! Through the Engine API on its socket; no command-line client is needed, nor its credential helpers. Every
//! row of the profile becomes a field of the create call, and what the engine then reports of the container is
//! compared with what was asked, before it is started.
//!
//! Invariants: attach comes before start, with `StdinOnce` (Engine 20.10 loses output past 196,608 bytes at a
//! half-close otherwise); nothing secret is in the create call, so `docker inspect` has nothing to show.

mod address;
mod open;
mod podman;
mod terms;
mod volumes;

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error as ApiError;
use bollard::models::{ContainerConfig, ContainerCreateBody, HealthConfig, HostConfig};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CommitContainerOptionsBuilder, CreateContainerOptions,
    CreateImageOptionsBuilder, DownloadFromContainerOptionsBuilder, ListContainersOptionsBuilder,
    ListImagesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
    UploadToContainerOptionsBuilder, WaitContainerOptionsBuilder,
};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tokio::io::AsyncWrite;
use tokio_util::io::{ReaderStream, StreamReader};

use self::address::Found;
use self::podman::Podman;

use super::engine::{
    About, Answer, CageRecord, CageSpec, Complaints, Engine, EngineError, Handle, ImageId, ImageRecord,
    Labels, Started, VolumeRecord, label, no_room,
};
use super::gate::Duplex;
use super::profile::{HOSTNAME, INIT, PATH};
use crate::plan::{CageRuntime, SERVER_DIR};
use crate::text::Shown;
use open::Open;

/// How long one answer of the engine may take; a pull or an import streams and is not bound by it.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the removal of a cage that is already under way is waited for.
const REMOVING: Duration = Duration::from_secs(3);

/// Characters of an engine's refusal that are told.
const SAID_CHARS: usize = 600;

/// Docker, or an engine that speaks its API.
pub struct Docker {
    api: bollard::Docker,
    address: String,
    marks: Labels,
    /// Where it is Podman that answers: what is asked of it in words of its own.
    podman: Option<Podman>,
    open: Open,
}

impl Docker {
    /// Finds the engine and agrees on an API version. Everything it makes is marked with `marks`; an engine that takes
    /// something only as a file finds it in `files`, a folder of the state directory.
    ///
    /// # Errors
    /// [`EngineError::Missing`] names each place that was looked at; [`EngineError::Forbidden`] one that is
    /// there and closed to this user; [`EngineError::Unusable`] an address that nothing here can speak to.
    pub async fn find(marks: Labels, files: PathBuf) -> Result<Self, EngineError> {
        let Found { api, address, podman } = address::connect(PATIENCE).await?;
        let podman = podman.map(|socket| Podman::new(socket, files));
        Ok(Self { api, address, marks, podman, open: Open::default() })
    }

    /// What a container is marked with.
    fn marked(&self, labels: &Labels) -> Labels {
        let mut marks = self.marks.clone();
        marks.extend(labels.clone());
        marks.insert(label::MARK.into(), "cage".into());
        marks
    }

    /// What a container is created with, whatever for.
    fn body(&self, image: &ImageId, labels: &Labels, host: HostConfig) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(image.as_str().into()),
            labels: Some(self.marked(labels).into_iter().collect()),
            host_config: Some(host),
            entrypoint: Some(vec![INIT.into()]),
            cmd: Some(Vec::new()),
            // init ignores whatever else an engine that stops, or starts again, would first wait for ten seconds
            stop_signal: Some("SIGKILL".into()),
            // a base image's own check would be a program that nobody asked for
            healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
            ..Default::default()
        }
    }

    /// The container, and what the engine warns of: one that leaves a limit out says so here and creates it all the same.
    async fn create(&self, body: ContainerCreateBody) -> Result<(Handle, Vec<String>), EngineError> {
        let doing = "create a container";
        let making = async {
            let made = self.api.create_container(None::<CreateContainerOptions>, body).await;
            let made = made.map_err(refused(doing))?;
            self.open.made(&made.id);
            Ok(made)
        };
        let made = self.open.asking(making).await?;
        Ok((Handle::new(made.id), made.warnings))
    }

    /// A container that is never started: the engine puts files into it and takes them out by itself.
    async fn create_idle(&self, image: &ImageId) -> Result<Handle, EngineError> {
        let host = HostConfig { network_mode: Some("none".into()), ..Default::default() };
        // nothing runs in it, so nothing it is warned of matters
        Ok(self.create(self.body(image, &Labels::new(), host)).await?.0)
    }

    async fn start_cage(&self, spec: CageSpec) -> Result<Started, EngineError> {
        let handle = match &self.podman {
            Some(podman) => {
                let made = self.open.asking(podman.create(&spec, &self.marked(&spec.labels))).await;
                made.inspect(|handle| self.open.made(handle.as_str()))
            }
            None => self.create_cage(&spec).await,
        };
        let handle = match (handle, spec.profile.runtime()) {
            (Err(error @ (EngineError::Refused { .. } | EngineError::Weaker { .. })), Some(runtime)) => {
                return Err(self.without_runtime(runtime, error).await);
            }
            (handle, _) => handle?,
        };
        match self.start_created(&handle).await {
            Ok((stream, complaints)) => Ok(Started { handle, stream, complaints }),
            Err(error) => {
                // the reaper takes it later if the engine does not answer now
                let _ = self.remove(&handle).await;
                Err(error)
            }
        }
    }

    /// Why a cage under a runtime that was asked for is not there: that the engine does not know it, if it does not.
    async fn without_runtime(&self, runtime: &CageRuntime, error: EngineError) -> EngineError {
        match self.has_runtime(runtime).await {
            Err(unknown @ EngineError::NoRuntime { .. }) => unknown,
            _ => error,
        }
    }

    /// A cage, or every row in which it is weaker than its profile.
    async fn create_cage(&self, spec: &CageSpec) -> Result<Handle, EngineError> {
        let mut body = self.body(&spec.image, &spec.labels, terms::host_config(&spec.profile));
        body.user = Some(format!("{}:{}", spec.profile.user().uid(), spec.profile.user().gid()));
        body.hostname = Some(HOSTNAME.into());
        body.working_dir = Some(SERVER_DIR.into());
        body.env = Some(vec![format!("PATH={PATH}")]);
        body.open_stdin = Some(true);
        body.stdin_once = Some(true);
        body.attach_stdin = Some(true);
        body.attach_stdout = Some(true);
        body.attach_stderr = Some(true);
        let asked = body.host_config.clone().unwrap_or_default();
        let (handle, warnings) = self.create(body).await?;
        let seen = self.api.inspect_container(handle.as_str(), None).await;
        let held = seen.map_err(refused("describe the cage it made")).and_then(|seen| {
            let mut rows = terms::compare(&asked, seen);
            for warned in warnings.iter().map(|warning| terms::warned(warning)) {
                // what was written down otherwise says as much
                if rows.iter().all(|row| row.setting() != warned.setting()) {
                    rows.push(warned);
                }
            }
            EngineError::unless_none(rows)
        });
        match held {
            Ok(()) => Ok(handle),
            Err(error) => {
                // the reaper takes it later if the engine does not answer now
                let _ = self.remove(&handle).await;
                Err(error)
            }
        }
    }

    async fn start_created(&self, handle: &Handle) -> Result<(Box<dyn Duplex>, Complaints), EngineError> {
        // attached first: what init says before somebody listens would be lost
        let options =
            AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).stderr(true);
        let attached = self
            .api
            .attach_container(handle.as_str(), Some(options.build()))
            .await
            .map_err(refused("attach to the cage"))?;
        self.api.start_container(handle.as_str(), None).await.map_err(refused("start the cage"))?;

        let complaints = Complaints::default();
        let ear = complaints.clone();
        let output = attached.output.map_err(std::io::Error::other).try_filter_map(move |chunk| {
            let bytes = match chunk {
                LogOutput::StdOut { message } | LogOutput::Console { message } => Some(message),
                LogOutput::StdErr { message } => {
                    ear.hear(&message);
                    None
                }
                LogOutput::StdIn { .. } => None,
            };
            std::future::ready(Ok(bytes))
        });
        Ok((Box::new(tokio::io::join(StreamReader::new(output.boxed()), Input(attached.input))), complaints))
    }

    async fn make_layer(&self, base: &ImageId, tar: PathBuf, labels: Labels) -> Result<ImageId, EngineError> {
        let handle = self.create_idle(base).await?;
        let made = self.fill(&handle, tar, labels).await;
        let removed = self.remove(&handle).await;
        // what failed first is what is told
        let made = made?;
        removed.map(|()| made)
    }

    async fn fill(&self, handle: &Handle, tar: PathBuf, labels: Labels) -> Result<ImageId, EngineError> {
        let file = tokio::fs::File::open(&tar).await.map_err(|error| EngineError::Refused {
            doing: "read a layer's files",
            said: Shown::new(&error.to_string()),
        })?;
        let options = UploadToContainerOptionsBuilder::default().path("/").build();
        self.api
            .upload_to_container(
                handle.as_str(),
                Some(options),
                bollard::body_try_stream(ReaderStream::new(file)),
            )
            .await
            .map_err(refused("put files into an image"))?;
        self.commit(handle, labels).await
    }

    async fn commit(&self, handle: &Handle, mut labels: Labels) -> Result<ImageId, EngineError> {
        // the engine merges a container's configuration into its image's, so what made it is said anew
        labels.extend(self.marks.clone());
        let (repository, tag) = reference(&labels);
        if let Some(podman) = &self.podman {
            let changes = changes(&labels, "keep the cage as an image")?;
            return self.open.asking(podman.commit(handle, (&repository, &tag), &changes)).await;
        }
        let config = ContainerConfig {
            labels: Some(labels.into_iter().collect()),
            env: Some(vec![format!("PATH={PATH}")]),
            entrypoint: Some(vec![INIT.into()]),
            cmd: Some(Vec::new()),
            user: Some("65532:65532".into()),
            working_dir: Some(SERVER_DIR.into()),
            hostname: Some(String::new()),
            open_stdin: Some(false),
            stdin_once: Some(false),
            ..Default::default()
        };
        let options = CommitContainerOptionsBuilder::default()
            .container(handle.as_str())
            .repo(&repository)
            .tag(&tag)
            .pause(true);
        let keeping = async {
            let made = self.api.commit_container(options.build(), config).await;
            made.map_err(refused("keep the cage as an image"))
        };
        Ok(ImageId::new(self.open.asking(keeping).await?.id))
    }

    async fn read_file(&self, image: &ImageId, path: &str, limit: u64) -> Result<Vec<u8>, EngineError> {
        let doing = "read a file out of an image";
        let handle = self.create_idle(image).await?;
        let options = DownloadFromContainerOptionsBuilder::default().path(path).build();
        let archive = self
            .api
            .download_from_container(handle.as_str(), Some(options))
            .map_err(refused(doing))
            .try_fold(Vec::new(), async |mut all: Vec<u8>, chunk| {
                all.extend_from_slice(&chunk);
                // a tar entry is its contents and two or three blocks of 512 bytes, rounded up
                if all.len() as u64 > limit + 10_240 {
                    return Err(EngineError::Refused { doing, said: Shown::new("the file is too long") });
                }
                Ok(all)
            })
            .await;
        self.remove(&handle).await?;
        let said = |text: &str| EngineError::Refused { doing, said: Shown::new(text) };
        let archive = archive?;
        let mut archive = tar::Archive::new(archive.as_slice());
        let mut entries = archive.entries().map_err(|e| said(&e.to_string()))?;
        let mut entry =
            entries.next().ok_or_else(|| said("the archive is empty"))?.map_err(|e| said(&e.to_string()))?;
        let mut contents = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut contents).map_err(|e| said(&e.to_string()))?;
        Ok(contents)
    }
}

impl Engine for Docker {
    fn about(&self) -> Answer<'_, About> {
        async {
            let doing = "describe itself";
            let version = self.api.version().await.map_err(refused(doing))?;
            let info = self.api.info().await.map_err(refused(doing))?;
            let mut runtimes: Vec<String> = info.runtimes.clone().unwrap_or_default().into_keys().collect();
            runtimes.sort();
            let own = match &self.podman {
                Some(podman) => Some(podman.info().await?),
                None => None,
            };
            let security = info.security_options.clone().unwrap_or_default();
            let says = |word: &str| security.iter().any(|option| option.split(',').any(|part| part == word));
            let rootless = own.as_ref().map_or_else(|| says("name=rootless"), podman::Info::rootless);
            Ok(About {
                name: version
                    .platform
                    .map(|platform| platform.name)
                    .filter(|name| !name.is_empty() && own.is_none())
                    .unwrap_or_else(|| if own.is_some() { "Podman" } else { "Docker Engine" }.into()),
                lacking: own.as_ref().map_or_else(|| terms::lacking(&info), podman::Info::lacking),
                notes: terms::notes(rootless, says("name=userns")),
                rootless,
                version: version.version.unwrap_or_default(),
                api: version.api_version.unwrap_or_default(),
                address: self.address.clone(),
                architecture: architecture(info.architecture.unwrap_or_default()),
                runtimes,
                default_runtime: info.default_runtime.unwrap_or_default(),
                cgroups: info.cgroup_version.map(|version| version.to_string()).unwrap_or_default(),
                security,
            })
        }
        .boxed()
    }

    fn images<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<ImageRecord>> {
        async {
            let options = ListImagesOptionsBuilder::default().filters(&filters(labels)).build();
            let images = self.api.list_images(Some(options)).await.map_err(refused("list its images"))?;
            Ok(images
                .into_iter()
                .map(|image| ImageRecord {
                    id: ImageId::new(image.id),
                    labels: image.labels.into_iter().collect(),
                    size: image.size.try_into().unwrap_or(0),
                })
                .filter(|image| holds(&image.labels, labels))
                .collect())
        }
        .boxed()
    }

    fn image<'a>(&'a self, id: &'a ImageId) -> Answer<'a, Option<ImageRecord>> {
        async {
            match self.api.inspect_image(id.as_str()).await {
                Ok(image) => Ok(Some(ImageRecord {
                    id: ImageId::new(image.id.unwrap_or_default()),
                    labels: image.config.and_then(|c| c.labels).unwrap_or_default().into_iter().collect(),
                    size: image.size.and_then(|size| size.try_into().ok()).unwrap_or(0),
                })),
                Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
                Err(error) => Err(refused("describe an image")(error)),
            }
        }
        .boxed()
    }

    fn pull<'a>(&'a self, reference: &'a str) -> Answer<'a, ImageId> {
        async move {
            let doing = "pull an image";
            let options = CreateImageOptionsBuilder::default().from_image(reference).build();
            let mut progress = self.api.create_image(Some(options), None, None);
            while let Some(step) = progress.next().await {
                step.map_err(refused(doing))?;
            }
            let image = self.api.inspect_image(reference).await.map_err(refused(doing))?;
            Ok(ImageId::new(image.id.unwrap_or_default()))
        }
        .boxed()
    }

    fn import(&self, rootfs: PathBuf, labels: Labels) -> Answer<'_, ImageId> {
        async move {
            let doing = "import a root file system";
            let said = |text: &str| EngineError::Refused { doing, said: Shown::new(text) };
            let file = tokio::fs::File::open(&rootfs).await.map_err(|e| said(&e.to_string()))?;
            let (repository, tag) = reference(&labels);
            let changes = labelled(&labels, doing)?;
            let options = CreateImageOptionsBuilder::default()
                .from_src("-")
                .repo(&repository)
                .tag(&tag)
                .changes(changes)
                .build();
            let body = bollard::body_try_stream(ReaderStream::with_capacity(file, 256 * 1024));
            let mut progress = self.api.create_image(Some(options), Some(body), None);
            let mut made = None;
            while let Some(step) = progress.next().await {
                made = step.map_err(refused(doing))?.status.filter(|status| status.starts_with("sha256:"));
            }
            // by the engine's own word, not by a name: Podman gives an import another one than was asked for
            made.map(ImageId::new).ok_or_else(|| said("it does not say which image it made"))
        }
        .boxed()
    }

    fn layer<'a>(&'a self, base: &'a ImageId, tar: PathBuf, labels: Labels) -> Answer<'a, ImageId> {
        self.make_layer(base, tar, labels).boxed()
    }

    fn read<'a>(&'a self, image: &'a ImageId, path: &'a str, limit: u64) -> Answer<'a, Vec<u8>> {
        self.read_file(image, path, limit).boxed()
    }

    fn start(&self, spec: CageSpec) -> Answer<'_, Started> {
        self.start_cage(spec).boxed()
    }

    fn seal<'a>(&'a self, cage: &'a Handle, labels: Labels) -> Answer<'a, ImageId> {
        self.commit(cage, labels).boxed()
    }

    fn remove<'a>(&'a self, cage: &'a Handle) -> Answer<'a, ()> {
        async move {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            match self.api.remove_container(cage.as_str(), Some(options)).await {
                // 404: it removed itself
                Ok(()) | Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => {
                    self.open.gone(cage.as_str());
                    Ok(())
                }
                // it is doing so, or somebody else is; one that cannot be removed is the next sweep's
                Err(ApiError::DockerResponseServerError { status_code: 409, .. }) => {
                    tokio::time::timeout(REMOVING, self.gone(cage)).await.unwrap_or(Ok(()))
                }
                Err(error) => Err(refused("remove a cage")(error)),
            }
        }
        .boxed()
    }

    fn gone<'a>(&'a self, cage: &'a Handle) -> Answer<'a, ()> {
        async move {
            let options = WaitContainerOptionsBuilder::default().condition("removed").build();
            let mut waiting = self.api.wait_container(cage.as_str(), Some(options));
            match waiting.next().await {
                None
                | Some(
                    Ok(_)
                    | Err(
                        ApiError::DockerContainerWaitError { .. }
                        | ApiError::DockerResponseServerError { status_code: 404, .. },
                    ),
                ) => {
                    self.open.gone(cage.as_str());
                    Ok(())
                }
                Some(Err(error)) => Err(refused("wait for a cage's end")(error)),
            }
        }
        .boxed()
    }

    fn remove_image<'a>(&'a self, image: &'a ImageId) -> Answer<'a, ()> {
        self.open
            .asking(async move {
                let options = RemoveImageOptionsBuilder::default().force(true).build();
                match self.api.remove_image(image.as_str(), Some(options), None).await {
                    Ok(_) | Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => Ok(()),
                    Err(error) => Err(refused("remove an image")(error)),
                }
            })
            .boxed()
    }

    fn volume<'a>(&'a self, name: &'a str) -> Answer<'a, Option<VolumeRecord>> {
        volumes::find(&self.api, name).boxed()
    }

    fn make_volume<'a>(&'a self, name: &'a str, labels: Labels) -> Answer<'a, VolumeRecord> {
        volumes::make(&self.api, name, labels).boxed()
    }

    fn volumes<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<VolumeRecord>> {
        volumes::all(&self.api, labels).boxed()
    }

    fn remove_volume<'a>(&'a self, name: &'a str) -> Answer<'a, ()> {
        volumes::remove(&self.api, name).boxed()
    }

    fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    fn cages<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<CageRecord>> {
        async {
            let options = ListContainersOptionsBuilder::default().all(true).filters(&filters(labels)).build();
            let containers =
                self.api.list_containers(Some(options)).await.map_err(refused("list its containers"))?;
            Ok(containers
                .into_iter()
                .filter_map(|container| {
                    let labels = container.labels.unwrap_or_default().into_iter().collect();
                    container.id.map(|id| CageRecord { handle: Handle::new(id), labels })
                })
                .filter(|cage| holds(&cage.labels, labels))
                .collect())
        }
        .boxed()
    }
}

/// The places looked at for an engine, each with who named it.
pub fn places() -> Vec<(String, String)> {
    address::places()
}

/// The sockets on which an engine may listen here, there or not.
pub fn sockets() -> Vec<PathBuf> {
    address::sockets()
}

/// Labels as instructions of a Dockerfile.
fn labelled(labels: &Labels, doing: &'static str) -> Result<Vec<String>, EngineError> {
    let instruction = |(name, value): (&String, &String)| {
        // where quotes and `$` would be read
        if value.bytes().any(|b| matches!(b, b'"' | b'$' | b'\\' | b'\n')) {
            return Err(EngineError::Refused { doing, said: Shown::new("a label cannot be written down") });
        }
        Ok(format!("LABEL {name}=\"{value}\""))
    };
    labels.iter().map(instruction).collect()
}

/// The configuration of an image as instructions of a Dockerfile: that which other engines take as a structure.
fn changes(labels: &Labels, doing: &'static str) -> Result<Vec<String>, EngineError> {
    let mut changes = labelled(labels, doing)?;
    changes.push(format!("ENV PATH={PATH}"));
    changes.push(format!("ENTRYPOINT [\"{INIT}\"]"));
    changes.push("CMD []".to_owned());
    changes.push("USER 65532:65532".to_owned());
    changes.push(format!("WORKDIR {SERVER_DIR}"));
    Ok(changes)
}

/// The name an image is kept under, so that the engine's own pruning of nameless images leaves it alone.
fn reference(labels: &Labels) -> (String, String) {
    let get = |name| labels.get(name).map_or("", String::as_str);
    let kind = get(label::MARK);
    let tag = match kind {
        "sealed" => get(label::TREE).trim_start_matches("sha256:").to_owned(),
        _ => format!("{}-{}-{}", get(label::RUNTIME), get(label::VERSION), get(label::RECIPE)),
    };
    let mut tag = tag;
    // what is not tried yet has no stamp: two that make the same runtime at once would take the name from each other
    if kind == "stage" {
        tag = format!("{tag}-{}", get(label::LAUNCH));
    }
    // two builds, or two state directories, each have theirs
    for name in [label::INIT, label::STAMP] {
        let short = get(name).split_once(':').and_then(|(_, hex)| hex.get(..8)).unwrap_or_default();
        if !short.is_empty() {
            tag = format!("{tag}-{short}");
        }
    }
    (format!("pinfold/{kind}"), tag)
}

/// The first of the labels alone: Podman's API joins several into one that nothing has. [`holds`] sees to the rest.
fn filters(labels: &Labels) -> HashMap<String, Vec<String>> {
    let wanted = labels.iter().take(1).map(|(name, value)| format!("{name}={value}")).collect();
    HashMap::from([("label".to_owned(), wanted)])
}

/// Whether something has all of the labels that were asked for.
fn holds(labels: &Labels, wanted: &Labels) -> bool {
    wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// A processor's name as Rust and wheels have it; engines write Go's name or the kernel's.
fn architecture(name: String) -> String {
    match name.as_str() {
        "amd64" => "x86_64".into(),
        "arm64" => "aarch64".into(),
        _ => name,
    }
}

fn refused(doing: &'static str) -> impl Fn(ApiError) -> EngineError {
    move |error| {
        let text = match &error {
            ApiError::DockerResponseServerError { message, .. } => message.clone(),
            other => other.to_string(),
        };
        // an engine may quote the whole of what it was asked
        let said = Shown::new(&text.chars().take(SAID_CHARS).collect::<String>());
        match error {
            _ if no_room(&text) => EngineError::Full { doing, said },
            // no answer at all, or not a whole one
            ApiError::IOError { .. }
            | ApiError::HyperResponseError { .. }
            | ApiError::HyperLegacyError { .. }
            | ApiError::SocketNotFoundError(_)
            | ApiError::RequestTimeoutError => EngineError::Gone { doing, said },
            _ => EngineError::Refused { doing, said },
        }
    }
}

/// The write half of an attached stream; its shutdown is the cage's end of input.
struct Input(Pin<Box<dyn AsyncWrite + Send>>);

impl AsyncWrite for Input {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.0.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        self.0.as_mut().poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        self.0.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
