//! Where does the interpreter that servers run on come from?
//!
//! From a runtime image, made once per host by a [`Recipe`]: the official image where an image registry answers,
//! else Debian packages, and artifacts held to written-down bytes. Both get the same things put on top: the package
//! manager, the cage's user and its home, and init.
//!
//! Invariants: the image is tried out in a cage before it counts as there, so a broken one is never used; nothing in
//! it is a community server's. The client's own idea of its package index is asked there once and kept as a label.

mod recipe;

use std::process::Stdio;
use std::sync::Arc;

use tokio::io::AsyncReadExt;

pub use recipe::{Artifact, NpmArtifact, PypiArtifact, Recipe};
use recipe::{Asked, Part};

use super::{InstallError, Progress, Tool, leave};
use crate::cage::Cage;
use crate::cage::egress::Egress;
use crate::cage::engine::{Engine, EngineError, ImageId, Labels, label};
use crate::cage::init_binary;
use crate::cage::layer::{self, Layer, Owner};
use crate::cage::profile::{HOME, Profile};
use crate::cage::stamp::Stamp;
use crate::net::Resolver;
use crate::plan::SERVER_DIR;
use crate::text::Shown;

/// Compiles an interpreter's library, and where it puts what it made.
const COMPILER: &str = "/tmp/pinfold/bytecode.py";
const COMPILER_SOURCE: &str = include_str!("../../images/python/bytecode.py");
const COMPILED: &str = "/tmp/pinfold/bytecode.tar";
/// Longest such archive, in bytes; measured at a sixth of it.
const COMPILED_LIMIT: u64 = 64 * 1024 * 1024;

/// Fetches an artifact of a recipe and checks its hash.
pub trait Larder: Send + Sync {
    /// The artifact's bytes, known to have its hash. `built_in` is the package index that the ecosystem's client has
    /// built in, where it could be asked already: for whoever has chosen no other.
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
        built_in: Option<&'a str>,
    ) -> futures_util::future::BoxFuture<'a, Result<Vec<u8>, crate::failure::Failure>>;
}

/// A runtime image on this host, with this build's init inside.
#[derive(Debug, Clone)]
pub struct Runtime {
    image: ImageId,
    name: String,
    version: String,
    recipe: String,
    registry: Option<String>,
}

impl Runtime {
    /// The image.
    pub fn image(&self) -> &ImageId {
        &self.image
    }

    /// `node`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interpreter's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The recipe's name, part of every tree digest.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// The package index that the client inside has built in.
    pub fn registry(&self) -> Option<&str> {
        self.registry.as_deref()
    }

    fn read(image: ImageId, labels: &Labels) -> Self {
        let get = |name: &str| labels.get(name).filter(|value| !value.is_empty()).cloned();
        Self {
            image,
            name: get(label::RUNTIME).unwrap_or_default(),
            version: get(label::VERSION).unwrap_or_default(),
            recipe: get(label::RECIPE).unwrap_or_default(),
            registry: get(label::REGISTRY),
        }
    }
}

/// The runtime image of this recipe, if this host has one. One with another build's init gets ours.
pub async fn find(
    engine: &dyn Engine,
    stamp: &Stamp,
    recipe: &Recipe,
) -> Result<Option<Runtime>, InstallError> {
    let runtimes = Labels::from([
        (label::MARK.into(), "runtime".into()),
        (label::RUNTIME.into(), recipe.runtime().into()),
    ]);
    let mut images = stamp.genuine(engine.images(&runtimes).await?);
    images.retain(|image| recipe.made(image));
    let found = layer::with_our_init(engine, images, |labels| stamp.on(labels)).await?;
    Ok(found.map(|(id, labels)| Runtime::read(id, &labels)))
}

/// Makes the runtime image of a recipe.
///
/// # Errors
/// [`InstallError::NoBase`] where neither an image registry answers nor Debian's packages can be laid out here, or
/// where the image does not say in a cage what its recipe wants of it.
pub async fn build(
    engine: Arc<dyn Engine>,
    stamp: &Stamp,
    recipe: &Recipe,
    larder: &dyn Larder,
    progress: &dyn Progress,
) -> Result<Runtime, InstallError> {
    let about = engine.about().await?;
    // before anything is fetched and unpacked for cages that would not be opened
    EngineError::unless_none(about.lacking)?;
    let architecture = about.architecture;
    let for_here = |parts, what| {
        Part::of(parts, &architecture)
            .ok_or_else(|| no_base(format!("the recipe has no {what} for {architecture}")))
    };
    let mut layer = Layer::new()?;
    progress.step(&format!("asking for the official image {}", recipe.official.image));
    let (base, way) = match engine.pull(&recipe.official.image).await {
        Ok(image) => (image, &recipe.official.recipe),
        Err(error) => {
            progress.step(&format!("no image registry answers ({error}); using Debian's packages instead"));
            if !recipe.interpreter.is_empty() {
                add(&mut layer, for_here(&recipe.interpreter, "interpreter")?, None, larder, progress)
                    .await?;
            }
            (debian(engine.as_ref(), stamp, recipe, progress).await?, &recipe.debian.recipe)
        }
    };

    progress.step("adding the cage's user and init");
    for (file, line) in [
        ("/etc/passwd", "cage:x:65532:65532:cage:/home/cage:/usr/sbin/nologin\n"),
        ("/etc/group", "cage:x:65532:\n"),
    ] {
        let mut text = engine.read(&base, file, 1024 * 1024).await?;
        text.extend_from_slice(line.as_bytes());
        layer.file(file.trim_start_matches('/'), 0o644, &text)?;
    }
    layer.folder("tmp", 0o1777, Owner::Root)?;
    layer.folder(HOME.trim_start_matches('/'), 0o700, Owner::Cage)?;
    layer.folder(SERVER_DIR.trim_start_matches('/'), 0o755, Owner::Cage)?;
    for (path, text) in &recipe.files {
        layer.file(path, 0o644, text.as_bytes())?;
    }
    for (path, target) in &recipe.links {
        layer.link(path, target)?;
    }
    layer.init()?;

    // not yet a runtime image: it has not been tried
    let stage = recipe.labels("stage", way);
    let manager = for_here(&recipe.manager, "package manager")?;
    let index = &recipe.tried.index;
    let (untried, built_in) = if index.of_the_base {
        let bare = put_on(engine.as_ref(), &base, layer, &stage).await?;
        let mut layer = Layer::new()?;
        let known = async {
            let known = in_a_cage(&engine, &bare, async |cage| ask(cage, index).await).await?;
            add(&mut layer, manager, Some(&known), larder, progress).await?;
            Ok(known)
        };
        match known.await {
            Ok(known) => (put_on(engine.as_ref(), &bare, layer, &stage).await?, Some(known)),
            Err(error) => {
                engine.remove_image(&bare).await?;
                return Err(error);
            }
        }
    } else {
        add(&mut layer, manager, None, larder, progress).await?;
        (put_on(engine.as_ref(), &base, layer, &stage).await?, None)
    };

    let tried = async {
        let compiled = match recipe.bytecode {
            true => compile(&engine, &untried, progress).await?,
            false => Layer::new()?,
        };
        progress.step("trying it out in a cage");
        let said = in_a_cage(&engine, &untried, async |cage| try_out(cage, recipe, built_in).await).await?;
        Ok((said, compiled))
    };
    let ((version, registry), compiled) = match tried.await {
        Ok(tried) => tried,
        Err(error) => {
            engine.remove_image(&untried).await?;
            return Err(error);
        }
    };
    let mut labels = recipe.labels("runtime", way);
    labels.insert(label::VERSION.into(), version);
    labels.insert(label::INIT.into(), init_binary::digest().to_string());
    labels.insert(label::REGISTRY.into(), registry);
    let labels = stamp.on(labels);
    let image = put_on(engine.as_ref(), &untried, compiled, &labels).await?;
    Ok(Runtime::read(image, &labels))
}

/// Fetches an artifact and puts its files where the recipe says.
async fn add(
    layer: &mut Layer,
    part: &Part,
    built_in: Option<&str>,
    larder: &dyn Larder,
    progress: &dyn Progress,
) -> Result<(), InstallError> {
    progress.step(&format!("fetching {}", part.from.title()));
    let bytes = larder.fetch(&part.from, built_in).await.map_err(InstallError::Fetch)?;
    let place = |inside: &std::path::Path| part.place(inside.to_str()?);
    match part.from {
        Artifact::Npm(_) => layer.package(&bytes, place)?,
        Artifact::Pypi(_) => layer.wheel(&bytes, place)?,
    }
    Ok(())
}

async fn put_on(
    engine: &dyn Engine,
    base: &ImageId,
    layer: Layer,
    labels: &Labels,
) -> Result<ImageId, InstallError> {
    let tar = layer.finish()?;
    Ok(engine.layer(base, tar.to_path_buf(), labels.clone()).await?)
}

/// Does something in a cage of an image, without a way out of it.
async fn in_a_cage<T>(
    engine: &Arc<dyn Engine>,
    image: &ImageId,
    doing: impl AsyncFnOnce(&Cage) -> Result<T, InstallError>,
) -> Result<T, InstallError> {
    let gate = Arc::new(Egress::none(Resolver::system()));
    let cage = Cage::open(Arc::clone(engine), image.clone(), Profile::resolve(), Labels::new(), gate).await?;
    let done = doing(&cage).await;
    leave(cage, done).await
}

async fn ask(cage: &Cage, asked: &Asked) -> Result<String, InstallError> {
    let said = Tool::new(asked.argv.iter().cloned()).run(cage).await?;
    let said = said.trim();
    Ok(said.strip_prefix(&asked.before).unwrap_or(said).to_owned())
}

/// The interpreter's own library, compiled by itself.
async fn compile(
    engine: &Arc<dyn Engine>,
    image: &ImageId,
    progress: &dyn Progress,
) -> Result<Layer, InstallError> {
    progress.step("compiling the interpreter's library");
    let archive = in_a_cage(engine, image, async |cage| {
        cage.put(COMPILER, 0o644, COMPILER_SOURCE.as_bytes()).await?;
        Tool::new(["python3", "-I", "-S", COMPILER, COMPILED]).run(cage).await?;
        Ok(cage.get(COMPILED, COMPILED_LIMIT).await?)
    });
    let mut layer = Layer::new()?;
    layer.unpacked(&archive.await?)?;
    Ok(layer)
}

/// Runs what the recipe wants run, and gives the interpreter's version and the package index, if not known already.
async fn try_out(
    cage: &Cage,
    recipe: &Recipe,
    built_in: Option<String>,
) -> Result<(String, String), InstallError> {
    let version = ask(cage, &recipe.tried.version).await?;
    if !recipe.has(&version) {
        let (runtime, series) = (recipe.runtime(), recipe.series());
        return Err(no_base(format!("the image's {runtime} is {version}, not {series}")));
    }
    for argv in &recipe.tried.runs {
        Tool::new(argv.iter().cloned()).run(cage).await?;
    }
    let registry = match built_in {
        Some(known) => known,
        None => ask(cage, &recipe.tried.index).await?,
    };
    Ok((version, registry))
}

fn no_base(why: String) -> InstallError {
    InstallError::NoBase { why: Shown::new(&why) }
}

/// A base image out of Debian's packages, by the system's own debootstrap.
async fn debian(
    engine: &dyn Engine,
    stamp: &Stamp,
    recipe: &Recipe,
    progress: &dyn Progress,
) -> Result<ImageId, InstallError> {
    let labels = recipe.labels("base", &recipe.debian.recipe);
    // left by an earlier attempt that failed further on
    if let Some(base) = stamp.genuine(engine.images(&labels).await?).into_iter().next() {
        return Ok(base.id);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(no_base("laying out Debian's packages needs root".into()));
    }
    let folder = tempfile::Builder::new().prefix("pinfold-base-").tempdir()?;
    let rootfs = folder.path().join("rootfs");
    let suite = &recipe.debian.suite;
    progress.step(&format!("laying out Debian {suite} with debootstrap (about a minute)"));
    let mut debootstrap = held("debootstrap").await;
    debootstrap
        .args(["--variant=minbase", &format!("--include={}", recipe.debian.include.join(","))])
        .arg(suite)
        .arg(&rootfs);
    run_here(debootstrap, "debootstrap").await?;

    progress.step("importing the base image");
    let archive = folder.path().join("rootfs.tar");
    let mut tar = tokio::process::Command::new("tar");
    tar.arg("--create").arg("--file").arg(&archive).arg("--numeric-owner").arg("--directory").arg(&rootfs);
    tar.args(recipe.debian.leave_out.iter().map(|pattern| format!("--exclude={pattern}"))).arg(".");
    run_here(tar, "tar").await?;
    Ok(engine.import(archive, stamp.on(labels)).await?)
}

/// A program of this host's that starts others and mounts things, so that nothing of it outlives it, nor it this launcher:
/// cut short, debootstrap leaves /proc mounted where it worked.
///
/// In name spaces of its own, where this host lets us, as it does not in a container without CAP_SYS_ADMIN. Source:
/// unshare(1) and setpriv(1).
async fn held(name: &str) -> tokio::process::Command {
    let around = ["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"];
    let mut tried = tokio::process::Command::new("setpriv");
    tried.args(around).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !tried.status().await.is_ok_and(|status| status.success()) {
        return tokio::process::Command::new(name);
    }
    let mut held = tokio::process::Command::new("setpriv");
    held.args(around).arg(name);
    held
}

/// Runs a program of this host's to its end.
async fn run_here(mut command: tokio::process::Command, name: &'static str) -> Result<(), InstallError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child =
        command.spawn().map_err(|error| no_base(format!("{name} is not there to run: {error}")))?;
    let (mut out, mut err) = (String::new(), String::new());
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    // both are read while it runs: a full pipe would stop it
    let read_out = async {
        if let Some(stream) = &mut stdout {
            let _ = stream.read_to_string(&mut out).await;
        }
    };
    let read_err = async {
        if let Some(stream) = &mut stderr {
            let _ = stream.read_to_string(&mut err).await;
        }
    };
    tokio::join!(read_out, read_err);
    let status = child.wait().await?;
    if status.success() {
        return Ok(());
    }
    let last =
        err.lines().chain(out.lines()).rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(no_base(format!("{name} ended with {status}: {last}")))
}
