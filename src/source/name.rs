//! Is this text an npm package's name, or an exact version?
//!
//! Names and versions travel into file names, URLs and a package manager's arguments, so their grammars are closed:
//! what is accepted holds no byte that a path, a URL, a shell or an option parser gives a meaning to. The grammar is
//! npm's for new packages, plus the upper-case letters that old ones have; the odd old names with `~'!()*` are left
//! out.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name npm takes, its scope included.
const NAME_BYTES: usize = 214;
/// The longest version npm takes (node-semver's `MAX_LENGTH`).
const VERSION_BYTES: usize = 256;
/// The largest number in a version npm takes (JavaScript's `MAX_SAFE_INTEGER`).
const VERSION_NUMBER: u64 = 9_007_199_254_740_991;

/// A package's name on npm: `name` or `@scope/name`.
///
/// Source: the npm documentation, "package.json, name", and `validate-npm-package-name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NpmName(String);

/// The text is not an npm package's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAnNpmName {
    /// Outside the grammar.
    #[error(
        "an npm name is `name` or `@scope/name`, at most 214 characters, each part letters, digits, `-`, `_` and `.`, \
         beginning with a letter or digit and without `..`"
    )]
    Grammar,
    /// A name npm keeps for itself.
    #[error("npm keeps `node_modules` and `favicon.ico` for itself")]
    Kept,
}

impl NpmName {
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scope with its `@`, where there is one.
    pub fn scope(&self) -> Option<&str> {
        self.0.split_once('/').map(|(scope, _)| scope)
    }

    /// The name without its scope.
    pub fn unscoped(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

/// Whether `text` is a scope as in `@scope`.
pub(super) fn is_scope(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(part) && text.len() <= NAME_BYTES
}

fn part(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.contains("..")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

impl FromStr for NpmName {
    type Err = NotAnNpmName;

    fn from_str(text: &str) -> Result<Self, NotAnNpmName> {
        let name = match text.split_once('/') {
            Some((scope, name)) if is_scope(scope) => name,
            Some(_) => return Err(NotAnNpmName::Grammar),
            None => text,
        };
        if text.len() > NAME_BYTES || !part(name) {
            return Err(NotAnNpmName::Grammar);
        }
        if name == text && ["node_modules", "favicon.ico"].iter().any(|kept| name.eq_ignore_ascii_case(kept))
        {
            return Err(NotAnNpmName::Kept);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for NpmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for NpmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for NpmName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NpmName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One exact version of an npm package, ordered as semantic versions are.
///
/// Source: Semantic Versioning 2.0.0, with npm's bounds on length and numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NpmVersion(semver::Version);

/// The text is not an exact version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an exact version is three numbers joined by dots, with `-prerelease` and `+build` if need be (Semantic Versioning 2.0.0)"
)]
pub struct NotAVersion;

impl NpmVersion {
    /// Whether it is a prerelease (`1.0.0-beta.1`).
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.0.major
    }
}

impl FromStr for NpmVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        if text.len() > VERSION_BYTES {
            return Err(NotAVersion);
        }
        let version = semver::Version::parse(text).map_err(|_| NotAVersion)?;
        if [version.major, version.minor, version.patch].iter().any(|n| *n > VERSION_NUMBER) {
            return Err(NotAVersion);
        }
        Ok(Self(version))
    }
}

impl fmt::Display for NpmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for NpmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for NpmVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NpmVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_names_as_they_are_published() {
        for name in [
            "a",
            "express",
            "@modelcontextprotocol/server-everything",
            "JSONStream",
            "lodash.get",
            "2048",
            "is_js",
            "@a/node_modules",
            &"a".repeat(214),
        ] {
            assert_eq!(name.parse::<NpmName>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn refuses_names_that_mean_something_elsewhere() {
        for bad in [
            "",
            "../x",
            "a/../b",
            "a/b",
            "/a",
            "a/",
            "@/a",
            "@a/",
            "@a",
            "@a/b/c",
            "@a@b/c",
            "a..b",
            ".a",
            "_a",
            "-x",
            "@-a/b",
            "@a/-b",
            "@a/.b",
            "@../b",
            "a b",
            "a;b",
            "a|b",
            "a&b",
            "a$b",
            "a`b",
            "a'b",
            "a\"b",
            "a\\b",
            "a\nb",
            "a\0b",
            "a%2fb",
            "a@1",
            "a:b",
            "a~b",
            "a(b)",
            "a!b",
            "a*b",
            "á",
            "a\u{202e}b",
            &"a".repeat(215),
        ] {
            assert_eq!(bad.parse::<NpmName>(), Err(NotAnNpmName::Grammar), "{bad:?}");
        }
        assert_eq!("node_modules".parse::<NpmName>(), Err(NotAnNpmName::Kept));
    }

    #[test]
    fn accepts_exact_versions() {
        for version in ["0.0.0", "1.2.3", "2026.8.31", "1.0.0-beta.1", "1.0.0-rc.1+build.5"] {
            assert_eq!(version.parse::<NpmVersion>().unwrap().to_string(), version);
        }
    }

    #[test]
    fn refuses_versions_that_are_not_exact() {
        for bad in [
            "",
            "1",
            "1.2",
            "v1.2.3",
            "=1.2.3",
            "1.2.3.4",
            "01.2.3",
            "^1.2.3",
            "1.2.x",
            "latest",
            " 1.2.3",
            "1.2.3 ",
            "1.2.3;x",
            "../1.2.3",
            "9007199254740992.0.0",
            &format!("1.2.3-{}", "a".repeat(256)),
        ] {
            assert_eq!(bad.parse::<NpmVersion>(), Err(NotAVersion), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_name_reads_back_the_same(text in "\\PC{0,80}") {
            if let Ok(name) = text.parse::<NpmName>() {
                prop_assert_eq!(name.as_str().parse::<NpmName>(), Ok(name.clone()));
                prop_assert!(name.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./@".contains(&b)));
            }
        }

        #[test]
        fn an_accepted_version_reads_back_the_same(text in "[0-9a-z.+-]{0,30}") {
            if let Ok(version) = text.parse::<NpmVersion>() {
                prop_assert_eq!(version.to_string(), text);
            }
        }
    }
}
