//! Which exact package does a plan run?
//!
//! One version of one package, held to the hash of its archive, and where it was said to come from. The source
//! room finds it; here it is only what a plan has to say about it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::refused::PlanRefused;
use crate::source::{self, Ecosystem, Extras, HeldTo, NpmPackage, Package, PypiPackage};
use crate::text::Shown;

/// Where the archive comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Origin {
    /// The registry of its ecosystem, whichever the user's is.
    Registry,
    /// This disk: the absolute path of an archive or a directory.
    Path(PathBuf),
}

/// One exact package, as a plan names it: no registry's address, so a plan is the same behind any mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    package: Package,
    origin: Origin,
}

impl From<&source::Release> for Released {
    fn from(release: &source::Release) -> Self {
        Self {
            package: release.package().clone(),
            origin: release.path().map_or(Origin::Registry, |path| Origin::Path(path.to_owned())),
        }
    }
}

/// A package as a plan writes it down, in texts that its ecosystem gives a meaning to.
pub(super) struct Stored<'a> {
    pub(super) ecosystem: Ecosystem,
    pub(super) package: &'a str,
    pub(super) extras: &'a Extras,
    pub(super) version: &'a str,
    pub(super) integrity: &'a HeldTo,
    pub(super) origin: &'a Origin,
}

impl Released {
    /// A package as a stored plan names it, through the grammar of its ecosystem.
    pub(super) fn stored(stored: &Stored<'_>) -> Result<Self, PlanRefused> {
        let odd = |what: &str| PlanRefused::Stored(Shown::new(&format!("its package has an odd {what}")));
        let package = match (stored.ecosystem, stored.integrity) {
            (Ecosystem::Npm, HeldTo::Archive(integrity)) if stored.extras.is_empty() => {
                Package::Npm(NpmPackage {
                    name: stored.package.parse().map_err(|_| odd("name"))?,
                    version: stored.version.parse().map_err(|_| odd("version"))?,
                    integrity: *integrity,
                })
            }
            (Ecosystem::Pypi, HeldTo::Files(hashes)) => Package::Pypi(PypiPackage {
                name: stored.package.parse().map_err(|_| odd("name"))?,
                version: stored.version.parse().map_err(|_| odd("version"))?,
                extras: stored.extras.clone(),
                hashes: hashes.clone(),
            }),
            _ => return Err(odd("hash")),
        };
        // read back in one spelling alone
        if package.name() != stored.package || package.version() != stored.version {
            return Err(odd("spelling"));
        }
        Ok(Self { package, origin: stored.origin.clone() })
    }

    /// The package, its version and its hash.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Where the archive comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether it comes from this disk.
    pub fn is_local(&self) -> bool {
        matches!(self.origin, Origin::Path(_))
    }

    /// What it is a version of: `npm:@scope/name`, or `path:/srv/x`. Local names belong to this.
    pub fn source(&self) -> String {
        match &self.origin {
            Origin::Registry => format!("{}:{}", self.package.ecosystem(), self.package.name()),
            Origin::Path(path) => format!("path:{}", path.display()),
        }
    }

    /// The spec that means exactly this: `npm:@scope/name@1.2.3`, `pypi:name==1.2.3`, or `path:/srv/x`.
    pub fn id(&self) -> String {
        match &self.origin {
            Origin::Registry => format!("{}:{}", self.package.ecosystem(), self.package.exact()),
            Origin::Path(_) => self.source(),
        }
    }

    /// The optional parts that were asked for, where the ecosystem has such.
    pub(super) fn extras(&self) -> Extras {
        match &self.package {
            Package::Npm(_) => Extras::default(),
            Package::Pypi(package) => package.extras.clone(),
        }
    }

    /// The name of the runtime that runs packages of its ecosystem.
    pub(super) fn runtime(&self) -> &'static str {
        match self.package {
            Package::Npm(_) => "node",
            Package::Pypi(_) => "python",
        }
    }

    /// Refuses a path that another process, or a person, would take for another place.
    pub(super) fn check_origin(&self) -> Result<(), PlanRefused> {
        match &self.origin {
            Origin::Registry => Ok(()),
            Origin::Path(path) => check_path(path),
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
    use crate::digest::Digest;
    use crate::source::Integrity;

    fn released(origin: Origin) -> Released {
        let integrity = HeldTo::Archive(Integrity::of(b"x"));
        let (package, version) = ("@scope/name.js", "1.2.3-beta.1");
        let (ecosystem, extras) = (Ecosystem::Npm, &Extras::default());
        let stored = Stored { ecosystem, package, extras, version, integrity: &integrity, origin: &origin };
        Released::stored(&stored).unwrap()
    }

    #[test]
    fn refuses_a_package_that_its_ecosystem_would_not_write_so() {
        let (archive, origin) = (HeldTo::Archive(Integrity::of(b"x")), Origin::Registry);
        let files = HeldTo::Files(std::collections::BTreeSet::from([Digest::of(b"x")]).try_into().unwrap());
        let (none, some) = (Extras::default(), "cli".parse().unwrap());
        let stored = |ecosystem, package, extras, version, integrity| {
            Released::stored(&Stored { ecosystem, package, extras, version, integrity, origin: &origin })
        };
        assert!(stored(Ecosystem::Npm, "a", &none, "1.0.0", &archive).is_ok());
        assert_eq!(stored(Ecosystem::Pypi, "a-b", &some, "1.0", &files).unwrap().id(), "pypi:a-b[cli]==1.0");
        for (ecosystem, package, extras, version, integrity) in [
            (Ecosystem::Npm, "a", &none, "1.0.0", &files),
            (Ecosystem::Npm, "a", &some, "1.0.0", &archive),
            (Ecosystem::Npm, "../a", &none, "1.0.0", &archive),
            (Ecosystem::Npm, "a", &none, "latest", &archive),
            (Ecosystem::Pypi, "a", &none, "1.0", &archive),
            (Ecosystem::Pypi, "A_b", &none, "1.0", &files),
            (Ecosystem::Pypi, "a", &none, "1.0-RC1", &files),
            (Ecosystem::Pypi, "a;b", &none, "1.0", &files),
        ] {
            assert!(stored(ecosystem, package, extras, version, integrity).is_err(), "{package} {version}");
        }
    }

    #[test]
    fn a_package_is_known_by_its_source_and_one_version_of_it_by_its_id() {
        let released = released(Origin::Registry);
        assert_eq!(released.source(), "npm:@scope/name.js");
        assert_eq!(released.id(), "npm:@scope/name.js@1.2.3-beta.1");
    }

    #[test]
    fn refuses_a_path_that_is_relative_or_cannot_be_drawn() {
        for bad in ["x", "./x", "/a\nb", "/a\u{1b}[2K", ""] {
            assert!(released(Origin::Path(bad.into())).check_origin().is_err(), "{bad}");
        }
        let good = released(Origin::Path("/srv/my server".into()));
        assert!(good.check_origin().is_ok());
        assert_eq!(good.id(), "path:/srv/my server");
    }

    #[test]
    fn accepts_the_old_names_that_trees_hold_and_refuses_paths() {
        for good in ["a", "JSONStream", "@a/b", "-", "a.b", "~x"] {
            assert!(is_npm_name(good), "{good}");
        }
        for bad in ["", "..", ".bin", "_x", "a/b", "@a", "@a/../b", "@/b", "a b", "a\\b", "node_modules"] {
            assert!(!is_npm_name(bad), "{bad}");
        }
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
