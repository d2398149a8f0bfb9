//! Which packages, to the byte, does a plan install?
//!
//! A [`Lock`] is the whole tree in its ecosystem's own form, every package held by a hash, none with an address. It
//! is written anew from what was checked, so nothing that was not looked at reaches an installer, and the same tree
//! always has the same bytes and digest.

mod npm;
mod pypi;

pub use npm::{NpmTree, OWN_TARBALL};
pub use pypi::{Build, Placed, PypiTree};

use super::refused::PlanRefused;
use super::release::Released;
use crate::digest::Digest;
use crate::source::Package;
use crate::text::Shown;

/// Packages a tree may have.
pub const MOST_ENTRIES: usize = 5_000;

/// Bytes a lock may have, as read.
pub const LIMIT: usize = 16 * 1024 * 1024;

/// One package of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    name: String,
    version: String,
    has_hash: bool,
    install_scripts: bool,
}

impl LockEntry {
    /// The package's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it has a hash of its own; it has none only where it travels inside another one's archive.
    pub fn has_hash(&self) -> bool {
        self.has_hash
    }

    /// Whether it would run a script when installed, by its own word. None is run.
    pub fn wants_install_scripts(&self) -> bool {
        self.install_scripts
    }
}

/// A whole tree, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    bytes: Vec<u8>,
    digest: Digest,
    entries: Vec<LockEntry>,
    tree: Tree,
}

/// What an ecosystem's own installer needs to know of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    /// npm's.
    Npm(NpmTree),
    /// Python's.
    Pypi(PypiTree),
}

impl Lock {
    /// Checks a lock of the release, in the form of its ecosystem.
    ///
    /// # Errors
    /// [`PlanRefused::HashMissing`], [`PlanRefused::Source`], [`PlanRefused::OtherBytes`], or
    /// [`PlanRefused::Lock`] for anything that is not understood or past a bound.
    pub fn read(bytes: &[u8], release: &Released) -> Result<Self, PlanRefused> {
        if bytes.len() > LIMIT {
            return Err(refuse(format_args!("it is longer than {LIMIT} bytes")));
        }
        let (bytes, entries, tree) = match release.package() {
            Package::Npm(package) => {
                let (bytes, entries, tree) = npm::read(bytes, package, release.is_local())?;
                (bytes, entries, Tree::Npm(tree))
            }
            Package::Pypi(package) => {
                let (bytes, entries, tree) = pypi::read(bytes, package)?;
                (bytes, entries, Tree::Pypi(tree))
            }
        };
        Ok(Self { digest: Digest::of(&bytes), bytes, entries, tree })
    }

    /// The lock as it is stored and installed from. Its SHA-256 is [`Lock::digest`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest of [`Lock::bytes`].
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The packages, sorted.
    pub fn entries(&self) -> &[LockEntry] {
        &self.entries
    }

    /// What its ecosystem's installer needs besides.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The packages that are built from source.
    pub fn builds(&self) -> &[Build] {
        match &self.tree {
            Tree::Npm(_) => &[],
            Tree::Pypi(tree) => tree.builds(),
        }
    }

    /// The packages that would run a script when installed, as `name@version`.
    pub fn script_wanters(&self) -> Vec<Shown> {
        let wanters = self.entries.iter().filter(|e| e.install_scripts);
        wanters.map(|e| Shown::new(&format!("{}@{}", e.name, e.version))).collect()
    }
}

fn refuse(why: impl std::fmt::Display) -> PlanRefused {
    PlanRefused::Lock(Shown::new(&why.to_string()))
}
