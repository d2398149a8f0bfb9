//! What is a sound lock of Python packages?
//!
//! The whole tree as hashed requirements, the form that pip and uv install from with `--require-hashes`: a name, an
//! exact version and its SHA-256 hashes, and nothing else. Everything else the form knows (options, URLs, paths,
//! markers, environment variables) would let a line decide at install time where bytes come from or whether they
//! come at all, so it is refused here, once, before anybody is asked. The lock is of one Python: what a marker would
//! decide has been decided when it was made.
//!
//! Format: pip's requirements file format, with the hash-checking mode of pip's secure installs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{LockEntry, MOST_ENTRIES, refuse};
use crate::digest::Digest;
use crate::plan::refused::PlanRefused;
use crate::source::{Hashes, PypiName, PypiPackage, PypiVersion};
use crate::text::Shown;

/// What joins a requirement's lines.
const JOINED: &str = " \\\n    ";

/// What the installer of Python packages needs to know of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PypiTree {
    own: PypiName,
    packages: BTreeMap<PypiName, Locked>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Locked {
    version: PypiVersion,
    hashes: Hashes,
}

/// Checks hashed requirements of the release: its own line is of its version and of files that it has. Gives them as
/// they are written anew.
pub(super) fn read(
    bytes: &[u8],
    release: &PypiPackage,
) -> Result<(Vec<u8>, Vec<LockEntry>, PypiTree), PlanRefused> {
    let text = std::str::from_utf8(bytes).map_err(|_| refuse("it is no text"))?;
    let mut packages = BTreeMap::new();
    for line in text.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
        let (name, mut locked) = requirement(line)?;
        if name == release.name {
            locked = own(locked, release)?;
        }
        if packages.len() == MOST_ENTRIES {
            return Err(refuse(format_args!("it has more than {MOST_ENTRIES} packages")));
        }
        if packages.insert(name.clone(), locked).is_some() {
            return Err(refuse(format_args!("{name} is in it twice")));
        }
    }
    if !packages.contains_key(&release.name) {
        return Err(refuse(format_args!("{} itself is not in it", release.name)));
    }
    let tree = PypiTree { own: release.name.clone(), packages };
    let entry = |(name, locked): (&PypiName, &Locked)| LockEntry {
        name: name.to_string(),
        version: locked.version.to_string(),
        has_hash: true,
        // a wheel has none: the format knows no script that runs when it is installed (PEP 427)
        install_scripts: false,
    };
    let entries = tree.packages.iter().map(entry).collect();
    Ok((tree.requirements(None).into_bytes(), entries, tree))
}

/// One requirement: `name==version`, then `--hash=sha256:…` one time or more.
fn requirement(line: &str) -> Result<(PypiName, Locked), PlanRefused> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let odd = || refuse(format_args!("`{}` is no exact version of a package", Shown::new(line)));
    if first.starts_with('-') {
        return Err(refuse(format_args!("it has an option, `{}`", Shown::new(first))));
    }
    let Some((name, version)) = first.split_once("==") else {
        let from = line.split_once('@').map(|(_, from)| from.trim()).filter(|from| from.contains(':'));
        return Err(from.map_or_else(odd, |from| PlanRefused::Source {
            package: Shown::new(first),
            from: Shown::new(from.split(' ').next().unwrap_or_default()),
        }));
    };
    let (name, version): (PypiName, PypiVersion) =
        (name.parse().map_err(|_| odd())?, version.parse().map_err(|_| odd())?);
    let unheld = || PlanRefused::HashMissing { package: Shown::new(&format!("{name}=={version}")) };
    let mut hashes = BTreeSet::new();
    for word in words {
        let hash = word.strip_prefix("--hash=").ok_or_else(odd)?;
        // weaker ones may stand beside it and are left out: an installer takes whichever fits
        if hash.starts_with("sha256:") {
            hashes.insert(hash.parse::<Digest>().map_err(|_| unheld())?);
        }
    }
    let hashes = Hashes::try_from(hashes).map_err(|_| unheld())?;
    Ok((name, Locked { version, hashes }))
}

/// The release's own line, held to the files that the release has. An index tells of all files of a version, source
/// archives among them, and the release only of those it may be installed from.
fn own(locked: Locked, release: &PypiPackage) -> Result<Locked, PlanRefused> {
    let other = || PlanRefused::OtherBytes { package: Shown::new(release.name.as_str()) };
    if locked.version != release.version {
        return Err(other());
    }
    let both: BTreeSet<Digest> =
        locked.hashes.iter().filter(|hash| release.hashes.contains(hash)).copied().collect();
    Ok(Locked { version: release.version.clone(), hashes: Hashes::try_from(both).map_err(|_| other())? })
}

impl PypiTree {
    /// The package that everything else is there for.
    pub fn own(&self) -> &PypiName {
        &self.own
    }

    /// The packages and their versions.
    pub fn versions(&self) -> impl Iterator<Item = (&PypiName, &PypiVersion)> {
        self.packages.iter().map(|(name, locked)| (name, &locked.version))
    }

    /// The requirements to install from: the lock itself, or with `wheel` as the place of the package's own file,
    /// where that comes from this disk.
    pub fn requirements(&self, wheel: Option<&str>) -> String {
        let mut text = String::new();
        for (name, Locked { version, hashes }) in &self.packages {
            // writing to a string does not fail
            let _ = match wheel.filter(|_| *name == self.own) {
                Some(place) => write!(text, "{name} @ file://{place}"),
                None => write!(text, "{name}=={version}"),
            };
            for hash in hashes.iter() {
                let _ = write!(text, "{JOINED}--hash={hash}");
            }
            text.push('\n');
        }
        text
    }

    /// Of the packages an installer laid down, by name and version, the first that is not as locked; else the first
    /// that is locked and not there.
    pub fn not_laid_as_locked<'a>(
        &'a self,
        laid: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<&'a str> {
        let mut left = self.packages.clone();
        for (name, version) in laid {
            let locked = name.parse().ok().and_then(|name: PypiName| left.remove(&name));
            if locked.is_none_or(|locked| version.parse() != Ok(locked.version)) {
                return Some(name);
            }
        }
        self.packages.keys().find(|name| left.contains_key(name)).map(PypiName::as_str)
    }
}

#[cfg(test)]
mod tests;
