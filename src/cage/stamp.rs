//! Is an image that says it is ours ours?
//!
//! Labels say what is in an image, and anybody can write labels: an image pulled for another purpose could carry
//! ours, with the tree digest of a well-known server. So what Pinfold makes also bears a stamp, the seal of this
//! state directory's key over the labels that matter, and an image without one does not exist for it.
//!
//! Invariants: nothing is started from, or put on top of, an image whose stamp was not verified; two state
//! directories do not use, and do not remove, each other's images.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::engine::{ImageRecord, Labels, label};
use crate::digest::canonical;
use crate::state::SealKey;

/// What a stamp's seal is for; see [`SealKey::seal`].
const PURPOSE: &str = "image";

/// The labels a stamp is over. Others come along from the image below, or from the cage.
const STAMPED: [&str; 8] = [
    label::MARK,
    label::RUNTIME,
    label::VERSION,
    label::RECIPE,
    label::REGISTRY,
    label::TREE,
    label::INIT,
    label::USER,
];

/// Puts stamps on images and recognises them.
#[derive(Clone)]
pub struct Stamp(Arc<SealKey>);

impl Stamp {
    /// The stamp of a state directory, by its key.
    pub fn new(key: SealKey) -> Self {
        Self(Arc::new(key))
    }

    /// These labels and their stamp.
    pub(crate) fn on(&self, mut labels: Labels) -> Labels {
        let seal = self.0.seal(PURPOSE, &stamped(&labels));
        labels.insert(label::STAMP.into(), seal.to_string());
        labels
    }

    /// Those of `images` that bear this stamp.
    pub(crate) fn genuine(&self, images: Vec<ImageRecord>) -> Vec<ImageRecord> {
        images.into_iter().filter(|image| self.is_on(&image.labels)).collect()
    }

    /// Whether these labels bear this stamp.
    pub(crate) fn is_on(&self, labels: &Labels) -> bool {
        let seal = labels.get(label::STAMP).and_then(|seal| seal.parse().ok());
        seal.is_some_and(|seal| self.0.verify(PURPOSE, &stamped(labels), &seal))
    }
}

/// The bytes that are sealed. A sealed image inherits the labels of its runtime image, which are none of its own.
fn stamped(labels: &Labels) -> Vec<u8> {
    let own: BTreeMap<&str, &str> = STAMPED
        .iter()
        .filter_map(|name| Some((*name, labels.get(*name)?.as_str())))
        .filter(|(name, value)| !value.is_empty() && belongs(labels, name))
        .collect();
    // a map of texts always has a canonical form
    canonical(&own).unwrap_or_default()
}

fn belongs(labels: &Labels, name: &str) -> bool {
    let sealed = labels.get(label::MARK).is_some_and(|mark| mark == "sealed");
    let of_runtimes = [label::RUNTIME, label::VERSION, label::RECIPE, label::REGISTRY].contains(&name);
    !(sealed && of_runtimes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Home;

    fn stamp(dir: &tempfile::TempDir) -> Stamp {
        Stamp::new(Home::at(dir.path()).unwrap().seal_key().unwrap())
    }

    fn labels() -> Labels {
        Labels::from([
            (label::MARK.into(), "sealed".into()),
            (label::TREE.into(), "sha256:aa".into()),
            (label::INIT.into(), "sha256:bb".into()),
        ])
    }

    #[test]
    fn accepts_its_own_stamp_whatever_the_image_below_left() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = stamp(&dir);
        let mut stamped = stamp.on(labels());
        stamped.insert(label::RUNTIME.into(), "node".into());
        stamped.insert(label::LAUNCH.into(), String::new());
        assert!(stamp.is_on(&stamped));
    }

    #[test]
    fn refuses_a_stamp_on_other_labels_of_another_key_or_none() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let stamped = stamp(&dir).on(labels());
        for (name, value) in
            [(label::TREE, "sha256:ab"), (label::INIT, ""), (label::MARK, "runtime"), (label::USER, "0:0")]
        {
            let mut changed = stamped.clone();
            changed.insert(name.into(), value.into());
            assert!(!stamp(&dir).is_on(&changed), "{name}");
        }
        assert!(!stamp(&other).is_on(&stamped));
        assert!(!stamp(&dir).is_on(&labels()));
    }
}
