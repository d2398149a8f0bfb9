//! What exactly was shown under this digest?
//!
//! A plan that was shown is kept for a day, with its lock and, for a package on this disk, its archive. So a yes
//! by digest mounts what was read, even if the registry or the directory moved on. Nothing in a kept file is
//! believed: the plan must have the digest that its name says, and everything else must follow from the plan.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::plan::{Facts, Lock, Origin, Plan, PlanFile};
use crate::state::{Home, StateError, list_private, read_private, remove_private, write_private};

/// How long a shown plan is kept.
const KEEP_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Bytes of a kept plan: a lock at its largest, escaped into JSON, and the rest.
const LIMIT: u64 = 40 * 1024 * 1024;

/// Bytes of a kept archive.
const ARCHIVE_LIMIT: u64 = 256 * 1024 * 1024;

const DIRECTORY: &str = "plans";

/// The plans shown within a day: `plans/HEX.json`, and `plans/HEX.tgz` for those from this disk.
#[derive(Debug)]
pub struct ShownPlans {
    dir: PathBuf,
}

/// A plan as it was shown.
#[derive(Debug)]
pub struct Kept {
    /// The plan.
    pub plan: Plan,
    /// Its lock.
    pub lock: Lock,
    /// What was told about it.
    pub facts: Facts,
    /// The archive, for a package on this disk. It has the hash that the plan says.
    pub archive: Option<Vec<u8>>,
}

#[derive(Serialize)]
struct Written<'a> {
    shown: Timestamp,
    plan: &'a Plan,
    lock: &'a str,
    facts: &'a Facts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    shown: Timestamp,
    plan: PlanFile,
    lock: String,
    facts: Facts,
}

/// Only the part that says how old it is.
#[derive(Deserialize)]
struct Age {
    shown: Timestamp,
}

impl ShownPlans {
    /// Those of this state directory.
    ///
    /// # Errors
    /// [`StateError`] if the directory cannot be made or used.
    pub fn of(home: &Home) -> Result<Self, StateError> {
        Ok(Self { dir: home.state_subdir(DIRECTORY)? })
    }

    fn file(&self, digest: &Digest, ext: &str) -> PathBuf {
        self.dir.join(format!("{}.{ext}", digest.hex()))
    }

    /// Keeps a plan that is shown now. `archive` is that of a package on this disk.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub fn keep(
        &self,
        plan: &Plan,
        lock: &Lock,
        facts: &Facts,
        archive: Option<&[u8]>,
        now: Timestamp,
    ) -> Result<(), StateError> {
        let path = self.file(&plan.digest(), "json");
        let lock = String::from_utf8_lossy(lock.bytes());
        let bytes = serde_json::to_vec(&Written { shown: now, plan, lock: &lock, facts })
            .map_err(|e| StateError::io("write", &path, e.into()))?;
        // The archive first: a plan that is found has everything it needs.
        if let Some(archive) = archive {
            write_private(&self.file(&plan.digest(), "tgz"), archive)?;
        }
        write_private(&path, &bytes)
    }

    /// The plan that was shown under this digest; `None` if none was, or longer than a day ago.
    ///
    /// # Errors
    /// [`StateError::Corrupt`] if the file holds anything but that plan and what belongs to it.
    pub fn find(&self, digest: &Digest, now: Timestamp) -> Result<Option<Kept>, StateError> {
        let path = self.file(digest, "json");
        let corrupt = |why: String| StateError::corrupt(&path, why);
        let Some(bytes) = read_private(&path, LIMIT)? else { return Ok(None) };
        let read: Read = serde_json::from_slice(&bytes).map_err(|e| corrupt(e.to_string()))?;
        if is_old(read.shown, now) {
            return Ok(None);
        }
        let plan = read.plan.check(digest).map_err(|e| corrupt(e.to_string()))?;
        let lock = Lock::read(read.lock.as_bytes(), plan.release()).map_err(|e| corrupt(e.to_string()))?;
        if lock.digest() != plan.lock_digest() {
            return Err(corrupt("its lock is another plan's".to_owned()));
        }
        let archive = match plan.release().origin() {
            Origin::Registry => None,
            Origin::Path(_) => {
                let path = self.file(digest, "tgz");
                let Some(archive) = read_private(&path, ARCHIVE_LIMIT)? else {
                    return Err(corrupt("its archive is gone".to_owned()));
                };
                if !plan.release().package().is(&archive) {
                    return Err(StateError::corrupt(&path, "it is not the archive the plan names"));
                }
                Some(archive)
            }
        };
        Ok(Some(Kept { plan, lock, facts: read.facts, archive }))
    }

    /// Removes what was shown longer than a day ago, and what is of no use; how many files.
    ///
    /// # Errors
    /// [`StateError`] if the directory cannot be read or a file not removed.
    pub fn sweep(&self, now: Timestamp) -> Result<usize, StateError> {
        let mut removed = 0;
        for name in list_private(&self.dir)?.unwrap_or_default() {
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let Some(digest) = stem.and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok()) else {
                continue;
            };
            let path = self.file(&digest, "json");
            // What cannot be read cannot be found either.
            let age =
                read_private(&path, LIMIT)?.and_then(|bytes| serde_json::from_slice::<Age>(&bytes).ok());
            if age.is_none_or(|age| is_old(age.shown, now)) {
                // The plan first, so that one without its archive is never found.
                for file in [path, self.file(&digest, "tgz")] {
                    removed += usize::from(remove_private(&file)?);
                }
            }
        }
        Ok(removed)
    }
}

/// A clock that was set back must not keep a plan for ever.
fn is_old(shown: Timestamp, now: Timestamp) -> bool {
    now.duration_since(shown).abs() > KEEP_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Draft;
    use crate::plan::tests::{ARCHIVE, draft, lock, lock_of, plan, released};

    fn shown() -> (tempfile::TempDir, ShownPlans) {
        let dir = tempfile::tempdir().unwrap();
        let plans = ShownPlans::of(&Home::at(dir.path()).unwrap()).unwrap();
        (dir, plans)
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn later(hours: i64) -> Timestamp {
        NOW + SignedDuration::from_hours(hours)
    }

    #[test]
    fn a_shown_plan_is_found_for_a_day_and_then_swept() {
        let (_dir, plans) = shown();
        let facts = Facts { publisher: Some(crate::text::Shown::new("acme")), ..Facts::default() };
        plans.keep(&plan(), &lock(), &facts, None, NOW).unwrap();
        let kept = plans.find(&plan().digest(), later(24)).unwrap().unwrap();
        assert_eq!((kept.plan, kept.lock, kept.facts), (plan(), lock(), facts));
        assert!(plans.find(&plan().digest(), later(25)).unwrap().is_none());
        assert_eq!(plans.sweep(later(24)).unwrap(), 0);
        assert_eq!(plans.sweep(later(25)).unwrap(), 1);
        assert!(plans.find(&plan().digest(), later(24)).unwrap().is_none());
    }

    #[test]
    fn what_was_never_shown_is_not_found() {
        let (_dir, plans) = shown();
        assert!(plans.find(&plan().digest(), NOW).unwrap().is_none());
    }

    #[test]
    fn refuses_a_plan_under_another_digest_or_with_another_lock() {
        let (_dir, plans) = shown();
        plans.keep(&plan(), &lock(), &Facts::default(), None, NOW).unwrap();
        let (path, other) = (plans.file(&plan().digest(), "json"), Digest::of(b"other"));
        std::fs::copy(&path, plans.file(&other, "json")).unwrap();
        assert!(matches!(plans.find(&other, NOW), Err(StateError::Corrupt { .. })));
        let text = std::fs::read_to_string(&path).unwrap().replace("7.9.0", "7.9.1");
        write_private(&path, text.as_bytes()).unwrap();
        assert!(matches!(plans.find(&plan().digest(), NOW), Err(StateError::Corrupt { .. })));
    }

    #[test]
    fn a_package_on_this_disk_is_kept_with_its_archive_and_refused_with_another() {
        let (_dir, plans) = shown();
        let origin = Origin::Path("/srv/x".into());
        let release = released("@acme/spotify-mcp", ARCHIVE, origin);
        let lock = lock_of(&release);
        let plan = Plan::draw(Draft { release, ..draft(&lock) }).unwrap();
        plans.keep(&plan, &lock, &Facts::default(), Some(ARCHIVE), NOW).unwrap();
        let kept = plans.find(&plan.digest(), NOW).unwrap().unwrap();
        assert_eq!(kept.archive.as_deref(), Some(ARCHIVE));
        write_private(&plans.file(&plan.digest(), "tgz"), b"other").unwrap();
        assert!(matches!(plans.find(&plan.digest(), NOW), Err(StateError::Corrupt { .. })));
        remove_private(&plans.file(&plan.digest(), "tgz")).unwrap();
        assert!(matches!(plans.find(&plan.digest(), NOW), Err(StateError::Corrupt { .. })));
    }
}
