//! What exactly would run?
//!
//! A [`Plan`] holds everything that decides it: the exact package and its whole tree by hash, the runtime, the
//! command, the environment, the ways out, the limits. Two plans with one digest run the same thing, so a yes to a
//! digest is a yes to all of it.
//!
//! Invariants: no I/O here; a plan is made by [`Plan::draw`] from parts that were each checked, or read back by
//! [`PlanFile::check`] through the same checks; nothing that is merely told about a package ([`Facts`]) is in its
//! digest; no credential's value is in a plan, only its name.

mod argv;
mod cage_runtime;
mod draw;
mod egress;
mod egress_private;
mod env;
mod facts;
mod limits;
mod lock;
mod mount;
mod name;
mod refused;
mod release;
mod reserved;
mod runtime;
mod user;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use argv::{Argument, ArgumentRefused, Exactly, MOST_ARGUMENTS, Piece};
pub use cage_runtime::CageRuntime;
pub use draw::Draft;
pub use egress::{NotAWayOut, WayOut};
pub use egress_private::{NotAPrivateWay, PrivateWay};
pub use env::{EnvAsked, EnvName, EnvRefused, EnvValue, refused_names};
pub use facts::{Facts, FolderFacts};
pub use limits::{LimitRefused, Limits, LimitsAsked};
pub use lock::{Build, Lock, LockEntry, NpmTree, OWN_TARBALL, Placed, PypiTree, Tree};
pub use mount::{Access, FolderPath, Mount, MountAsked, MountRefused};
pub use name::{LocalName, NameRefused};
pub use refused::PlanRefused;
pub use release::{Origin, Released};
pub use runtime::{Bin, ModuleName, Program, Runtime, SERVER_DIR, ScriptName};
pub use user::{AllowRoot, User};

use crate::digest::Digest;
use crate::source::{Ecosystem, Extras, HeldTo, Requirement};

#[cfg(test)]
pub(crate) use draw::tests;

/// Everything that decides what runs. Immutable; known by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    body: Body,
    released: Released,
    /// How many words of the command start the program; the server's own arguments follow.
    launcher: usize,
    digest: Digest,
    tree: Digest,
}

/// A plan as it is written: the digest is over this, in canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    format: u32,
    name: LocalName,
    source: String,
    ecosystem: Ecosystem,
    package: String,
    #[serde(default, skip_serializing_if = "Extras::is_empty")]
    extras: Extras,
    version: String,
    integrity: HeldTo,
    origin: Origin,
    lock: Digest,
    runtime: Runtime,
    install: Install,
    /// What else was asked to be in the tree, or how it was bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    with: Vec<Requirement>,
    program: Program,
    argv: Vec<Argument>,
    env: BTreeMap<EnvName, EnvValue>,
    credentials: BTreeSet<EnvName>,
    egress: BTreeSet<WayOut>,
    #[serde(deserialize_with = "egress_private::stored")]
    egress_private: BTreeSet<PrivateWay>,
    mounts: Vec<Mount>,
    /// Whether what the server writes in its home is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    persist: bool,
    limits: Limits,
    user: User,
    /// The runtime of the engine's that it runs under, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cage_runtime: Option<CageRuntime>,
}

/// The form of [`Body`]. Another number is another Pinfold's.
const FORMAT: u32 = 2;

/// How the tree is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Install {
    /// Whether packages' install scripts run.
    scripts: bool,
    /// Whether packages of the tree are built from source.
    build: bool,
}

/// A plan as it stands in a file: nothing is believed before [`PlanFile::check`].
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct PlanFile(Body);

impl Plan {
    /// The digest of the whole plan: what a yes is given to.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The digest of what is installed: release, lock, runtime and install options. Plans that differ in
    /// arguments or limits only share a sealed image by it.
    pub fn tree_digest(&self) -> Digest {
        self.tree
    }

    /// The name the server goes by here.
    pub fn name(&self) -> &LocalName {
        &self.body.name
    }

    /// The exact package.
    pub fn release(&self) -> &Released {
        &self.released
    }

    /// What it is a version of: `npm:@scope/name`. Local names belong to this.
    pub fn source(&self) -> &str {
        &self.body.source
    }

    /// The digest of the lock that belongs to it.
    pub fn lock_digest(&self) -> Digest {
        self.body.lock
    }

    /// What runs the package.
    pub fn runtime(&self) -> &Runtime {
        &self.body.runtime
    }

    /// Whether packages' install scripts run. They do not, so far.
    pub fn install_scripts(&self) -> bool {
        self.body.install.scripts
    }

    /// Whether packages of the tree are built from source, which the lock names.
    pub fn builds(&self) -> bool {
        self.body.install.build
    }

    /// What else was asked to be in the tree, and how it was bounded.
    pub fn with(&self) -> &[Requirement] {
        &self.body.with
    }

    /// The program of the package that is started.
    pub fn program(&self) -> &Program {
        &self.body.program
    }

    /// The whole command, program first, `{secret:NAME}` not filled in.
    pub fn argv(&self) -> &[Argument] {
        &self.body.argv
    }

    /// The server's own arguments, without what starts it.
    pub fn arguments(&self) -> &[Argument] {
        self.body.argv.get(self.launcher..).unwrap_or_default()
    }

    /// The plain settings of its environment.
    pub fn env(&self) -> &BTreeMap<EnvName, EnvValue> {
        &self.body.env
    }

    /// The credentials it is given, by name; those that arguments refer to are among them.
    pub fn credentials(&self) -> &BTreeSet<EnvName> {
        &self.body.credentials
    }

    /// The ways out of the cage, to public hosts.
    pub fn egress(&self) -> &BTreeSet<WayOut> {
        &self.body.egress
    }

    /// The ways to this machine and its network.
    pub fn egress_private(&self) -> &BTreeSet<PrivateWay> {
        &self.body.egress_private
    }

    /// Whether anything may leave the cage at all.
    pub fn has_way_out(&self) -> bool {
        !self.body.egress.is_empty() || !self.body.egress_private.is_empty()
    }

    /// The folders of this machine in the cage, by path; one that lies in another comes after it.
    pub fn mounts(&self) -> &[Mount] {
        &self.body.mounts
    }

    /// Whether what the server writes in its home is kept from one start to the next.
    pub fn persists(&self) -> bool {
        self.body.persist
    }

    /// The limits of the cage.
    pub fn limits(&self) -> &Limits {
        &self.body.limits
    }

    /// The runtime of the engine's that it runs under; none: the engine's own.
    pub fn cage_runtime(&self) -> Option<&CageRuntime> {
        self.body.cage_runtime.as_ref()
    }

    /// Who it runs as.
    pub fn user(&self) -> User {
        self.body.user
    }
}

/// The plan itself, as the card shows it and a pin keeps it: no digest in it.
impl Serialize for Plan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(serializer)
    }
}
