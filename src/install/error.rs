//! Why is there no lock, or no image, and what can be done about it?

use std::fmt;

use crate::cage::CageError;
use crate::cage::egress::RegistryWithoutName;
use crate::cage::engine::EngineError;
use crate::failure::{Code, Failure};
use crate::text::Shown;

/// The package manager that did the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// npm.
    Npm,
    /// uv.
    Uv,
}

impl Manager {
    fn check_network(self) -> &'static str {
        match self {
            Self::Npm => {
                "check the network, and with `npm config get registry` that this is the registry you mean; nothing was kept, so try again"
            }
            Self::Uv => {
                "check the network, and with `pip config list` that this is the package index you mean; nothing was kept, so try again"
            }
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npm => "npm",
            Self::Uv => "uv",
        })
    }
}

/// How a package manager failed, in its own words.
#[derive(Debug)]
pub struct GaveUp {
    /// Which.
    pub manager: Manager,
    /// The package it was at work for.
    pub package: Shown,
    /// Its last words.
    pub said: Vec<Shown>,
    /// Names it looked up and may not reach.
    pub denied: Vec<Shown>,
}

/// Why something could not be resolved, installed or sealed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The cage's part.
    #[error(transparent)]
    Cage(#[from] CageError),
    /// The engine's part.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The registry cannot be named inside a cage.
    #[error(transparent)]
    Registry(#[from] RegistryWithoutName),
    /// A base for the runtime image cannot be had.
    #[error("the runtime image cannot be made")]
    NoBase {
        /// What was tried.
        why: Shown,
    },
    /// An artifact of a recipe cannot be had.
    #[error("{0}")]
    Fetch(Failure),
    /// The package manager could not make one archive of a folder.
    #[error("the folder cannot be packed")]
    NotPacked {
        /// The package manager's own words.
        said: Vec<Shown>,
    },
    /// The package manager could not put a dependency tree together.
    #[error("the dependencies of {} cannot be resolved", .0.package)]
    Unresolved(GaveUp),
    /// A package of the tree would have to be built, and nothing is.
    #[error("{needed} comes as source only, so {package} cannot be resolved without building it")]
    NoWheel {
        /// Whose tree.
        package: Shown,
        /// The package without a wheel for this Python.
        needed: Shown,
        /// The package manager's own words.
        said: Vec<Shown>,
    },
    /// The package manager could not lay the locked tree down.
    #[error("{} cannot be installed", .0.package)]
    NotInstalled(GaveUp),
    /// A package was served with other bytes than were locked.
    #[error("{package} was served with other bytes than were locked")]
    OtherBytes {
        /// Which package, and its version.
        package: Shown,
        /// The package manager's own words.
        said: Vec<Shown>,
    },
    /// Something was laid down that is not in the lock, or not as it is there.
    #[error("{package} was installed otherwise than it was locked")]
    OtherTree {
        /// Which entry.
        package: Shown,
    },
    /// A file is there that no package signed for, or with other bytes.
    #[error("the files of {package} are not as its packages list them")]
    OtherFiles {
        /// Whose tree.
        package: Shown,
        /// A line for each such file.
        files: Vec<Shown>,
    },
    /// The program to start is not in what was installed.
    #[error("{package} has no program `{wanted}`")]
    NoProgram {
        /// The package.
        package: Shown,
        /// The program the plan starts.
        wanted: Shown,
        /// Those it has.
        there: Vec<Shown>,
    },
    /// The pin's runtime is another than the one at hand.
    #[error("the pin is of another runtime image than this host has")]
    OtherRuntime {
        /// The pin's.
        pinned: Shown,
        /// This host's.
        here: Shown,
    },
    /// A tool in the cage failed where it never should.
    #[error("{tool} failed in the cage")]
    Tool {
        /// Which.
        tool: Shown,
        /// Its last words.
        said: Vec<Shown>,
    },
    /// This machine's part: a temporary file and the like.
    #[error("a temporary file cannot be written")]
    Disk(#[from] std::io::Error),
}

/// What kind of failure it is, as far as the last words show it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No room to write to.
    DiskFull,
    /// The registry does not answer, or not to the end.
    Unreachable,
    /// Anything else.
    Other,
}

impl GaveUp {
    /// Source: the text of ENOSPC as libc and libuv have it, and uv's own words for a transfer that failed.
    fn kind(&self) -> Kind {
        let says = |texts: &[&str]| {
            let said = self.said.iter().map(ToString::to_string);
            said.into_iter().any(|line| texts.iter().any(|text| line.contains(text)))
        };
        if says(&["No space left on device", "no space left on device", "ENOSPC"]) {
            Kind::DiskFull
        } else if self.denied.is_empty()
            && says(&[
                "Failed to fetch: ",
                "error sending request",
                "error decoding response body",
                "timed out",
            ])
        {
            Kind::Unreachable
        } else {
            Kind::Other
        }
    }

    /// As a failure of this code, with this advice for what is no matter of network or room.
    fn failure(self, what: String, code: Code, hint: &str) -> Failure {
        let manager = self.manager;
        let (code, why, hint) = match self.kind() {
            Kind::DiskFull => (
                code,
                format!("{manager} found no room left to write to; its last words are below"),
                MAKE_ROOM,
            ),
            Kind::Unreachable => (
                Code::RegistryFailed,
                format!(
                    "the package registry did not answer {manager}, or not to the end; its last words are below"
                ),
                manager.check_network(),
            ),
            Kind::Other if self.denied.is_empty() => {
                (code, format!("{manager} gave up; its last words are below"), hint)
            }
            Kind::Other => {
                let names: Vec<String> = self.denied.iter().map(ToString::to_string).collect();
                (
                    code,
                    format!(
                        "{manager} wanted {}, and only the package registry may be reached",
                        names.join(", ")
                    ),
                    hint,
                )
            }
        };
        Failure::new(code, what, why, hint).with_last_words(self.said)
    }
}

/// What to do where there is no room.
const MAKE_ROOM: &str = "make room where the container engine keeps its images (`docker system df`), and try again; a tree whose archives unpack to more than 1 GiB is not carried";

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let what = error.to_string();
        match error {
            InstallError::Cage(error) => error.into(),
            InstallError::Engine(error) => error.into(),
            InstallError::Registry(error) => error.into(),
            InstallError::Fetch(failure) => failure,
            InstallError::NoBase { why } => Failure::new(
                Code::RuntimeMissing,
                what,
                why,
                "give the engine access to an image registry, or run `pinfold images build` with the runtime's name as root on Debian with `debootstrap` installed",
            ),
            InstallError::NotPacked { said } => Failure::new(
                Code::CannotResolve,
                what,
                if said.is_empty() { "npm made no archive of it" } else { "npm gave up; its last words are below" },
                "see that `npm pack` in the folder makes one archive, or mount the archive itself",
            )
            .with_last_words(said),
            InstallError::Unresolved(gave_up) => {
                let hint = match gave_up.manager {
                    Manager::Npm => "see that the package installs with `npm install` elsewhere; a dependency from git or a URL is not carried",
                    Manager::Uv => "see that the package installs with `uv tool install` elsewhere; a dependency from git or a URL is not carried",
                };
                gave_up.failure(what, Code::CannotResolve, hint)
            }
            InstallError::NoWheel { said, .. } => Failure::new(
                Code::CannotResolve,
                what,
                "the package index has no wheel of it for this Python and machine, and a build would run its code before anybody was asked",
                "choose a version that has one, here or with `--with`, or another Python with `--python`; source archives are not built by this version",
            )
            .with_last_words(said),
            InstallError::NotInstalled(gave_up) => gave_up.failure(
                what,
                Code::InstallFailed,
                "try again; if the bytes of a package changed under its version, `pinfold show` makes a new plan to look at",
            ),
            InstallError::OtherBytes { said, .. } => Failure::new(
                Code::HashMismatch,
                what,
                "the package index, or a proxy before it, changed the file since the lock was made",
                "do not install it until that is explained; `pip config list` shows which index it is",
            )
            .with_last_words(said),
            InstallError::OtherTree { .. } => Failure::new(
                Code::HashMismatch,
                what,
                "it is not in the lock, and not in the archive of a package that is: a package brings a lock of its own, or lacks what it says it bundles",
                "do not use this server; tell its author that its archive and what the registry says of it differ",
            ),
            InstallError::OtherFiles { files, .. } => Failure::new(
                Code::HashMismatch,
                what,
                "a file is in no package's RECORD, has other bytes than it says there, or takes the place of the interpreter's own; they are listed below",
                "do not use this server; tell its author that its wheel and the RECORD in it differ",
            )
            .with_last_words(files),
            InstallError::NoProgram { there, .. } => {
                let names: Vec<String> = there.iter().map(ToString::to_string).collect();
                let (why, hint) = if names.is_empty() {
                    ("it has nothing to start".to_owned(), "it is a library: look in its documentation for the server's own package")
                } else {
                    (format!("it has {}", names.join(", ")), "name one of them with `--bin`")
                };
                Failure::new(Code::LaunchRefused, what, why, hint)
            }
            InstallError::OtherRuntime { pinned, here } => Failure::new(
                Code::RuntimeMissing,
                what,
                format!("it was made for {pinned}, and here is {here}"),
                "mount the server again: `pinfold show` makes a plan for the runtime image that is here",
            ),
            InstallError::Tool { said, .. } => Failure::new(
                Code::InstallFailed,
                what,
                "its last words are below",
                "remove the runtime image from the engine (its name begins with `pinfold/runtime`), then run `pinfold images build` with its name",
            )
            .with_last_words(said),
            InstallError::Disk(error) => Failure::new(
                Code::Other,
                what,
                error,
                "see that the system's temporary directory (TMPDIR) has room",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gave_up(said: &str, denied: &[&str]) -> GaveUp {
        let shown = |text: &&str| Shown::new(text);
        let (manager, package) = (Manager::Uv, Shown::new("x"));
        GaveUp { manager, package, said: vec![Shown::new(said)], denied: denied.iter().map(shown).collect() }
    }

    #[test]
    fn a_full_disk_is_called_a_full_disk() {
        for said in ["failed to write: No space left on device (os error 28)", "npm error code ENOSPC"] {
            let failure = Failure::from(InstallError::NotInstalled(gave_up(said, &[])));
            assert!(failure.hint().to_string().starts_with("make room"), "{failure}");
        }
        let failure = Failure::from(InstallError::NotInstalled(gave_up("hash mismatch", &[])));
        assert!(failure.hint().to_string().starts_with("try again"), "{failure}");
    }

    #[test]
    fn a_registry_that_is_down_is_no_fault_of_the_package() {
        let down = gave_up("  cause: Failed to fetch: http://localhost:1/simple/x/", &[]);
        assert_eq!(Failure::from(InstallError::Unresolved(down)).code(), Code::RegistryFailed);
        let elsewhere = gave_up("  cause: Failed to fetch: https://git.example/x", &["git.example"]);
        assert_eq!(Failure::from(InstallError::Unresolved(elsewhere)).code(), Code::CannotResolve);
    }

    #[test]
    fn a_name_that_was_wanted_in_vain_is_told() {
        let failure = Failure::from(InstallError::Unresolved(gave_up("dns error", &["git.example"])));
        assert!(failure.why().to_string().contains("uv wanted git.example"), "{failure}");
    }

    #[test]
    fn a_missing_program_is_told_with_those_that_are_there() {
        let error = |there: &[&str]| InstallError::NoProgram {
            package: Shown::new("p"),
            wanted: Shown::new("w"),
            there: there.iter().map(|name| Shown::new(name)).collect(),
        };
        let failure = Failure::from(error(&["a", "b"]));
        assert_eq!(failure.why().to_string(), "it has a, b");
        assert!(Failure::from(error(&[])).why().to_string().contains("nothing to start"));
    }
}
