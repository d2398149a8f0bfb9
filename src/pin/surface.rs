//! What did a server show when it was looked at?
//!
//! The digest of each item, by its key, so that a change of one is seen and named. Absence is no change: what a
//! server shows depends on its client. Items that differed between two looks are volatile: they are screened each
//! time and not compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Items a surface may have; a store with more was not written by us.
const MOST_ITEMS: usize = 5_000;

/// Bytes of an item's key.
const LONGEST_KEY: usize = 1024;

/// A surface, as digests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    instructions: Option<Digest>,
    items: BTreeMap<String, Digest>,
    volatile: BTreeSet<String>,
}

impl Surface {
    /// A surface of nothing; what was seen is added to it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the server's instructions.
    #[must_use]
    pub fn with_instructions(self, digest: Digest) -> Self {
        Self { instructions: Some(digest), ..self }
    }

    /// Adds an item, such as `tool/echo`. One that is there already with another digest becomes volatile.
    pub fn add(&mut self, key: &str, digest: Digest) {
        if self.volatile.contains(key) {
            return;
        }
        if *self.items.entry(key.to_owned()).or_insert(digest) != digest {
            self.items.remove(key);
            self.volatile.insert(key.to_owned());
        }
    }

    /// The digest of the instructions, if there were any.
    pub fn instructions(&self) -> Option<Digest> {
        self.instructions
    }

    /// The items that are held to their digest.
    pub fn items(&self) -> &BTreeMap<String, Digest> {
        &self.items
    }

    /// The keys of items that differ from one look to the next.
    pub fn volatile(&self) -> &BTreeSet<String> {
        &self.volatile
    }

    /// Whether it is one that we could have written.
    pub(super) fn is_sound(&self) -> bool {
        self.items.len() + self.volatile.len() <= MOST_ITEMS
            && self.items.keys().chain(&self.volatile).all(|key| key.len() <= LONGEST_KEY)
            && self.items.keys().all(|key| !self.volatile.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_differs_between_two_looks_is_volatile_from_then_on() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let mut surface = Surface::new();
        for (key, digest) in
            [("tool/same", a), ("tool/same", a), ("tool/clock", a), ("tool/clock", b), ("tool/clock", a)]
        {
            surface.add(key, digest);
        }
        assert_eq!(surface.items().keys().collect::<Vec<_>>(), ["tool/same"]);
        assert_eq!(surface.volatile().iter().collect::<Vec<_>>(), ["tool/clock"]);
        assert!(surface.is_sound());
    }

    #[test]
    fn refuses_a_stored_item_that_is_both_held_and_volatile() {
        let text =
            format!(r#"{{"instructions":null,"items":{{"x":"{}"}},"volatile":["x"]}}"#, Digest::of(b""));
        assert!(!serde_json::from_str::<Surface>(&text).unwrap().is_sound());
    }
}
