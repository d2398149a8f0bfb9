//! Why is there no lock, or no image, and what can be done about it?

use std::fmt;

use crate::cage::CageError;
use crate::cage::egress::RegistryWithoutName;
use crate::cage::engine::{EngineError, no_room};
use crate::failure::{Code, Failure};
use crate::plan::SERVER_DIR;
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
    /// What became of its ways out of the cage.
    pub ways: Ways,
}

/// What became of a cage's ways out while a package manager was at work.
#[derive(Debug, Default)]
pub struct Ways {
    /// The registries it was to ask, as the user set them.
    pub asked: Vec<Shown>,
    /// Names it looked up and may not reach.
    pub denied: Vec<Shown>,
    /// Why a registry could not be connected to, as the launcher saw it: the cage sees a reset and no more.
    pub failed: Vec<Shown>,
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
    /// An artifact of a recipe, or an archive to build from, cannot be had.
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
    Unresolved(Box<GaveUp>),
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
    /// A package of the tree has a source archive alone, and that does not say what would have to be known before a
    /// consent.
    #[error("the dependencies of {package} cannot be resolved without running code of theirs")]
    NotBuildable {
        /// Whose tree.
        package: Shown,
        /// A line for each such archive.
        said: Vec<Shown>,
    },
    /// A package's own build gave up.
    #[error("{package} cannot be built")]
    NotBuilt {
        /// Which package, and its version.
        package: Shown,
        /// Its last words.
        said: Vec<Shown>,
        /// Names it looked up while it was built.
        denied: Vec<Shown>,
        /// It took too long.
        late: bool,
    },
    /// What was built needs other packages than its source archive told.
    #[error("{package} was built into something that needs other packages than were locked")]
    OtherNeeds {
        /// Whose tree.
        package: Shown,
        /// A line for each.
        said: Vec<Shown>,
    },
    /// The package manager could not lay the locked tree down.
    #[error("{} cannot be installed", .0.package)]
    NotInstalled(Box<GaveUp>),
    /// A package was served with other bytes than were locked.
    #[error("{package} was served with other bytes than were locked")]
    OtherBytes {
        /// Which package, and its version.
        package: Shown,
        /// The package manager's own words.
        said: Vec<Shown>,
        /// The index that was asked.
        asked: Vec<Shown>,
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
    /// The program to start is there, and nobody may execute it.
    #[error("the program `{wanted}` of {package} cannot be executed")]
    ShutProgram {
        /// The package.
        package: Shown,
        /// The program the plan starts.
        wanted: Shown,
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
    /// No room on the engine's disk, where the tree is laid down.
    EngineFull,
    /// No room in the cage's own memory, where archives are unpacked; or who knows where.
    NoRoom,
    /// Other bytes came than the lock names.
    OtherBytes,
    /// The registry does not answer, or not to the end.
    Unreachable,
    /// Anything else.
    Other,
}

impl GaveUp {
    fn kind(&self) -> Kind {
        let said: Vec<String> = self.said.iter().map(ToString::to_string).collect();
        let says = |texts: &[&str]| said.iter().any(|line| texts.iter().any(|text| line.contains(text)));
        let npm = npm_code(&said);
        if said.iter().any(|line| no_room(line)) {
            // both name the file, or say that it was one of the tree's
            return if says(&[SERVER_DIR, UNPACKING]) { Kind::EngineFull } else { Kind::NoRoom };
        }
        // npm unpacks while it hashes: of bytes that are not the locked ones either word can come first
        if npm.is_some_and(|code| ["EINTEGRITY", "Z_DATA_ERROR", "TAR_BAD_ARCHIVE"].contains(&code)) {
            return Kind::OtherBytes;
        }
        let network = npm.is_some_and(is_of_the_network) || says(&UV_NETWORK);
        if self.ways.denied.is_empty() && network { Kind::Unreachable } else { Kind::Other }
    }

    /// Why a registry is no help, named by the address the user set.
    fn unreachable(&self) -> String {
        let (manager, asked) = (self.manager, listed(&self.ways.asked));
        match &self.ways.failed[..] {
            [] => format!("{asked} did not answer {manager}, or not to the end; its last words are below"),
            failed => format!("{asked} did not answer: {}", listed(failed)),
        }
    }

    /// As a failure of this code, with this advice for what is no matter of network or room.
    fn failure(self, what: String, code: Code, hint: &str) -> Failure {
        let manager = self.manager;
        let (code, why, hint) = match self.kind() {
            Kind::EngineFull => (
                Code::EngineFull,
                format!(
                    "the disk of the container engine is full: {manager} could not write a file; its last words are below"
                ),
                MAKE_ROOM,
            ),
            Kind::NoRoom => (
                code,
                format!("{manager} found no room left to write to; its last words are below"),
                MAKE_ROOM,
            ),
            Kind::OtherBytes => (
                Code::HashMismatch,
                format!(
                    "{} serves other bytes of a package than the lock names, or something in between does",
                    listed(&self.ways.asked)
                ),
                "do not install it until that is explained; `npm config get registry` shows whom you asked, and `pinfold show` makes a new plan to look at",
            ),
            Kind::Unreachable => (Code::RegistryFailed, self.unreachable(), manager.check_network()),
            Kind::Other if self.ways.denied.is_empty() => {
                (code, format!("{manager} gave up; its last words are below"), hint)
            }
            Kind::Other => {
                let names = listed(&self.ways.denied);
                (
                    code,
                    format!("{manager} wanted {names}, and only the package registry may be reached"),
                    hint,
                )
            }
        };
        Failure::new(code, what, why, hint).with_last_words(self.said)
    }
}

/// The code npm gives its failure.
fn npm_code(said: &[String]) -> Option<&str> {
    said.iter().find_map(|line| line.strip_prefix("npm error code "))
}

/// Whether npm's code is one of the network or of the other end. Source: the names of errno(3) and of Node's errors
/// that a socket can meet, those of `minipass-fetch` and `@npmcli/agent`, and `E` with an HTTP status.
fn is_of_the_network(code: &str) -> bool {
    const CODES: [&str; 20] = [
        "EAI_AGAIN",
        "ECONNABORTED",
        "ECONNECTIONTIMEOUT",
        "ECONNREFUSED",
        "ECONNRESET",
        "EHOSTUNREACH",
        "EIDLETIMEOUT",
        "ENETUNREACH",
        "ENOTFOUND",
        "EPIPE",
        "EPROTO",
        "ERESPONSETIMEOUT",
        "ERR_SOCKET_TIMEOUT",
        "ERR_STREAM_PREMATURE_CLOSE",
        "ETIMEDOUT",
        "ETRANSFERTIMEOUT",
        "EUNSUPPORTEDPROTOCOL",
        "E429",
        "FETCH_ERROR",
        "TAR_BAD_ARCHIVE",
    ];
    let server_error =
        code.strip_prefix("E5").is_some_and(|rest| rest.len() == 2 && rest.parse::<u8>().is_ok());
    server_error || CODES.contains(&code)
}

/// uv's words for a transfer that failed, and those of the HTTP library in it.
const UV_NETWORK: [&str; 6] = [
    "Failed to fetch: ",
    "HTTP status server error",
    "error sending request",
    "error decoding response body",
    "network timeout",
    "timed out",
];

/// What `images/node/strict.js` says before a file of the tree that could not be written.
const UNPACKING: &str = "npm error unpacking:";

fn listed(texts: &[Shown]) -> String {
    texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
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
                "the package index has no wheel of it for this Python and machine",
                "choose a version that has one, here or with `--with`, or another Python with `--python`; or have it built, `--allow-build`, which runs code of its own in a cage of its own",
            )
            .with_last_words(said),
            InstallError::NotBuildable { said, .. } => Failure::new(
                Code::CannotResolve,
                what,
                "a source archive has to say what it depends on and what builds it, since nothing of it runs before a consent; those that do not are listed below",
                "choose another version; or build a wheel elsewhere (`uv build --wheel`) and mount it by `path:FILE.whl`, or put it on an index of your own if the server only depends on it",
            )
            .with_last_words(said),
            InstallError::NotBuilt { said, denied, late, .. } => Failure::new(
                Code::InstallFailed,
                what,
                match &denied[..] {
                    _ if late => "its build took too long and was ended; its last words are below".to_owned(),
                    [] => "its build gave up; its last words are below".to_owned(),
                    denied => format!("its build wanted {}, and nothing is reached while its own code runs", listed(denied)),
                },
                "a build has the tools that the package names, no compiler and no network; choose a version with a wheel; or build one elsewhere (`uv build --wheel`) and mount it by `path:FILE.whl`, or put it on an index of your own if the server only depends on it",
            )
            .with_last_words(said),
            InstallError::OtherNeeds { said, .. } => Failure::new(
                Code::HashMismatch,
                what,
                "its archive says one thing before it is built and another after; what is missing is listed below",
                "name what is missing with `--with`, or choose a version that has a wheel",
            )
            .with_last_words(said),
            InstallError::NotInstalled(gave_up) => gave_up.failure(
                what,
                Code::InstallFailed,
                "try again; if the bytes of a package changed under its version, `pinfold show` makes a new plan to look at",
            ),
            InstallError::OtherBytes { said, asked, .. } => Failure::new(
                Code::HashMismatch,
                what,
                format!("{}, or a proxy before it, changed the file since the lock was made", listed(&asked)),
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
            InstallError::ShutProgram { .. } => Failure::new(
                Code::LaunchRefused,
                what,
                "its file has no mode that lets it be: an installer gives one to console scripts and to a wheel's `scripts`, and leaves other files as they are packed",
                "tell the package's author, or name another program with `--bin`",
            ),
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
                Code::of_disk(&error),
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

    fn gave_up(said: &str, denied: &[&str]) -> Box<GaveUp> {
        let shown = |text: &&str| Shown::new(text);
        let (manager, package) = (Manager::Uv, Shown::new("x"));
        let said = said.lines().map(Shown::new).collect();
        let ways = Ways {
            asked: vec![Shown::new("https://registry.example/")],
            denied: denied.iter().map(shown).collect(),
            failed: Vec::new(),
        };
        Box::new(GaveUp { manager, package, said, ways })
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
    fn a_full_disk_of_the_engine_is_told_apart_from_a_tree_too_large_for_its_cage() {
        for said in [
            "npm error code EJSONPARSE\nnpm error unpacking: ENOSPC: no space left on device, write",
            "npm error code ENOSPC\nnpm error path /opt/server/node_modules/x",
            "failed to copy to /opt/server/lib/x.py: No space left on device (os error 28)",
        ] {
            let failure = Failure::from(InstallError::NotInstalled(gave_up(said, &[])));
            assert_eq!(failure.code(), Code::EngineFull, "{said}");
        }
        let cache = gave_up("failed to write to /tmp/uv/x: No space left on device (os error 28)", &[]);
        assert_eq!(Failure::from(InstallError::NotInstalled(cache)).code(), Code::InstallFailed);
    }

    #[test]
    fn npm_s_codes_tell_the_registry_from_the_package() {
        let code = |code: &str| {
            let said = format!("npm error code {code}\nnpm error something");
            let failure = Failure::from(InstallError::NotInstalled(gave_up(&said, &[])));
            let named = failure.why().to_string().contains("https://registry.example/");
            (failure.code(), named)
        };
        for of_the_network in ["ECONNRESET", "EIDLETIMEOUT", "E503", "E429", "FETCH_ERROR"] {
            assert_eq!(code(of_the_network), (Code::RegistryFailed, true), "{of_the_network}");
        }
        for other_bytes in ["EINTEGRITY", "Z_DATA_ERROR", "TAR_BAD_ARCHIVE"] {
            assert_eq!(code(other_bytes), (Code::HashMismatch, true), "{other_bytes}");
        }
        for of_the_package in ["ETARGET", "E404", "ERESOLVE", "EBADPLATFORM", "E5", "E5xx"] {
            assert_eq!(code(of_the_package), (Code::InstallFailed, false), "{of_the_package}");
        }
    }

    #[test]
    fn a_registry_that_is_down_is_no_fault_of_the_package() {
        let down = gave_up("  cause: Failed to fetch: http://localhost:1/simple/x/", &[]);
        assert_eq!(Failure::from(InstallError::Unresolved(down)).code(), Code::RegistryFailed);
        let silent = gave_up("  cause: Failed to download distribution due to network timeout.", &[]);
        assert_eq!(Failure::from(InstallError::NotInstalled(silent)).code(), Code::RegistryFailed);
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
