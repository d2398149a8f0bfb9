//! What holds a program in, and what can be asked of it there?
//!
//! A [`Cage`] is a container under one [`Profile`], its PID 1 our init, and a link to it. There is one way to open
//! one, `Cage::open`, a straight line whose order matters; and one way to start a *server*, [`server::start`], which
//! takes a sealed image and its pin.
//!
//! Invariants: init's own report is compared with the profile before any program is started; a cage whose value
//! is dropped ends, since its link breaks.

use std::sync::Arc;
use std::time::Duration;

pub mod docker;
pub mod egress;
pub mod engine;
pub mod folder;
pub mod gate;
pub mod image;
pub mod init_binary;
pub mod keep;
pub mod lacking;
pub(crate) mod layer;
pub mod link;
mod mounts;
pub mod profile;
pub mod reaper;
pub mod roots;
pub mod seccomp;
pub mod server;
pub mod stamp;

use engine::{CageSpec, Engine, EngineError, Handle, ImageId, Labels};
use folder::FolderRefused;
use gate::Gate;
use lacking::Lacking;
use link::{Link, LinkError, Program, Running};
use profile::{HOSTNAME, NAMESERVER, Profile};

use crate::failure::{Code, Failure};
use crate::text::Shown;

/// How long a cage may take from its start to init's first word.
const OPENING: Duration = Duration::from_secs(30);
/// `SECCOMP_MODE_FILTER`. Source: proc(5), the field Seccomp of /proc/pid/status.
const FILTERED: u32 = 2;
/// How long a cage whose link is closed may take to be gone, before the engine is asked to remove it.
const LEAVING: Duration = Duration::from_secs(5);

/// A running cage.
pub struct Cage {
    engine: Arc<dyn Engine>,
    handle: Handle,
    link: Link,
}

/// Why a cage is not there, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum CageError {
    /// The engine's part.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Init never reported, or said something else than init says.
    #[error("the cage did not open")]
    Closed {
        /// What became of the link.
        why: LinkError,
        /// What init wrote on its standard error.
        complaints: Vec<Shown>,
    },
    /// The image is not this pin's.
    #[error("the sealed image is not the one that was pinned")]
    OtherImage,
    /// The plan holds an egress rule that this version does not know.
    #[error("the plan cannot be carried out")]
    OtherPlan,
    /// A folder of the plan is not, or no longer, to be given.
    #[error(transparent)]
    Folder(#[from] FolderRefused),
    /// What is mounted inside is another file than was judged outside.
    #[error("{path} is not the same inside the cage as outside")]
    OtherFile {
        /// The path.
        path: Shown,
    },
    /// The engine shows users under other numbers inside.
    #[error("{path} belongs to another user inside the cage than outside")]
    UsersMapped {
        /// The path.
        path: Shown,
    },
    /// A volume of the name that a server's kept home has is not that.
    #[error("the volume {volume} in the engine is not the server's kept home")]
    KeptElsewhere {
        /// The volume's name.
        volume: Shown,
    },
    /// A server's kept home belongs to another user than it runs as.
    #[error("what the server keeps belongs to {whose}, and it runs as {user}")]
    KeptForAnother {
        /// Whose it is.
        whose: Shown,
        /// Whom the server runs as.
        user: crate::plan::User,
    },
    /// A temporary file could not be written.
    #[error("a temporary file cannot be written")]
    Disk(#[from] std::io::Error),
    /// The link broke under a running program.
    #[error("the cage ended while it was needed")]
    Ended(#[from] LinkError),
}

impl From<CageError> for Failure {
    fn from(error: CageError) -> Self {
        let what = error.to_string();
        match error {
            CageError::Engine(error) => error.into(),
            // the package's own, whatever the engine does
            CageError::Ended(error @ LinkError::NotStarted { .. }) => error.into(),
            CageError::Closed { why, complaints } => Failure::new(
                Code::EngineFailed,
                what,
                why,
                "`pinfold doctor` starts a cage and shows what it finds",
            )
            .with_last_words(complaints),
            CageError::OtherImage => Failure::new(
                Code::HashMismatch,
                what,
                "its tree digest is another",
                "`pinfold unmount` the server and mount it again",
            ),
            CageError::OtherPlan => Failure::new(
                Code::EgressRefused,
                what,
                "an egress rule of it is not one this version knows",
                "mount the server again with this version",
            ),
            CageError::Folder(refused) => refused.at_a_start(),
            CageError::OtherFile { .. } => Failure::new(
                Code::MountChanged,
                what,
                "something else was put there while the cage started, or the engine is not on this machine",
                "see what is there, and that DOCKER_HOST names an engine on this machine, then try again",
            ),
            CageError::UsersMapped { .. } => Failure::new(
                Code::CageWeaker,
                what,
                "the engine maps user numbers (a rootless one, or one with `userns-remap`)",
                "use an engine that does not, or mount the server without folders",
            ),
            CageError::KeptElsewhere { volume } => Failure::new(
                Code::CageWeaker,
                what,
                "somebody else made it, or it stands for a folder of the engine's host",
                format!("see what it is (`docker volume inspect {volume}`), and remove it"),
            ),
            CageError::KeptForAnother { .. } => Failure::new(
                Code::MountChanged,
                what,
                "its folders have another owner than when it first kept something",
                "give the folders back to that user, or `pinfold unmount` the server, which removes what it kept, and mount it again",
            ),
            CageError::Disk(why) => Failure::new(
                Code::of_disk(&why),
                what,
                why,
                "see that the system's temporary directory (TMPDIR) has room",
            ),
            CageError::Ended(LinkError::File { path, why }) if engine::no_room(&why.to_string()) => {
                Failure::new(
                    Code::EngineFull,
                    "the container engine's disk is full",
                    format!("{path} in the cage: {why}"),
                    engine::MAKE_ROOM,
                )
            }
            CageError::Ended(why) => Failure::new(
                Code::EngineFailed,
                what,
                why,
                "see that the engine is up and the host has memory left (`pinfold doctor`), then try again",
            ),
        }
    }
}

impl Cage {
    /// Starts a cage and opens the link to its init. No program runs in it yet.
    ///
    /// # Errors
    /// [`CageError::Engine`] where the engine does not start it under exactly this profile, or init reports that
    /// what it sees differs; [`CageError::Closed`] where init does not answer within 30 s.
    pub(crate) async fn open(
        engine: Arc<dyn Engine>,
        image: ImageId,
        profile: Profile,
        labels: Labels,
        gate: Arc<dyn Gate>,
    ) -> Result<Cage, CageError> {
        let started = engine.start(CageSpec { image, profile: profile.clone(), labels }).await?;
        let engine::Started { handle, stream, complaints } = started;
        let opened = tokio::time::timeout(OPENING, Link::open(stream, gate)).await;
        let why = match opened {
            // compared before the first program: a cage that is weaker than promised runs nothing
            Ok(Ok(link)) => match held(&profile, &link).await {
                Ok(()) => return Ok(Cage { engine, handle, link }),
                Err(error) => of_the_runtime(&profile, error),
            },
            Ok(Err(why)) => CageError::Closed { why, complaints: complaints.lines() },
            Err(_) => CageError::Closed { why: LinkError::Silent, complaints: complaints.lines() },
        };
        // best effort: the link is gone with this call, so init ends by itself, and the reaper looks after it
        let _ = engine.remove(&handle).await;
        Err(why)
    }

    /// Starts a program.
    pub(crate) async fn run(&self, program: Program) -> Result<Running, CageError> {
        Ok(self.link.run(program).await?)
    }

    /// Writes a file inside, before the program that reads it.
    pub(crate) async fn put(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), CageError> {
        Ok(self.link.put(path, mode, bytes, bytes.len() as u64).await?)
    }

    /// Reads a file from inside, of at most `limit` bytes.
    pub(crate) async fn get(&self, path: &str, limit: u64) -> Result<Vec<u8>, CageError> {
        Ok(self.link.get(path, limit).await?)
    }

    /// Ends everything inside and waits until the container is gone.
    pub async fn end(self) -> Result<(), EngineError> {
        self.link.close().await;
        match tokio::time::timeout(LEAVING, self.engine.gone(&self.handle)).await {
            Ok(Ok(())) => Ok(()),
            _ => self.engine.remove(&self.handle).await,
        }
    }

    /// Ends everything inside, keeps what was written as an image, and removes the container.
    pub(crate) async fn seal(self, labels: Labels) -> Result<ImageId, EngineError> {
        self.link.close().await;
        let image = self.engine.seal(&self.handle, labels).await;
        let removed = self.engine.remove(&self.handle).await;
        // what failed first is what is told
        let image = image?;
        removed.map(|()| image)
    }

    /// Ends everything inside and removes the container, which does not remove itself.
    pub(crate) async fn discard(self) -> Result<(), EngineError> {
        self.link.close().await;
        self.engine.remove(&self.handle).await
    }
}

/// What init does not see under a runtime that a person named is that runtime's doing, or not for it to show.
fn of_the_runtime(profile: &Profile, error: CageError) -> CageError {
    const OTHER: &str = "the runtime that was asked for does not enforce this, or does not show it, and it cannot be relied on unseen: mount the server with another `--runtime`, or without";
    match error {
        CageError::Engine(EngineError::Weaker { rows }) if profile.runtime().is_some() => {
            let rows = rows.into_iter().map(|row| row.helped_by(OTHER)).collect();
            CageError::Engine(EngineError::Weaker { rows })
        }
        other => other,
    }
}

/// Holds what init sees of its cage against the profile.
async fn held(profile: &Profile, link: &Link) -> Result<(), CageError> {
    let mut rows = compare(profile, link.facts());
    match mounts::compare(profile, &link.mounts().await?) {
        Ok(()) => {}
        Err(CageError::Engine(EngineError::Weaker { rows: more })) => rows.extend(more),
        Err(other) if rows.is_empty() => return Err(other),
        Err(_) => {}
    }
    Ok(EngineError::unless_none(rows)?)
}

/// What the kernel says of the process and of its control group, and the files that steer it; every row that differs.
fn compare(profile: &Profile, facts: &link::Facts) -> Vec<Lacking> {
    let mut rows = Vec::new();
    let mut hold = |holds: bool, setting: &'static str, seen: &dyn std::fmt::Display| {
        if !holds {
            rows.push(Lacking::new(setting, seen));
        }
    };
    let (user, limits) = (profile.user(), profile.limits());
    hold(
        (facts.uid, facts.gid) == (user.uid(), user.gid()),
        "user",
        &"the cage runs as another user than was asked",
    );
    hold(facts.capabilities == 0, "capabilities", &"the cage has some");
    hold(facts.no_new_privileges, "no-new-privileges", &"the cage may gain privileges");
    hold(facts.seccomp == FILTERED, "seccomp", &"the cage has no filter");
    // without any it is told once
    hold(facts.own_filter || facts.seccomp != FILTERED, "seccomp", &"the cage's filter is another");
    hold(
        (facts.pid, facts.hostname.as_str()) == (1, HOSTNAME),
        "ipc, uts, cgroup, pid namespaces",
        &"the cage shares its processes or its host name",
    );
    hold(
        facts.group_is_root,
        "ipc, uts, cgroup, pid namespaces",
        &"the cage sees where its control group is on this machine",
    );
    let shown = facts.shown.iter().chain(&facts.writable).map(String::as_str).collect::<Vec<_>>().join(", ");
    hold(facts.shown.is_empty() && facts.writable.is_empty(), "mounts", &format!("{shown} is not hidden"));
    hold(
        facts.interfaces == ["lo"],
        "network",
        &format!("the cage has {}", if facts.interfaces.is_empty() { "none" } else { "more than `lo`" }),
    );
    // a search list would send half-written names of this network's to whoever answers
    let alone = facts.nameservers == [NAMESERVER] && facts.search.iter().all(|domain| domain == ".");
    hold(alone, "DNS", &"the cage's name server is not its own init");
    hold(
        facts.unprivileged_port_start == Some(0),
        "DNS",
        &"the cage's init may not listen on low ports, where names are answered",
    );
    let mut limited = |setting: &'static str, seen: Option<u64>, most: u64| match seen {
        Some(seen) if seen <= most => {}
        None => hold(false, setting, &"no limit is to be seen in the cage"),
        Some(u64::MAX) => hold(false, setting, &"no limit"),
        Some(seen) => hold(false, setting, &format!("a limit of {seen} instead of {most}")),
    };
    let group = &facts.group;
    limited("memory and swap", group.memory, limits.memory());
    if group.memory.is_some_and(|memory| memory <= limits.memory()) {
        limited("memory and swap", group.memory_and_swap, limits.memory());
    }
    limited("processes", group.processes, limits.pids().into());
    limited("processors", group.milli_cpus, limits.milli_cpus().into());
    limited("open files", facts.open_files, limits.nofile().into());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Limits, User};

    /// What init reports of a cage that is as asked for.
    fn facts() -> link::Facts {
        let limits = Limits::default();
        link::Facts {
            pid: 1,
            uid: User::NOBODY.uid(),
            gid: User::NOBODY.gid(),
            hostname: HOSTNAME.into(),
            dns_port: 53,
            nameservers: vec![NAMESERVER.into()],
            search: vec![".".into()],
            unprivileged_port_start: Some(0),
            no_new_privileges: true,
            seccomp: FILTERED,
            capabilities: 0,
            own_filter: true,
            open_files: Some(limits.nofile().into()),
            group: pinfold_init::protocol::Group {
                memory: Some(limits.memory()),
                memory_and_swap: Some(limits.memory()),
                processes: Some(limits.pids().into()),
                milli_cpus: Some(limits.milli_cpus().into()),
            },
            group_is_root: true,
            interfaces: vec!["lo".into()],
            shown: Vec::new(),
            writable: Vec::new(),
        }
    }

    fn rows(change: impl FnOnce(&mut link::Facts)) -> Vec<&'static str> {
        let mut facts = facts();
        change(&mut facts);
        let profile = Profile::run(Limits::default(), User::NOBODY);
        compare(&profile, &facts).iter().map(Lacking::setting).collect()
    }

    #[test]
    fn accepts_a_cage_as_it_was_asked_for_and_a_narrower_one() {
        assert_eq!(rows(|_| ()), Vec::<&str>::new());
        assert_eq!(rows(|facts| facts.open_files = Some(64)), Vec::<&str>::new());
    }

    #[test]
    fn refuses_every_fact_that_differs() {
        const NAMESPACES: &str = "ipc, uts, cgroup, pid namespaces";
        assert_eq!(rows(|facts| facts.uid = 0), ["user"]);
        assert_eq!(rows(|facts| facts.capabilities = 1), ["capabilities"]);
        assert_eq!(rows(|facts| facts.no_new_privileges = false), ["no-new-privileges"]);
        assert_eq!(rows(|facts| facts.seccomp = 0), ["seccomp"]);
        assert_eq!(rows(|facts| facts.own_filter = false), ["seccomp"]);
        assert_eq!(rows(|facts| facts.pid = 2), [NAMESPACES]);
        assert_eq!(rows(|facts| facts.group_is_root = false), [NAMESPACES]);
        assert_eq!(rows(|facts| facts.shown.push("/proc/kcore".into())), ["mounts"]);
        assert_eq!(rows(|facts| facts.writable.push("/proc/sys".into())), ["mounts"]);
        assert_eq!(rows(|facts| facts.interfaces.push("eth0".into())), ["network"]);
        assert_eq!(rows(|facts| facts.nameservers.clear()), ["DNS"]);
        assert_eq!(rows(|facts| facts.unprivileged_port_start = Some(1024)), ["DNS"]);
        assert_eq!(rows(|facts| facts.open_files = Some(1 << 20)), ["open files"]);
    }

    #[test]
    fn every_limit_that_is_missing_or_wider_is_named() {
        let none = pinfold_init::protocol::Group::default();
        let limits = ["memory and swap", "processes", "processors"];
        assert_eq!(rows(|facts| facts.group = none), limits);
        assert_eq!(rows(|facts| facts.group.memory_and_swap = Some(u64::MAX)), ["memory and swap"]);
        assert_eq!(rows(|facts| facts.group.processes = Some(257)), ["processes"]);
        assert_eq!(rows(|facts| facts.group.milli_cpus = Some(u64::MAX)), ["processors"]);
    }
}
