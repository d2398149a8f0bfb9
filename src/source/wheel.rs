//! What Python package is this file?
//!
//! A wheel on this disk: its name says name, version and what it fits, and its `METADATA` has to agree. Nothing is
//! unpacked; the few members that say what it is are read out of the archive, under bounds, and only of an archive
//! that every reader reads the same ([`archive`]).
//!
//! Sources: PEP 427, the Python Packaging User Guide, "Binary distribution format" and "Entry points specification".

mod archive;

use std::path::Path;

use self::archive::Archive;
use super::SourceError;
use super::metadata::{METADATA_BYTES, Metadata};
use super::package::PypiPackage;
use super::pypi::{CarriedPython, Offered, PassedOver, Requires, choice};
use super::python::{Extras, PypiName, PythonMinor};
use super::release::{Facts, Origin, Release};
use super::wheel_name::WheelName;
use crate::digest::Digest;
use crate::text::Shown;

/// The largest `entry_points.txt` and `WHEEL`: 1 MiB.
const SMALL_BYTES: u64 = 1 << 20;
/// The most programs a package may offer, and the longest name of one.
const SCRIPTS: usize = 256;
const SCRIPT_BYTES: usize = 214;

/// A wheel of this disk.
#[derive(Debug, Clone)]
pub struct WheelFile {
    release: Release,
    name: WheelName,
    file: String,
    requires: Requires,
    depends_on: Vec<PypiName>,
}

impl WheelFile {
    /// Reads a wheel; `origin` is the path the user wrote, whose last part is its name.
    ///
    /// # Errors
    /// Its name is no wheel's; the bytes are no archive with one reading, pass a bound, or disagree with the name; a
    /// program of it has a name that is none; it depends on something that no index has.
    pub fn read(origin: &Path, bytes: &[u8]) -> Result<Self, SourceError> {
        let refused = |why: &str| SourceError::NoPackage {
            path: Shown::new(&origin.display().to_string()),
            why: Shown::new(why),
        };
        let file = origin.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let name: WheelName = file.parse().map_err(|rule| refused(&format!("{rule}")))?;
        let mut archive = Archive::read(bytes).map_err(|why| refused(&why))?;
        let info = dist_info(&archive, &name).map_err(|why| refused(&why))?;

        let text = archive.text(&format!("{info}/METADATA"), METADATA_BYTES).map_err(|why| refused(&why))?;
        let text = text.ok_or_else(|| refused("it has no METADATA"))?;
        let metadata = Metadata::read(&text).ok_or_else(|| refused("its METADATA is unreadable"))?;
        let same = metadata.one("Name").and_then(|text| text.parse().ok()).as_ref() == Some(name.name())
            && metadata.one("Version").and_then(|text| text.parse().ok()).as_ref() == Some(name.version());
        if !same {
            return Err(refused("its METADATA names another package or version than the file's name"));
        }
        if let Some(dependency) = metadata.foreign() {
            return Err(refused(&format!("it depends on `{dependency}`, which no index has")));
        }

        let points =
            archive.text(&format!("{info}/entry_points.txt"), SMALL_BYTES).map_err(|why| refused(&why))?;
        let scripts = scripts(&archive, points.as_deref().unwrap_or_default()).map_err(|why| {
            SourceError::Bin { package: Shown::new(&format!("{}=={}", name.name(), name.version())), why }
        })?;

        let mut facts = Facts::default();
        metadata.facts(&mut facts);
        let requires = Requires::read(metadata.one("Requires-Python"));
        facts.requires_python = requires.shown();
        let hashes = std::collections::BTreeSet::from([Digest::of(bytes)]);
        let package = PypiPackage {
            name: name.name().clone(),
            version: name.version().clone(),
            extras: Extras::default(),
            hashes: hashes.try_into().map_err(|error| refused(&format!("{error}")))?,
        };
        let depends_on = metadata.depends_on();
        let release = Release::pypi(package, Origin::Path(origin.to_owned()), Some(scripts), facts);
        Ok(Self { release, name, file, requires, depends_on })
    }

    /// The release.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The file's name, which an installer needs as it is.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The packages it may depend on, sorted: they come from the user's index.
    pub fn depends_on(&self) -> &[PypiName] {
        &self.depends_on
    }

    /// The newest of the Pythons that can install it, or the one that was asked for.
    ///
    /// # Errors
    /// There is no such Python, or none of them can.
    pub fn python(
        &self,
        carried: &[CarriedPython],
        asked: Option<PythonMinor>,
    ) -> Result<PythonMinor, SourceError> {
        choice::carries(carried, asked)?;
        let offered = [Offered { wheel: Some(&self.name), requires: &self.requires }];
        choice::newest(&offered, carried, asked).map_err(|why| self.not_installable(why, carried))
    }

    fn not_installable(&self, why: PassedOver, carried: &[CarriedPython]) -> SourceError {
        SourceError::NotInstallable {
            package: Shown::new(&self.file),
            version: self.name.version().clone(),
            why,
            others: 0,
            carried: choice::minors(carried),
        }
    }
}

/// The one folder that says what the wheel is, named as the wheel is.
fn dist_info(archive: &Archive<'_>, wheel: &WheelName) -> Result<String, String> {
    let mut found: Option<&str> = None;
    for folder in archive.members().filter_map(|path| path.split_once('/')).map(|(folder, _)| folder) {
        if folder.len() >= 10 && folder[folder.len() - 10..].eq_ignore_ascii_case(".dist-info") {
            match found {
                Some(known) if known != folder => {
                    return Err(
                        "it holds two .dist-info folders, and which one counts depends on who reads it"
                            .to_owned(),
                    );
                }
                _ => found = Some(folder),
            }
        }
    }
    let folder = found.ok_or("it holds no .dist-info folder")?;
    let named = folder.strip_suffix(".dist-info").and_then(|stem| stem.rsplit_once('-'));
    let same = named.is_some_and(|(name, version)| {
        name.parse().as_ref() == Ok(wheel.name())
            && version.replace('_', "-").parse().as_ref() == Ok(wheel.version())
    });
    if same {
        Ok(folder.to_owned())
    } else {
        Err("its .dist-info folder is another package's or version's".to_owned())
    }
}

/// The console scripts of an `entry_points.txt`, and the scripts that the wheel brings along, sorted.
fn scripts(archive: &Archive<'_>, points: &str) -> Result<Vec<String>, Shown> {
    let mut names: Vec<&str> = Vec::new();
    let mut section = "";
    for line in points.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
    {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim();
        } else if section == "console_scripts"
            && let Some((name, _)) = line.split_once('=')
        {
            names.push(name.trim());
        }
    }
    for path in archive.members() {
        let mut parts = path.split('/');
        if let (Some(folder), Some("scripts"), Some(name), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
            && folder.ends_with(".data")
            && !name.is_empty()
        {
            names.push(name);
        }
    }
    if names.len() > SCRIPTS {
        return Err(Shown::new(&format!("it offers more than {SCRIPTS} programs")));
    }
    for name in &names {
        let plain = name.len() <= SCRIPT_BYTES
            && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if !plain {
            return Err(Shown::new(&format!("`{name}` is no name for a program")));
        }
    }
    let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests;
