//! What has Pinfold done on this machine?
//!
//! One JSON object a line: launches, consents and how each ended, refusals, installs. Names, digests and codes;
//! never a value that a server, a model or a person supplied as data.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::Serialize;

use super::home::SHORT_WAIT;
use super::{FileLock, Home, LaunchId, StateError, lock};
use crate::digest::Digest;
use crate::failure::Code;
use crate::plan::LocalName;

/// Bytes after which the log is put aside and a new one begun.
const ROTATE_AT: u64 = 5 * 1024 * 1024;

/// How many logs are put aside before the oldest goes.
const KEEP: u32 = 3;

/// What happened. Its fields are types that cannot hold anybody's data.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuditEvent<'a> {
    /// A cage of this plan was started.
    Launch {
        /// The server.
        name: &'a LocalName,
        /// The plan it was started by.
        plan: Digest,
        /// The launch, as its cages are labelled.
        #[serde(serialize_with = "as_text")]
        launch: &'a LaunchId,
        /// The command that asked: "run".
        command: &'static str,
    },
    /// A person was asked, or could not be.
    Consent {
        /// The server.
        name: &'a LocalName,
        /// The plan the question was about.
        plan: Digest,
        /// How it ended, as `consent::Ending` names it: "typed-yes".
        ending: &'static str,
    },
    /// Something was refused.
    Refusal {
        /// The server, where it has a name by then.
        name: Option<&'a LocalName>,
        /// Why, as `docs/errors.md` lists it.
        #[serde(serialize_with = "code_name")]
        code: Code,
    },
    /// A tree was installed into a sealed image.
    Install {
        /// The server.
        name: &'a LocalName,
        /// The plan it was installed for.
        plan: Digest,
        /// The tree, as the image is labelled.
        tree: Digest,
    },
}

fn as_text<S: serde::Serializer>(id: &LaunchId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(id.as_str())
}

fn code_name<S: serde::Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.name())
}

#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    pinfold: &'static str,
    #[serde(flatten)]
    event: &'a AuditEvent<'a>,
}

/// The log of this user: `audit.jsonl`, 0600, beside `audit.jsonl.1` (newest) to `.3`.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    lock: PathBuf,
    rotate_at: u64,
}

impl Audit {
    /// The log in this state directory. Nothing is written yet.
    pub fn of(home: &Home) -> Self {
        let dir = home.state_dir();
        Self { path: dir.join("audit.jsonl"), lock: dir.join("audit.lock"), rotate_at: ROTATE_AT }
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event, with the time.
    ///
    /// # Errors
    /// [`StateError`] if it could not be written; whoever needs the record then refuses to go on.
    pub fn record(&self, event: &AuditEvent<'_>) -> Result<(), StateError> {
        let line = Line { at: Timestamp::now(), pinfold: env!("CARGO_PKG_VERSION"), event };
        let mut bytes =
            serde_json::to_vec(&line).map_err(|e| StateError::io("write", &self.path, e.into()))?;
        bytes.push(b'\n');

        let _held = FileLock::acquire(&self.lock, SHORT_WAIT)?;
        let failed = |e| StateError::io("write", &self.path, e);
        let mut file = lock::open(&self.path, OFlags::CREATE | OFlags::APPEND)?;
        let length = file.metadata().map_err(failed)?.len();
        if length > 0 && length + bytes.len() as u64 > self.rotate_at {
            self.rotate()?;
            file = lock::open(&self.path, OFlags::CREATE | OFlags::APPEND)?;
        }
        // One write, so a reader never sees half a line.
        file.write_all(&bytes).map_err(failed)
    }

    fn rotate(&self) -> Result<(), StateError> {
        let aside = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        for n in (1..KEEP).rev() {
            match fs::rename(aside(n), aside(n + 1)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StateError::io("rotate", &aside(n), e));
                }
                _ => {}
            }
        }
        fs::rename(&self.path, aside(1)).map_err(|e| StateError::io("rotate", &self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn log(rotate_at: u64) -> (tempfile::TempDir, Audit) {
        let dir = tempfile::tempdir().unwrap();
        let audit = Audit { rotate_at, ..Audit::of(&Home::at(dir.path()).unwrap()) };
        (dir, audit)
    }

    fn consent(name: &LocalName) -> AuditEvent<'_> {
        AuditEvent::Consent { name, plan: Digest::of(b""), ending: "refused" }
    }

    #[test]
    fn an_event_is_one_private_line_of_json() {
        let (_dir, audit) = log(ROTATE_AT);
        let name = "everything".parse().unwrap();
        audit.record(&consent(&name)).unwrap();
        audit.record(&AuditEvent::Refusal { name: None, code: Code::HashMissing }).unwrap();
        let text = fs::read_to_string(audit.path()).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines[0]["event"], "consent");
        assert_eq!(lines[0]["name"], "everything");
        assert_eq!(lines[0]["ending"], "refused");
        assert_eq!(lines[1]["code"], "hash-missing");
        assert_eq!(fs::metadata(audit.path()).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_log_is_put_aside_when_long_and_the_oldest_goes() {
        let (dir, audit) = log(1);
        let name = "everything".parse().unwrap();
        for _ in 0..6 {
            audit.record(&consent(&name)).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(dir.path().join("state"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("audit.jsonl"))
            .collect();
        names.sort();
        assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3"]);
    }

    #[test]
    fn many_writers_at_once_lose_no_line() {
        let (_dir, audit) = log(ROTATE_AT);
        let name: LocalName = "everything".parse().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| audit.record(&consent(&name)).unwrap()));
            }
        });
        assert_eq!(fs::read_to_string(audit.path()).unwrap().lines().count(), 40);
    }

    #[test]
    fn refuses_a_log_that_is_a_link() {
        let (dir, audit) = log(ROTATE_AT);
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), audit.path()).unwrap();
        let name = "everything".parse().unwrap();
        assert!(audit.record(&consent(&name)).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
