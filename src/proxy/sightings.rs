//! What did a session's lists show, for a pin that does not say yet?
//!
//! A server that could not be tried at mount, for want of a credential, is first seen by a client. Its lists pass through
//! here as that client gets them: after the screen, page by page. Only a list that was read to its end counts, and of an
//! item only its digest is kept. Nobody waits for it, and nothing is asked for it.
//!
//! Invariants: bounded like the lists themselves; what the screen refused is not in it, and no credential of the server's
//! ([`Survey::without`](super::Survey::without)).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::lists::{ITEMS, List};
use super::survey::{digest_of, without};
use crate::digest::Digest;
use crate::screen::Kind;
use crate::secret::Mask;

/// Whose listing a page belongs to: the two may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// The client's.
    Client,
    /// One of ours, to check a call by.
    Us,
}

/// What a session has shown so far. Shared between the session, which adds to it, and whoever keeps it.
#[derive(Debug, Clone, Default)]
pub struct Sightings {
    seen: Arc<Mutex<Seen>>,
    mask: Arc<Mask>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The lists the server announced; none before its answer to the opener.
    announced: Option<BTreeSet<List>>,
    instructions: Option<Digest>,
    /// Listings that did not reach their end yet.
    open: BTreeMap<(List, By), Vec<(String, Digest)>>,
    /// What listings showed that did.
    whole: BTreeMap<List, BTreeSet<(String, Digest)>>,
}

/// What was seen: every list in it was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighted {
    /// The digest of the instructions, if the client was given any.
    pub instructions: Option<Digest>,
    /// Each item's kind, name and digest. One name twice means that it differed between two listings.
    pub items: Vec<(Kind, String, Digest)>,
    /// Whether every list that the server announced was seen.
    pub all: bool,
}

impl Sightings {
    /// Nothing seen so far; it will be noted without these credentials.
    pub fn without(mask: Arc<Mask>) -> Self {
        Self { seen: Arc::default(), mask }
    }

    /// What was seen, once any list was read to its end.
    pub fn seen(&self) -> Option<Sighted> {
        let seen = self.lock();
        let items: Vec<_> = seen
            .whole
            .iter()
            .flat_map(|(list, items)| items.iter().map(|(name, digest)| (list.kind(), name.clone(), *digest)))
            .collect();
        (!items.is_empty()).then(|| Sighted { instructions: seen.instructions, items, all: seen.is_all() })
    }

    /// The server's answer to the opener, as the client gets it.
    pub(super) fn opened(&self, result: &Map<String, Value>) {
        let announced = result.get("capabilities").and_then(Value::as_object);
        let has = |list: &List| {
            announced.is_some_and(|all| all.get(list.capability()).is_some_and(|v| !v.is_null()))
        };
        let mut seen = self.lock();
        seen.announced = Some(List::ALL.into_iter().filter(has).collect());
        seen.instructions =
            result.get("instructions").filter(|text| text.is_string()).map(|text| self.digest(text));
    }

    /// A page of a list, as it was left by the screen. True if with it every announced list was seen.
    pub(super) fn page(
        &self,
        list: List,
        by: By,
        first: bool,
        result: &Map<String, Value>,
        last: bool,
    ) -> bool {
        let mut seen = self.lock();
        let before = seen.is_all();
        if first {
            seen.open.insert((list, by), Vec::new());
        }
        let Some(listing) = seen.open.get_mut(&(list, by)) else { return false };
        let items =
            result.get(list.member()).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for item in items {
            let Some(name) = item.get(list.key()).and_then(Value::as_str) else { continue };
            let name = self.mask.hide(name).unwrap_or_else(|| name.to_owned());
            listing.push((name, self.digest(item)));
        }
        if listing.len() > ITEMS {
            // more than a pin could hold, so it will hold none
            seen.open.remove(&(list, by));
        } else if last {
            let listing = seen.open.remove(&(list, by)).unwrap_or_default();
            let whole = seen.whole.entry(list).or_default();
            whole.extend(listing);
            if whole.len() > ITEMS {
                seen.whole.remove(&list);
            }
        }
        !before && seen.is_all()
    }

    /// The server has no such list, though it announced what the list belongs to. True as for [`Sightings::page`].
    pub(super) fn absent(&self, list: List) -> bool {
        let mut seen = self.lock();
        let before = seen.is_all();
        seen.whole.entry(list).or_default();
        !before && seen.is_all()
    }

    /// A listing left a page out, or one of its pages could not be passed on.
    pub(super) fn broke(&self, list: List, by: By) {
        self.lock().open.remove(&(list, by));
    }

    fn digest(&self, said: &Value) -> Digest {
        digest_of(&without(said.clone(), &self.mask))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn is_all(&self) -> bool {
        self.announced.as_ref().is_some_and(|all| all.iter().all(|list| self.whole.contains_key(list)))
    }
}
