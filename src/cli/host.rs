//! What does a command need of this machine, and who fetches it?
//!
//! The state directory, the engine, the runtime image, the registries: each looked up when a command first asks,
//! so that `--help` works on a broken machine and `pins list` needs no engine.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use super::out::Out;
use super::place;
use super::trust::Trust;
use crate::cage::docker::{self, Docker};
use crate::cage::engine::{Engine, Labels, label};
use crate::cage::folder::Grounds;
use crate::cage::image::{Image, Ours, Pruned};
use crate::cage::reaper;
use crate::cage::server::Surroundings;
use crate::cage::stamp::Stamp;
use crate::failure::{Code, Failure};
use crate::install::npm::Npm;
use crate::install::pypi::{Archives, Places, Pypi};
use crate::install::runtime::{self, Artifact, Larder, NpmArtifact, PypiArtifact, Recipe, Runtime};
use crate::install::{InstallError, Progress};
use crate::net::{Client, Resolver};
use crate::pin::{Pin, Store};
use crate::plan::{Build, Plan};
use crate::source::{
    Index, NpmConfig, PipConfig, PipSurroundings, PypiName, Registries, SourceArchive, SourceError,
    Surroundings as NpmSurroundings, npm, pypi,
};
use crate::state::{Config, Home, Launch, LaunchId};
use crate::text::Shown;

/// How long a command that needs no engine may go on for what an earlier one left there.
const SWEEPING: Duration = Duration::from_secs(3);
/// How long a command may take to clear away what it still has in the engine at its end.
const LEAVING: Duration = Duration::from_secs(5);

/// This machine, as far as a command needs it.
pub struct Host {
    home: Home,
    config: Config,
    resolver: Resolver,
    client: Client,
    launch: OnceCell<Launch>,
    engine: OnceCell<Arc<dyn Engine>>,
}

impl Host {
    /// Opens the state directory and reads the configuration.
    pub fn open() -> Result<Self, Failure> {
        let home = Home::open()?;
        let config = Config::load(&home)?;
        let resolver = Resolver::system();
        let trust = Trust::new(config.extra_ca());
        let client = Client::finding(resolver.clone(), move || match trust.read() {
            Ok(roots) => Ok(roots.added().to_vec()),
            Err(failure) => Err(Shown::new(&failure.to_string())),
        });
        Ok(Self { home, config, resolver, client, launch: OnceCell::new(), engine: OnceCell::new() })
    }

    /// The state directory.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The user's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Name look-ups.
    pub fn resolver(&self) -> Resolver {
        self.resolver.clone()
    }

    /// The HTTP client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What the images of this state directory are known by.
    pub fn stamp(&self) -> Result<Stamp, Failure> {
        Ok(Stamp::new(self.home.seal_key()?))
    }

    /// Which sealed images are this state directory's own.
    pub fn ours(&self) -> Result<Ours, Failure> {
        Ok(Ours::new(self.stamp()?, self.home.id()?.as_str(), self.home.place()?))
    }

    /// The user's own pin store.
    pub fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(&self.home)?)
    }

    /// The engine, found once. Everything it makes is marked as this launch's.
    pub async fn engine(&self) -> Result<Arc<dyn Engine>, Failure> {
        let found = self
            .engine
            .get_or_try_init(async || {
                let launch = self.launch.get_or_try_init(async || Launch::begin(&self.home)).await?;
                let marks = Labels::from([
                    (label::STATE.into(), self.home.id()?.as_str().to_owned()),
                    (label::PLACE.into(), self.home.place()?),
                    (label::LAUNCH.into(), launch.id().to_string()),
                ]);
                let files = self.home.state_subdir("engine")?;
                Ok::<_, Failure>(Arc::new(Docker::find(marks, files).await?) as Arc<dyn Engine>)
            })
            .await?;
        Ok(Arc::clone(found))
    }

    /// This launch, if it has asked for the engine.
    pub fn launch(&self) -> Option<&Launch> {
        self.launch.get()
    }

    /// Removes what earlier launches left in the engine.
    pub async fn sweep(&self) -> Result<usize, Failure> {
        let engine = self.engine().await?;
        // looked at first: of one that ends meanwhile something may come to be left behind the look
        let over = Launch::left(&self.home)?;
        let swept = reaper::sweep(engine.as_ref(), &self.home).await?;
        // one that the engine was asked to remove may be there all the same
        let clear = swept == 0 || reaper::sweep(engine.as_ref(), &self.home).await? == 0;
        // with a pin that cannot be read it is not known what is needed, so nothing is taken
        if let Ok(pins) = self.store()?.all()
            && self.prune(&pins).await?.held == 0
            && clear
        {
            Launch::forget(&self.home, &over)?;
        }
        Ok(swept)
    }

    /// The same for a command that needs no engine: where an earlier launch says that something is left, and there is an
    /// engine that answers soon. Never a reason for the command to fail.
    pub async fn sweep_if_left(&self) {
        if Launch::left(&self.home).is_ok_and(|left| !left.is_empty()) {
            // what cannot be cleared away now is the next command's
            let _ = tokio::time::timeout(SWEEPING, self.sweep()).await;
        }
    }

    /// Clears away what this launch still has in the engine, and ends it. `stopped` in the middle of its work it may have
    /// sealed an image that no pin will ever name.
    pub async fn leave(&self, stopped: bool) {
        let (Some(launch), Some(engine)) = (self.launch.get(), self.engine.get()) else { return };
        if stopped || !engine.is_settled() {
            let cleared = tokio::time::timeout(LEAVING, self.clear(engine.as_ref(), launch)).await;
            if !matches!(cleared, Ok(Ok(true))) || !engine.is_settled() {
                // the next command sees to it
                launch.leave_behind();
            }
        }
        launch.end();
    }

    /// Removes the cages of this launch, and the images that no pin needs, its own included. Gives whether none is left.
    async fn clear(&self, engine: &dyn Engine, launch: &Launch) -> Result<bool, Failure> {
        reaper::discard(engine, &self.home, launch.id()).await?;
        let pins = self.store()?.all()?;
        Ok(self.prune_unless(&pins, |id| id != launch.id()).await?.held == 0)
    }

    /// Removes the sealed images that none of these pins needs, which are all there are.
    pub async fn prune(&self, pins: &[Pin]) -> Result<Pruned, Failure> {
        self.prune_unless(pins, |_| true).await
    }

    /// The same, save for images that a launch made which is alive and `counts`.
    async fn prune_unless(
        &self,
        pins: &[Pin],
        counts: impl Fn(&LaunchId) -> bool,
    ) -> Result<Pruned, Failure> {
        let keep = pins.iter().map(|pin| pin.plan().tree_digest()).collect();
        // unknown is alive
        let alive = |launch: &str| {
            let launch = launch.parse().ok().filter(|launch| counts(launch));
            launch.is_some_and(|launch| Launch::alive(&self.home, &launch).unwrap_or(true))
        };
        Ok(Image::prune(self.engine().await?.as_ref(), &self.ours()?, &keep, alive).await?)
    }

    /// The user's npm configuration.
    pub fn npm_config(&self) -> Result<NpmConfig, Failure> {
        let chosen = self.config.npm_registry().map(ToString::to_string);
        Ok(NpmConfig::read(&NpmSurroundings::of_process(chosen))?)
    }

    /// The Node runtime image; made if this host has none.
    pub async fn runtime(&self, out: &Out) -> Result<Runtime, Failure> {
        self.runtime_of(&Recipe::node(), out).await
    }

    /// The runtime image of a recipe, if this host has it.
    pub async fn runtime_made(&self, recipe: &Recipe) -> Result<Option<Runtime>, Failure> {
        Ok(runtime::find(self.engine().await?.as_ref(), &self.stamp()?, recipe).await?)
    }

    /// The runtime image of a recipe; made if this host has none.
    pub async fn runtime_of(&self, recipe: &Recipe, out: &Out) -> Result<Runtime, Failure> {
        if let Some(runtime) = self.runtime_made(recipe).await? {
            return Ok(runtime);
        }
        out.note(format!("the {} runtime image is not on this host yet; making it, once", recipe.name()));
        self.build_runtime(recipe, out).await
    }

    /// Makes the runtime image of a recipe.
    pub async fn build_runtime(&self, recipe: &Recipe, out: &Out) -> Result<Runtime, Failure> {
        let larder = Registry { host: self };
        Ok(runtime::build(self.engine().await?, &self.stamp()?, recipe, &larder, out).await?)
    }

    /// The registries to use, with this runtime's npm for a default.
    pub fn registries(&self, runtime: &Runtime) -> Result<Registries, Failure> {
        Ok(self.npm_config()?.registries(runtime.registry())?)
    }

    /// npm, in cages of this runtime.
    pub async fn npm(&self, runtime: Runtime) -> Result<Npm, Failure> {
        let registries = self.registries(&runtime)?;
        Ok(Npm::new(self.engine().await?, runtime, registries, self.resolver(), self.roots()?, self.stamp()?))
    }

    /// uv, in cages of this runtime, fetching from these places.
    pub async fn pypi(&self, runtime: Runtime, places: Places) -> Result<Pypi, Failure> {
        Ok(Pypi::new(self.engine().await?, runtime, places, self.resolver(), self.roots()?, self.stamp()?))
    }

    /// The index of Python packages: the user's own, else the one that the client of a runtime image has built in.
    pub async fn index(&self, out: &Out) -> Result<Index, Failure> {
        if let Some(index) = self.index_known().await? {
            return Ok(index);
        }
        // none to ask yet: the newest is the one most servers will run on
        let runtime = self.runtime_of(&Recipe::python_3_13(), out).await?;
        Ok(self.pip_config()?.index(runtime.registry())?)
    }

    /// The same, as far as it is known without making a runtime image.
    pub async fn index_known(&self) -> Result<Option<Index>, Failure> {
        let config = self.pip_config()?;
        if !config.needs_client_default() {
            return Ok(Some(config.index(None)?));
        }
        for recipe in Recipe::pythons() {
            if let Some(runtime) = self.runtime_made(&recipe).await? {
                return Ok(Some(config.index(runtime.registry())?));
            }
        }
        Ok(None)
    }

    /// npm's registries, as far as they are known without making a runtime image.
    pub async fn registries_known(&self) -> Result<Option<Registries>, Failure> {
        let config = self.npm_config()?;
        if !config.needs_client_default() {
            return Ok(Some(config.registries(None)?));
        }
        match self.runtime_made(&Recipe::node()).await? {
            Some(runtime) => Ok(Some(config.registries(runtime.registry())?)),
            None => Ok(None),
        }
    }

    fn pip_config(&self) -> Result<PipConfig, Failure> {
        let chosen = self.config.pypi_index().map(ToString::to_string);
        Ok(PipConfig::read(&PipSurroundings::of_process(chosen))?)
    }

    /// The user's index, and where it keeps the files of the first of these packages that it has; nowhere where there
    /// are none.
    pub async fn places<'a>(
        &self,
        out: &Out,
        names: impl IntoIterator<Item = &'a PypiName>,
    ) -> Result<Places, Failure> {
        let index = self.index(out).await?;
        for name in names {
            match pypi::files(&self.client, &index, name).await {
                Ok(files) if files.is_empty() => {}
                Ok(files) => return Ok(Places { index: index.registry().clone(), files }),
                // a dependency that this Python does not need may be in no index
                Err(SourceError::UnknownPackage { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Places { index: index.registry().clone(), files: Vec::new() })
    }

    /// What fetches the source archives of what is built.
    pub fn archives<'a>(&'a self, out: &'a Out) -> OfTheIndex<'a> {
        OfTheIndex { host: self, out }
    }

    /// The certificates this host trusts, as one PEM file; none where it has none.
    pub fn roots(&self) -> Result<Option<Vec<u8>>, Failure> {
        let roots = Trust::new(self.config.extra_ca()).read()?;
        Ok((!roots.is_empty()).then(|| roots.pem()))
    }

    /// What a server of this plan sees of this host.
    pub fn surroundings(&self, plan: &Plan) -> Result<Surroundings, Failure> {
        // read for a server that may speak to somebody, and for no other
        let roots = if plan.has_way_out() { self.roots()? } else { None };
        Ok(Surroundings {
            time_zone: place::time_zone(),
            language: place::language(),
            roots,
            grounds: self.grounds(),
            second_names: None,
            keep: Some(self.home.id()?),
        })
    }

    /// What folders are judged by here.
    pub fn grounds(&self) -> Grounds {
        Grounds::of_this_machine(&self.home, docker::sockets())
    }
}

/// The package index that npm on this host has built in; asked outside any project, without the user's settings.
async fn own_npm_default() -> Option<String> {
    let asked = tokio::process::Command::new("npm")
        .args(["config", "get", "registry"])
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(20), asked).await.ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// A recipe's artifacts, from the user's registries.
struct Registry<'a> {
    host: &'a Host,
}

impl Larder for Registry<'_> {
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
        built_in: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<u8>, Failure>> {
        match artifact {
            Artifact::Npm(artifact) => self.npm(artifact).boxed(),
            Artifact::Pypi(artifact) => self.pypi(artifact, built_in).boxed(),
        }
    }
}

impl Registry<'_> {
    async fn npm(&self, artifact: &NpmArtifact) -> Result<Vec<u8>, Failure> {
        let config = self.host.npm_config()?;
        // where nobody set one, there is no image yet to ask: npm on this host has the same one built in
        let default = if config.needs_client_default() { own_npm_default().await } else { None };
        let registries = config.registries(default.as_deref())?;
        let name = artifact.package.parse().map_err(|_| unfollowed("a package's name"))?;
        let version = artifact.version.parse().map_err(|_| unfollowed("a version"))?;
        let integrity = artifact.integrity.parse().map_err(|_| unfollowed("an integrity"))?;
        let fetched: Result<_, SourceError> =
            npm::tarball(&self.host.client, &registries, &name, &version, integrity).await;
        Ok(fetched?)
    }

    /// One file of a Python package index.
    async fn pypi(&self, artifact: &PypiArtifact, built_in: Option<&str>) -> Result<Vec<u8>, Failure> {
        let index = self.host.pip_config()?.index(built_in)?;
        let name = artifact.package.parse().map_err(|_| unfollowed("a package's name"))?;
        let fetched: Result<_, SourceError> =
            pypi::file(&self.host.client, &index, &name, &artifact.file, artifact.sha256).await;
        Ok(fetched?)
    }
}

/// Source archives, from the index that the user set.
pub struct OfTheIndex<'a> {
    host: &'a Host,
    out: &'a Out,
}

impl Archives for OfTheIndex<'_> {
    fn archive<'a>(&'a self, build: &'a Build) -> BoxFuture<'a, Result<SourceArchive, InstallError>> {
        async move {
            let Self { host, out } = self;
            out.step(&format!("fetching {}=={}, to build it", build.name(), build.version()));
            let index = host.index(out).await.map_err(InstallError::Fetch)?;
            let archive = pypi::archive(&host.client, &index, build.name(), build.sha256()).await;
            archive.map_err(|error| InstallError::Fetch(error.into()))
        }
        .boxed()
    }
}

fn unfollowed(what: &str) -> Failure {
    Failure::new(
        Code::Other,
        "a recipe cannot be followed",
        what,
        "this is a fault of Pinfold's own; please report it",
    )
}
