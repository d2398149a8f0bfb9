//! Where does the interpreter that servers run on come from?
//!
//! From a runtime image, made once per host by a [`Recipe`]: the official image where an image registry answers,
//! else Debian packages and the interpreter's own package, held to written-down bytes. Both get the same things put
//! on top: the package manager, the cage's user and its home, and init.
//!
//! Invariants: the image is tried out in a cage before it counts as there, so a broken one is never used; nothing in
//! it is a community server's. The client's own idea of its package index is asked there once and kept as a label.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use serde::Deserialize;
use tokio::io::AsyncReadExt;

use super::{InstallError, Progress, Tool};
use crate::cage::Cage;
use crate::cage::egress::Egress;
use crate::cage::engine::{Engine, ImageId, Labels, label};
use crate::cage::init_binary;
use crate::cage::layer::{self, Layer, Owner};
use crate::cage::profile::{HOME, Profile};
use crate::cage::stamp::Stamp;
use crate::net::Resolver;
use crate::plan::SERVER_DIR;
use crate::text::Shown;

/// How to make one runtime image. Written in `images/`, compiled in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    runtime: String,
    version: String,
    recipe: String,
    official: Official,
    debian: Debian,
    interpreter: Vec<Artifact>,
    manager: Artifact,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Official {
    image: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Debian {
    suite: String,
    include: Vec<String>,
    leave_out: Vec<String>,
}

/// A package of npm's registry, held to its bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The machine it is for; none: any.
    #[serde(default)]
    architecture: Option<String>,
    /// Its name.
    pub package: String,
    /// Its exact version.
    pub version: String,
    /// Subresource Integrity of its tarball (sha512).
    pub integrity: String,
}

/// Fetches an artifact of a recipe and checks its hash.
pub trait Larder: Send + Sync {
    /// The tarball's bytes, known to have the artifact's integrity.
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
    ) -> futures_util::future::BoxFuture<'a, Result<Vec<u8>, crate::failure::Failure>>;
}

impl Recipe {
    /// The Node runtime.
    pub fn node() -> Self {
        toml::from_str(include_str!("../../images/node/recipe.toml"))
            .expect("the compiled-in recipe is read by a test")
    }

    /// `node`.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// The interpreter's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn labels(&self) -> Labels {
        Labels::from([
            (label::MARK.into(), "runtime".into()),
            (label::RUNTIME.into(), self.runtime.clone()),
            (label::VERSION.into(), self.version.clone()),
            (label::RECIPE.into(), self.recipe.clone()),
        ])
    }
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
    let images = stamp.genuine(engine.images(&recipe.labels()).await?);
    let found = layer::with_our_init(engine, images, |labels| stamp.on(labels)).await?;
    Ok(found.map(|(id, labels)| Runtime::read(id, &labels)))
}

/// Makes the runtime image of a recipe.
///
/// # Errors
/// [`InstallError::NoBase`] where neither an image registry answers nor Debian's packages can be laid out here.
pub async fn build(
    engine: Arc<dyn Engine>,
    stamp: &Stamp,
    recipe: &Recipe,
    larder: &dyn Larder,
    progress: &dyn Progress,
) -> Result<Runtime, InstallError> {
    let architecture = engine.about().await?.architecture;
    let mut layer = Layer::new()?;
    progress.step(&format!("fetching {} {}", recipe.manager.package, recipe.manager.version));
    let manager = larder.fetch(&recipe.manager).await.map_err(InstallError::Fetch)?;
    layer.package(&manager, |inside| Some(format!("usr/local/lib/node_modules/npm/{}", inside.display())))?;
    layer.link("usr/local/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js")?;
    layer.link("usr/local/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js")?;

    progress.step(&format!("asking for the official image {}", recipe.official.image));
    let base = match engine.pull(&recipe.official.image).await {
        Ok(image) => image,
        Err(error) => {
            progress.step(&format!("no image registry answers ({error}); using Debian's packages instead"));
            let interpreter = recipe
                .interpreter
                .iter()
                .find(|artifact| artifact.architecture.as_deref() == Some(architecture.as_str()))
                .ok_or_else(|| InstallError::NoBase {
                    why: Shown::new(&format!("the recipe has no interpreter for {architecture}")),
                })?;
            progress.step(&format!("fetching {} {}", interpreter.package, interpreter.version));
            let tgz = larder.fetch(interpreter).await.map_err(InstallError::Fetch)?;
            layer.package(&tgz, |inside| {
                (inside == Path::new("bin/node")).then(|| "usr/local/bin/node".to_owned())
            })?;
            debian(engine.as_ref(), stamp, recipe, progress).await?
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
    layer.init()?;
    let tar = layer.finish()?;
    let mut labels = recipe.labels();
    // not yet a runtime image: it has not been tried
    labels.insert(label::MARK.into(), "stage".into());
    let untried = engine.layer(&base, tar.to_path_buf(), labels.clone()).await?;

    progress.step("trying it out in a cage");
    let tried = try_out(Arc::clone(&engine), recipe, &untried).await;
    let registry = match tried {
        Ok(registry) => registry,
        Err(error) => {
            engine.remove_image(&untried).await?;
            return Err(error);
        }
    };
    labels.insert(label::MARK.into(), "runtime".into());
    labels.insert(label::INIT.into(), init_binary::digest().to_string());
    labels.insert(label::REGISTRY.into(), registry);
    let labels = stamp.on(labels);
    let nothing = Layer::new()?.finish()?;
    let image = engine.layer(&untried, nothing.to_path_buf(), labels.clone()).await?;
    Ok(Runtime::read(image, &labels))
}

/// Runs the interpreter and the package manager in a cage, and asks the latter for its package index.
async fn try_out(engine: Arc<dyn Engine>, recipe: &Recipe, image: &ImageId) -> Result<String, InstallError> {
    let gate = Arc::new(Egress::none(Resolver::system()));
    let cage = Cage::open(engine, image.clone(), Profile::resolve(), Labels::new(), gate).await?;
    let tried = async {
        let node = Tool::new(["node", "--version"]).run(&cage).await?;
        if node.trim() != format!("v{}", recipe.version) {
            return Err(InstallError::NoBase {
                why: Shown::new(&format!("the image's node is {}, not {}", node.trim(), recipe.version)),
            });
        }
        Tool::new(["npm", "config", "get", "registry"]).run(&cage).await
    }
    .await;
    cage.end().await?;
    Ok(tried?.trim().to_owned())
}

/// A base image out of Debian's packages, by the system's own debootstrap.
async fn debian(
    engine: &dyn Engine,
    stamp: &Stamp,
    recipe: &Recipe,
    progress: &dyn Progress,
) -> Result<ImageId, InstallError> {
    let no_base = |why: String| InstallError::NoBase { why: Shown::new(&why) };
    let mut labels = recipe.labels();
    labels.insert(label::MARK.into(), "base".into());
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
    let mut debootstrap = tokio::process::Command::new("debootstrap");
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

/// Runs a program of this host's to its end.
async fn run_here(mut command: tokio::process::Command, name: &'static str) -> Result<(), InstallError> {
    let no_base = |why: String| InstallError::NoBase { why: Shown::new(&why) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_recipe_holds_every_artifact_to_its_bytes() {
        let recipe = Recipe::node();
        for artifact in recipe.interpreter.iter().chain([&recipe.manager]) {
            assert!(artifact.integrity.starts_with("sha512-"), "{}", artifact.package);
            assert!(semver::Version::parse(&artifact.version).is_ok(), "{}", artifact.package);
        }
        assert!(recipe.interpreter.iter().all(|artifact| artifact.version == recipe.version));
    }
}
