//! Why is a folder not given?

use std::path::Path;

use rustix::io::Errno;

use super::forbidden::{self, Forbidden};
use super::is_missing;
use crate::failure::{Code, Failure};
use crate::plan::{Access, MountRefused, User};
use crate::text::Shown;

/// A folder that is not given to a server, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FolderRefused {
    /// A path that no plan can hold.
    #[error(transparent)]
    Path(MountRefused),
    /// A path that is not UTF-8.
    #[error("the folder {path} cannot be part of a plan")]
    NotText {
        /// The path, as far as it can be read.
        path: Shown,
    },
    /// Nothing is there.
    #[error("there is no folder {path}")]
    Missing {
        /// The path.
        path: Shown,
        /// How it was typed, where that was with a `~`.
        typed: Option<Shown>,
        /// What the server was to do there.
        access: Access,
    },
    /// It cannot be reached.
    #[error("the folder {path} cannot be reached")]
    Unreachable {
        /// The path.
        path: Shown,
        /// The system's reason.
        why: Shown,
    },
    /// A file, a pipe, a socket, a device.
    #[error("{path} is no folder")]
    NotAFolder {
        /// The path.
        path: Shown,
        /// The folder that it is in, if that may be given.
        folder: Option<Shown>,
    },
    /// The path has become a link, or leads through one.
    #[error("{path} leads elsewhere")]
    Leads {
        /// The path.
        path: Shown,
        /// Where it leads.
        to: Shown,
    },
    /// One of the places that no server is given.
    #[error("{path} is not given to a server")]
    Forbidden {
        /// The path.
        path: Shown,
        /// Which place, and why.
        forbidden: Forbidden,
    },
    /// The user may not do there what the server is to do.
    #[error("you may not {} {path} yourself", if *.access == Access::Write { "write to" } else { "read" })]
    NotYours {
        /// The path.
        path: Shown,
        /// What the server was to do there.
        access: Access,
        /// The system's reason.
        error: Errno,
    },
    /// It cannot be looked through for what must stay read-only.
    #[error("{path} cannot be given to a server to write to")]
    TooMuch {
        /// The path.
        path: Shown,
        /// Why.
        why: Shown,
        /// What in it is the reason.
        cause: Shown,
    },
    /// It belongs to root, and the server was to write there.
    #[error("{path} belongs to root, and no server writes to it as somebody else")]
    Roots {
        /// The path.
        path: Shown,
    },
    /// Folders of two owners.
    #[error("{one} and {other} belong to two users")]
    TwoOwners {
        /// The first folder.
        one: Shown,
        /// One of another owner.
        other: Shown,
        /// Whom they belong to.
        owners: (User, User),
    },
    /// Root was allowed, and no folder is root's.
    #[error("no folder that was named belongs to root")]
    RootForNothing,
    /// A file that stays read-only has come by a second name.
    #[error("{file} can be written to by another name, which it did not have")]
    SecondName {
        /// The folder.
        path: Shown,
        /// The file.
        file: Shown,
    },
    /// Its owner is no longer the one that the plan says.
    #[error("the folders belong to another user than when they were agreed to")]
    OtherOwner {
        /// Whom the plan says.
        was: User,
        /// Who it would be now.
        is: User,
    },
}

impl FolderRefused {
    pub(super) fn everything() -> Self {
        let why = "it is everything there is on this machine";
        Self::Forbidden { path: Shown::new("/"), forbidden: Forbidden { place: "/".into(), how: "is", why } }
    }

    /// What a failed look at a path means.
    pub(super) fn of(error: &std::io::Error, path: &Path) -> Self {
        let path = Shown::new(&path.to_string_lossy());
        if is_missing(error.raw_os_error()) {
            return Self::Missing { path, typed: None, access: Access::Read };
        }
        Self::Unreachable { path, why: Shown::new(&error.to_string()) }
    }

    fn why(&self) -> String {
        match self {
            Self::Path(_) => "a folder is shown on the card, and its path has to mean one place".to_owned(),
            Self::NotText { .. } => "its name is not UTF-8, so it could not be shown".to_owned(),
            Self::Missing { path, typed: Some(typed), .. } => format!(
                "no shell expanded `{typed}`, which means {path} here; and nothing is created on this machine for a server"
            ),
            Self::Missing { .. } => "nothing is created on this machine for a server".to_owned(),
            Self::Unreachable { why, .. } | Self::TooMuch { why, .. } => why.to_string(),
            Self::NotAFolder { .. } => {
                "programs replace a file by a new one, and a file that is mounted alone would stay the old one".to_owned()
            }
            Self::Leads { to, .. } => format!("it leads to {to}, which nobody agreed to"),
            Self::Forbidden { forbidden: Forbidden { place, how, why }, path } => {
                let place = Shown::new(&place.to_string_lossy());
                if *how == "is" && place == *path { (*why).to_owned() } else { format!("it {how} {place}: {why}") }
            }
            Self::NotYours { error, .. } => std::io::Error::from(*error).to_string(),
            Self::Roots { .. } => "a server runs as the owner of what it is given, and never as root unless asked to".to_owned(),
            Self::TwoOwners { owners: (one, other), .. } => {
                format!("a server runs as one user, and they belong to {one} and {other}")
            }
            Self::RootForNothing => "a server runs as root only for a folder of root's".to_owned(),
            Self::SecondName { .. } => {
                "it stays read-only, and a second name of it (a hard link) does not; a server can have made one while a program of this machine replaced the file".to_owned()
            }
            Self::OtherOwner { was, is } => format!("the server was to run as {was}, and would run as {is} now"),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Path(_) | Self::NotText { .. } => "give the folder a plain name, or another one".to_owned(),
            Self::Missing { path, .. } if path.to_string().contains(":/") => {
                "a folder has the same path inside the cage: write it once, `--mount PATH` or `--mount PATH:rw`".to_owned()
            }
            Self::Missing { path, typed, access } => {
                let then = match (typed, access) {
                    (None, _) => String::new(),
                    (Some(_), Access::Read) => format!("; then type `--mount '{path}'`"),
                    (Some(_), Access::Write) => format!("; then type `--mount '{path}:rw'`"),
                };
                format!("see that the path is right, or make it: `mkdir -p '{path}'`{then}")
            }
            Self::Unreachable { .. } => "see that you may enter every folder on the way to it".to_owned(),
            Self::NotAFolder { folder: Some(folder), .. } => format!("mount the folder that it is in, {folder}"),
            Self::NotAFolder { .. } => {
                "the folder that it is in is not given to a server: move it to a folder of its own, and mount that".to_owned()
            }
            Self::Leads { to, .. } => format!("if {to} is meant, mount that"),
            Self::Forbidden { forbidden, .. } if forbidden.why == forbidden::ENGINE_SOCKET => {
                "leave it out: no option gives it; a server that is to manage containers cannot be caged".to_owned()
            }
            Self::Forbidden { forbidden, .. } => match forbidden.how {
                "holds" => "mount only the folder in it that the server works in".to_owned(),
                _ => "copy what the server needs to a folder of its own, and mount that".to_owned(),
            },
            Self::NotYours { access: Access::Write, .. } => "mount it to be read (`:ro`), or see to its owner and mode".to_owned(),
            Self::NotYours { .. } => "see to its owner and mode".to_owned(),
            Self::TooMuch { path, cause, .. } if path == cause => {
                "mount the project in it that the server works in".to_owned()
            }
            // nothing is removed on a server's behalf: only a person can tell
            Self::TooMuch { cause, .. } => format!(
                "look at '{cause}', and remove it if a server made it; or mount only the project that the server works in"
            ),
            Self::Roots { path } => format!(
                "give it to a user (`chown -R USER '{path}'`), mount it to be read (`:ro`), or say `--allow-root`"
            ),
            Self::TwoOwners { .. } => "give them one owner (`chown -R`), or mount a server for each".to_owned(),
            Self::RootForNothing => "leave `--allow-root` out".to_owned(),
            Self::SecondName { path, file } => format!(
                "find the other name (`find '{path}' -samefile '{file}'`) and remove it if you did not make it, or mount the server again to agree to it; and see that the file says what you want"
            ),
            Self::OtherOwner { was, .. } => {
                format!("give the folders back (`chown -R {was}`), or mount the server again to agree to it")
            }
        }
    }

    /// As a failure of a start: what was agreed to is no longer so.
    pub fn at_a_start(self) -> Failure {
        let hint = match &self {
            Self::Missing { path, .. } => format!("put {path} back, or mount the server again without it"),
            Self::Leads { .. } => "put the folder back where it was, or mount the server again".to_owned(),
            other => other.hint(),
        };
        Failure::new(Code::MountChanged, &self, self.why(), hint)
    }
}

impl From<FolderRefused> for Failure {
    fn from(refused: FolderRefused) -> Self {
        Failure::new(Code::MountRefused, &refused, refused.why(), refused.hint())
    }
}
