//! What does a project's page list?
//!
//! Files, each with a name, an address and hashes, and for some what Python they need and whether they were taken
//! back. A file whose name is not of this project, or is neither a wheel's nor a source distribution's, is passed
//! over as an installer would; a part of the wrong shape counts as absent, except where it would let a file through.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use pep440_rs::VersionSpecifiers;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::lenient;
use crate::digest::Digest;
use crate::source::python::{PypiName, PypiVersion};
use crate::source::wheel_name::WheelName;
use crate::text::Shown;

/// The longest reason that is kept, in characters.
const REASON_CHARS: usize = 500;

/// A page, by version.
pub(super) struct Page<'a> {
    versions: BTreeMap<PypiVersion, Vec<File<'a>>>,
}

/// A file of the project's.
pub(super) struct File<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) url: Cow<'a, str>,
    /// The wheel it is; none for a source distribution.
    pub(super) wheel: Option<WheelName>,
    pub(super) sha256: Option<Digest>,
    pub(super) requires: Requires,
    /// Why it was taken back, where it was (PEP 592).
    pub(super) yanked: Option<Shown>,
    pub(super) uploaded: Option<Timestamp>,
    pub(super) size: Option<u64>,
    /// The hash of its metadata, where the index has that apart (PEP 658, PEP 714).
    pub(super) metadata: Option<Digest>,
}

/// Which Python a file needs.
#[derive(Debug, Clone)]
pub(in crate::source) enum Requires {
    Any,
    Versions(VersionSpecifiers),
    /// What cannot be read admits none.
    Unreadable(Shown),
}

impl Requires {
    pub(in crate::source) fn read(text: Option<&str>) -> Self {
        // Old packages have `>=3.6.*`, which PEP 440 does not have and installers take for `>=3.6`.
        static STAR: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"((?:[<>]=?|~=)\s*[0-9]+(?:\.[0-9]+)*)\.\*").expect("a literal pattern")
        });
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Self::Any };
        if text.len() > 512 {
            return Self::Unreadable(Shown::new("a text longer than 512 bytes"));
        }
        match STAR.replace_all(text, "$1").trim_end_matches(',').parse() {
            Ok(versions) => Self::Versions(versions),
            Err(_) => Self::Unreadable(Shown::new(text)),
        }
    }

    pub(in crate::source) fn admits(&self, python: &PypiVersion) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.contains(python.as_version()),
            Self::Unreadable(_) => false,
        }
    }

    pub(in crate::source) fn shown(&self) -> Option<Shown> {
        match self {
            Self::Any => None,
            Self::Versions(versions) => Some(Shown::new(&versions.to_string())),
            Self::Unreadable(text) => Some(text.clone()),
        }
    }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(default)]
    meta: Value,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    files: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry<'a> {
    #[serde(borrow)]
    filename: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    hashes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    requires_python: Option<&'a RawValue>,
    #[serde(borrow, default)]
    yanked: Option<&'a RawValue>,
    #[serde(borrow, default)]
    upload_time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    size: Option<&'a RawValue>,
    #[serde(borrow, default)]
    core_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dist_info_metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Hashed {
    sha256: Option<String>,
}

impl<'a> Page<'a> {
    /// Reads the page of the project `name`.
    pub(super) fn read(document: &'a [u8], name: &PypiName) -> Result<Self, String> {
        let document: Document<'a> =
            serde_json::from_slice(document).map_err(|error| format!("its page is unreadable: {error}"))?;
        let version = document.meta.get("api-version").and_then(Value::as_str).unwrap_or_default();
        if version.split('.').next() != Some("1") {
            return Err("its page is not of version 1 of the interface (PEP 691)".to_owned());
        }
        if document.name.parse().as_ref() != Ok(name) {
            return Err(format!("asked for {name} it answered with another package"));
        }
        let mut versions: BTreeMap<PypiVersion, Vec<File<'a>>> = BTreeMap::new();
        for entry in document.files {
            if let Some((version, file)) = entry.read(name) {
                versions.entry(version).or_default().push(file);
            }
        }
        Ok(Self { versions })
    }

    /// Every version, the newest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&PypiVersion, &[File<'a>])> {
        self.versions.iter().rev().map(|(version, files)| (version, files.as_slice()))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &File<'a>> {
        self.versions.values().flatten()
    }

    /// The files that a version may be installed from: its wheels, or the archives it may be built from.
    pub(super) fn installable(&self, version: &PypiVersion, build: bool) -> Vec<&File<'a>> {
        let files = self.versions.get(version).map(Vec::as_slice).unwrap_or_default();
        files.iter().filter(|file| file.yanked.is_none() && file.wheel.is_none() == build).collect()
    }

    /// The address of the file with these bytes, and its name.
    pub(super) fn of_bytes(&self, sha256: Digest) -> Option<(&str, &str)> {
        let file = self.files().find(|file| file.sha256 == Some(sha256))?;
        Some((file.url.as_ref(), file.name.as_ref()))
    }

    /// The address of a file of this name.
    pub(super) fn url(&self, filename: &str) -> Option<&str> {
        self.files().find(|file| file.name == filename).map(|file| file.url.as_ref())
    }

    /// The newest version that is no prerelease, whether or not it can be installed.
    pub(super) fn newest(&self) -> Option<PypiVersion> {
        self.versions.keys().rev().find(|version| !version.as_version().any_prerelease()).cloned()
    }

    pub(super) fn first_upload(&self) -> Option<Timestamp> {
        self.files().filter_map(|file| file.uploaded).min()
    }
}

impl<'a> Entry<'a> {
    fn read(self, project: &PypiName) -> Option<(PypiVersion, File<'a>)> {
        let wheel: Option<WheelName> = self.filename.parse().ok();
        let (name, version) = match &wheel {
            Some(wheel) => (wheel.name().clone(), wheel.version().clone()),
            None => source(&self.filename, project)?,
        };
        if name != *project {
            return None;
        }
        let hashed = |value: Option<&RawValue>| -> Option<Digest> {
            format!("sha256:{}", lenient::<Hashed>(value)?.sha256?.to_ascii_lowercase()).parse().ok()
        };
        let file = File {
            wheel,
            sha256: hashed(self.hashes),
            requires: match lenient::<Option<String>>(self.requires_python) {
                Some(text) => Requires::read(text.as_deref()),
                None if self.requires_python.is_none() => Requires::Any,
                None => Requires::Unreadable(Shown::new("something that is no text")),
            },
            yanked: yanked(self.yanked),
            uploaded: lenient::<String>(self.upload_time).and_then(|text| text.parse().ok()),
            size: lenient(self.size),
            // `true` says that there is one and tells no hash: it would be held to nothing.
            metadata: hashed(self.core_metadata).or_else(|| hashed(self.dist_info_metadata)),
            name: self.filename,
            url: self.url,
        };
        Some((version, file))
    }
}

/// Source: PEP 592: false or absent, true, or a reason; an empty reason is one too. What has another shape is taken
/// for a yes, since a file that was taken back must not pass for one that was not.
fn yanked(value: Option<&RawValue>) -> Option<Shown> {
    let value: Value = lenient(value)?;
    let no_reason = || Some(Shown::new("no reason given"));
    match value {
        Value::Bool(false) | Value::Null => None,
        Value::String(reason) if !reason.trim().is_empty() => {
            Some(Shown::new(&reason.chars().take(REASON_CHARS).collect::<String>()))
        }
        _ => no_reason(),
    }
}

/// The name and version of a source distribution. Source: PEP 625, and `.zip` as older ones are. A name may hold a
/// `-` in old ones, so it is the project's own that is looked for at the beginning.
fn source(filename: &str, project: &PypiName) -> Option<(PypiName, PypiVersion)> {
    let stem = filename.strip_suffix(".tar.gz").or_else(|| filename.strip_suffix(".zip"))?;
    stem.match_indices('-').find_map(|(at, _)| {
        let name: PypiName = stem[..at].parse().ok().filter(|name| name == project)?;
        Some((name, stem[at + 1..].parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_which_python_is_needed() {
        let admits = |text: &str, python: &str| Requires::read(Some(text)).admits(&python.parse().unwrap());
        for (text, inside, outside) in [
            (">=3.10", "3.11", "3.9.1"),
            (">=3.10,<3.13", "3.11.2", "3.13.5"),
            (">=3.6.*", "3.11", "3.5"),
            (">=3.11.*, <4", "3.13", "3.10"),
            ("~=3.11", "3.13", "3.10"),
            ("==3.11.*", "3.11.2", "3.13"),
            ("!=3.13.*,>=3", "3.11", "3.13.1"),
            (">=3.8,", "3.11", "3.7"),
            ("<4.0,>=3.11", "3.13", "3.10"),
        ] {
            assert!(admits(text, inside), "{text} admits {inside}");
            assert!(!admits(text, outside), "{text} does not admit {outside}");
        }
        for none in [None, Some(""), Some("  ")] {
            assert!(Requires::read(none).admits(&"3.11".parse().unwrap()));
        }
        for bad in ["python3", "3.11", ">=x", &">=3,".repeat(200)] {
            assert!(!admits(bad, "3.11"), "{bad}");
        }
    }

    #[test]
    fn reads_a_source_distributions_name() {
        let of = |filename: &str, project: &str| {
            source(filename, &project.parse().unwrap()).map(|(_, version)| version.to_string())
        };
        assert_eq!(of("mcp_server_time-2026.8.18.tar.gz", "mcp-server-time").as_deref(), Some("2026.8.18"));
        assert_eq!(of("mcp-server-time-1.0-rc1.tar.gz", "mcp-server-time").as_deref(), Some("1.0rc1"));
        assert_eq!(of("a-1.zip", "a").as_deref(), Some("1"));
        for bad in ["a-1.tar.bz2", "a-1.egg", "b-1.tar.gz", "a.tar.gz", "a-x.tar.gz", "a-1.exe"] {
            assert_eq!(of(bad, "a"), None, "{bad}");
        }
    }
}
