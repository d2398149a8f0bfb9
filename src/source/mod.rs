//! Where does a server come from, and exactly which one is it?
//!
//! A [`Spec`] is what the user typed; a [`Release`] is one package, one version, one hash. This room turns the first
//! into the second by asking the user's own registry or reading a file, and does nothing else: nothing is installed,
//! unpacked or run here.
//!
//! Invariants: a `Release` is made here alone; no registry's address is written down; a name is looked up as typed,
//! and no other package ever stands in for it.

pub mod launch_line;
mod manifest;
pub mod name;
pub mod npm;
pub mod npm_config;
mod package;
pub mod path;
pub mod pip_config;
mod pypi_spec;
pub mod python;
mod registry;
pub mod release;
pub mod spec;
mod wheel_name;

pub use launch_line::{Launch, LineRefused, ProgramChoice, WordsRefused};
pub use name::{NotAVersion, NotAnNpmName, NpmName, NpmVersion};
pub use npm_config::{NpmConfig, Registries, Surroundings};
pub use package::{Ecosystem, Hashes, HeldTo, NoHash, NpmPackage, Package, PypiPackage};
pub use pip_config::{Index, PipConfig, PipSurroundings};
pub use pypi_spec::PypiSpec;
pub use python::{Extras, NotPython, PypiName, PypiVersion, PythonMinor, Requirement};
pub use registry::{Found, Registry};
pub use release::{Bin, Facts, Integrity, NotAnIntegrity, Origin, Release};
pub use spec::{NpmSpec, PathSpec, Range, Spec, Tag, Wanted};
pub use wheel_name::{NotAWheelName, WheelName};

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
        /// The package.
        name: NpmName,
        /// The registry asked.
        registry: Shown,
    },
    /// The package has no such version.
    #[error("{name} has no version {wanted}")]
    UnknownVersion {
        /// The package.
        name: NpmName,
        /// What was asked for.
        wanted: Shown,
        /// The few newest it has.
        newest: Vec<NpmVersion>,
    },
    /// The path leads to no package.
    #[error("{path} is no package: {why}")]
    NoPackage {
        /// The path.
        path: Shown,
        /// Why not.
        why: Shown,
    },
    /// The registry could not be asked.
    #[error("{registry} could not be asked: {why}")]
    Unreachable {
        /// The registry.
        registry: Shown,
        /// What went wrong.
        why: NetError,
    },
    /// The registry wants a credential.
    #[error("{registry} answered with status {status}: it wants a credential")]
    Denied {
        /// The registry.
        registry: Shown,
        /// 401 or 403.
        status: u16,
        /// Whether the user's npm has one.
        credential_held: bool,
    },
    /// A tarball is not the one whose hash is known.
    #[error("{package} was served with other bytes than its hash names")]
    OtherBytes {
        /// The package and version.
        package: Shown,
    },
    /// The registry's answer contradicts itself or is unreadable.
    #[error("{registry} answers nonsense: {why}")]
    Nonsense {
        /// The registry.
        registry: Shown,
        /// What is wrong with it.
        why: Shown,
    },
    /// The registry tells no SHA-512 for the release.
    #[error("the registry tells no sha512 hash for {package}")]
    HashMissing {
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
    /// The user's configuration of npm or Pinfold cannot be followed.
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
            E::UnknownPackage { name, registry } => Failure::new(
                Code::NotFound,
                format_args!("there is no npm package {name}"),
                format_args!("{registry} does not know it"),
                "check the spelling; a private package needs the registry that has it, in your own npm configuration",
            ),
            E::UnknownVersion { name, wanted, newest } => {
                let newest: Vec<String> = newest.iter().map(NpmVersion::to_string).collect();
                Failure::new(
                    Code::NotFound,
                    format_args!("there is no {name}@{wanted}"),
                    "the registry knows the package and has no such version",
                    match newest.is_empty() {
                        true => "it has no version at all".to_owned(),
                        false => format!("its newest versions are {}", newest.join(", ")),
                    },
                )
            }
            E::NoPackage { path, why } => Failure::new(
                Code::NotFound,
                format_args!("{path} is no package"),
                why,
                "`path:` takes a tarball made by `npm pack`, or a folder with a package.json",
            ),
            E::Unreachable { registry, why } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} could not be asked"),
                why,
                "check the network, and with `npm config get registry` that this is the registry you mean",
            ),
            E::Denied { registry, status, credential_held } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} wants a credential"),
                format_args!("it answered with status {status}"),
                match credential_held {
                    true => {
                        "your npm holds a credential for it, which this version does not carry; `npm pack` the server and mount `path:FILE.tgz`"
                    }
                    false => {
                        "registries behind a credential are not carried yet; `npm pack` the server and mount `path:FILE.tgz`"
                    }
                },
            ),
            E::OtherBytes { package } => Failure::new(
                Code::HashMismatch,
                format_args!("{package} was served with other bytes than its hash names"),
                "the registry, or a proxy before it, changed the package",
                "do not use that registry until it is explained; `npm config get registry` shows which it is",
            ),
            E::Nonsense { registry, why } => Failure::new(
                Code::RegistryFailed,
                format_args!("{registry} answers nonsense"),
                why,
                "a proxy or login page in between answers like this; with `npm config get registry` see whom you asked",
            ),
            E::HashMissing { package } => Failure::new(
                Code::HashMissing,
                format_args!("{package} has no hash to hold it to"),
                "the registry tells no sha512 integrity for it",
                "choose a newer version; npm has written sha512 for everything published since 2017",
            ),
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
                "correct it there, or set `registry` under `[npm]` in Pinfold's config.toml",
            ),
        }
    }
}
