//! Which exact package does a plan run?
//!
//! One version of one package, held to the hash of its archive, and where it was said to come from. The source
//! room finds it; here it is only what a plan has to say about it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine as _;
use serde::{Deserialize, Serialize};

use super::refused::PlanRefused;
use crate::source::Release;
use crate::text::Shown;

/// Where packages of one kind come from, and how they are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    /// npm packages, run by Node.
    Npm,
}

impl Ecosystem {
    /// As source ids begin: `npm`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
        }
    }
}

/// The hash of an archive: `sha512-` and the base64 of 64 bytes, one and only one.
///
/// Source: W3C Subresource Integrity, of which npm writes this form; sha1, which old packages have, holds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Integrity(String);

/// The text is not such a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a package's hash is written `sha512-` and 88 characters of base64")]
pub struct NotAnIntegrity;

impl Integrity {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(format!(
            "sha512-{}",
            base64::engine::general_purpose::STANDARD.encode(sha2::Sha512::digest(bytes))
        ))
    }

    /// As npm writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Integrity {
    type Err = NotAnIntegrity;

    fn from_str(text: &str) -> Result<Self, NotAnIntegrity> {
        let base64 = text.strip_prefix("sha512-").ok_or(NotAnIntegrity)?;
        // The decoder refuses other spellings of the same bytes.
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).map_err(|_| NotAnIntegrity)?;
        if bytes.len() == 64 { Ok(Self(text.to_owned())) } else { Err(NotAnIntegrity) }
    }
}

impl TryFrom<String> for Integrity {
    type Error = NotAnIntegrity;

    fn try_from(text: String) -> Result<Self, NotAnIntegrity> {
        text.parse()
    }
}

impl From<Integrity> for String {
    fn from(integrity: Integrity) -> String {
        integrity.0
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Where the archive comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Origin {
    /// The registry of its ecosystem, whichever the user's is.
    Registry,
    /// This disk: the absolute path of an archive or a directory.
    Path(PathBuf),
}

/// One exact package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    ecosystem: Ecosystem,
    package: String,
    version: semver::Version,
    integrity: Integrity,
    origin: Origin,
}

impl Released {
    /// What a plan says of a release that was found.
    ///
    /// # Errors
    /// As for any part of a plan: a path that is relative or cannot be drawn.
    pub fn of(release: &Release) -> Result<Self, PlanRefused> {
        let origin = match release.path() {
            None => Origin::Registry,
            Some(path) => Origin::Path(path.to_owned()),
        };
        let (name, version) = (release.name().as_str(), release.version().to_string());
        Self::npm(name, &version, &release.integrity().to_string(), origin)
    }

    /// An npm package: its full name, its exact version, the hash of its archive.
    ///
    /// # Errors
    /// [`PlanRefused`] for a name outside npm's grammar, a version that is a range or a tag, a hash other than
    /// one sha512, or a path that is relative or cannot be drawn.
    pub(crate) fn npm(
        package: &str,
        version: &str,
        integrity: &str,
        origin: Origin,
    ) -> Result<Self, PlanRefused> {
        if !is_npm_name(package) || package.starts_with('-') || package.contains("/-") {
            return Err(PlanRefused::PackageName(Shown::new(package)));
        }
        let exact: Option<semver::Version> = version.parse().ok();
        let exact = exact.filter(|v| v.to_string() == version && version.len() <= 256);
        let version = exact.ok_or_else(|| PlanRefused::NotExact(Shown::new(version)))?;
        let integrity =
            integrity.parse().map_err(|_| PlanRefused::HashMissing { package: Shown::new(package) })?;
        if let Origin::Path(path) = &origin {
            check_path(path)?;
        }
        Ok(Self { ecosystem: Ecosystem::Npm, package: package.to_owned(), version, integrity, origin })
    }

    /// The ecosystem.
    pub fn ecosystem(&self) -> Ecosystem {
        self.ecosystem
    }

    /// The package's full name: `@scope/name`.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// The exact version.
    pub fn version(&self) -> &semver::Version {
        &self.version
    }

    /// The hash of its archive.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// Where the archive comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What it is a version of: `npm:@scope/name`, or `path:/srv/x`. Local names belong to this.
    pub fn source(&self) -> String {
        match &self.origin {
            Origin::Registry => format!("{}:{}", self.ecosystem.as_str(), self.package),
            Origin::Path(path) => format!("path:{}", path.display()),
        }
    }

    /// The spec that means exactly this: `npm:@scope/name@1.2.3`, or `path:/srv/x`.
    pub fn id(&self) -> String {
        match &self.origin {
            Origin::Registry => format!("{}@{}", self.source(), self.version),
            Origin::Path(_) => self.source(),
        }
    }
}

fn check_path(path: &Path) -> Result<(), PlanRefused> {
    let text =
        path.to_str().filter(|t| path.is_absolute() && t.len() <= 4096 && !t.chars().any(char::is_control));
    text.map(|_| ()).ok_or_else(|| PlanRefused::Path(Shown::new(&path.to_string_lossy())))
}

/// Whether the text is a package's name by npm's rules, the old ones included (upper case), since trees still
/// hold such packages.
///
/// Source: `validate-npm-package-name`: at most 214 characters, URL-safe, not beginning with `.` or `_`.
pub(super) fn is_npm_name(text: &str) -> bool {
    let part = |s: &str| {
        !s.is_empty()
            && !s.starts_with(['.', '_'])
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    };
    let shape = match text.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(text),
    };
    shape && text.len() <= 214 && text != "node_modules"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn npm(package: &str, version: &str) -> Result<Released, PlanRefused> {
        Released::npm(package, version, Integrity::of(b"x").as_str(), Origin::Registry)
    }

    #[test]
    fn accepts_an_exact_package() {
        let released = npm("@scope/name.js", "1.2.3-beta.1").unwrap();
        assert_eq!(released.source(), "npm:@scope/name.js");
        assert_eq!(released.id(), "npm:@scope/name.js@1.2.3-beta.1");
    }

    #[test]
    fn refuses_names_that_are_paths_options_or_commands() {
        for bad in [
            "",
            "../x",
            "a/b",
            "@a",
            "@a/../b",
            "-x",
            "@a/-x",
            "a;b",
            "a b",
            "a`b",
            ".x",
            "_x",
            "a\n",
            "node_modules",
        ] {
            assert!(npm(bad, "1.0.0").is_err(), "{bad}");
        }
    }

    #[test]
    fn refuses_versions_that_can_move() {
        for bad in ["", "latest", "^1.0.0", "1", "1.0", "1.x", "v1.0.0", " 1.0.0", "1.0.0 || 2", "01.0.0"] {
            assert!(matches!(npm("x", bad), Err(PlanRefused::NotExact(_))), "{bad}");
        }
    }

    #[test]
    fn refuses_other_hashes_and_other_spellings_of_one() {
        let good = Integrity::of(b"x").as_str().to_owned();
        assert_eq!(good.parse(), Ok(Integrity::of(b"x")));
        for bad in [
            "",
            "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
            "sha512-",
            &good[..90],
            &format!("{good} {good}"),
            &good.replace("==", ""),
        ] {
            assert!(bad.parse::<Integrity>().is_err(), "{bad}");
        }
    }

    #[test]
    fn refuses_a_path_that_is_relative_or_cannot_be_drawn() {
        let integrity = Integrity::of(b"x");
        for bad in ["x", "./x", "/a\nb", "/a\u{1b}[2K"] {
            let origin = Origin::Path(bad.into());
            assert!(Released::npm("x", "1.0.0", integrity.as_str(), origin).is_err(), "{bad}");
        }
        let origin = Origin::Path("/srv/my server".into());
        assert_eq!(
            Released::npm("x", "1.0.0", integrity.as_str(), origin).unwrap().id(),
            "path:/srv/my server"
        );
    }

    proptest! {
        #[test]
        fn never_panics_and_an_accepted_name_is_safe_as_a_path(text in "\\PC{0,40}|@?[a-zA-Z./_-]{0,20}") {
            if is_npm_name(&text) {
                prop_assert!(text.split('/').all(|part| part != ".." && part != "." && !part.is_empty()));
                prop_assert!(text.bytes().all(|b| b.is_ascii_graphic()));
            }
        }
    }
}
