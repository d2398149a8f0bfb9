//! What is a sound lock of Python packages?
//!
//! The whole tree as hashed requirements, the form that pip and uv install from with `--require-hashes`: a name, an
//! exact version and its SHA-256 hashes, and nothing else. Everything else the form knows (options, URLs, paths,
//! markers, environment variables) would let a line decide at install time where bytes come from or whether they
//! come at all, so it is refused here, once, before anybody is asked. The lock is of one Python: what a marker would
//! decide has been decided when it was made.
//!
//! A package that has no wheel and is built from source is held by the hash of its one source archive; what builds it
//! is in a section of its own after the tree, `[build NAME]`, in the same form and held in the same way.
//!
//! Format: pip's requirements file format, with the hash-checking mode of pip's secure installs, and those sections.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{LockEntry, MOST_ENTRIES, refuse};
use crate::digest::Digest;
use crate::plan::refused::PlanRefused;
use crate::source::{Hashes, PypiName, PypiPackage, PypiVersion};
use crate::text::Shown;

/// What joins a requirement's lines.
const JOINED: &str = " \\\n    ";
/// Packages of a tree that may be built; each is a line on the card and a cage of its own.
const MOST_BUILDS: usize = 16;

/// What the installer of Python packages needs to know of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PypiTree {
    own: PypiName,
    packages: BTreeMap<PypiName, Locked>,
    builds: Vec<Build>,
}

/// A package that is built from source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    name: PypiName,
    version: PypiVersion,
    sha256: Digest,
    tools: BTreeMap<PypiName, Locked>,
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
    let (mut packages, mut builds) = (BTreeMap::new(), BTreeMap::<PypiName, BTreeMap<_, _>>::new());
    let mut section = None;
    for (at, line) in text.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()).enumerate() {
        if at == MOST_ENTRIES {
            return Err(refuse(format_args!("it has more than {MOST_ENTRIES} packages")));
        }
        if let Some(name) = built(line)? {
            if builds.insert(name.clone(), BTreeMap::new()).is_some() || builds.len() > MOST_BUILDS {
                return Err(refuse(format_args!("it builds a package twice, or more than {MOST_BUILDS}")));
            }
            section = Some(name);
            continue;
        }
        let (name, mut locked) = requirement(line)?;
        let group = match &section {
            Some(built) => builds.get_mut(built).ok_or_else(|| refuse("a section is not its own"))?,
            None => &mut packages,
        };
        if section.is_none() && name == release.name {
            locked = own(locked, release)?;
        }
        if group.insert(name.clone(), locked).is_some() {
            return Err(refuse(format_args!("{name} is in it twice")));
        }
    }
    if !packages.contains_key(&release.name) {
        return Err(refuse(format_args!("{} itself is not in it", release.name)));
    }
    let builds =
        builds.into_iter().map(|(name, tools)| build(name, tools, &packages)).collect::<Result<_, _>>()?;
    let tree = PypiTree { own: release.name.clone(), packages, builds };
    let entry = |(name, locked): (&PypiName, &Locked)| LockEntry {
        name: name.to_string(),
        version: locked.version.to_string(),
        has_hash: true,
        // a wheel has none: the format knows no script that runs when it is installed (PEP 427)
        install_scripts: false,
    };
    let entries = tree.packages.iter().map(entry).collect();
    Ok((tree.text().into_bytes(), entries, tree))
}

/// The package whose tools the lines after this one are.
fn built(line: &str) -> Result<Option<PypiName>, PlanRefused> {
    let Some(inside) = line.strip_prefix('[') else { return Ok(None) };
    let odd = || refuse(format_args!("`{}` begins no part of it", Shown::new(line)));
    let name = inside.strip_suffix(']').and_then(|inside| inside.strip_prefix("build ")).ok_or_else(odd)?;
    name.parse().map(Some).map_err(|_| odd())
}

/// How a package of the tree is built, which has to be there by one archive: which of several it is would be decided
/// when it is installed.
fn build(
    name: PypiName,
    tools: BTreeMap<PypiName, Locked>,
    packages: &BTreeMap<PypiName, Locked>,
) -> Result<Build, PlanRefused> {
    let locked = packages.get(&name).and_then(|locked| Some((locked.version.clone(), locked.hashes.only()?)));
    let (version, sha256) = locked
        .ok_or_else(|| refuse(format_args!("{name} is to be built, and is not in it by one archive")))?;
    Ok(Build { name, version, sha256, tools })
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

/// A wheel that is in the cage already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its path there.
    pub path: String,
    /// The hash it is held to.
    pub sha256: Digest,
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

    /// The packages that are built from source, in order.
    pub fn builds(&self) -> &[Build] {
        &self.builds
    }

    /// The requirements to install from, where these wheels are there already and stand for their packages.
    pub fn requirements(&self, placed: &BTreeMap<PypiName, Placed>) -> String {
        let mut text = String::new();
        for (name, locked) in &self.packages {
            match placed.get(name) {
                Some(Placed { path, sha256 }) => {
                    write(&mut text, format_args!("{name} @ file://{path}"), [sha256]);
                }
                None => write(&mut text, format_args!("{name}=={}", locked.version), locked.hashes.iter()),
            }
        }
        text
    }

    /// The lock itself.
    fn text(&self) -> String {
        let mut text = self.requirements(&BTreeMap::new());
        for build in &self.builds {
            // writing to a string does not fail
            let _ = writeln!(text, "[build {}]", build.name);
            text.push_str(&build.requirements());
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

impl Build {
    /// The package.
    pub fn name(&self) -> &PypiName {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &PypiVersion {
        &self.version
    }

    /// The SHA-256 of its one source archive.
    pub fn sha256(&self) -> Digest {
        self.sha256
    }

    /// What builds it, and at which versions.
    pub fn tools(&self) -> impl Iterator<Item = (&PypiName, &PypiVersion)> {
        self.tools.iter().map(|(name, locked)| (name, &locked.version))
    }

    /// The requirements to install what builds it from.
    pub fn requirements(&self) -> String {
        let mut text = String::new();
        for (name, locked) in &self.tools {
            write(&mut text, format_args!("{name}=={}", locked.version), locked.hashes.iter());
        }
        text
    }
}

fn write<'a>(
    text: &mut String,
    first: std::fmt::Arguments<'_>,
    hashes: impl IntoIterator<Item = &'a Digest>,
) {
    // writing to a string does not fail
    let _ = text.write_fmt(first);
    for hash in hashes {
        let _ = write!(text, "{JOINED}--hash={hash}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests;
