//! What runs at a run: which image, and how is it known to be the pinned one?
//!
//! A sealed image carries the tree digest it was installed from as a label, under the stamp of this state
//! directory, and is remembered by the engine's content address. It is looked for by label, so a lost note costs a
//! search, never a wrong image.
//!
//! Invariants: an [`Image`] has the tree digest of the pin it was asked with, this build's init, and our stamp.

use std::collections::BTreeSet;

use super::engine::{Engine, ImageId, Labels, label};
use super::stamp::Stamp;
use super::{CageError, init_binary, layer};
use crate::digest::Digest;
use crate::pin::Pin;

/// A sealed image of one pin.
#[derive(Debug, Clone)]
pub struct Image {
    id: ImageId,
    tree: Digest,
}

impl Image {
    /// What an install cage of this pin was sealed as. For the install room.
    pub(crate) fn sealed(id: ImageId, pin: &Pin) -> Self {
        Self { id, tree: pin.plan().tree_digest() }
    }

    /// The labels of a sealed image of this pin.
    pub(crate) fn labels(pin: &Pin, stamp: &Stamp) -> Labels {
        stamp.on(Labels::from([
            (label::MARK.into(), "sealed".into()),
            (label::TREE.into(), pin.plan().tree_digest().to_string()),
            (label::INIT.into(), init_binary::digest().to_string()),
        ]))
    }

    /// The engine's content address.
    pub fn id(&self) -> &ImageId {
        &self.id
    }

    /// The tree digest it was sealed from.
    pub fn tree(&self) -> Digest {
        self.tree
    }

    /// The sealed image of this pin, if this host has it. One with another build's init is sealed again from the
    /// local image, without a network.
    ///
    /// `known` is where it was the last time: asked for first, and believed only if its labels say so too.
    pub async fn find(
        engine: &dyn Engine,
        pin: &Pin,
        stamp: &Stamp,
        known: Option<&ImageId>,
    ) -> Result<Option<Self>, CageError> {
        let tree = pin.plan().tree_digest();
        let wanted = Self::labels(pin, stamp);
        if let Some(known) = known
            && let Some(image) = engine.image(known).await?
            && wanted.iter().all(|(name, value)| image.labels.get(name) == Some(value))
        {
            return Ok(Some(Self { id: image.id, tree }));
        }
        let images = stamp.genuine(engine.images(&of_tree(tree)).await?);
        let found = layer::with_our_init(engine, images, |_| wanted).await?;
        Ok(found.map(|(id, _)| Self { id, tree }))
    }

    /// Removes the sealed images of this state directory that nothing needs: of trees that `keep` does not have, made
    /// by launches that are over. What an ended or replaced mount left. Gives how many there were.
    pub async fn prune(
        engine: &dyn Engine,
        stamp: &Stamp,
        state: &str,
        keep: &BTreeSet<Digest>,
        alive: impl Fn(&str) -> bool,
    ) -> Result<usize, CageError> {
        let sealed =
            Labels::from([(label::MARK.into(), "sealed".into()), (label::STATE.into(), state.to_owned())]);
        let mut pruned = 0;
        for image in stamp.genuine(engine.images(&sealed).await?) {
            let tree = image.labels.get(label::TREE).and_then(|tree| tree.parse().ok());
            let kept = tree.is_some_and(|tree| keep.contains(&tree));
            let busy = image.labels.get(label::LAUNCH).is_some_and(|launch| alive(launch));
            // one that a cage still runs on is refused by the engine, and goes the next time
            if !kept && !busy && engine.remove_image(&image.id).await.is_ok() {
                pruned += 1;
            }
        }
        Ok(pruned)
    }

    /// Removes every sealed image of this tree. For `unmount`, when no other pin has the same tree.
    pub async fn forget(engine: &dyn Engine, stamp: &Stamp, tree: Digest) -> Result<usize, CageError> {
        let images = stamp.genuine(engine.images(&of_tree(tree)).await?);
        for image in &images {
            engine.remove_image(&image.id).await?;
        }
        Ok(images.len())
    }
}

/// The labels that every sealed image of a tree has, whoever says so.
fn of_tree(tree: Digest) -> Labels {
    Labels::from([(label::MARK.into(), "sealed".into()), (label::TREE.into(), tree.to_string())])
}
