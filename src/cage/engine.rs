//! What must a container engine be able to do for Pinfold?
//!
//! Little, and in words that no engine owns: keep images with labels, start a cage under a [`Profile`] and hand
//! over its standard input and output as one byte stream, freeze a finished cage into an image, and say what it
//! left behind. Docker is the first engine; a daemonless one and Kubernetes fit the same trait.
//!
//! Invariants: an engine that cannot enforce a row of the profile says so ([`EngineError::Weaker`]) and starts
//! nothing; no type of a particular engine leaves its own file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;

use super::gate::Duplex;
use super::lacking::{self, Lacking};
use super::profile::Profile;
use crate::failure::{Code, Failure};
use crate::plan::CageRuntime;
use crate::text::Shown;

/// The answer of an engine, later.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, EngineError>>;

/// An image, by the engine's own content address: it names one set of bytes for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageId(String);

impl ImageId {
    /// Takes an engine's identifier over. For engines, and for the local facts that remember one.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The identifier as the engine wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Labels, sorted so that two runs print the same.
pub type Labels = BTreeMap<String, String>;

/// The labels Pinfold puts on what it makes. A container or image without [`label::MARK`] is not ours and is
/// never touched.
pub mod label {
    /// On everything: what kind of thing it is (`runtime`, `stage`, `sealed`, `cage`, `home`).
    pub const MARK: &str = "pinfold";
    /// On cages: the state directory that started it, so that two users' reapers leave each other alone.
    pub const STATE: &str = "pinfold.state";
    /// On everything: where the state directory that made it lies, so that a copy of one, which has its id, leaves what
    /// the other made alone.
    pub const PLACE: &str = "pinfold.place";
    /// On cages: the launch that holds it; see the reaper.
    pub const LAUNCH: &str = "pinfold.launch";
    /// On sealed images and their cages: the tree digest of what is inside.
    pub const TREE: &str = "pinfold.tree";
    /// On images: the digest of the init inside.
    pub const INIT: &str = "pinfold.init";
    /// On runtime images and what is made of them: `node` and the like.
    pub const RUNTIME: &str = "pinfold.runtime";
    /// On runtime images: the interpreter's version.
    pub const VERSION: &str = "pinfold.version";
    /// On runtime images: the recipe that made it.
    pub const RECIPE: &str = "pinfold.recipe";
    /// On images: what shows that this state directory made them; see the stamp.
    pub const STAMP: &str = "pinfold.stamp";
    /// On sealed images made for a user of their own, and on kept homes: whom they are for, `uid:gid`.
    pub const USER: &str = "pinfold.user";
    /// On kept homes: the local name of their server.
    pub const NAME: &str = "pinfold.name";
    /// On kept homes: the digest of what their server is a version of.
    pub const SOURCE: &str = "pinfold.source";
    /// On runtime images: the package index its client has built in.
    pub const REGISTRY: &str = "pinfold.registry";
}

/// An image that an engine holds.
#[derive(Debug, Clone)]
pub struct ImageRecord {
    /// Its identifier.
    pub id: ImageId,
    /// Its labels.
    pub labels: Labels,
    /// Bytes on disk, shared layers included.
    pub size: u64,
}

/// A volume that an engine keeps.
#[derive(Debug, Clone)]
pub struct VolumeRecord {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// Whether it is one that the engine keeps by itself, and no other name for something else.
    pub plain: bool,
}

/// A cage that an engine knows, running or not.
#[derive(Debug, Clone)]
pub struct CageRecord {
    /// How to name it to the engine.
    pub handle: Handle,
    /// Its labels.
    pub labels: Labels,
}

/// A cage, to the engine that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle(String);

impl Handle {
    /// Takes an engine's identifier over.
    pub(super) fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The identifier as the engine wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an engine is asked to start.
#[derive(Debug, Clone)]
pub struct CageSpec {
    /// What is inside.
    pub image: ImageId,
    /// What holds it.
    pub profile: Profile,
    /// What it is marked with.
    pub labels: Labels,
}

/// A started cage: PID 1 is init, and `stream` is its standard input and output.
pub struct Started {
    /// The cage, to this engine.
    pub handle: Handle,
    /// Init's standard input and output.
    pub stream: Box<dyn Duplex>,
    /// What init wrote on its own standard error, for the message when the link never opens.
    pub complaints: Complaints,
}

/// Init's own last words, bounded; the server's standard error travels over the link instead.
#[derive(Debug, Clone, Default)]
pub struct Complaints(std::sync::Arc<std::sync::Mutex<String>>);

impl Complaints {
    /// Longest text kept, in bytes.
    const KEEP: usize = 4_096;

    /// Adds what was heard, up to the bound.
    pub(super) fn hear(&self, bytes: &[u8]) {
        let mut heard = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let room = Self::KEEP.saturating_sub(heard.len());
        heard.push_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(room)]));
    }

    /// What was heard so far, a line each.
    pub fn lines(&self) -> Vec<Shown> {
        let heard = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        heard.lines().map(Shown::new).collect()
    }
}

/// What an engine says of itself.
#[derive(Debug, Clone)]
pub struct About {
    /// `Docker Engine` and the like.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of the API spoken.
    pub api: String,
    /// Where it was found.
    pub address: String,
    /// `x86_64`, `aarch64`, ….
    pub architecture: String,
    /// The low-level runtimes it offers.
    pub runtimes: Vec<String>,
    /// The one it uses unasked.
    pub default_runtime: String,
    /// Control-group version, `1` or `2`.
    pub cgroups: String,
    /// Security options it reports (`seccomp`, `apparmor`, `rootless`, …).
    pub security: Vec<String>,
    /// Whether it runs without root.
    pub rootless: bool,
    /// Rows of the profile that it cannot enforce here, by its own word.
    pub lacking: Vec<Lacking>,
    /// What else is to be known of it, a sentence each.
    pub notes: Vec<Shown>,
}

/// What a container engine does for Pinfold.
pub trait Engine: Send + Sync {
    /// What it is.
    fn about(&self) -> Answer<'_, About>;

    /// Whether it has a runtime of this name.
    fn has_runtime<'a>(&'a self, runtime: &'a CageRuntime) -> Answer<'a, ()> {
        Box::pin(async move {
            let known = self.about().await?.runtimes;
            match known.iter().any(|known| known == runtime.as_str()) {
                true => Ok(()),
                false => Err(EngineError::NoRuntime { runtime: runtime.clone(), known }),
            }
        })
    }

    /// Our images whose labels hold all of `labels`.
    fn images<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<ImageRecord>>;

    /// One image by its identifier; none if it is gone.
    fn image<'a>(&'a self, id: &'a ImageId) -> Answer<'a, Option<ImageRecord>>;

    /// Fetches an image by reference from whatever registry the engine knows.
    fn pull<'a>(&'a self, reference: &'a str) -> Answer<'a, ImageId>;

    /// Makes an image of a root file system in tar form.
    fn import(&self, rootfs: PathBuf, labels: Labels) -> Answer<'_, ImageId>;

    /// Puts the entries of a tar archive on top of an image. Nothing inside is started.
    fn layer<'a>(&'a self, base: &'a ImageId, tar: PathBuf, labels: Labels) -> Answer<'a, ImageId>;

    /// One regular file out of an image, of at most `limit` bytes.
    fn read<'a>(&'a self, image: &'a ImageId, path: &'a str, limit: u64) -> Answer<'a, Vec<u8>>;

    /// Starts a cage under exactly its profile, or nothing.
    fn start(&self, spec: CageSpec) -> Answer<'_, Started>;

    /// Freezes a cage whose programs have ended into an image that carries these labels and no other
    /// configuration of the cage's.
    fn seal<'a>(&'a self, cage: &'a Handle, labels: Labels) -> Answer<'a, ImageId>;

    /// Ends a cage and removes it. Done already is done.
    fn remove<'a>(&'a self, cage: &'a Handle) -> Answer<'a, ()>;

    /// Waits until a cage that removes itself is gone.
    fn gone<'a>(&'a self, cage: &'a Handle) -> Answer<'a, ()>;

    /// Removes an image. Gone already is done.
    fn remove_image<'a>(&'a self, image: &'a ImageId) -> Answer<'a, ()>;

    /// The volume of this name; none if there is none.
    fn volume<'a>(&'a self, name: &'a str) -> Answer<'a, Option<VolumeRecord>>;

    /// Makes a volume that the engine keeps by itself, empty, with these labels and no others.
    fn make_volume<'a>(&'a self, name: &'a str, labels: Labels) -> Answer<'a, VolumeRecord>;

    /// The volumes with these labels.
    fn volumes<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<VolumeRecord>>;

    /// Removes a volume with what is in it. Gone already is done.
    fn remove_volume<'a>(&'a self, name: &'a str) -> Answer<'a, ()>;

    /// Whether nothing can be left of what was asked of it here, pinned images and runtime images aside: every cage
    /// that was made is seen gone, and nothing that makes or removes one, or an image, went unanswered.
    fn is_settled(&self) -> bool;

    /// Every cage with these labels, started or not.
    fn cages<'a>(&'a self, labels: &'a Labels) -> Answer<'a, Vec<CageRecord>>;
}

/// What helps where an engine's disk is full.
pub(crate) const MAKE_ROOM: &str = "make room where the engine keeps its images (`docker system df` shows what takes it, `docker image prune` and `pinfold unmount` free some), then try again";

/// Whether a program's words say that a disk has no room left.
///
/// Source: the texts of ENOSPC and EDQUOT in the C library, and their names as npm writes them.
pub(crate) fn no_room(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["no space left on device", "disk quota exceeded", "enospc", "edquot"]
        .iter()
        .any(|word| said.contains(word))
}

/// Why an engine did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// Nothing answers where an engine could be.
    #[error("no container engine answers")]
    Missing {
        /// Each place looked at, and what was there.
        looked: Vec<Shown>,
    },
    /// The engine is there and may not be used.
    #[error("the container engine at {address} does not let this user in")]
    Forbidden {
        /// Where it is.
        address: Shown,
    },
    /// The engine said no, or stopped answering.
    #[error("the container engine could not {doing}")]
    Refused {
        /// What was asked of it.
        doing: &'static str,
        /// What it said.
        said: Shown,
    },
    /// The engine does not answer any more: it stopped, or was stopped.
    #[error("the container engine stopped answering")]
    Gone {
        /// What was asked of it.
        doing: &'static str,
        /// What the connection said.
        said: Shown,
    },
    /// The engine has no room left on its own disk.
    #[error("the container engine could not {doing}: its disk is full")]
    Full {
        /// What was asked of it.
        doing: &'static str,
        /// What it said.
        said: Shown,
    },
    /// What the user set leads to an engine that cannot be spoken to from here.
    #[error("the container engine at {address} cannot be used")]
    Unusable {
        /// What was set.
        address: Shown,
        /// Why.
        why: Shown,
        /// What to do.
        hint: Shown,
    },
    /// The engine has no runtime of the name that the plan has.
    #[error("the container engine has no runtime {runtime}")]
    NoRuntime {
        /// The name.
        runtime: CageRuntime,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Rows of the profile are not enforced here.
    #[error("the container engine does not enforce what the cage promises")]
    Weaker {
        /// Every one that is not, as far as this was looked at.
        rows: Vec<Lacking>,
    },
}

impl EngineError {
    /// One row is not enforced.
    pub fn weaker(setting: &'static str, seen: impl std::fmt::Display) -> Self {
        Self::Weaker { rows: vec![Lacking::new(setting, seen)] }
    }

    /// Nothing, if every row is enforced.
    ///
    /// # Errors
    /// [`EngineError::Weaker`] otherwise.
    pub fn unless_none(rows: Vec<Lacking>) -> Result<(), Self> {
        if rows.is_empty() { Ok(()) } else { Err(Self::Weaker { rows }) }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let what = error.to_string();
        match error {
            EngineError::Missing { looked } => {
                let looked: Vec<String> = looked.iter().map(ToString::to_string).collect();
                Failure::new(
                    Code::EngineMissing,
                    what,
                    format!("looked at {}", looked.join("; ")),
                    "install and start Docker (on Debian: `apt-get install docker.io`), or set DOCKER_HOST; `pinfold doctor` shows what was found",
                )
            }
            EngineError::Forbidden { address } => Failure::new(
                Code::EngineMissing,
                what,
                format!("permission denied at {address}"),
                "add yourself to the engine's group (`sudo usermod -aG docker $USER`, then log in again), or use a rootless engine through DOCKER_HOST",
            ),
            EngineError::Refused { said, .. } => Failure::new(
                Code::EngineFailed,
                what,
                format!("it said: {said}"),
                "see that the engine is up with `pinfold doctor`, then try again",
            ),
            EngineError::Gone { doing, said } => Failure::new(
                Code::EngineFailed,
                what,
                format!("it was asked to {doing}: {said}"),
                "start it again (`pinfold doctor` says whether it answers), then repeat the command: what was begun is cleared away by it",
            ),
            EngineError::Full { said, .. } => {
                Failure::new(Code::EngineFull, what, format!("it said: {said}"), MAKE_ROOM)
            }
            EngineError::Unusable { why, hint, .. } => Failure::new(Code::EngineMissing, what, why, hint),
            EngineError::NoRuntime { known, .. } => Failure::new(
                Code::CageWeaker,
                what,
                format!("it has {}", Shown::new(&known.join(", "))),
                "install it and register it with the engine, or mount the server with another `--runtime`, or without",
            ),
            EngineError::Weaker { rows } => Failure::new(
                Code::CageWeaker,
                what,
                lacking::told(&rows),
                format!(
                    "{}; Pinfold starts nothing in a weaker cage, and `pinfold doctor` lists what this host enforces",
                    lacking::remedies(&rows).join("; ")
                ),
            ),
        }
    }
}
