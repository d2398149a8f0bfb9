//! Why is there no release, and what is to be done about it?
//!
//! One enum for the room, its variants by cause; who is to blame decides the words: the text that was typed, the
//! user's configuration, the registry, the package.

use super::launch_line::LineRefused;
use super::name::NotAnNpmName;
use super::package::Ecosystem;
use super::pypi::PassedOver;
use super::python::{NotPython, PypiVersion, PythonMinor};
use crate::failure::{Code, Failure};
use crate::net::NetError;
use crate::text::Shown;

/// Why no release was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The user's word is no spec.
    #[error("`{text}` names no server: {why}")]
    NotASpec {
        /// What was typed.
        text: Shown,
        /// The rule.
        why: &'static str,
    },
    /// The user's word is a spec of a kind this version does not carry.
    #[error("`{text}` is {what}, which this version does not carry yet")]
    NotYet {
        /// What was typed.
        text: Shown,
        /// What it is.
        what: &'static str,
        /// What is carried instead.
        carried: &'static str,
    },
    /// The user's word is a package's name, and does not say whose.
    #[error("`{text}` does not say whose package it is")]
    PlainName {
        /// What was typed.
        text: Shown,
        /// The specs that it may stand for.
        specs: Vec<Shown>,
    },
    /// The user's word is a launch line that is refused.
    #[error(transparent)]
    Line(#[from] LineRefused),
    /// A package's name is outside npm's grammar.
    #[error("`{text}` is not a package's name: {rule}")]
    Name {
        /// The name.
        text: Shown,
        /// The rule.
        rule: NotAnNpmName,
    },
    /// A version is outside npm's grammar.
    #[error("`{text}` is neither a version, nor a dist-tag, nor a range of versions")]
    Version {
        /// The version.
        text: Shown,
    },
    /// A name, version or requirement is outside Python's grammar.
    #[error("`{text}` is refused: {rule}")]
    Python {
        /// What was written.
        text: Shown,
        /// The rule.
        rule: NotPython,
    },
    /// The registry has no such package.
    #[error("{registry} has no package {name}")]
    UnknownPackage {
        /// Whose package.
        ecosystem: Ecosystem,
        /// The package.
        name: Shown,
        /// The registry asked.
        registry: Shown,
    },
    /// The package has no such version.
    #[error("there is no {package}")]
    UnknownVersion {
        /// What was asked for, as its ecosystem writes it.
        package: Shown,
        /// The few newest versions it has.
        newest: Vec<Shown>,
    },
    /// A Python package has such versions, and none that can be installed.
    #[error("{package} cannot be installed: {version}: {why}")]
    NotInstallable {
        /// What was asked for.
        package: Shown,
        /// The newest version that was meant.
        version: PypiVersion,
        /// What speaks against it.
        why: PassedOver,
        /// How many older versions were meant too, with something against each.
        others: usize,
        /// The Pythons that there are.
        carried: Vec<PythonMinor>,
    },
    /// There is no runtime image with the Python that was asked for.
    #[error("there is no Python {asked}")]
    PythonMissing {
        /// The one asked for.
        asked: PythonMinor,
        /// Those that there are.
        carried: Vec<PythonMinor>,
    },
    /// The index has its pages as HTML alone.
    #[error("{registry} answers with HTML")]
    HtmlOnly {
        /// The index.
        registry: Shown,
    },
    /// The path leads to no package.
    #[error("{path} is no package: {why}")]
    NoPackage {
        /// The path.
        path: Shown,
        /// Why not.
        why: Shown,
    },
    /// The path leads to a Python project that was not built.
    #[error("{path} is a Python project and no wheel")]
    PythonProject {
        /// The path.
        path: Shown,
    },
    /// The registry could not be asked.
    #[error("{registry} could not be asked: {why}")]
    Unreachable {
        /// Whose registry.
        ecosystem: Ecosystem,
        /// The registry.
        registry: Shown,
        /// What went wrong.
        why: NetError,
    },
    /// The registry wants a credential.
    #[error("{registry} answered with status {status}: it wants a credential")]
    Denied {
        /// Whose registry.
        ecosystem: Ecosystem,
        /// The registry.
        registry: Shown,
        /// 401 or 403.
        status: u16,
        /// Whether the user's own client has one.
        credential_held: bool,
    },
    /// A package's file is not the one whose hash is known.
    #[error("{package} was served with other bytes than its hash names")]
    OtherBytes {
        /// Whose package.
        ecosystem: Ecosystem,
        /// The package and version.
        package: Shown,
    },
    /// The registry's answer contradicts itself or is unreadable.
    #[error("{registry} answers nonsense: {why}")]
    Nonsense {
        /// Whose registry.
        ecosystem: Ecosystem,
        /// The registry.
        registry: Shown,
        /// What is wrong with it.
        why: Shown,
    },
    /// The registry tells no hash for the release.
    #[error("the registry tells no hash for {package}")]
    HashMissing {
        /// Whose package.
        ecosystem: Ecosystem,
        /// Name and version.
        package: Shown,
    },
    /// A program of the package has a name or path that leads elsewhere.
    #[error("a program of {package} is refused: {why}")]
    Bin {
        /// Name and version.
        package: Shown,
        /// What is wrong with it.
        why: Shown,
    },
    /// The user's configuration of npm, pip, uv or Pinfold cannot be followed.
    #[error("{place} cannot be followed: {why}")]
    Config {
        /// The file or variable.
        place: Shown,
        /// What is wrong with it.
        why: Shown,
    },
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        use SourceError as E;
        match &error {
            E::NotASpec { text, why } => Failure::new(
                Code::Usage,
                format_args!("`{text}` names no server"),
                why,
                "write `npm:NAME`, `pypi:NAME`, `path:` and a file or folder, or a launch line such as \"npx -y NAME\"",
            ),
            E::NotYet { text, what, carried } => Failure::new(
                Code::Usage,
                format_args!("`{text}` cannot be mounted"),
                format_args!("it is {what}, which this version does not carry yet"),
                format_args!("this version carries {carried}"),
            ),
            E::PlainName { text, specs } => Failure::new(
                Code::Usage,
                format_args!("`{text}` does not say whose package it is"),
                "npm and Python's index each have packages of such names, by different people",
                format_args!(
                    "write {}, as its documentation has it: `npx` and `npm` are npm's, `uvx` and `pip` Python's",
                    specs.iter().map(|spec| format!("`{spec}`")).collect::<Vec<_>>().join(" or ")
                ),
            ),
            E::Line(refused) => refused.clone().into(),
            E::Name { text, rule } => Failure::new(
                Code::NameRefused,
                format_args!("the package name `{text}` is refused"),
                rule,
                "check the spelling against the server's own documentation",
            ),
            E::Version { text } => Failure::new(
                Code::NameRefused,
                format_args!("the version `{text}` is refused"),
                "it is neither an exact version, nor a dist-tag, nor a range in npm's grammar",
                "write `npm:NAME@1.2.3`, or `npm:NAME` for the latest version",
            ),
            E::Python { text, rule } => Failure::new(
                Code::NameRefused,
                format_args!("`{text}` is refused"),
                rule,
                "write `pypi:NAME`, `pypi:NAME==1.2.3` or `pypi:NAME[EXTRA]`",
            ),
            E::UnknownPackage { ecosystem, name, registry } => Failure::new(
                Code::NotFound,
                format_args!("there is no {} package {name}", spoken(*ecosystem)),
                format_args!("{registry} does not know it"),
                format_args!(
                    "check the spelling; a private package needs the registry that has it, in your own configuration of {}",
                    client(*ecosystem)
                ),
            ),
            E::UnknownVersion { package, newest } => Failure::new(
                Code::NotFound,
                format_args!("there is no {package}"),
                "the registry knows the package and has no such version",
                match newest.is_empty() {
                    true => "it has no version at all".to_owned(),
                    false => format!("its newest versions are {}", list(newest)),
                },
            ),
            E::NotInstallable { package, version, why, others, carried } => Failure::new(
                Code::CannotResolve,
                format_args!("{package} cannot be installed"),
                match others {
                    0 => format!("{version} is the only such version, and {why}"),
                    1 => format!("of {version}: {why}; the one other such version is no better"),
                    _ => format!("of {version}: {why}; the {others} other such versions are no better"),
                },
                match why {
                    PassedOver::Prerelease => format!("name it, if it is meant: `=={version}`"),
                    PassedOver::Yanked(_) => "choose a version that still stands; without a version the newest one is taken".to_owned(),
                    PassedOver::NoWheel => "choose a version with a wheel; or have it built, `--allow-build`, which runs code of its own in a cage of its own".to_owned(),
                    PassedOver::NoFile => "choose another version".to_owned(),
                    PassedOver::OtherSystems(_) => "it is not for Linux on this processor; look whether another version or another server is".to_owned(),
                    PassedOver::OtherPython(_) => format!("this version carries Python {}; choose a version of the package for one of these", list(carried)),
                    PassedOver::NotThatPython(_) => "leave `--python` out: the newest Python that will do is taken".to_owned(),
                },
            ),
            E::PythonMissing { asked, carried } => Failure::new(
                Code::CannotResolve,
                format_args!("there is no Python {asked}"),
                format_args!("this version carries Python {}", list(carried)),
                "ask for one of these, or leave `--python` out",
            ),
            E::HtmlOnly { registry } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} cannot be read"),
                "it answers with HTML (PEP 503), and only an index that has JSON is read (PEP 691); a login page of a proxy is HTML too",
                "see with `pip config list` whom you asked; name an index or a mirror with JSON as `index` under `[pypi]` in Pinfold's config.toml",
            ),
            E::NoPackage { path, why } => Failure::new(
                Code::NotFound,
                format_args!("{path} is no package"),
                why,
                "`path:` takes a tarball made by `npm pack`, a folder with a package.json, or a wheel (`uv build --wheel`)",
            ),
            E::PythonProject { path } => Failure::new(
                Code::NotFound,
                format_args!("{path} is no package"),
                "it is a Python project, which runs code of its own when it is built",
                "build a wheel of it (`uv build --wheel` in the folder) and mount that: `path:dist/NAME.whl`",
            ),
            E::Unreachable { ecosystem, registry, why } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} could not be asked"),
                why,
                format_args!(
                    "check the network, and with `{}` that this is the registry you mean",
                    which_registry(*ecosystem)
                ),
            ),
            E::Denied { ecosystem, registry, status, credential_held } => {
                let held = match credential_held {
                    true => format!("your {} holds a credential for it, which this version does not carry", client(*ecosystem)),
                    false => "registries behind a credential are not carried yet".to_owned(),
                };
                Failure::new(
                    Code::RegistryFailed,
                    format_args!("{registry} wants a credential"),
                    format_args!("it answered with status {status}"),
                    match ecosystem {
                        Ecosystem::Npm => format!("{held}; `npm pack` the server and mount `path:FILE.tgz`"),
                        Ecosystem::Pypi => format!("{held}; download the server's wheel and mount `path:FILE.whl`"),
                    },
                )
            }
            E::OtherBytes { ecosystem, package } => Failure::new(
                Code::HashMismatch,
                format_args!("{package} was served with other bytes than its hash names"),
                "the registry, or a proxy before it, changed the package",
                format_args!(
                    "do not use that registry until it is explained; `{}` shows which it is",
                    which_registry(*ecosystem)
                ),
            ),
            E::Nonsense { ecosystem, registry, why } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} answers nonsense"),
                why,
                format_args!(
                    "a proxy or login page in between answers like this; with `{}` see whom you asked",
                    which_registry(*ecosystem)
                ),
            ),
            E::HashMissing { ecosystem, package } => {
                let (why, hint) = match ecosystem {
                    Ecosystem::Npm => (
                        "the registry tells no sha512 integrity for it",
                        "choose a newer version; npm has written sha512 for everything published since 2017",
                    ),
                    Ecosystem::Pypi => (
                        "the index tells no sha256 for any file of it",
                        "use an index or a mirror that does (PEP 691, `hashes`)",
                    ),
                };
                Failure::new(Code::HashMissing, format_args!("{package} has no hash to hold it to"), why, hint)
            }
            E::Bin { package, why } => Failure::new(
                Code::LaunchRefused,
                format_args!("a program of {package} is refused"),
                why,
                "no honest package needs this; tell its author, or the registry",
            ),
            E::Config { place, why } => Failure::new(
                Code::Usage,
                format_args!("{place} cannot be followed"),
                why,
                "correct it there; or set `registry` under `[npm]`, or `index` under `[pypi]`, in Pinfold's config.toml",
            ),
        }
    }
}

fn list<T: std::fmt::Display>(all: &[T]) -> String {
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    match all.as_slice() {
        [one, last] => format!("{one} and {last}"),
        all => all.join(", "),
    }
}

fn spoken(ecosystem: Ecosystem) -> &'static str {
    match ecosystem {
        Ecosystem::Npm => "npm",
        Ecosystem::Pypi => "Python",
    }
}

fn client(ecosystem: Ecosystem) -> &'static str {
    match ecosystem {
        Ecosystem::Npm => "npm",
        Ecosystem::Pypi => "pip or uv",
    }
}

/// What shows which registry the user's own client is set to.
fn which_registry(ecosystem: Ecosystem) -> &'static str {
    match ecosystem {
        Ecosystem::Npm => "npm config get registry",
        Ecosystem::Pypi => "pip config list",
    }
}
