//! How does a locked tree become an image that runs?
//!
//! In cages of its own, with the ecosystem's own client: resolving reads metadata before consent, installing lays
//! the locked bytes down after it, and the result is sealed as an image that is never changed again. No package
//! manager runs when the server does.
//!
//! Invariants: install scripts never run; a tree is installed only from a [`Pin`](crate::pin::Pin), so only after a
//! consent to it.

pub mod npm;
pub mod runtime;
mod tool;

use tool::Tool;

use crate::cage::CageError;
use crate::cage::egress::RegistryWithoutName;
use crate::cage::engine::EngineError;
use crate::failure::{Code, Failure};
use crate::text::Shown;

/// Where slow work says how far it is.
pub trait Progress: Send + Sync {
    /// The next step begins; a clause without a full stop.
    fn step(&self, what: &str);
}

/// Why something could not be resolved, installed or sealed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The cage's part.
    #[error(transparent)]
    Cage(#[from] CageError),
    /// The engine's part.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The registry cannot be named inside a cage.
    #[error(transparent)]
    Registry(#[from] RegistryWithoutName),
    /// A base for the runtime image cannot be had.
    #[error("the runtime image cannot be made")]
    NoBase {
        /// What was tried.
        why: Shown,
    },
    /// An artifact of a recipe cannot be had.
    #[error("{0}")]
    Fetch(Failure),
    /// The package manager could not make one archive of a folder.
    #[error("the folder cannot be packed")]
    NotPacked {
        /// The package manager's own words.
        said: Vec<Shown>,
    },
    /// The package manager could not put a dependency tree together.
    #[error("the dependencies of {package} cannot be resolved")]
    Unresolved {
        /// Whose.
        package: Shown,
        /// The package manager's own words.
        said: Vec<Shown>,
        /// Names it looked up and may not reach.
        denied: Vec<Shown>,
    },
    /// The package manager could not lay the locked tree down.
    #[error("{package} cannot be installed")]
    NotInstalled {
        /// Whose.
        package: Shown,
        /// The package manager's own words.
        said: Vec<Shown>,
        /// Names it looked up and may not reach.
        denied: Vec<Shown>,
    },
    /// Something was laid down that is not in the lock, or not as it is there.
    #[error("{package} was installed otherwise than it was locked")]
    OtherTree {
        /// Which entry.
        package: Shown,
    },
    /// A tool in the cage failed where it never should.
    #[error("{tool} failed in the cage")]
    Tool {
        /// Which.
        tool: Shown,
        /// Its last words.
        said: Vec<Shown>,
    },
    /// This machine's part: a temporary file and the like.
    #[error("a temporary file cannot be written")]
    Disk(#[from] std::io::Error),
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let what = error.to_string();
        let reach = |denied: &[Shown], manager: &str| {
            if denied.is_empty() {
                format!("{manager} gave up; its last words are below")
            } else {
                let names: Vec<String> = denied.iter().map(ToString::to_string).collect();
                format!("{manager} wanted {}, and only the package registry may be reached", names.join(", "))
            }
        };
        match error {
            InstallError::Cage(error) => error.into(),
            InstallError::Engine(error) => error.into(),
            InstallError::Registry(error) => error.into(),
            InstallError::Fetch(failure) => failure,
            InstallError::NoBase { why } => Failure::new(
                Code::RuntimeMissing,
                what,
                why,
                "give the engine access to an image registry, or run `pinfold images build` with the runtime's name as root on Debian with `debootstrap` installed",
            ),
            InstallError::NotPacked { said } => Failure::new(
                Code::CannotResolve,
                what,
                if said.is_empty() { "npm made no archive of it" } else { "npm gave up; its last words are below" },
                "see that `npm pack` in the folder makes one archive, or mount the archive itself",
            )
            .with_last_words(said),
            InstallError::Unresolved { said, denied, .. } => Failure::new(
                Code::CannotResolve,
                what,
                reach(&denied, "npm"),
                "see that the package installs with `npm install` elsewhere; a dependency from git or a URL is not carried",
            )
            .with_last_words(said),
            InstallError::NotInstalled { said, denied, .. } => Failure::new(
                Code::InstallFailed,
                what,
                reach(&denied, "npm"),
                "try again; if the bytes of a package changed under its version, `pinfold show` makes a new plan to look at",
            )
            .with_last_words(said),
            InstallError::OtherTree { .. } => Failure::new(
                Code::HashMismatch,
                what,
                "it is not in the lock, and not in the archive of a package that is: a package brings a lock of its own, or lacks what it says it bundles",
                "do not use this server; tell its author that its archive and what the registry says of it differ",
            ),
            InstallError::Tool { said, .. } => Failure::new(
                Code::InstallFailed,
                what,
                "its last words are below",
                "remove the runtime image from the engine (its name begins with `pinfold/runtime`), then run `pinfold images build` with its name",
            )
            .with_last_words(said),
            InstallError::Disk(error) => Failure::new(
                Code::Other,
                what,
                error,
                "see that the system's temporary directory (TMPDIR) has room",
            ),
        }
    }
}
