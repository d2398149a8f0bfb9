//! What starts a package?

use serde::{Deserialize, Serialize};

use super::argv::Argument;
use super::refused::PlanRefused;
use super::release::Released;
use crate::source::{NpmPackage, Package};
use crate::text::Shown;

/// Where a sealed image holds the installed tree.
pub const SERVER_DIR: &str = "/opt/server";

/// The runtime image a package is installed into and run by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuntimeFile")]
pub struct Runtime {
    name: String,
    version: String,
    recipe: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuntimeFile {
    name: String,
    version: String,
    recipe: String,
}

impl Runtime {
    /// A runtime: `node` or `python`, its version, and what says how its image was made (a digest or a recipe's name).
    ///
    /// # Errors
    /// [`PlanRefused::Runtime`] for a part that is empty, over 128 characters, or more than letters, digits and
    /// `._:@/+-`.
    pub fn new(name: &str, version: &str, recipe: &str) -> Result<Self, PlanRefused> {
        for part in [name, version, recipe] {
            let allowed = part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:@/+-".contains(&b));
            if part.is_empty() || part.len() > 128 || !allowed {
                return Err(PlanRefused::Runtime(Shown::new(part)));
            }
        }
        if !["node", "python"].contains(&name) {
            return Err(PlanRefused::Runtime(Shown::new(name)));
        }
        Ok(Self { name: name.to_owned(), version: version.to_owned(), recipe: recipe.to_owned() })
    }

    /// `node` or `python`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its exact version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The first two numbers of its version: `3.13`.
    pub fn minor(&self) -> Option<String> {
        let mut numbers = self.version.split('.');
        Some(format!("{}.{}", numbers.next()?, numbers.next()?))
    }

    /// What says how its image was made.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }
}

impl TryFrom<RuntimeFile> for Runtime {
    type Error = PlanRefused;

    fn try_from(file: RuntimeFile) -> Result<Self, PlanRefused> {
        Self::new(&file.name, &file.version, &file.recipe)
    }
}

/// A program of a package, and so what is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// A file of an npm package.
    File(Bin),
    /// A console script of a Python package.
    ///
    /// Source: Python Packaging User Guide, "Entry points specification", "Use for scripts".
    Script(ScriptName),
    /// A module of a Python package, run as a program (`python -m`).
    Module(ModuleName),
}

impl Program {
    /// What starts it in a sealed image: the program itself, with no shell and no package manager.
    ///
    /// # Errors
    /// [`PlanRefused::Bin`] for a program of another ecosystem than the package's.
    pub(super) fn launcher(&self, release: &Released) -> Result<Vec<Argument>, PlanRefused> {
        let words = match (self, release.package()) {
            (Self::File(bin), Package::Npm(package)) => vec!["node".to_owned(), bin.installed_path(package)],
            (Self::Script(name), Package::Pypi(_)) => vec![format!("{SERVER_DIR}/bin/{}", name.as_str())],
            (Self::Module(name), Package::Pypi(_)) => {
                vec![format!("{SERVER_DIR}/bin/python"), "-m".to_owned(), name.as_str().to_owned()]
            }
            _ => return Err(PlanRefused::Bin(Shown::new("a program of another ecosystem"))),
        };
        words.iter().map(|text| Argument::new(text).map_err(|_| PlanRefused::Bin(Shown::new(text)))).collect()
    }

    /// Its name, as `--bin` takes it.
    pub fn name(&self) -> &str {
        match self {
            Self::File(bin) => bin.name(),
            Self::Script(name) => name.as_str(),
            Self::Module(name) => name.as_str(),
        }
    }
}

/// A program's name: one plain word, safe as a file's name and as an argument.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 214
        && !text.starts_with(['-', '.'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"@._-".contains(&b))
}

/// The name of a console script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ScriptName(String);

/// The name of a module: identifiers joined by dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ModuleName(String);

impl ScriptName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ModuleName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ScriptName {
    type Error = PlanRefused;

    fn try_from(text: String) -> Result<Self, PlanRefused> {
        // beside the scripts of a virtual environment stand its interpreters
        if is_word(&text) && !text.starts_with("python") {
            Ok(Self(text))
        } else {
            Err(PlanRefused::Bin(Shown::new(&text)))
        }
    }
}

impl TryFrom<String> for ModuleName {
    type Error = PlanRefused;

    fn try_from(text: String) -> Result<Self, PlanRefused> {
        let identifier = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        if text.len() <= 214 && text.split('.').all(identifier) {
            Ok(Self(text))
        } else {
            Err(PlanRefused::Bin(Shown::new(&text)))
        }
    }
}

impl From<ScriptName> for String {
    fn from(name: ScriptName) -> String {
        name.0
    }
}

impl From<ModuleName> for String {
    fn from(name: ModuleName) -> String {
        name.0
    }
}

/// A program of an npm package: its name, and the file it is, relative to the package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BinFile")]
pub struct Bin {
    name: String,
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BinFile {
    name: String,
    path: String,
}

impl Bin {
    /// A program. A leading `./` of the path is dropped, as npm does.
    ///
    /// # Errors
    /// [`PlanRefused::Bin`] for a path that is absolute, leaves the package, or holds a backslash, a control or
    /// an invisible character, and for a name that is not one plain word.
    pub fn new(name: &str, path: &str) -> Result<Self, PlanRefused> {
        if !is_word(name) {
            return Err(PlanRefused::Bin(Shown::new(name)));
        }
        let refuse = || PlanRefused::Bin(Shown::new(path));
        let inner = path.trim_start_matches("./");
        let plain = inner.split('/').all(|part| !matches!(part, "" | "." | "..") && part != "node_modules");
        // The path is shown on the card as part of the command: it must be what it looks like.
        let seen = inner.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
        if !plain || !seen || path.starts_with('/') || inner.len() > 1024 {
            return Err(refuse());
        }
        Ok(Self { name: name.to_owned(), path: inner.to_owned() })
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, relative to the package, `/` between parts.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file inside a sealed image.
    pub fn installed_path(&self, package: &NpmPackage) -> String {
        format!("{SERVER_DIR}/node_modules/{}/{}", package.name, self.path)
    }
}

impl TryFrom<BinFile> for Bin {
    type Error = PlanRefused;

    fn try_from(file: BinFile) -> Result<Self, PlanRefused> {
        let bin = Self::new(&file.name, &file.path)?;
        if bin.path == file.path { Ok(bin) } else { Err(PlanRefused::Bin(Shown::new(&file.path))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_a_file_inside_the_package_and_writes_it_one_way() {
        for (path, kept) in [("dist/index.js", "dist/index.js"), ("./cli.js", "cli.js"), ("bin/a b.js", "")] {
            match Bin::new("x", path) {
                Ok(bin) => assert_eq!(bin.path(), kept),
                Err(_) => assert_eq!(kept, "", "{path}"),
            }
        }
    }

    #[test]
    fn refuses_a_file_outside_the_package_or_one_that_is_not_what_it_looks_like() {
        for bad in [
            "",
            ".",
            "/bin/sh",
            "../x",
            "a/../../x",
            "a//b",
            "./",
            ".//x",
            "a\\b",
            "a\nb",
            "a\u{202e}b",
            "a/",
            "node_modules/x/y.js",
        ] {
            assert!(Bin::new("x", bad).is_err(), "{bad:?}");
        }
        for bad in ["", "-x", "../x", "a b", "a/b", "a;b"] {
            assert!(Bin::new(bad, "x.js").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_script_is_one_word_and_no_interpreter_and_a_module_is_identifiers() {
        let script = |text: &str| ScriptName::try_from(text.to_owned());
        let module = |text: &str| ModuleName::try_from(text.to_owned());
        for good in ["mcp-server-time", "a.b", "A_1", "uvicorn"] {
            assert_eq!(script(good).unwrap().as_str(), good);
        }
        for bad in ["", "-x", "../x", "a b", "a/b", "python", "python3.11", ".x", "a\nb"] {
            assert!(script(bad).is_err(), "{bad:?}");
        }
        for good in ["mcp_server_time", "a.b.c", "_x"] {
            assert_eq!(module(good).unwrap().as_str(), good);
        }
        for bad in ["", "-c", "a-b", "a..b", ".a", "1a", "a b", "a/b"] {
            assert!(module(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn refuses_a_runtime_it_does_not_have() {
        assert!(Runtime::new("node", "22.1.0", "debian-12").is_ok());
        for bad in [("bash", "5", "x"), ("node", "", "x"), ("node", "22\n", "x"), ("node", "22", "")] {
            assert!(Runtime::new(bad.0, bad.1, bad.2).is_err(), "{bad:?}");
        }
    }
}
