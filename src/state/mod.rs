//! Where does Pinfold keep what it must remember, and why may that be believed?
//!
//! In directories that only this user can write. Everything read back is checked first: a directory or file that
//! is a symbolic link, belongs to somebody else, or can be written by others is refused and never read, since
//! whoever wrote it could have answered a question that only a person may answer.
//!
//! Invariants: nothing here prints; nothing here runs a program; a project's directory is never looked into.

mod audit;
mod config;
mod home;
mod launch;
mod lock;
mod plain;
mod private;
mod seal;

pub use audit::{Audit, AuditEvent};
pub use config::{Config, ConsentBy};
pub use home::{Home, HomeId};
pub use launch::{Launch, LaunchId};
pub use lock::FileLock;
#[cfg(test)]
pub(crate) use plain::tests::pipe;
pub use plain::{open_plain, read_plain};
pub(crate) use private::TEMPORARY;
pub use private::{ensure_private_dir, list_private, read_private, remove_private, write_private};
pub use seal::{Seal, SealKey};

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::failure::{Code, Failure};
use crate::text::Shown;

/// Something of Pinfold's own on this disk cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Somebody else could have written it.
    #[error("{path} {why}")]
    Unsafe {
        /// The file or directory.
        path: Shown,
        /// A predicate: "is a symbolic link".
        why: &'static str,
        /// The command that puts it right.
        remedy: String,
    },
    /// Its content is not what Pinfold writes.
    #[error("{path} is damaged: {why}")]
    Corrupt {
        /// The file.
        path: Shown,
        /// What is wrong with it.
        why: String,
    },
    /// The configuration file says something Pinfold does not know.
    #[error("{path} cannot be used: {why}")]
    Config {
        /// The file.
        path: Shown,
        /// What is wrong with it, with its line.
        why: String,
    },
    /// Another Pinfold holds the lock for longer than is sensible.
    #[error("another pinfold has held {path} for {} s", waited.as_secs())]
    Busy {
        /// The lock file.
        path: Shown,
        /// How long this one waited.
        waited: Duration,
    },
    /// Neither the environment nor the password file says where this user's files live.
    #[error("no home directory is known for this user")]
    NoHome,
    /// `PINFOLD_HOME` is relative, so it would mean another place in every directory.
    #[error("PINFOLD_HOME is not an absolute path: {0}")]
    RelativeHome(Shown),
    /// The disk or the kernel said no.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// The file or directory.
        path: Shown,
        /// A verb: "read".
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl StateError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { path: shown(path), doing, source }
    }

    pub(crate) fn corrupt(path: &Path, why: impl Into<String>) -> Self {
        Self::Corrupt { path: shown(path), why: why.into() }
    }
}

/// A path as text that is safe to draw.
pub(crate) fn shown(path: &Path) -> Shown {
    Shown::new(&path.to_string_lossy())
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let what = error.to_string();
        match error {
            StateError::Unsafe { remedy, .. } => Failure::new(
                Code::StateUnsafe,
                what,
                "somebody else could have written what it holds, so it is not read",
                remedy,
            ),
            StateError::Corrupt { path, .. } => Failure::new(
                Code::StateCorrupt,
                what,
                "it was cut short, or changed by something other than pinfold",
                format!("look at {path}; if it is of no use, move it away and try again"),
            ),
            StateError::Config { path, .. } => Failure::new(
                Code::Usage,
                what,
                "a setting that is not understood is never ignored",
                format!("correct {path}"),
            ),
            StateError::Busy { path, .. } => Failure::new(
                Code::Other,
                what,
                "only one pinfold at a time may write there",
                format!("let the other one finish, or find it with `fuser {path}`"),
            ),
            StateError::NoHome => Failure::new(
                Code::Other,
                what,
                "pinfold needs a place for its pins",
                "set HOME, or PINFOLD_HOME to a directory of your own",
            ),
            StateError::RelativeHome(_) => Failure::new(
                Code::Usage,
                what,
                "a relative path would be another store in every directory",
                "set PINFOLD_HOME to an absolute path, or unset it",
            ),
            StateError::Io { path, doing, source } => {
                let what = format!("cannot {doing} {path}");
                match Code::of_disk(&source) {
                    Code::DiskFull => Failure::new(
                        Code::DiskFull,
                        what,
                        "no space is left on its disk",
                        "make room there, then try again: what is stored is not damaged",
                    ),
                    code => Failure::new(
                        code,
                        what,
                        source,
                        format!("check that {path} is on a disk with room, and that you may write there"),
                    ),
                }
            }
        }
    }
}
