//! Why is a plan not drawn?

use super::argv::ArgumentRefused;
use super::egress::NotAWayOut;
use super::env::{EnvName, EnvRefused};
use super::limits::LimitRefused;
use super::lock;
use super::mount::MountRefused;
use super::name::NameRefused;
use crate::digest::Digest;
use crate::failure::{Code, Failure};
use crate::text::Shown;

/// A plan that is refused, or cannot be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefused {
    /// A local name.
    #[error(transparent)]
    Name(#[from] NameRefused),
    /// A variable or its value.
    #[error(transparent)]
    Env(#[from] EnvRefused),
    /// A limit.
    #[error(transparent)]
    Limit(#[from] LimitRefused),
    /// A way out.
    #[error(transparent)]
    Egress(#[from] NotAWayOut),
    /// A folder.
    #[error(transparent)]
    Mount(#[from] MountRefused),
    /// An argument; counted from 1.
    #[error("argument {position} of the server is refused: {why}")]
    Argument {
        /// Which one.
        position: usize,
        /// Why.
        why: ArgumentRefused,
    },
    /// One variable, both as credential and as plain setting.
    #[error("{0} is given both by name and with a value")]
    TwiceGiven(EnvName),
    /// More egress rules or variables than a card can be read with.
    #[error("there are more than {most} {what}")]
    TooMany {
        /// "egress rules".
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// A path that is relative, not UTF-8, or holds what cannot be drawn.
    #[error("the path {0} cannot be part of a plan")]
    Path(Shown),
    /// The file the package names as its program.
    #[error("the program `{0}` is no file inside the package")]
    Bin(Shown),
    /// The runtime's description.
    #[error("the runtime cannot be part of a plan: {0}")]
    Runtime(Shown),
    /// A runtime of the engine's.
    #[error("{0} is no name of a runtime")]
    CageRuntime(Shown),
    /// Somebody to run as who is refused.
    #[error("a server is not run as root")]
    Root,
    /// An entry of the tree without a hash that holds it.
    #[error("{package} is in the tree without a hash that holds it: sha512 of npm, sha256 of Python")]
    HashMissing {
        /// The package.
        package: Shown,
    },
    /// The tree's own entry for the package is another package than the release.
    #[error("the tree holds other bytes for {package} than the release")]
    OtherBytes {
        /// The package.
        package: Shown,
    },
    /// An entry of the tree from elsewhere than the registry.
    #[error("{package} in the tree comes from {from}, not from the registry")]
    Source {
        /// The package.
        package: Shown,
        /// The address, or what kind of place it is.
        from: Shown,
    },
    /// An entry of the tree that brings a lock of its own (`npm-shrinkwrap.json`).
    #[error("{package} in the tree brings a lock of its own")]
    OwnLock {
        /// The package.
        package: Shown,
    },
    /// Not a lock that can be checked.
    #[error("the dependency tree cannot be used: {0}")]
    Lock(Shown),
    /// A stored plan that is not the one its digest says.
    #[error("the plan reads as {found}, not as {expected}")]
    Digest {
        /// The digest it was stored under.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
    /// A stored plan of another form.
    #[error("the stored plan cannot be read: {0}")]
    Stored(Shown),
}

impl PlanRefused {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Name(_) => Code::NameRefused,
            Self::Env(_) | Self::TwiceGiven(_) => Code::EnvRefused,
            Self::Egress(_) => Code::EgressRefused,
            Self::Mount(_) => Code::MountRefused,
            Self::Limit(_) | Self::CageRuntime(_) => Code::Usage,
            Self::Argument { .. } | Self::TooMany { .. } | Self::Path(_) | Self::Bin(_) | Self::Root => {
                Code::LaunchRefused
            }
            Self::Runtime(_) => Code::RuntimeMissing,
            Self::HashMissing { .. } => Code::HashMissing,
            Self::OtherBytes { .. } => Code::HashMismatch,
            Self::Source { .. } | Self::OwnLock { .. } => Code::SourceRefused,
            Self::Lock(_) => Code::CannotResolve,
            Self::Digest { .. } | Self::Stored(_) => Code::StateCorrupt,
        }
    }

    fn why(&self) -> &'static str {
        match self {
            Self::Name(NameRefused::Grammar(_)) => "local names are typed in shells and in clients' settings",
            Self::Name(_) => "two sources never share a name, so that neither can pass for the other",
            Self::Env(EnvRefused::NotAName(_)) => "nothing could read such a variable",
            Self::Env(EnvRefused::Value { .. }) => "a value is handed over whole, or not at all",
            Self::Env(EnvRefused::Secret { .. }) => {
                "a setting is shown on the card and kept in the pin as it is, for everybody to read"
            }
            Self::Env(_) => "some variables decide what code runs, whoever sets them",
            Self::TwiceGiven(_) => "one of the two would silently win",
            Self::Limit(_) => "below the bounds nothing starts, above them the limit protects nothing",
            Self::Egress(_) => "a way out is a name, checked and resolved at each connection",
            Self::Mount(MountRefused::Twice(_)) => "one of the two would silently win",
            Self::Mount(_) => "a folder is shown on the card, and its path has to mean one place",
            Self::Argument { .. } => "arguments are shown whole on the card and handed over unchanged",
            Self::TooMany { .. } => "nobody can read a card that long",
            Self::Path(_) => "the path is shown on the card and has to mean one place",
            Self::Bin(_) => "only files of the package itself are started",
            Self::Runtime(_) => "what runs the server is part of what is consented to",
            Self::CageRuntime(_) => {
                "it is the engine that knows its runtimes by their names; a path names none"
            }
            Self::Root => "root in a cage is one mistake away from root outside",
            Self::HashMissing { .. } => {
                "without its hash, what is installed could be anything, now or at the next install"
            }
            Self::OtherBytes { .. } => "the registry gave two answers about one version",
            Self::Source { .. } => "what a registry does not hold has no hash that the registry vouches for",
            Self::OwnLock { .. } => {
                "its lock says what else is installed, and cannot be read without unpacking the package"
            }
            Self::Lock(_) => "only a tree that is understood wholly can be held to its hashes",
            Self::Digest { .. } | Self::Stored(_) => {
                "it was changed after it was stored, or by another pinfold"
            }
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Name(_) => "give another with --name".to_owned(),
            Self::Env(EnvRefused::Steers { .. } | EnvRefused::Useless { .. }) => {
                "leave it out; the cage sets what a server needs".to_owned()
            }
            Self::Env(EnvRefused::Secret { name }) => format!(
                "give its name alone, `--env {name}`, without the value; once mounted, keep the value with `pinfold secret set SERVER {name}`, or set it in the client's `env`"
            ),
            Self::Env(_) => "write --env NAME for a credential, --env NAME=VALUE for a setting".to_owned(),
            Self::TwiceGiven(name) => format!("give {name} once"),
            Self::Limit(_) => "write for example --memory 1g --cpus 2 --pids 256".to_owned(),
            Self::Egress(_) => "write for example --egress api.example.com:443".to_owned(),
            Self::Mount(_) => "write for example --mount ~/notes or --mount ~/notes:rw".to_owned(),
            Self::Argument { .. } => "check what stands after `--`".to_owned(),
            Self::TooMany { .. } => "leave some out".to_owned(),
            Self::Path(_) => "move the package to a plain path".to_owned(),
            Self::Bin(_) => "choose another program of the package with --bin".to_owned(),
            Self::Runtime(_) => "remove the runtime image from the engine (its name begins with `pinfold/runtime`), then run `pinfold images build` with its name".to_owned(),
            Self::CageRuntime(_) => "write for example --runtime runsc; `pinfold doctor` lists the engine's".to_owned(),
            Self::Root => "leave `--allow-root` out: it is for a folder that belongs to root".to_owned(),
            Self::HashMissing { .. } | Self::Source { .. } => {
                "ask the server's author to depend on published packages, or choose another server".to_owned()
            }
            Self::OwnLock { .. } => {
                "ask the server's author to publish without `npm-shrinkwrap.json`, or choose another server"
                    .to_owned()
            }
            Self::OtherBytes { .. } => "try again; if it stays so, do not use this registry".to_owned(),
            Self::Lock(_) => format!("try again; trees over {} packages are refused", lock::MOST_ENTRIES),
            Self::Digest { .. } | Self::Stored(_) => "show the server again with `pinfold show`".to_owned(),
        }
    }
}

impl From<PlanRefused> for Failure {
    fn from(refused: PlanRefused) -> Self {
        Failure::new(refused.code(), &refused, refused.why(), refused.hint())
    }
}

/// The parts' own refusals, for whoever reads a part before there is a plan.
macro_rules! as_a_plan_refused {
    ($($part:ty),*) => {$(
        impl From<$part> for Failure {
            fn from(refused: $part) -> Self {
                PlanRefused::from(refused).into()
            }
        }
    )*};
}

as_a_plan_refused!(NameRefused, EnvRefused, LimitRefused, NotAWayOut, MountRefused);
