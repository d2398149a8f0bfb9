//! Which system calls may a caged program make?
//!
//! A closed list, by family, a reason a row; whatever is not listed fails with EPERM. It is stricter than the
//! engines' own default where those let through what no server needs and kernels were broken with: io_uring,
//! AF_VSOCK (which no network namespace holds), keyrings, tracing, user namespaces, message queues.
//!
//! Sockets are the part that argues: only AF_UNIX, AF_INET and AF_INET6, streams and datagrams, and over these
//! only TCP and UDP: an unprivileged program that asks for SCTP, DCCP or L2TP has the kernel load their modules, and
//! MPTCP is kernel code that no route leads out of. Leaving out
//! AF_NETLINK has a second use: glibc then cannot see that only `lo` exists, so a look-up with AI_ADDRCONFIG
//! still gets its IPv4 address (`__check_pf`: where the question cannot be asked, both families are assumed).
//!
//! Only the machine's own architecture is listed: 32-bit and x32 entry points, with their second table of
//! numbers, are refused whole.

use serde_json::{Value, json};

/// Calls allowed for one reason.
pub struct Family {
    /// What they are.
    pub name: &'static str,
    /// Why a server needs them.
    pub why: &'static str,
    /// The calls, sorted.
    pub calls: &'static [&'static str],
}

/// Calls that give a file its mode, each with the position of that argument: allowed without the set-user-ID and
/// set-group-ID bits. No-new-privileges takes their power inside the cage; in a folder of this machine's, a program with
/// one would be there for everybody outside.
///
/// A file that is only opened has no mode, and C libraries then pass 0.
pub const WITH_A_MODE: &[(&str, u32)] = &[
    ("chmod", 1),
    ("creat", 1),
    ("fchmod", 1),
    ("fchmodat", 2),
    ("fchmodat2", 2),
    ("mknod", 1),
    ("mknodat", 2),
    ("open", 2),
    ("openat", 3),
];
/// `S_ISUID` and `S_ISGID`. Source: inode(7).
const SET_ID: u64 = 0o6000;

/// Calls that are not there, to programs that ask: ENOSYS makes them take their older way, EPERM would end them.
pub const ABSENT: &[(&str, &str)] = &[
    ("cachestat", "how much of a file others use is nobody's business; asked by few, who do without"),
    ("clone3", "its flags are behind a pointer that a filter cannot read; libc falls back to clone"),
    ("io_uring_enter", "a second system-call interface that no filter sees into"),
    ("io_uring_register", "as io_uring_enter"),
    ("io_uring_setup", "as io_uring_enter; libuv and Go ask, and fall back"),
    (
        "get_mempolicy",
        "which memory bank is used is the host's to say; numpy and database engines ask, and do without",
    ),
    ("mbind", "as get_mempolicy"),
    (
        "openat2",
        "a new file's mode is behind a pointer that a filter cannot read; libraries fall back to openat",
    ),
    ("process_madvise", "advice about another process's memory"),
    ("set_mempolicy", "as get_mempolicy"),
];

/// The calls a caged program may make, whatever their arguments.
#[rustfmt::skip] // one call a line would hide the reasons between them
pub const ALLOWED: &[Family] = &[
    Family {
        name: "files",
        why: "reading, writing and watching files under the mounts and modes the cage has",
        calls: &[
            "access", "chdir", "chown", "close", "close_range", "copy_file_range", "dup",
            "dup2", "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir",
            "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr",
            "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat",
            "getcwd", "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init",
            "inotify_init1", "inotify_rm_watch", "ioctl", "lchown", "lgetxattr", "link", "linkat",
            "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "memfd_create",
            "mkdir", "mkdirat", "newfstatat", "pread64",
            "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
            "readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile",
            "setxattr", "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync",
            "sync_file_range", "syncfs", "tee", "truncate", "umask", "unlink", "unlinkat", "utime",
            "utimensat", "utimes", "vmsplice", "write", "writev",
        ],
    },
    Family {
        name: "memory",
        why: "allocators, garbage collectors and just-in-time compilers",
        calls: &[
            "brk", "madvise", "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect",
            "mremap", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
        ],
    },
    Family {
        name: "processes",
        why: "children such as git, their ends, and a process's own settings; `clone` has a row of its own",
        calls: &[
            "alarm", "arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork",
            "getcpu", "getegid", "geteuid", "getgid", "getgroups", "getitimer", "getpgid", "getpgrp",
            "getpid", "getppid", "getpriority", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid",
            "gettid", "getuid", "ioprio_get", "kill", "landlock_add_rule",
            "landlock_create_ruleset", "landlock_restrict_self", "pidfd_open", "pidfd_send_signal", "prctl",
            "seccomp", "setfsgid", "setfsuid", "setgid", "setgroups", "setitimer", "setpgid",
            "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid",
            "sysinfo", "tgkill", "times", "tkill", "uname", "vfork", "wait4", "waitid",
        ],
    },
    Family {
        name: "threads and scheduling",
        why: "every runtime's threads, locks and priorities",
        calls: &[
            "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "rseq",
            "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr",
            "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_yield",
            "set_robust_list", "set_tid_address",
        ],
    },
    Family {
        name: "signals",
        why: "handlers and waits",
        calls: &[
            "pause", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
            "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sigaltstack",
            "signalfd", "signalfd4",
        ],
    },
    Family {
        name: "time",
        why: "clocks are read and slept on; none is set",
        calls: &[
            "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time",
            "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
            "timerfd_create", "timerfd_gettime", "timerfd_settime",
        ],
    },
    Family {
        name: "waiting and pipes",
        why: "event loops",
        calls: &[
            "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
            "eventfd", "eventfd2", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select",
        ],
    },
    Family {
        name: "sockets",
        why: "what is done with a socket once it is open; opening one has rows of its own",
        calls: &[
            "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
            "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
        ],
    },
    Family {
        name: "System V and POSIX shared memory",
        why: "scientific Python and databases; private to the cage's own ipc namespace",
        calls: &[
            "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
        ],
    },
    Family { name: "randomness", why: "keys and identifiers", calls: &[
            "getrandom",
        ] },
];

/// A call that is allowed on the caller itself alone.
pub struct Own {
    /// The call.
    pub name: &'static str,
    /// Its arguments that say on whom, and the values that mean the caller.
    on: &'static [(u32, u64)],
}

/// Calls that change how a process runs, and that take another's number just as well. PID 1 has the server's own
/// user, so it could be starved (`nice`, SCHED_IDLE, one processor) or robbed of its limits until it no longer
/// sees that its launcher is gone. Allowed on oneself, which is what programs do.
///
/// Source: setpriority(2), ioprio_set(2), sched_setscheduler(2), prlimit(2): 0 means the caller; PRIO_PROCESS is 0,
/// IOPRIO_WHO_PROCESS 1.
pub const ON_ONESELF: &[Own] = &[
    Own { name: "ioprio_set", on: &[(0, 1), (1, 0)] },
    Own { name: "prlimit64", on: &[(0, 0)] },
    Own { name: "sched_setaffinity", on: &[(0, 0)] },
    Own { name: "sched_setattr", on: &[(0, 0)] },
    Own { name: "sched_setparam", on: &[(0, 0)] },
    Own { name: "sched_setscheduler", on: &[(0, 0)] },
    Own { name: "setpriority", on: &[(0, 0), (1, 0)] },
];

/// An address family and socket type that may be opened.
pub struct Socket {
    /// Its name.
    pub name: &'static str,
    /// `AF_…`, from the kernel's `include/linux/socket.h`.
    family: u64,
    /// `SOCK_…`, from the kernel's `include/linux/net.h`.
    kind: u64,
    /// `IPPROTO_…`, from the kernel's `include/uapi/linux/in.h`; 0 is the usual one of the type.
    protocols: &'static [u64],
}

/// What a stream over IP may speak.
const TCP: &[u64] = &[0, 6];
/// What datagrams over IP may speak.
const UDP: &[u64] = &[0, 17];

/// The sockets a caged program may open.
pub const SOCKETS: &[Socket] = &[
    Socket { name: "AF_UNIX SOCK_STREAM", family: AF_UNIX, kind: 1, protocols: &[0] },
    Socket { name: "AF_UNIX SOCK_DGRAM", family: AF_UNIX, kind: 2, protocols: &[0] },
    Socket { name: "AF_UNIX SOCK_SEQPACKET", family: AF_UNIX, kind: 5, protocols: &[0] },
    Socket { name: "AF_INET SOCK_STREAM", family: 2, kind: 1, protocols: TCP },
    Socket { name: "AF_INET SOCK_DGRAM", family: 2, kind: 2, protocols: UDP },
    Socket { name: "AF_INET6 SOCK_STREAM", family: 10, kind: 1, protocols: TCP },
    Socket { name: "AF_INET6 SOCK_DGRAM", family: 10, kind: 2, protocols: UDP },
];

/// Source: the kernel's `include/linux/socket.h`.
const AF_UNIX: u64 = 1;
/// Source: the kernel's `include/linux/net.h`.
const SOCK_DGRAM: u64 = 2;
/// `SOCK_TYPE_MASK`: the type without SOCK_NONBLOCK and SOCK_CLOEXEC. Source: `include/linux/net.h`.
const SOCKET_TYPE: u64 = 0xf;
/// Every `CLONE_NEW…` flag: a new namespace is a new set of privileges. Source: clone(2).
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// The personalities that change nothing: Linux (0), its query (0xffffffff), 32-bit addresses and uname
/// version (0x8, 0x20000, 0x20008). Source: personality(2).
const PERSONALITIES: &[u64] = &[0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/// EPERM and ENOSYS on every architecture listed here. Source: errno(3).
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// Whether a cage may open sockets that are files.
///
/// A socket in a folder of the host's leads to whoever listens there, whatever namespaces the cage has, and a read-only
/// mount does not keep anybody from connecting (unix(7): it takes the right to write to the socket, which is its own).
/// So a cage that is given a folder has none: pairs, which pipes to children are made of, and nothing with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFiles {
    /// They are the cage's own.
    Open,
    /// There may be others' among them.
    Shut,
}

impl SocketFiles {
    /// Whether this socket can be opened.
    pub fn allow(self, socket: &Socket) -> bool {
        self == SocketFiles::Open || socket.family != AF_UNIX
    }

    /// Whether a pair of this socket can be made. A datagram socket of a pair can be pointed at an address afterwards.
    fn allow_pair(self, socket: &Socket) -> bool {
        socket.family == AF_UNIX && (self == SocketFiles::Open || socket.kind != SOCK_DGRAM)
    }
}

/// The profile in the form that Docker and Podman take.
///
/// Source: the OCI runtime specification, `config-linux.md`, section Seccomp; Docker's `archMap` picks the
/// architecture.
pub fn oci(files: SocketFiles) -> Value {
    let allow =
        |names: Vec<&str>, args: Value| json!({"names": names, "action": "SCMP_ACT_ALLOW", "args": args});
    let equal = |index: u32, value: u64| json!({"index": index, "value": value, "op": "SCMP_CMP_EQ"});
    let masked = |index: u32, mask: u64, value: u64| json!({"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"});

    let mut calls: Vec<Value> =
        ALLOWED.iter().map(|family| allow(family.calls.to_vec(), json!([]))).collect();
    calls.push(allow(vec!["clone"], json!([masked(0, NEW_NAMESPACES, 0)])));
    for (name, mode) in WITH_A_MODE {
        calls.push(allow(vec![name], json!([masked(*mode, SET_ID, 0)])));
    }
    for own in ON_ONESELF {
        let args: Vec<Value> = own.on.iter().map(|(index, value)| equal(*index, *value)).collect();
        calls.push(allow(vec![own.name], json!(args)));
    }
    for personality in PERSONALITIES {
        calls.push(allow(vec!["personality"], json!([equal(0, *personality)])));
    }
    for socket in SOCKETS.iter().filter(|socket| files.allow(socket)) {
        for protocol in socket.protocols {
            let args =
                json!([equal(0, socket.family), masked(1, SOCKET_TYPE, socket.kind), equal(2, *protocol)]);
            calls.push(allow(vec!["socket"], args));
        }
    }
    // pairs exist for AF_UNIX alone
    for socket in SOCKETS.iter().filter(|socket| files.allow_pair(socket)) {
        calls
            .push(allow(vec!["socketpair"], json!([equal(0, AF_UNIX), masked(1, SOCKET_TYPE, socket.kind)])));
    }
    let absent: Vec<&str> = ABSENT.iter().map(|(name, _)| *name).collect();
    calls.push(json!({"names": absent, "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS, "args": []}));

    json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": calls,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_sorted_and_no_call_is_listed_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for family in ALLOWED {
            assert!(family.calls.is_sorted(), "{}", family.name);
            for call in family.calls {
                assert!(seen.insert(*call), "{call} is listed twice");
            }
        }
        for (call, _) in ABSENT {
            assert!(!seen.contains(call), "{call} is both allowed and absent");
        }
        for own in ON_ONESELF {
            assert!(!seen.contains(own.name), "{} is allowed on anybody", own.name);
        }
        for (call, _) in WITH_A_MODE {
            assert!(!seen.contains(call), "{call} is allowed with any mode");
        }
    }

    #[test]
    fn every_socket_is_held_to_its_family_its_type_and_its_protocol() {
        let profile = oci(SocketFiles::Open);
        let rows: Vec<&Value> = profile["syscalls"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["names"] == json!(["socket"]))
            .collect();
        assert_eq!(rows.len(), SOCKETS.iter().map(|socket| socket.protocols.len()).sum::<usize>());
        for row in rows {
            let indices: Vec<&Value> =
                row["args"].as_array().unwrap().iter().map(|arg| &arg["index"]).collect();
            assert_eq!(indices, [0, 1, 2], "{row}");
        }
    }

    #[test]
    fn with_a_folder_no_socket_has_an_address_in_the_file_system() {
        let profile = oci(SocketFiles::Shut);
        let of = |call: &str| -> Vec<&Value> {
            let rows = profile["syscalls"].as_array().unwrap().iter();
            rows.filter(|row| row["names"] == json!([call])).collect()
        };
        assert!(of("socket").iter().all(|row| row["args"][0]["value"] != AF_UNIX));
        assert!(!of("socket").is_empty());
        let kinds: Vec<&Value> = of("socketpair").iter().map(|row| &row["args"][1]["valueTwo"]).collect();
        assert_eq!(kinds, [1, 5]);
    }

    #[test]
    fn calls_that_break_out_are_in_no_family() {
        let never = [
            "add_key",
            "bpf",
            "chroot",
            "delete_module",
            "fanotify_init",
            "finit_module",
            "init_module",
            "io_uring_setup",
            "kcmp",
            "kexec_load",
            "keyctl",
            "modify_ldt",
            "mount",
            "mount_setattr",
            "move_mount",
            "mq_open",
            "name_to_handle_at",
            "open_by_handle_at",
            "open_tree",
            "perf_event_open",
            "pidfd_getfd",
            "pivot_root",
            "process_vm_readv",
            "process_vm_writev",
            "ptrace",
            "quotactl",
            "reboot",
            "request_key",
            "setns",
            "swapon",
            "syslog",
            "umount2",
            "unshare",
            "userfaultfd",
        ];
        for call in never {
            assert!(ALLOWED.iter().all(|family| !family.calls.contains(&call)), "{call} is allowed");
        }
    }
}
