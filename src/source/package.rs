//! Which exact package is it, in words of its own ecosystem?
//!
//! A [`Package`] is one version of one package, held to its bytes by the hash its ecosystem has for that: npm's one
//! SHA-512 of one archive, or the SHA-256 of each file that an index of Python packages has for the version.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::name::{NpmName, NpmVersion};
use super::python::{Extras, PypiName, PypiVersion};
use super::release::Integrity;
use crate::digest::Digest;

/// The package manager a release belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    /// npm.
    Npm,
    /// The Python Package Index and its like.
    Pypi,
}

impl fmt::Display for Ecosystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        })
    }
}

/// One exact package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Package {
    /// Of npm's.
    Npm(NpmPackage),
    /// Of Python's.
    Pypi(PypiPackage),
}

/// One version of an npm package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmPackage {
    /// Its name.
    pub name: NpmName,
    /// Its version.
    pub version: NpmVersion,
    /// The hash of its archive.
    pub integrity: Integrity,
}

/// One version of a Python package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PypiPackage {
    /// Its name.
    pub name: PypiName,
    /// Its version.
    pub version: PypiVersion,
    /// The optional parts of it that were asked for; each has dependencies of its own.
    pub extras: Extras,
    /// The hashes of the files it may be installed from.
    pub hashes: Hashes,
}

impl Package {
    /// The package manager.
    pub fn ecosystem(&self) -> Ecosystem {
        match self {
            Self::Npm(_) => Ecosystem::Npm,
            Self::Pypi(_) => Ecosystem::Pypi,
        }
    }

    /// The name: `@scope/name`, or a Python package's in its normalised spelling.
    pub fn name(&self) -> &str {
        match self {
            Self::Npm(package) => package.name.as_str(),
            Self::Pypi(package) => package.name.as_str(),
        }
    }

    /// The exact version.
    pub fn version(&self) -> String {
        match self {
            Self::Npm(package) => package.version.to_string(),
            Self::Pypi(package) => package.version.to_string(),
        }
    }

    /// The hashes its bytes are held to.
    pub fn held_to(&self) -> HeldTo {
        match self {
            Self::Npm(package) => HeldTo::Archive(package.integrity),
            Self::Pypi(package) => HeldTo::Files(package.hashes.clone()),
        }
    }

    /// Whether these bytes are a file it may be installed from.
    pub fn is(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Npm(package) => package.integrity == Integrity::of(bytes),
            Self::Pypi(package) => package.hashes.contains(&Digest::of(bytes)),
        }
    }

    /// The name and version as its ecosystem joins them: `@scope/name@1.2.3`, `name[extra]==1.2.3`.
    pub fn exact(&self) -> String {
        match self {
            Self::Npm(package) => format!("{}@{}", package.name, package.version),
            Self::Pypi(package) => format!("{}{}=={}", package.name, package.extras, package.version),
        }
    }
}

/// The SHA-256 of each file a version may be installed from: never none, sorted, each once.
///
/// Source: PEP 503 and PEP 691, where an index names a file's hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeSet<Digest>")]
pub struct Hashes(BTreeSet<Digest>);

/// No file, so no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no file with a hash")]
pub struct NoHash;

impl Hashes {
    /// The hashes in order.
    pub fn iter(&self) -> impl Iterator<Item = &Digest> {
        self.0.iter()
    }

    /// The hash, where there is but one.
    pub fn only(&self) -> Option<Digest> {
        self.0.first().copied().filter(|_| self.0.len() == 1)
    }

    /// Whether one of them is this.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.0.contains(digest)
    }
}

impl TryFrom<BTreeSet<Digest>> for Hashes {
    type Error = NoHash;

    fn try_from(hashes: BTreeSet<Digest>) -> Result<Self, NoHash> {
        if hashes.is_empty() { Err(NoHash) } else { Ok(Self(hashes)) }
    }
}

/// The hashes of a package's bytes, as a plan writes them down: a text, or a list of texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeldTo {
    /// One archive's.
    Archive(Integrity),
    /// Those of a version's files.
    Files(Hashes),
}

/// One hash, or how many there are and the first.
impl fmt::Display for HeldTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(integrity) => write!(f, "{integrity}"),
            Self::Files(hashes) => {
                let mut all = hashes.iter();
                let first = all.next().map(ToString::to_string).unwrap_or_default();
                match all.count() {
                    0 => f.write_str(&first),
                    more => write!(f, "{first} and those of {more} more files of the version"),
                }
            }
        }
    }
}
