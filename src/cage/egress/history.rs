//! What did a server reach and try over all its sessions?
//!
//! One file a server in the state directory, so that `pinfold egress` can tell when no session runs any more. Sessions
//! add to it at their end and once a minute, never while a connection waits; two at once add up. It is told, not acted
//! upon: losing it is harmless, and nothing in it opens a host.
//!
//! Invariants: at most [`KEPT`] entries of each kind, those seen last; a history belongs to one source, so a server
//! that is mounted under the name of another starts without one.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Egress;
use super::record::{Remedy, Tally};
use crate::plan::{LocalName, Plan};
use crate::state::{FileLock, Home, StateError, read_private, remove_private, write_private};
use crate::text::Shown;

const DIRECTORY: &str = "egress";

/// Entries of each kind that are kept.
pub const KEPT: usize = 200;

/// Bytes of such a file: three kinds of entries, each a name of 253 characters and a reason.
const LIMIT: u64 = 4 * 1024 * 1024;

/// The form of the file.
const FORMAT: u32 = 1;

/// How long another session may be at it. Writing takes milliseconds.
const WAIT: Duration = Duration::from_secs(5);

/// How often a session that goes on adds what it has.
const EVERY: Duration = Duration::from_secs(60);

/// What one server did, over all its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    format: u32,
    source: String,
    /// Every host that was connected to.
    pub reached: Vec<Used>,
    /// Every name that was tried and denied.
    pub denied: Vec<Tried>,
    /// Every allowed host that could not be connected to.
    pub failed: Vec<Tried>,
}

/// A host that was connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Used {
    /// Its name.
    name: String,
    /// The TCP port.
    pub port: u16,
    /// How often.
    pub times: u64,
    /// When last, as far as a session's last writing knew.
    pub last: Timestamp,
}

/// A name that was tried in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    name: String,
    /// The TCP port; none where already the name was not resolved.
    pub port: Option<u16>,
    why: String,
    /// What would allow it, if anything would.
    pub remedy: Option<Remedy>,
    /// How often.
    pub times: u64,
    /// When last.
    pub last: Timestamp,
}

impl Used {
    /// Its name, safe to draw: the file may have been edited.
    pub fn name(&self) -> Shown {
        Shown::new(&self.name)
    }
}

impl Tried {
    /// The name, safe to draw.
    pub fn name(&self) -> Shown {
        Shown::new(&self.name)
    }

    /// Why it was in vain, the last time, in a clause.
    pub fn why(&self) -> Shown {
        Shown::new(&self.why)
    }
}

impl History {
    fn new(plan: &Plan) -> Self {
        let source = plan.source().to_owned();
        Self { format: FORMAT, source, reached: Vec::new(), denied: Vec::new(), failed: Vec::new() }
    }

    fn path(home: &Home, name: &LocalName) -> Result<PathBuf, StateError> {
        Ok(home.state_subdir(DIRECTORY)?.join(format!("{name}.json")))
    }

    /// What is known of the plan's server; nothing, if the file is absent, damaged or another server's.
    ///
    /// # Errors
    /// [`StateError::Unsafe`] if somebody else could have written it.
    pub fn load(home: &Home, plan: &Plan) -> Result<Self, StateError> {
        let read = match read_private(&Self::path(home, plan.name())?, LIMIT) {
            Ok(bytes) => bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok()),
            Err(StateError::Corrupt { .. }) => None,
            Err(error) => return Err(error),
        };
        let own = read.filter(|history| history.format == FORMAT && history.source == plan.source());
        Ok(own.unwrap_or_else(|| Self::new(plan)))
    }

    /// Adds what a server did to what is kept of it.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be read or written.
    pub fn keep(home: &Home, plan: &Plan, news: &Tally, now: Timestamp) -> Result<(), StateError> {
        if news.reached().next().is_none() && news.denied().next().is_none() && news.failed().next().is_none()
        {
            return Ok(());
        }
        let _held = FileLock::acquire(&home.state_dir().join("egress.lock"), WAIT)?;
        let mut history = Self::load(home, plan)?;
        history.add(news, now);
        let path = Self::path(home, plan.name())?;
        let bytes = serde_json::to_vec(&history).map_err(|e| StateError::io("write", &path, e.into()))?;
        write_private(&path, &bytes)
    }

    /// Forgets it.
    ///
    /// # Errors
    /// [`StateError`] if the file cannot be removed.
    pub fn forget(home: &Home, name: &LocalName) -> Result<(), StateError> {
        remove_private(&Self::path(home, name)?).map(|_| ())
    }

    fn add(&mut self, news: &Tally, now: Timestamp) {
        for one in news.reached() {
            let name = one.name.to_string();
            match self.reached.iter_mut().find(|known| known.name == name && known.port == one.port) {
                Some(known) => {
                    (known.times, known.last) = (known.times.saturating_add(one.times), now);
                }
                None => self.reached.push(Used { name, port: one.port, times: one.times, last: now }),
            }
        }
        for one in news.denied() {
            let tried = Tried {
                name: one.name.to_string(),
                port: one.port,
                why: one.why.to_string(),
                remedy: one.remedy.clone(),
                times: one.times,
                last: now,
            };
            tried.among(&mut self.denied);
        }
        for one in news.failed() {
            let tried = Tried {
                name: one.name.to_string(),
                port: Some(one.port),
                why: one.why.to_string(),
                remedy: None,
                times: one.times,
                last: now,
            };
            tried.among(&mut self.failed);
        }
        self.reached.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.name.cmp(&b.name)));
        self.reached.truncate(KEPT);
        for tried in [&mut self.denied, &mut self.failed] {
            tried.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.name.cmp(&b.name)));
            tried.truncate(KEPT);
        }
    }
}

impl Tried {
    fn among(mut self, all: &mut Vec<Self>) {
        if let Some(known) = all.iter_mut().find(|known| known.name == self.name && known.port == self.port) {
            self.times = self.times.saturating_add(known.times);
            *known = self;
        } else {
            all.push(self);
        }
    }
}

/// Writes down what one cage does, now and then.
#[derive(Clone)]
pub struct Keeper(Arc<Kept>);

struct Kept {
    home: Home,
    plan: Plan,
    egress: Arc<Egress>,
    saved: Mutex<Tally>,
}

impl Keeper {
    /// Of the cage with this egress, which runs a server of this plan.
    pub fn new(home: &Home, plan: &Plan, egress: Arc<Egress>) -> Self {
        let (home, plan) = (home.clone(), plan.clone());
        Self(Arc::new(Kept { home, plan, egress, saved: Mutex::default() }))
    }

    /// Adds what happened since the last time.
    ///
    /// # Errors
    /// [`StateError`]; it is then tried again the next time.
    pub fn save(&self) -> Result<(), StateError> {
        let mut saved = self.0.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = self.0.egress.tally();
        History::keep(&self.0.home, &self.0.plan, &tally.since(&saved), Timestamp::now())?;
        *saved = tally;
        Ok(())
    }

    /// Does so once a minute. Does not end; the last time is the caller's, who can tell if it fails.
    pub async fn go_on(&self) -> Infallible {
        loop {
            tokio::time::sleep(EVERY).await;
            let keeper = self.clone();
            // on a thread of its own: a slow disk is nothing a session should wait for
            let _ = tokio::task::spawn_blocking(move || keeper.save()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::tests::other_plan;
    use crate::plan::Draft;
    use crate::plan::tests::{draft, lock, plan};

    fn tally(names: impl IntoIterator<Item = String>) -> Tally {
        let mut tally = Tally::default();
        for name in names {
            tally.deny(Shown::new(&name), Some(443), None, Shown::new("not listed"), 1);
        }
        tally
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn sessions_add_up_and_what_was_seen_last_is_first() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        History::keep(&home, &plan(), &tally(["a.example".into(), "b.example".into()]), at(1)).unwrap();
        // another plan of the same server
        History::keep(&home, &other_plan(), &tally(["b.example".into()]), at(2)).unwrap();
        let history = History::load(&home, &plan()).unwrap();
        let seen: Vec<_> = history.denied.iter().map(|one| (one.name.as_str(), one.times)).collect();
        assert_eq!(seen, [("b.example", 2), ("a.example", 1)]);
        History::forget(&home, plan().name()).unwrap();
        assert!(History::load(&home, &plan()).unwrap().denied.is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        History::keep(&home, &plan(), &tally((0..KEPT).map(|n| format!("old{n}.example"))), at(1)).unwrap();
        History::keep(&home, &plan(), &tally(["new.example".into()]), at(2)).unwrap();
        let history = History::load(&home, &plan()).unwrap();
        assert_eq!((history.denied.len(), history.denied[0].name.as_str()), (KEPT, "new.example"));
        let longest = "\u{1f600}".repeat(253);
        let many = tally((0..KEPT).map(|n| format!("{n}{longest}")));
        History::keep(&home, &plan(), &many, at(3)).unwrap();
        assert_eq!(History::load(&home, &plan()).unwrap().denied.len(), KEPT, "it can be read back");
    }

    #[test]
    fn another_source_under_the_same_name_starts_without_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        History::keep(&home, &plan(), &tally(["a.example".into()]), at(1)).unwrap();
        let mut stored: serde_json::Value =
            serde_json::from_slice(&std::fs::read(History::path(&home, plan().name()).unwrap()).unwrap())
                .unwrap();
        stored["source"] = "npm:another".into();
        let path = History::path(&home, plan().name()).unwrap();
        write_private(&path, stored.to_string().as_bytes()).unwrap();
        assert!(History::load(&home, &plan()).unwrap().denied.is_empty());
        write_private(&path, b"{\"format\":").unwrap();
        assert!(History::load(&home, &plan()).unwrap().denied.is_empty());
    }

    #[test]
    fn what_an_edited_file_says_is_safe_to_draw() {
        let tried = Tried {
            name: "a\u{1b}[2Jb".into(),
            port: None,
            why: "c\nd".into(),
            remedy: None,
            times: 1,
            last: at(0),
        };
        assert_eq!((tried.name().to_string(), tried.why().to_string()), ("a [2Jb".into(), "c d".into()));
    }

    #[test]
    fn nothing_new_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let lock = lock();
        let plan = Plan::draw(Draft { name: "quiet".parse().unwrap(), ..draft(&lock) }).unwrap();
        let keeper = Keeper::new(&home, &plan, Arc::new(Egress::none(crate::net::Resolver::system())));
        keeper.save().unwrap();
        assert!(!History::path(&home, plan.name()).unwrap().exists());
    }
}
