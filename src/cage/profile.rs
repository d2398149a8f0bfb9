//! What holds a server in, row by row?
//!
//! The hardening profile is data: an engine reads it to start a cage, `pinfold doctor` prints it, and the tests
//! hold a probing server against it from the inside. It is one type for every stage, so that resolve, build and
//! install cages differ from a run cage in the named fields and in nothing else.
//!
//! Invariants: no field switches a protection off that a stage does not name; user 0 cannot be written down; a
//! run cage's root is always read-only and its network always none.

use serde::Serialize;

use super::folder::{Bind, Folders};
use super::keep::Kept;
use super::seccomp::SocketFiles;
use crate::plan::{CageRuntime, Limits, LimitsAsked, SERVER_DIR, User};

/// The stages of a server's life, each in a cage of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Before consent: the package manager reads metadata and writes a lock. Nothing third-party runs.
    Resolve,
    /// After consent: a package that has no wheel is built, by code of its own.
    Build,
    /// After consent: the locked bytes are laid down, scripts off.
    Install,
    /// The server itself.
    Run,
}

/// A writable place in memory; `nosuid,nodev`, and gone with the cage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scratch {
    /// Where, inside.
    pub path: &'static str,
    /// Size in bytes, always below the memory limit, which it counts against.
    pub bytes: u64,
    /// Its mode, and whether it belongs to the cage's user (else to root).
    pub mode: u32,
    /// Whose it is.
    pub owned: bool,
    /// Whether what is in it can be executed: where a package is built, and nowhere else.
    pub exec: bool,
}

/// One setting, as `doctor`, the docs and the tests read it.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The setting's name.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// What it is there to stop.
    pub why: &'static str,
}

/// What an engine must enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    stage: Stage,
    user: User,
    limits: Limits,
    scratch: Vec<Scratch>,
    binds: Vec<Bind>,
    kept: Option<Kept>,
    runtime: Option<CageRuntime>,
}

/// The home of the cage's user, in every runtime image.
pub const HOME: &str = "/home/cage";
/// Where programs are found inside; the server's own `.bin` comes first at a run.
pub const PATH: &str = "/opt/server/node_modules/.bin:/usr/local/bin:/usr/bin:/bin";
/// The static PID 1 of every cage.
pub const INIT: &str = "/usr/sbin/pinfold-init";
/// The host name every server sees.
pub const HOSTNAME: &str = "cage";
/// The only name server a cage has: init.
pub const NAMESERVER: &str = "127.0.0.1";

/// What nothing is to be seen behind: what Docker hides unasked, `/dev/mqueue`, which it mounts even where there is no
/// ipc, and `/proc/pressure`, the whole machine's load, where any user may also have the kernel watch for more of it.
pub const HIDDEN: &[&str] = &[
    "/dev/mqueue",
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];
/// What is read-only whatever its modes say: what Docker makes so unasked.
pub const FIXED: &[&str] = &["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

const MIB: u64 = 1024 * 1024;

impl Profile {
    /// The cage a server runs in.
    pub fn run(limits: Limits, user: User) -> Self {
        // a quarter and an eighth: a server that fills both still has most of its memory
        let (tmp, home) = (limits.memory() / 4, limits.memory() / 8);
        let scratch = scratch(tmp, home);
        Self { stage: Stage::Run, user, scratch, limits, binds: Vec::new(), kept: None, runtime: None }
    }

    /// The cage a dependency tree is resolved in: as a run cage, with room for metadata.
    pub fn resolve() -> Self {
        let limits = package_managers();
        Self { stage: Stage::Resolve, ..Self::run(limits, User::NOBODY).with_scratch(1_024 * MIB, 64 * MIB) }
    }

    /// The cage a tree is installed in: its root is writable, since it becomes the sealed image.
    pub fn install() -> Self {
        Self { stage: Stage::Install, ..Self::resolve() }
    }

    /// The cage a package is built in: all of it in memory, so that no build fills a disk and nothing of one is left.
    pub fn build() -> Self {
        let mut profile = Self { stage: Stage::Build, ..Self::resolve() }.with_scratch(512 * MIB, 64 * MIB);
        // build tools are programs and libraries, which have to be loaded from where they are laid down
        let tools = Scratch { path: SERVER_DIR, bytes: 1_024 * MIB, mode: 0o755, owned: true, exec: true };
        profile.scratch.push(tools);
        profile
    }

    fn with_scratch(self, tmp: u64, home: u64) -> Self {
        Self { scratch: scratch(tmp, home), ..self }
    }

    /// With folders of this machine. Who they were judged for is who runs.
    #[must_use]
    pub fn with_folders(self, folders: &Folders) -> Self {
        Self { binds: folders.binds().to_vec(), ..self }
    }

    /// With a home that is kept, in place of one in memory.
    #[must_use]
    pub fn with_kept_home(mut self, kept: Kept) -> Self {
        self.scratch.retain(|scratch| scratch.path != HOME);
        Self { kept: Some(kept), ..self }
    }

    /// Under this runtime instead of the engine's own.
    #[must_use]
    pub fn with_runtime(self, runtime: Option<&CageRuntime>) -> Self {
        Self { runtime: runtime.cloned(), ..self }
    }

    /// The runtime that was asked for, if one was.
    pub fn runtime(&self) -> Option<&CageRuntime> {
        self.runtime.as_ref()
    }

    /// Which stage it is for.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Whom everything inside runs as.
    pub fn user(&self) -> User {
        self.user
    }

    /// Memory, processes, processors, files.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Places of this machine that are in the cage, outer ones first. Nothing under them that is mounted there
    /// appears, and nothing that is mounted later.
    pub fn binds(&self) -> &[Bind] {
        &self.binds
    }

    /// The home that is kept, if it is.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// Whether sockets that are files can be opened: not where a folder may hold others'.
    pub fn socket_files(&self) -> SocketFiles {
        if self.binds.is_empty() { SocketFiles::Open } else { SocketFiles::Shut }
    }

    /// The writable places in memory. Besides these a run cage can write to what is mounted so.
    pub fn scratch(&self) -> &[Scratch] {
        &self.scratch
    }

    /// Whether the root file system may be written to: in the install stage alone.
    pub fn writable_root(&self) -> bool {
        self.stage == Stage::Install
    }

    /// The whole profile for people, a reason a row.
    pub fn rows(&self) -> Vec<Row> {
        let row = |setting, value: String, why| Row { setting, value, why };
        let limits = &self.limits;
        let scratch: Vec<String> =
            self.scratch.iter().map(|s| format!("{} {} MiB", s.path, s.bytes / MIB)).collect();
        vec![
            row(
                "user",
                format!("{}:{}", self.user.uid(), self.user.gid()),
                "a flaw in the kernel or engine is not met as root",
            ),
            row("capabilities", "none".into(), "no raw sockets, no mounts, no changing of owners"),
            row("no-new-privileges", "on".into(), "a set-uid file gives nothing"),
            row(
                "seccomp",
                "pinfold's own list".into(),
                "system calls no server needs are how kernels are broken",
            ),
            row(
                "root file system",
                if self.writable_root() { "writable" } else { "read-only" }.into(),
                "what was pinned is what runs, at every start",
            ),
            row(
                "writable",
                scratch.join(", "),
                "in memory, noexec, counted against the memory limit, gone at the end",
            ),
            row(
                "mounts",
                "none; folders the plan lists, where they are".into(),
                "nothing else of this machine is there, and what would run on it later stays read-only",
            ),
            row(
                "network",
                "none; names the plan lists, through the launcher".into(),
                "no route to the LAN, the host or the metadata service",
            ),
            row("DNS", NAMESERVER.into(), "a name the plan does not list has no address"),
            row(
                "memory and swap",
                format!("{} MiB", limits.memory() / MIB),
                "the host does not swap for a server",
            ),
            row("processes", limits.pids().to_string(), "a fork bomb ends inside"),
            row(
                "processors",
                (f64::from(limits.milli_cpus()) / 1000.0).to_string(),
                "a busy loop leaves the host usable",
            ),
            row("open files", limits.nofile().to_string(), "descriptors are kernel memory"),
            row(
                "ipc, uts, cgroup, pid namespaces",
                "private".into(),
                "no shared memory or queue with anyone",
            ),
            row("host name", HOSTNAME.into(), "the machine's name is nobody's business"),
            row("log driver", "none".into(), "what a server says is not written to the engine's disk"),
            row("removal", "automatic".into(), "nothing outlives its client"),
            row(
                "runtime",
                self.runtime.as_ref().map_or("the engine's own".into(), ToString::to_string),
                "one with a kernel of its own keeps flaws of this machine's out of reach",
            ),
        ]
    }
}

/// What npm needs for a tree of hundreds of packages; measured at a third of it.
fn package_managers() -> Limits {
    let asked = LimitsAsked::default();
    let asked = asked.memory("2g").and_then(|asked| asked.pids(512)).and_then(|asked| asked.nofile(4_096));
    asked.expect("within the bounds of limits, as a test sees").or(&LimitsAsked::default())
}

fn scratch(tmp: u64, home: u64) -> Vec<Scratch> {
    // the images carry both directories with these modes and owners: runc 1.1 keeps the directory's over `mode=`
    vec![
        Scratch { path: "/tmp", bytes: tmp, mode: 0o1777, owned: false, exec: false },
        Scratch { path: HOME, bytes: home, mode: 0o700, owned: true, exec: false },
    ]
}
