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
mod metadata;
pub mod name;
pub mod npm;
pub mod npm_config;
mod package;
pub mod path;
pub mod pip_config;
pub mod pypi;
mod pypi_spec;
pub mod python;
mod refused;
mod registry;
pub mod release;
pub mod spec;
pub mod wheel;
mod wheel_name;

pub use launch_line::{Launch, LineRefused, ProgramChoice, WordsRefused};
pub use name::{NotAVersion, NotAnNpmName, NpmName, NpmVersion};
pub use npm_config::{NpmConfig, Registries, Surroundings};
pub use package::{Ecosystem, Hashes, HeldTo, NoHash, NpmPackage, Package, PypiPackage};
pub use pip_config::{Index, PipConfig, PipSurroundings};
pub use pypi::{Ask, CarriedPython, FoundRelease, PassedOver, SourceArchive};
pub use pypi_spec::PypiSpec;
pub use python::{Extras, NotPython, PypiName, PypiVersion, PythonMinor, Requirement};
pub use refused::SourceError;
pub use registry::{Found, Registry};
pub use release::{Bin, Facts, Integrity, NotAnIntegrity, Origin, Release};
pub use spec::{NpmSpec, PathSpec, Range, Spec, Tag, Wanted};
pub use wheel::WheelFile;
pub use wheel_name::{NotAWheelName, WheelName};
