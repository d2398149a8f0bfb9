//! What may be said on the link, and how much of it?
//!
//! Every message is a plain struct or a closed enum, tagged by its variant's name; unknown variants and unknown
//! fields are errors, so the two ends can only ever mean the same thing. Init is embedded in the launcher, so
//! both ends are always of one build and [`VERSION`] guards against a cage sealed by another.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::HostName;

/// The protocol's version. Raised with every change of a message; the launcher refuses any other.
pub const VERSION: u32 = 3;

/// Largest message that the launcher accepts from init, in bytes.
pub const MAX_FROM_INIT: usize = 64 * 1024;

/// Largest message that init accepts from the launcher, in bytes: room for a program's arguments and environment,
/// which Linux bounds at 128 KiB a string and 2 MiB together (execve(2)).
pub const MAX_FROM_LAUNCHER: usize = 4 * 1024 * 1024;

/// Most ports that init is asked to listen on.
pub const MAX_PORTS: usize = 256;

/// Most paths that init is asked to look at before anything runs.
pub const MAX_PATHS: usize = 256;

/// Most connections out of the cage at once; further ones are reset.
pub const MAX_CONNECTIONS: usize = 256;

/// Most names that get an address in one cage; further ones get SERVFAIL.
pub const MAX_NAMES: usize = 4096;

/// The first message of a stream that the launcher opens.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Opening<'a> {
    /// The first stream of a link: what init is to serve. Answered by [`Greeting`].
    Hello(Terms),
    /// Start a program. Answered by [`Event`]s; [`Order`]s may follow. It starts when its three
    /// [`Opening::Stream`]s are there too, in whatever order they arrive. One program at a time.
    Run(Launch<'a>),
    /// Raw bytes of a program's standard stream.
    Stream {
        /// The run's number, as in [`Launch::run`].
        run: u32,
        /// Which of the three.
        which: Standard,
    },
    /// Write a file. `length` raw bytes follow, then init answers [`Done`].
    Put {
        /// Absolute path; missing folders are made (0o755).
        path: Cow<'a, str>,
        /// Permission bits, e.g. `0o644`; whatever is above `0o777` is ignored.
        mode: u32,
        /// Bytes that follow.
        length: u64,
    },
    /// Read a regular file. Init answers [`Found`].
    Get {
        /// Absolute path.
        path: Cow<'a, str>,
        /// Longest file that is wanted, in bytes.
        limit: u64,
    },
    /// Say what is mounted. Init answers with a [`Mounted`] a mount, the last of them [`Mounted::Done`].
    Mounts,
}

/// What init is to serve in this cage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// [`VERSION`].
    pub version: u32,
    /// Ports to listen on, on every IPv4 address of the cage. At most [`MAX_PORTS`].
    pub ports: Vec<u16>,
    /// Ports on which `localhost` leads out of the cage, each among [`Terms::ports`]: listened to on ::1 too, since
    /// programs take that for `localhost` before 127.0.0.1.
    pub localhost: Vec<u16>,
    /// Port of 127.0.0.1 to answer DNS on: 53, or 0 for any free one.
    pub dns_port: u16,
    /// Paths behind which nothing is to be seen; init says which of them show something.
    pub hidden: Vec<String>,
    /// Paths that nothing is to be written under; init says through which something could be.
    pub fixed: Vec<String>,
}

/// Init's answer to [`Opening::Hello`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Greeting {
    /// Everything asked for is served.
    Ready {
        /// Init's [`VERSION`].
        version: u32,
        /// What the cage is like.
        facts: Box<Facts>,
    },
    /// Something cannot be served.
    Unable {
        /// Init's [`VERSION`].
        version: u32,
        /// What, and the system's reason.
        why: String,
    },
}

/// What the cage is like, seen from inside before anything else runs in it.
///
/// As init reports it, so worth something only while nothing else has run: it shows what an engine ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Init's process number; 1 in a cage.
    pub pid: u32,
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// The host name.
    pub hostname: String,
    /// Port of 127.0.0.1 that init answers DNS on.
    pub dns_port: u16,
    /// `nameserver` lines of `/etc/resolv.conf`, in order.
    pub nameservers: Vec<String>,
    /// Domains of its `search` and `domain` lines.
    pub search: Vec<String>,
    /// `net.ipv4.ip_unprivileged_port_start`; none if it cannot be read.
    pub unprivileged_port_start: Option<u32>,
    /// `NoNewPrivs` of `/proc/self/status`.
    pub no_new_privileges: bool,
    /// `Seccomp` of `/proc/self/status`: 0 none, 1 strict, 2 filter.
    pub seccomp: u32,
    /// Union of the inheritable, permitted, effective, bounding and ambient capability sets, as bits.
    pub capabilities: u64,
    /// Whether the filter is Pinfold's: the kernel never got to see a call that only this one refuses.
    pub own_filter: bool,
    /// Most open files of a process, which it cannot raise; none if it cannot be read.
    pub open_files: Option<u64>,
    /// What the cage's control group is held to.
    pub group: Group,
    /// Whether the cage sees its own control group as the root of all.
    pub group_is_root: bool,
    /// Network interfaces.
    pub interfaces: Vec<String>,
    /// Those of [`Terms::hidden`] that show something.
    pub shown: Vec<String>,
    /// Those of [`Terms::fixed`] that are not read-only.
    pub writable: Vec<String>,
}

/// What a control group is held to. None: not to be read here; [`u64::MAX`]: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of memory and swap together.
    pub memory_and_swap: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Thousandths of a processor.
    pub milli_cpus: Option<u64>,
}

/// A program to start, without a shell.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch<'a> {
    /// A number of the launcher's choice, new for each run on a link.
    pub run: u32,
    /// The program, looked up in `env`'s PATH unless it has a `/`, and its arguments. Not empty.
    pub argv: Vec<Cow<'a, str>>,
    /// The whole environment.
    pub env: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Working directory.
    pub cwd: Cow<'a, str>,
    /// How it is brought to an end.
    pub ending: Ending,
}

/// Arguments and environment may hold credentials: only their numbers are shown.
impl std::fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("run", &self.run)
            .field("argv", &self.argv.len())
            .field("env", &self.env.len())
            .field("cwd", &self.cwd)
            .field("ending", &self.ending)
            .finish()
    }
}

/// How long each step of an ending may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// From the end of its input to TERM; none: it may take as long as it likes.
    pub finish_ms: Option<u64>,
    /// From TERM to KILL.
    pub term_ms: u64,
    /// From its exit to KILL for whatever it left behind, unless its output ends sooner.
    pub drain_ms: u64,
}

/// One of a program's standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standard {
    /// Launcher to program.
    Input,
    /// Program to launcher.
    Output,
    /// Program to launcher.
    Error,
}

/// What the launcher may say about a running program, on its run stream. Dropping that stream kills the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Its input has ended: the schedule of [`Ending`] begins.
    InputEnded,
    /// TERM now, KILL after [`Ending::term_ms`].
    Terminate,
}

/// What init says about a program, on its run stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Event {
    /// It runs.
    Started,
    /// It could not be started. The last event.
    NotStarted {
        /// The system's reason.
        why: String,
    },
    /// It ended by itself, and nothing it started is left. The last event.
    Exited(i32),
    /// A signal ended it, and nothing it started is left. The last event.
    Killed(i32),
}

/// Init's answer to [`Opening::Put`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Done {
    /// All bytes are in the file.
    Written,
    /// They are not.
    Failed {
        /// The system's reason.
        why: String,
    },
}

/// Init's answer to [`Opening::Get`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Found {
    /// So many raw bytes follow.
    File {
        /// At most the limit asked for.
        length: u64,
    },
    /// Not readable, not a regular file, or longer than the limit.
    Failed {
        /// The system's reason.
        why: String,
    },
}

/// Init's answers to [`Opening::Mounts`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Mounted {
    /// A mount; later ones lie over earlier ones.
    At(Mount),
    /// There are no more.
    Done,
}

/// One mount, as the kernel and a look at its root say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// Where.
    pub at: String,
    /// Whether nothing can be written through it.
    pub read_only: bool,
    /// Whether mounts made elsewhere can appear under it, or those made here elsewhere.
    pub shared: bool,
    /// Whether no set-user-ID bit counts on it and no device opens.
    pub plain: bool,
    /// Whether what is on it can be executed.
    pub executed: bool,
    /// The type of its file system.
    pub kind: String,
    /// How many bytes it holds at most; none where that cannot be asked.
    pub bytes: Option<u64>,
    /// What is at its root; none where the cage's user may not look.
    pub root: Option<Rooted>,
}

/// Which file something is, and whose: stat(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rooted {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// `st_uid`.
    pub uid: u32,
    /// `st_gid`.
    pub gid: u32,
}

/// The first message of a stream that init opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Asking {
    /// Questions about names will follow; at most one such stream a link.
    Names,
    /// A program in the cage connected to this name's address. Answered by [`Connected`].
    Connect {
        /// The name whose address it was.
        name: HostName,
        /// The port.
        port: u16,
    },
}

/// May this name be looked up?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The name asked for.
    pub name: HostName,
}

/// The launcher's answer to a [`Question`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Whether the name gets an address in the cage.
    pub allowed: bool,
}

/// The launcher's answer to [`Asking::Connect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    /// Whether [`crate::relay`] chunks follow; otherwise the stream ends here.
    pub open: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_it_writes() {
        let launch = Launch {
            run: 7,
            argv: vec!["node".into(), "a\"b\n".into()],
            env: vec![("A".into(), "é\u{1}".into())],
            cwd: "/".into(),
            ending: Ending { finish_ms: None, term_ms: 2_000, drain_ms: 500 },
        };
        let json = serde_json::to_vec(&Opening::Run(launch)).unwrap();
        let Opening::Run(back) = serde_json::from_slice(&json).unwrap() else { panic!("another message") };
        assert_eq!((back.run, back.argv[1].as_ref(), back.env[0].1.as_ref()), (7, "a\"b\n", "é\u{1}"));
        assert_eq!(back.ending.finish_ms, None);
    }

    #[test]
    fn refuses_unknown_variants_and_fields() {
        for bad in [
            r#"{"sudo":{}}"#,
            r#""names2""#,
            r#"{"connect":{"name":"a.example","port":443,"as":"root"}}"#,
            r#"{"connect":{"name":"a.example"}}"#,
            r#"{"connect":{"name":"a.example","port":65536}}"#,
            r#"{"connect":{"name":"A b","port":443}}"#,
        ] {
            assert!(serde_json::from_str::<Asking>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_launch_does_not_show_its_arguments() {
        let launch = Launch {
            run: 1,
            argv: vec!["hunter2".into()],
            env: vec![("TOKEN".into(), "hunter2".into())],
            cwd: "/".into(),
            ending: Ending { finish_ms: None, term_ms: 0, drain_ms: 0 },
        };
        assert!(!format!("{:?}", Opening::Run(launch)).contains("hunter2"));
    }
}
