//! What exactly would be installed?
//!
//! A [`Release`] is one version of one package, held to its bytes by an [`Integrity`]. It can only be made in this
//! room, from a registry's own document or from the bytes of a tarball, so that nothing later has to ask whether
//! its name, version and hash belong together. What else is known of it, for a person to judge, are [`Facts`]:
//! third-party claims, made safe to draw, that decide nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha512};

use super::package::{NpmPackage, Package, PypiPackage};
use super::registry::Registry;
use crate::text::Shown;

/// The hash npm holds a package's bytes to: SHA-512, written `sha512-` and 88 characters of base64.
///
/// Source: W3C Subresource Integrity, 3.5. The older `sha1` entries are not read: SHA-1 collisions are for sale.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Integrity([u8; 64]);

/// The text holds no SHA-512 integrity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an integrity is `sha512-` and 88 characters of base64 (W3C Subresource Integrity)")]
pub struct NotAnIntegrity;

impl Integrity {
    /// The integrity of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha512::digest(bytes).into())
    }

    /// The one SHA-512 entry of a registry's list of hashes; two that differ are none.
    pub(super) fn of_list(list: &str) -> Result<Self, NotAnIntegrity> {
        let mut found = list.split_ascii_whitespace().filter(|entry| entry.starts_with("sha512-"));
        // Options after `?` are allowed by the grammar and mean nothing (3.5).
        let read = |entry: &str| entry.split('?').next().unwrap_or(entry).parse::<Self>();
        let first = read(found.next().ok_or(NotAnIntegrity)?)?;
        for other in found {
            if read(other)? != first {
                return Err(NotAnIntegrity);
            }
        }
        Ok(first)
    }
}

impl FromStr for Integrity {
    type Err = NotAnIntegrity;

    fn from_str(text: &str) -> Result<Self, NotAnIntegrity> {
        let encoded =
            text.strip_prefix("sha512-").filter(|encoded| encoded.len() == 88).ok_or(NotAnIntegrity)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| NotAnIntegrity)?;
        Ok(Self(bytes.try_into().map_err(|_| NotAnIntegrity)?))
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha512-{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Integrity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Integrity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Where a release's bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A registry of the operator's.
    Registry(Registry),
    /// A file or folder on this disk, as the user wrote it.
    Path(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(registry) => fmt::Display::fmt(registry, f),
            Self::Path(path) => fmt::Display::fmt(&path.display(), f),
        }
    }
}

/// One exact package, where it comes from, and what is known of it.
#[derive(Debug, Clone)]
pub struct Release {
    package: Package,
    origin: Origin,
    bins: Vec<Bin>,
    scripts: Option<Vec<String>>,
    facts: Facts,
}

impl Release {
    pub(super) fn npm(package: NpmPackage, origin: Origin, manifest: Manifest) -> Self {
        let Manifest { bins, facts } = manifest;
        Self { package: Package::Npm(package), origin, bins, scripts: None, facts }
    }

    pub(super) fn pypi(
        package: PypiPackage,
        origin: Origin,
        scripts: Option<Vec<String>>,
        facts: Facts,
    ) -> Self {
        Self { package: Package::Pypi(package), origin, bins: Vec::new(), scripts, facts }
    }

    /// The package, its version and its hash. Its dependencies have theirs in the lock.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Where the bytes come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The path on this disk, where it comes from one.
    pub fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Registry(_) => None,
            Origin::Path(path) => Some(path),
        }
    }

    /// The programs it offers, by name; none for a plain library.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// The console scripts of a Python package, sorted; none where an index does not tell, and the install has to.
    pub fn scripts(&self) -> Option<&[String]> {
        self.scripts.as_deref()
    }

    /// What else is known of it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// A program of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bin {
    pub(super) name: String,
    pub(super) file: String,
}

impl Bin {
    /// Its name: letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file, relative to the package's folder, joined by `/`, never leading out of it.
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// What a package's own manifest says.
#[derive(Debug, Clone, Default)]
pub(super) struct Manifest {
    pub(super) bins: Vec<Bin>,
    pub(super) facts: Facts,
}

/// What is known of a release besides its identity. Claims of its author and its registry, safe to draw; no check
/// rests on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// What its author says it is.
    pub description: Option<Shown>,
    /// Its licence.
    pub license: Option<Shown>,
    /// Where its source is said to be.
    pub repository: Option<Shown>,
    /// The official registry's name it claims (`mcpName`).
    pub mcp_name: Option<Shown>,
    /// The Node versions it asks for.
    pub engines_node: Option<Shown>,
    /// The Python versions it asks for.
    pub requires_python: Option<Shown>,
    /// The scripts that npm would run at install, which Pinfold does not: name and command.
    pub install_scripts: Vec<(&'static str, Shown)>,
    /// Why it should not be used, in its publisher's words.
    pub deprecated: Option<Shown>,
    /// When this version was published.
    pub published: Option<Timestamp>,
    /// When the package's first version was.
    pub first_published: Option<Timestamp>,
    /// Who published this version.
    pub publisher: Option<Shown>,
    /// How many people may publish.
    pub maintainers: Option<usize>,
    /// Whether the registry has a provenance attestation for it. It is not verified.
    pub attested: bool,
    /// The version `latest` stands at, or the newest one, where that is another one.
    pub latest: Option<Shown>,
    /// Newer versions that could not be chosen, each with the reason.
    pub passed_over: Vec<Shown>,
    /// The size of the largest file it may be installed from in bytes, as the index says.
    pub download_bytes: Option<u64>,
    /// The size of the unpacked files in bytes, as the registry says.
    pub unpacked_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integrity_reads_back_the_same() {
        let integrity = Integrity::of(b"pinfold");
        assert_eq!(integrity.to_string().parse(), Ok(integrity));
    }

    #[test]
    fn accepts_the_one_sha512_of_a_list() {
        let integrity = Integrity::of(b"x");
        for list in
            [format!("{integrity}"), format!("sha1-AAAA {integrity}"), format!("{integrity}?opt {integrity}")]
        {
            assert_eq!(Integrity::of_list(&list), Ok(integrity), "{list}");
        }
    }

    #[test]
    fn refuses_a_list_without_one_sha512() {
        let (one, two) = (Integrity::of(b"1"), Integrity::of(b"2"));
        for list in
            ["", "sha1-AAAA", "sha256-AAAA", "sha512-", "sha512-AAAA", "sha512", &format!("{one} {two}")]
        {
            assert_eq!(Integrity::of_list(list), Err(NotAnIntegrity), "{list}");
        }
    }

    #[test]
    fn refuses_other_spellings_of_an_integrity() {
        let good = Integrity::of(b"x").to_string();
        for bad in [&good[7..], &good.to_uppercase(), &good[..94], &format!("{good}="), &format!(" {good}")] {
            assert_eq!(bad.parse::<Integrity>(), Err(NotAnIntegrity), "{bad}");
        }
    }
}
