//! What runs at a run: which image, and how is it known to be the pinned one?
//!
//! A sealed image carries the tree digest it was installed from as a label, under the stamp of this state
//! directory, and is remembered by the engine's content address. It is looked for by label, so a lost note costs a
//! search, never a wrong image.
//!
//! Invariants: an [`Image`] has the tree digest of the pin it was asked with, is for the user it says, this build's
//! init, and our stamp; one that another state directory made is neither used nor removed, also where both have the same
//! key.

mod accounts;

use std::collections::BTreeSet;

use super::engine::{Engine, ImageId, ImageRecord, Labels, label};
use super::layer::{Layer, Owner};
use super::profile::HOME;
use super::stamp::Stamp;
use super::{CageError, init_binary, layer};
use crate::digest::Digest;
use crate::pin::Pin;
use crate::plan::User;

/// Longest passwd or group file of an image, in bytes.
const ACCOUNTS_LIMIT: u64 = 1024 * 1024;

/// How a state directory knows its own sealed images: by its stamp, and by its id, which the engine writes on what a
/// cage of it becomes. A key may have been copied with a home, and the id too; the place tells the two apart, so that
/// neither takes away what the other has mounted.
pub struct Ours {
    stamp: Stamp,
    state: String,
    place: String,
}

impl Ours {
    /// Those of the state directory with this stamp and this id, which lies at this place.
    pub fn new(stamp: Stamp, state: &str, place: String) -> Self {
        Self { stamp, state: state.to_owned(), place }
    }

    /// All of them, or those of one tree.
    async fn sealed(&self, engine: &dyn Engine, tree: Option<Digest>) -> Result<Vec<ImageRecord>, CageError> {
        let mut wanted =
            Labels::from([(label::MARK.into(), "sealed".into()), (label::STATE.into(), self.state.clone())]);
        wanted.extend(tree.map(|tree| (label::TREE.into(), tree.to_string())));
        Ok(self.stamp.genuine(engine.images(&wanted).await?))
    }
}

/// What came of removing the images that nothing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// How many are gone.
    pub removed: usize,
    /// How many the engine keeps for now: a cage still runs on them. They go the next time.
    pub held: usize,
}

/// A sealed image of one pin.
#[derive(Debug, Clone)]
pub struct Image {
    id: ImageId,
    tree: Digest,
    user: User,
}

impl Image {
    /// What an install cage of this pin was sealed as: for nobody in particular, whoever the pin's server runs as. For
    /// the install room.
    pub(crate) fn sealed(id: ImageId, pin: &Pin) -> Self {
        Self { id, tree: pin.plan().tree_digest(), user: User::NOBODY }
    }

    /// The labels of what an install cage of this pin is sealed as.
    pub(crate) fn labels(pin: &Pin, stamp: &Stamp) -> Labels {
        labels(pin.plan().tree_digest(), User::NOBODY, stamp)
    }

    /// The engine's content address.
    pub fn id(&self) -> &ImageId {
        &self.id
    }

    /// The tree digest it was sealed from.
    pub fn tree(&self) -> Digest {
        self.tree
    }

    /// Whom it is for: who has an entry in its passwd(5), and a home.
    pub fn user(&self) -> User {
        self.user
    }

    /// The sealed image of this pin, if this host has it. One with another build's init is sealed again from the
    /// local image, and one for this pin's user is made of what was sealed, both without a network.
    ///
    /// `known` is where it was the last time: asked for first, and believed only if its labels say so too.
    pub async fn find(
        engine: &dyn Engine,
        pin: &Pin,
        ours: &Ours,
        known: Option<&ImageId>,
    ) -> Result<Option<Self>, CageError> {
        let stamp = &ours.stamp;
        let (tree, user) = (pin.plan().tree_digest(), pin.plan().user());
        let wanted = labels(tree, user, stamp);
        if let Some(known) = known
            && let Some(image) = engine.image(known).await?
            && image.labels.get(label::STATE) == Some(&ours.state)
            && wanted.iter().all(|(name, value)| image.labels.get(name) == Some(value))
        {
            return Ok(Some(Self { id: image.id, tree, user }));
        }
        let images = ours.sealed(engine, Some(tree)).await?;
        let made_for = |image: &ImageRecord| image.labels.get(label::USER).cloned();
        if user != User::NOBODY
            && let Some(image) = images
                .iter()
                .find(|image| wanted.iter().all(|(name, value)| image.labels.get(name) == Some(value)))
        {
            return Ok(Some(Self { id: image.id.clone(), tree, user }));
        }
        let sealed = images.into_iter().filter(|image| made_for(image).is_none()).collect();
        let found = layer::with_our_init(engine, sealed, |_| labels(tree, User::NOBODY, stamp)).await?;
        match found {
            Some((id, _)) => {
                let sealed = Self { id, tree, user: User::NOBODY };
                Ok(Some(sealed.for_user_of(engine, pin, stamp).await?))
            }
            None => Ok(None),
        }
    }

    /// This image for the user that the pin's server runs as: a thin layer with an entry in passwd(5) and group(5), and
    /// the home. Programs ask for both, and some end where they find none.
    pub async fn for_user_of(self, engine: &dyn Engine, pin: &Pin, stamp: &Stamp) -> Result<Self, CageError> {
        let user = pin.plan().user();
        if self.user == user {
            return Ok(self);
        }
        let mut layer = Layer::new()?;
        for (file, entry) in [("etc/passwd", accounts::Entry::User), ("etc/group", accounts::Entry::Group)] {
            let before = engine.read(&self.id, &format!("/{file}"), ACCOUNTS_LIMIT).await?;
            layer.file(file, 0o644, &entry.put(&before, user))?;
        }
        layer.folder(HOME.trim_start_matches('/'), 0o700, Owner::User(user))?;
        let tar = layer.finish()?;
        let id = engine.layer(&self.id, tar.to_path_buf(), labels(self.tree, user, stamp)).await?;
        Ok(Self { id, user, ..self })
    }

    /// Removes the sealed images of this state directory that nothing needs: of trees that `keep` does not have, made
    /// by launches that are over. What an ended or replaced mount left.
    pub async fn prune(
        engine: &dyn Engine,
        ours: &Ours,
        keep: &BTreeSet<Digest>,
        alive: impl Fn(&str) -> bool,
    ) -> Result<Pruned, CageError> {
        let mut pruned = Pruned::default();
        for image in upper_first(ours.sealed(engine, None).await?) {
            let tree = image.labels.get(label::TREE).and_then(|tree| tree.parse().ok());
            let kept = tree.is_some_and(|tree| keep.contains(&tree));
            let busy = image.labels.get(label::LAUNCH).is_some_and(|launch| alive(launch));
            let elsewhere = image.labels.get(label::PLACE).is_some_and(|place| *place != ours.place);
            if kept || busy || elsewhere {
                continue;
            }
            match engine.remove_image(&image.id).await {
                Ok(()) => pruned.removed += 1,
                Err(_) => pruned.held += 1,
            }
        }
        Ok(pruned)
    }

    /// Removes every sealed image of this tree. For `unmount`, when no other pin has the same tree.
    pub async fn forget(engine: &dyn Engine, ours: &Ours, tree: Digest) -> Result<usize, CageError> {
        let mut left = ours.sealed(engine, Some(tree)).await?;
        let count = left.len();
        // an image that others were made of stays until they are gone
        while !left.is_empty() {
            let (before, mut held, mut first) = (left.len(), Vec::new(), None);
            for image in left {
                if let Err(error) = engine.remove_image(&image.id).await {
                    first.get_or_insert(error);
                    held.push(image);
                }
            }
            left = held;
            if let Some(error) = first
                && left.len() == before
            {
                return Err(error.into());
            }
        }
        Ok(count)
    }
}

/// Images of users before those they were made of: the engine keeps an image while another lies on it.
fn upper_first(mut images: Vec<ImageRecord>) -> Vec<ImageRecord> {
    images.sort_by_key(|image| !image.labels.contains_key(label::USER));
    images
}

/// The labels of the sealed image of a tree for a user, stamp included.
fn labels(tree: Digest, user: User, stamp: &Stamp) -> Labels {
    let mut labels = Labels::from([
        (label::MARK.into(), "sealed".into()),
        (label::TREE.into(), tree.to_string()),
        (label::INIT.into(), init_binary::digest().to_string()),
    ]);
    if user != User::NOBODY {
        labels.insert(label::USER.into(), user.to_string());
    }
    stamp.on(labels)
}
