//! Is this text a Python package's name, an exact version, or a requirement?
//!
//! Each has one spelling here, the normalised one, so that two ways of writing a package are never two packages.
//! Nothing that is accepted holds a byte that a path, a URL, a shell or an option parser gives a meaning to.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use pep440_rs::{Version, VersionSpecifiers};
use regex::Regex;
use serde::{Deserialize, Serialize};

/// The longest name that is read. Indexes have no limit of their own; the longest on the public one are near 100.
const NAME_BYTES: usize = 200;
/// The longest version and the longest requirement.
const VERSION_BYTES: usize = 128;
const REQUIREMENT_BYTES: usize = 512;
/// Optional parts one package may be asked for with.
const EXTRAS: usize = 16;

static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$").expect("a literal pattern"));

/// Writes and reads a type as its one spelling: a text in another spelling is refused.
macro_rules! as_text {
    ($type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = NotPython;

            fn try_from(text: String) -> Result<Self, NotPython> {
                let value: Self = text.parse()?;
                if value.to_string() == text { Ok(value) } else { Err(NotPython::Spelling) }
            }
        }
    };
}

/// The text is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPython {
    /// No name.
    #[error(
        "a Python package's name is letters, digits, `-`, `_` and `.`, a letter or digit at both ends (PEP 508, Names)"
    )]
    Name,
    /// No version.
    #[error("an exact version is as PEP 440 has it, such as 1.2.3 or 1.0rc1")]
    Version,
    /// No minor version of Python.
    #[error("a version of Python is written 3.11")]
    Minor,
    /// No requirement.
    #[error(
        "a requirement is `NAME`, `NAME[EXTRA]` and version specifiers such as `<2` (PEP 508, without URL and marker)"
    )]
    Requirement,
    /// Right, and in another spelling than the one that is kept.
    #[error("it is not in its normalised spelling")]
    Spelling,
}

/// A Python package's name, normalised: lower case, runs of `-`, `_` and `.` one `-`.
///
/// Source: PEP 508, "Names"; PEP 503, "Normalized Names".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PypiName(String);
as_text!(PypiName);

impl PypiName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PypiName {
    type Err = NotPython;

    fn from_str(text: &str) -> Result<Self, NotPython> {
        if text.len() > NAME_BYTES || !NAME.is_match(text) {
            return Err(NotPython::Name);
        }
        let mut name = String::with_capacity(text.len());
        for c in text.chars().map(|c| c.to_ascii_lowercase()) {
            match c {
                '-' | '_' | '.' if name.ends_with('-') => {}
                '-' | '_' | '.' => name.push('-'),
                c => name.push(c),
            }
        }
        Ok(Self(name))
    }
}

impl fmt::Display for PypiName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One exact version, normalised and ordered as PEP 440 has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PypiVersion(Version);
as_text!(PypiVersion);

impl PypiVersion {
    /// As the library has it.
    pub fn as_version(&self) -> &Version {
        &self.0
    }
}

impl FromStr for PypiVersion {
    type Err = NotPython;

    fn from_str(text: &str) -> Result<Self, NotPython> {
        if text.len() > VERSION_BYTES || text.contains(char::is_whitespace) {
            return Err(NotPython::Version);
        }
        text.parse().map(Self).map_err(|_| NotPython::Version)
    }
}

impl fmt::Display for PypiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A version of Python as far as packages depend on it: `3.11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PythonMinor(u8);
as_text!(PythonMinor);

impl PythonMinor {
    /// Python 3 of this minor number.
    pub const fn of_3(minor: u8) -> Self {
        Self(minor)
    }

    /// The number after `3.`.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl FromStr for PythonMinor {
    type Err = NotPython;

    fn from_str(text: &str) -> Result<Self, NotPython> {
        let minor = text.strip_prefix("3.").ok_or(NotPython::Minor)?;
        let plain = !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit());
        if !plain || (minor.len() > 1 && minor.starts_with('0')) {
            return Err(NotPython::Minor);
        }
        minor.parse().map(Self).map_err(|_| NotPython::Minor)
    }
}

impl fmt::Display for PythonMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}", self.0)
    }
}

/// The optional parts a package is asked for with, normalised: `[cli,http]`, or nothing.
///
/// Source: PEP 508, "Extras"; PEP 685 for the normalised spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Extras(BTreeSet<PypiName>);

impl Extras {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &PypiName> {
        self.0.iter()
    }
}

impl FromStr for Extras {
    type Err = NotPython;

    /// Reads what stands between the brackets.
    fn from_str(text: &str) -> Result<Self, NotPython> {
        let names: BTreeSet<PypiName> =
            text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>()?;
        if names.len() > EXTRAS { Err(NotPython::Name) } else { Ok(Self(names)) }
    }
}

impl fmt::Display for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.0.iter().map(PypiName::as_str).collect();
        write!(f, "[{}]", names.join(","))
    }
}

/// A package and which of its versions will do: `mcp[cli]>=1,<2`.
///
/// Source: PEP 508, without a URL and without a marker: a URL is another source, and whoever types a requirement
/// for one server on one Python has no use for a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Requirement {
    name: PypiName,
    extras: Extras,
    versions: VersionSpecifiers,
}
as_text!(Requirement);

static REQUIREMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([A-Za-z0-9][A-Za-z0-9._-]*?) *(?:\[([A-Za-z0-9._, -]+)\])? *((?:[<>=!~].*)?)$")
        .expect("a literal pattern")
});

impl Requirement {
    /// The package.
    pub fn name(&self) -> &PypiName {
        &self.name
    }

    /// Its optional parts.
    pub fn extras(&self) -> &Extras {
        &self.extras
    }

    /// Which versions will do; empty for any.
    pub fn versions(&self) -> &VersionSpecifiers {
        &self.versions
    }
}

impl FromStr for Requirement {
    type Err = NotPython;

    fn from_str(text: &str) -> Result<Self, NotPython> {
        if text.len() > REQUIREMENT_BYTES || text.contains(char::is_control) {
            return Err(NotPython::Requirement);
        }
        let parts = REQUIREMENT.captures(text.trim()).ok_or(NotPython::Requirement)?;
        let name = parts[1].parse().map_err(|_| NotPython::Requirement)?;
        let extras = parts.get(2).map_or(Ok(Extras::default()), |extras| extras.as_str().parse())?;
        let versions = parts[3].parse().map_err(|_| NotPython::Requirement)?;
        Ok(Self { name, extras, versions })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<String> =
            self.versions.iter().map(|one| one.to_string().replace(' ', "")).collect();
        write!(f, "{}{}{}", self.name, self.extras, versions.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_package_has_one_name() {
        for text in ["mcp-server-time", "MCP_Server.Time", "mcp--server__time"] {
            assert_eq!(text.parse::<PypiName>().unwrap().as_str(), "mcp-server-time");
        }
        for bad in ["", "-x", "x-", "_x", "a b", "a/b", "a;b", "é", "../x", "a\nb", &"a".repeat(201)] {
            assert_eq!(bad.parse::<PypiName>(), Err(NotPython::Name), "{bad:?}");
        }
    }

    #[test]
    fn one_version_has_one_spelling() {
        for (text, normal) in
            [("1.2.3", "1.2.3"), ("v1.0", "1.0"), ("1.0-RC1", "1.0rc1"), ("2026.10.19", "2026.10.19")]
        {
            assert_eq!(text.parse::<PypiVersion>().unwrap().to_string(), normal);
        }
        for bad in ["", "latest", "1.*", ">=1", "1 2", "1;x", "../1"] {
            assert_eq!(bad.parse::<PypiVersion>(), Err(NotPython::Version), "{bad:?}");
        }
        assert!(serde_json::from_str::<PypiVersion>("\"1.0-RC1\"").is_err());
    }

    #[test]
    fn a_minor_is_a_minor() {
        assert_eq!("3.13".parse(), Ok(PythonMinor::of_3(13)));
        for bad in ["3", "3.", "3.011", "2.7", "3.11.2", "python3.11", "3.999", "3.-1"] {
            assert_eq!(bad.parse::<PythonMinor>(), Err(NotPython::Minor), "{bad}");
        }
    }

    #[test]
    fn a_requirement_is_written_one_way() {
        for (text, normal) in [
            ("MCP", "mcp"),
            ("mcp<2", "mcp<2"),
            ("mcp [cli, HTTP] >= 1 , < 2", "mcp[cli,http]>=1,<2"),
            ("mcp==1.2.*", "mcp==1.2.*"),
            ("mcp~=1.4", "mcp~=1.4"),
        ] {
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), normal);
        }
        for bad in [
            "",
            "mcp @ https://x.example/a.whl",
            "mcp; python_version<'3'",
            "-e .",
            "--index-url=x",
            "git+https://x.example/y",
            "./x",
            "mcp<two",
            "mcp\n--hash=x",
        ] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_reads_back_the_same(text in "\\PC{0,40}|[a-zA-Z0-9._-]{0,12}(\\[[a-z,]{1,6}\\])?([<>=!~]{1,2}[0-9.*]{1,5}){0,2}") {
            if let Ok(name) = text.parse::<PypiName>() {
                prop_assert_eq!(name.as_str().parse(), Ok(name.clone()));
            }
            if let Ok(version) = text.parse::<PypiVersion>() {
                prop_assert_eq!(version.to_string().parse(), Ok(version));
            }
            if let Ok(requirement) = text.parse::<Requirement>() {
                prop_assert_eq!(requirement.to_string().parse(), Ok(requirement));
            }
        }
    }
}
