//! How is one runtime image made?
//!
//! By a [`Recipe`], which is data: written in `images/`, compiled in. It says which official image to ask for, what
//! of Debian's packages stands in for it, which artifacts come on top, and what the image must say in a cage before
//! it counts as there.
//!
//! Invariants: an artifact is held to written-down bytes; no package index has its address in a recipe.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::cage::engine::{ImageRecord, Labels, label};
use crate::digest::Digest;
use crate::install::InstallError;
use crate::plan;
use crate::source::PythonMinor;
use crate::text::Shown;

/// How to make one runtime image.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    name: String,
    runtime: String,
    series: String,
    pub(super) official: Official,
    pub(super) debian: Debian,
    #[serde(default)]
    pub(super) interpreter: Vec<Part>,
    pub(super) manager: Vec<Part>,
    #[serde(default)]
    pub(super) links: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// Whether the interpreter's own library is compiled (`images/python/bytecode.py`).
    #[serde(default)]
    pub(super) bytecode: bool,
    pub(super) tried: Tried,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Official {
    pub(super) image: String,
    pub(super) recipe: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Debian {
    pub(super) suite: String,
    pub(super) recipe: String,
    pub(super) include: Vec<String>,
    pub(super) leave_out: Vec<String>,
}

/// An artifact, and where its files go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// The machine it is for; none: any.
    #[serde(default)]
    architecture: Option<String>,
    pub(super) from: Artifact,
    /// Path in the artifact to path in the image. The path `""` is the whole of it, and goes to a folder.
    place: BTreeMap<String, String>,
}

/// What the image must say in a cage.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tried {
    /// Prints the interpreter's version.
    pub(super) version: Asked,
    /// Prints the package index that the ecosystem's client has built in.
    pub(super) index: Asked,
    /// What else must end well.
    pub(super) runs: Vec<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) argv: Vec<String>,
    /// What stands before the answer.
    #[serde(default)]
    pub(super) before: String,
    /// Whether the base already answers, before the package manager is put on top.
    #[serde(default)]
    pub(super) of_the_base: bool,
}

/// A package of an ecosystem's registry, held to its bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Artifact {
    /// A tarball of an npm registry.
    Npm(NpmArtifact),
    /// A wheel of a Python package index.
    Pypi(PypiArtifact),
}

/// A tarball of an npm registry.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpmArtifact {
    /// Its package's name.
    pub package: String,
    /// Its exact version.
    pub version: String,
    /// Subresource Integrity of the tarball (sha512).
    pub integrity: String,
}

/// A wheel of a Python package index.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PypiArtifact {
    /// Its project's name.
    pub package: String,
    /// Its exact version.
    pub version: String,
    /// The file's name in the index.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: Digest,
}

impl Artifact {
    /// Its name and version, for people.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Npm(NpmArtifact { package, version, .. })
            | Self::Pypi(PypiArtifact { package, version, .. }) => format!("{package} {version}"),
        }
    }
}

impl Part {
    /// Where a file of the artifact goes in the image, if anywhere.
    pub(super) fn place(&self, inside: &str) -> Option<String> {
        match self.place.get("") {
            Some(folder) => Some(format!("{folder}{inside}")),
            None => self.place.get(inside).cloned(),
        }
    }

    /// The one of these that is for this machine.
    pub(super) fn of<'a>(parts: &'a [Self], architecture: &str) -> Option<&'a Self> {
        parts.iter().find(|part| part.architecture.as_deref().is_none_or(|one| one == architecture))
    }
}

impl Recipe {
    /// Every recipe there is, newer ones of a runtime first.
    pub fn all() -> Vec<Self> {
        std::iter::once(Self::node()).chain(Self::pythons()).collect()
    }

    /// The Node runtime.
    pub fn node() -> Self {
        read(include_str!("../../../images/node/recipe.toml"))
    }

    /// Python 3.13, of Debian 13's time.
    pub fn python_3_13() -> Self {
        read(include_str!("../../../images/python/3.13.toml"))
    }

    /// Python 3.11, of Debian 12's time.
    pub fn python_3_11() -> Self {
        read(include_str!("../../../images/python/3.11.toml"))
    }

    /// The recipes of Python, newer ones first.
    pub fn pythons() -> Vec<Self> {
        vec![Self::python_3_13(), Self::python_3_11()]
    }

    /// The recipe of a minor version of Python.
    ///
    /// # Errors
    /// This version has none for it: [`InstallError::NoBase`].
    pub fn python(minor: PythonMinor) -> Result<Self, InstallError> {
        let found = Self::pythons().into_iter().find(|recipe| recipe.series == minor.to_string());
        found.ok_or_else(|| InstallError::NoBase {
            why: Shown::new(&format!("this version has no recipe for Python {minor}")),
        })
    }

    /// The recipe of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|recipe| recipe.name == name)
    }

    /// The recipe that makes a plan's runtime.
    ///
    /// # Errors
    /// This version has none for it: [`InstallError::NoBase`].
    pub fn of(runtime: &plan::Runtime) -> Result<Self, InstallError> {
        let (name, version) = (runtime.name(), runtime.version());
        let found = Self::all().into_iter().find(|recipe| recipe.runtime == name && recipe.has(version));
        found.ok_or_else(|| InstallError::NoBase {
            why: Shown::new(&format!("this version has no recipe for {name} {version}")),
        })
    }

    /// What `pinfold images build` takes: `node`, `python3.13`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a plan calls it: `node`, `python`.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }

    /// The interpreter's version as far as the recipe decides it: `22.23.3`, or `3.13` where the base has the last
    /// word.
    pub fn series(&self) -> &str {
        &self.series
    }

    /// Whether a version of the interpreter is one of this recipe's.
    pub fn has(&self, version: &str) -> bool {
        version.strip_prefix(&self.series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Whether these labels are those of an image that this recipe made, by either way.
    pub(super) fn made(&self, image: &ImageRecord) -> bool {
        let get = |name: &str| image.labels.get(name).map_or("", String::as_str);
        let ways = [&self.official.recipe, &self.debian.recipe];
        get(label::RUNTIME) == self.runtime
            && self.has(get(label::VERSION))
            && ways.iter().any(|way| *way == get(label::RECIPE))
    }

    /// The labels of an image made by one of the two ways, as far as they are known before it was tried.
    pub(super) fn labels(&self, mark: &str, way: &str) -> Labels {
        Labels::from([
            (label::MARK.into(), mark.into()),
            (label::RUNTIME.into(), self.runtime.clone()),
            (label::VERSION.into(), self.series.clone()),
            (label::RECIPE.into(), way.into()),
        ])
    }
}

fn read(text: &str) -> Recipe {
    toml::from_str(text).expect("every compiled-in recipe is read by a test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cage::engine::ImageId;

    #[test]
    fn every_compiled_in_recipe_holds_its_artifacts_to_their_bytes() {
        for recipe in Recipe::all() {
            for part in recipe.interpreter.iter().chain(&recipe.manager) {
                match &part.from {
                    Artifact::Npm(npm) => {
                        assert!(npm.integrity.starts_with("sha512-"), "{}", npm.package);
                        assert!(semver::Version::parse(&npm.version).is_ok(), "{}", npm.package);
                    }
                    Artifact::Pypi(pypi) => {
                        assert!(pypi.file.starts_with(&format!("{}-{}-", pypi.package, pypi.version)));
                        assert!(pypi.file.ends_with(".whl"), "{}", pypi.file);
                    }
                }
            }
            for architecture in ["x86_64", "aarch64"] {
                assert!(Part::of(&recipe.manager, architecture).is_some(), "{}", recipe.name);
            }
        }
    }

    #[test]
    fn every_recipe_is_found_by_its_own_name() {
        for recipe in Recipe::all() {
            assert_eq!(Recipe::named(recipe.name()).unwrap().series(), recipe.series());
        }
        assert!(Recipe::named("python").is_none());
    }

    #[test]
    fn no_recipe_writes_an_address_down() {
        for recipe in Recipe::all() {
            assert!(!format!("{recipe:?}").contains("://"), "{}", recipe.name);
        }
    }

    #[test]
    fn a_plans_runtime_has_its_recipe() {
        let of = |name, version| Recipe::of(&plan::Runtime::new(name, version, "any").unwrap());
        assert_eq!(of("python", "3.11.2").unwrap().name(), "python3.11");
        assert_eq!(of("node", "22.23.3").unwrap().name(), "node");
        assert!(of("python", "3.12.1").is_err() && of("node", "20.0.0").is_err());
    }

    #[test]
    fn a_version_belongs_to_its_own_series() {
        let recipe = Recipe::python_3_11();
        assert!(recipe.has("3.11.2") && recipe.has("3.11"));
        assert!(!recipe.has("3.1") && !recipe.has("3.110.1") && !recipe.has("3.13.5") && !recipe.has(""));
    }

    #[test]
    fn an_image_of_either_way_counts_and_one_of_an_older_recipe_does_not() {
        let recipe = Recipe::python_3_13();
        let image = |version: &str, way: &str| {
            let mut labels = recipe.labels("runtime", way);
            labels.insert(label::VERSION.into(), version.into());
            ImageRecord { id: ImageId::new("sha256:0"), labels, size: 0 }
        };
        assert!(recipe.made(&image("3.13.5", &recipe.debian.recipe)));
        assert!(recipe.made(&image("3.13.9", &recipe.official.recipe)));
        assert!(!recipe.made(&image("3.13.5", "debian-trixie-1")));
        assert!(!recipe.made(&image("3.14.0", &recipe.debian.recipe)));
    }

    #[test]
    fn a_part_goes_where_the_recipe_says_and_its_other_files_nowhere() {
        let recipe = Recipe::node();
        assert_eq!(recipe.interpreter[0].place("bin/node").as_deref(), Some("usr/local/bin/node"));
        assert_eq!(recipe.interpreter[0].place("README.md"), None);
        let npm = recipe.manager[0].place("bin/npm-cli.js");
        assert_eq!(npm.as_deref(), Some("usr/local/lib/node_modules/npm/bin/npm-cli.js"));
    }
}
