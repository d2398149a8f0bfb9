//! What does a program see and get when it tries to leave its cage?
//!
//! Compiled alone, static, by the test that packs the probe. `report` looks around and tries every door, each try in
//! a child of its own so that what succeeds (or kills) changes nothing for the next; the other words use up memory,
//! processes and processor time, or leave orphans. It judges nothing: that is the test's, against the profile.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn pause() -> c_int;
    fn signal(number: c_int, handler: usize) -> usize;
    fn setsid() -> c_int;
    fn getppid() -> c_int;
    fn execv(path: *const c_char, argv: *const *const c_char) -> c_int;
    fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        from: i64,
    ) -> *mut c_void;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let number = |at: usize| word(at).parse::<u64>().unwrap_or(0);
    match word(1) {
        "report" => print(&report()),
        "nothing" => {}
        "orphan" => orphan(),
        "daemon" => daemon(),
        "hog" => hog(number(2)),
        "fork" => print(&forks()),
        "bomb" => bomb(),
        "spin" => print(&spin(number(2), number(3))),
        other => {
            eprintln!("native: unknown word {other:?}");
            std::process::exit(2);
        }
    }
}

fn print(value: &Json) {
    let mut text = String::new();
    value.write(&mut text);
    let _ = std::io::stdout().write_all(text.as_bytes());
}

// ---- a value and its JSON ---------------------------------------------------------------------------------------

enum Json {
    Text(String),
    Number(u64),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn texts(all: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Json::List(all.into_iter().map(|text| Json::Text(text.into())).collect())
    }

    fn object(all: impl IntoIterator<Item = (impl Into<String>, Json)>) -> Self {
        Json::Object(all.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    fn write(&self, out: &mut String) {
        match self {
            Json::Number(number) => drop(write!(out, "{number}")),
            Json::Text(text) => {
                out.push('"');
                for c in text.chars() {
                    match c {
                        '"' | '\\' => out.extend(['\\', c]),
                        c if c < ' ' => drop(write!(out, "\\u{:04x}", c as u32)),
                        c => out.push(c),
                    }
                }
                out.push('"');
            }
            Json::List(all) => {
                out.push('[');
                for (at, value) in all.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    value.write(out);
                }
                out.push(']');
            }
            Json::Object(all) => {
                out.push('{');
                for (at, (name, value)) in all.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    Json::Text(name.clone()).write(out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

// ---- errors and tries -------------------------------------------------------------------------------------------

/// Linux's names of the errors that matter here; errno(3).
fn name(errno: i32) -> String {
    let known = match errno {
        1 => "EPERM",
        2 => "ENOENT",
        3 => "ESRCH",
        6 => "ENXIO",
        9 => "EBADF",
        10 => "ECHILD",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        20 => "ENOTDIR",
        22 => "EINVAL",
        26 => "ETXTBSY",
        28 => "ENOSPC",
        30 => "EROFS",
        38 => "ENOSYS",
        93 => "EPROTONOSUPPORT",
        94 => "ESOCKTNOSUPPORT",
        95 => "EOPNOTSUPP",
        97 => "EAFNOSUPPORT",
        other => return format!("errno {other}"),
    };
    known.to_owned()
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn io(outcome: std::io::Result<impl Sized>) -> String {
    match outcome {
        Ok(_) => "open".to_owned(),
        Err(error) => error.raw_os_error().map_or_else(|| error.to_string(), name),
    }
}

/// What a try in a child comes to: `open` where it did not fail, else the error's name or the signal it died of.
fn attempt(call: impl FnOnce() -> bool) -> String {
    let pid = unsafe { fork() };
    if pid < 0 {
        return format!("fork: {}", name(errno()));
    }
    if pid == 0 {
        let well = call();
        unsafe { _exit(if well { 0 } else { errno() }) }
    }
    let mut status = 0;
    unsafe { waitpid(pid, &mut status, 0) };
    match status & 0x7f {
        0 if status >> 8 == 0 => "open".to_owned(),
        0 => name((status >> 8) & 0xff),
        signal => format!("signal {signal}"),
    }
}

// ---- system calls -----------------------------------------------------------------------------------------------

/// Numbers on x86-64 and on the machines that use the common table (aarch64); -1 where there is none.
/// Source: the kernel's `arch/x86/entry/syscalls/syscall_64.tbl` and `include/uapi/asm-generic/unistd.h`.
const CALLS: &[(&str, c_long, c_long)] = &[
    ("acct", 163, 89),
    ("add_key", 248, 217),
    ("adjtimex", 159, 171),
    ("bpf", 321, 280),
    ("chroot", 161, 51),
    ("clock_adjtime", 305, 266),
    ("clock_settime", 227, 112),
    ("clone3", 435, 435),
    ("delete_module", 176, 106),
    ("fanotify_init", 300, 262),
    ("finit_module", 313, 273),
    ("fsconfig", 431, 431),
    ("fsmount", 432, 432),
    ("fsopen", 430, 430),
    ("fspick", 433, 433),
    ("get_mempolicy", 239, 236),
    ("init_module", 175, 105),
    ("io_setup", 206, 0),
    ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427),
    ("io_uring_setup", 425, 425),
    ("ioperm", 173, -1),
    ("iopl", 172, -1),
    ("kcmp", 312, 272),
    ("kexec_file_load", 320, 294),
    ("kexec_load", 246, 104),
    ("keyctl", 250, 219),
    ("lookup_dcookie", 212, 18),
    ("mbind", 237, 235),
    ("memfd_secret", 447, 447),
    ("migrate_pages", 256, 238),
    ("modify_ldt", 154, -1),
    ("mount", 165, 40),
    ("mount_setattr", 442, 442),
    ("move_mount", 429, 429),
    ("move_pages", 279, 239),
    ("mq_open", 240, 180),
    ("msgget", 68, 186),
    ("name_to_handle_at", 303, 264),
    ("open_by_handle_at", 304, 265),
    ("open_tree", 428, 428),
    ("perf_event_open", 298, 241),
    ("pidfd_getfd", 438, 438),
    ("pivot_root", 155, 41),
    ("process_madvise", 440, 440),
    ("process_mrelease", 448, 448),
    ("process_vm_readv", 310, 270),
    ("process_vm_writev", 311, 271),
    ("ptrace", 101, 117),
    ("quotactl", 179, 60),
    ("reboot", 169, 142),
    ("remap_file_pages", 216, 234),
    ("request_key", 249, 218),
    ("set_mempolicy", 238, 237),
    ("setdomainname", 171, 162),
    ("sethostname", 170, 161),
    ("setns", 308, 268),
    ("settimeofday", 164, 170),
    ("swapoff", 168, 225),
    ("swapon", 167, 224),
    ("sysfs", 139, -1),
    ("syslog", 103, 116),
    ("umount2", 166, 39),
    ("unshare", 272, 97),
    ("uselib", 134, -1),
    ("userfaultfd", 323, 282),
    ("ustat", 136, -1),
    ("vhangup", 153, 58),
];

const NAMESPACES: &[(&str, c_long)] = &[
    ("mount", 0x2_0000),
    ("cgroup", 0x200_0000),
    ("uts", 0x400_0000),
    ("ipc", 0x800_0000),
    ("user", 0x1000_0000),
    ("pid", 0x2000_0000),
    ("network", 0x4000_0000),
];

const X86: bool = cfg!(target_arch = "x86_64");

/// Every call of the table, with arguments that the kernel itself would refuse in another way where there are such:
/// so that EPERM is the filter's word.
fn calls() -> Json {
    let nowhere = -1 as c_long;
    let call = |number: c_long| unsafe { syscall(number, nowhere, 0, 0, 0, 0, 0) } >= 0;
    let mut seen: Vec<(String, Json)> = Vec::new();
    for &(name, x86, common) in CALLS {
        let number = if X86 { x86 } else { common };
        if number >= 0 {
            seen.push((name.to_owned(), Json::Text(attempt(|| call(number)))));
        }
    }
    Json::Object(seen)
}

/// Calls that are allowed, with the arguments that must not be.
fn doors() -> Json {
    let mut seen: Vec<(String, Json)> = Vec::new();
    let mut note = |name: String, came_of_it: String| seen.push((name, Json::Text(came_of_it)));
    let (unshare, clone) = if X86 { (272, 56) } else { (97, 220) };
    let sigchld = 17;
    for &(kind, flag) in NAMESPACES {
        note(format!("unshare {kind}"), attempt(|| unsafe { syscall(unshare, flag) } >= 0));
        note(format!("clone {kind}"), attempt(|| unsafe { syscall(clone, flag | sigchld, 0, 0, 0, 0) } >= 0));
    }
    let (setuid, setgid, setgroups) = if X86 { (105, 106, 116) } else { (146, 144, 159) };
    note("setuid 0".into(), attempt(|| unsafe { syscall(setuid, 0) } >= 0));
    note("setgid 0".into(), attempt(|| unsafe { syscall(setgid, 0) } >= 0));
    note("setgroups 0".into(), attempt(|| unsafe { syscall(setgroups, 1, &0_u32) } >= 0));
    // a file of its own, so that it is the filter that says no
    let _ = fs::write("/tmp/door", "x");
    let (own, born, here) = (c"/tmp/door".as_ptr(), c"/tmp/born".as_ptr(), -100);
    let (chmodat, openat, makeat) = if X86 { (268, 257, 259) } else { (53, 56, 33) };
    note("fchmodat 04755".into(), attempt(|| unsafe { syscall(chmodat, here, own, 0o4755) } >= 0));
    note("fchmodat2 02755".into(), attempt(|| unsafe { syscall(452, here, own, 0o2755, 0) } >= 0));
    // O_CREAT and O_WRONLY, in octal; S_IFREG
    note("openat 04755".into(), attempt(|| unsafe { syscall(openat, here, born, 0o101, 0o4755) } >= 0));
    note("mknodat 06755".into(), attempt(|| unsafe { syscall(makeat, here, born, 0o106755, 0) } >= 0));
    if X86 {
        note("chmod 04755".into(), attempt(|| unsafe { syscall(90, own, 0o4755) } >= 0));
        note("open 04755".into(), attempt(|| unsafe { syscall(2, born, 0o101, 0o4755) } >= 0));
        note("creat 02755".into(), attempt(|| unsafe { syscall(85, born, 0o2755) } >= 0));
    }
    let _ = fs::remove_file("/tmp/door");
    let (mknodat, capset, personality) = if X86 { (259, 126, 135) } else { (33, 91, 92) };
    // S_IFCHR 1:1 is /dev/mem, S_IFBLK 8:0 the first disk; mknod(2)
    for (what, mode, device) in [("/dev/mem", 0o020666, 0x101), ("a disk", 0o060666, 0x800)] {
        let try_it = || unsafe { syscall(mknodat, -100_i64, c"/tmp/device".as_ptr(), mode, device) } >= 0;
        note(format!("mknod {what}"), attempt(try_it));
    }
    // _LINUX_CAPABILITY_VERSION_3, this process; all of the first 32 permitted and effective: capset(2)
    let header = [0x2008_0522_u32, 0];
    let all = [u32::MAX, u32::MAX, 0, 0, 0, 0];
    note("capset all".into(), attempt(|| unsafe { syscall(capset, &header, &all) } >= 0));
    for (what, persona) in
        [("without randomised addresses", 0x4_0000), ("where what is read may be run", 0x40_0000)]
    {
        note(format!("personality {what}"), attempt(|| unsafe { syscall(personality, persona) } >= 0));
    }
    #[cfg(target_arch = "x86_64")]
    {
        note(
            "int 0x80".into(),
            attempt(|| {
                let number: i64;
                // getpid of the 32-bit table; rbx is the compiler's, so nothing is passed in it
                unsafe { std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => number, options(nostack)) };
                number > 0
            }),
        );
        note("x32 getpid".into(), attempt(|| unsafe { syscall(0x4000_0000 | 39) } >= 0));
    }
    Json::Object(seen)
}

/// Every socket family that a kernel may have, with every type; `AF_…` from `include/linux/socket.h`.
fn sockets() -> Json {
    const FAMILIES: &[(&str, c_int)] = &[
        ("AF_UNIX", 1),
        ("AF_INET", 2),
        ("AF_AX25", 3),
        ("AF_IPX", 4),
        ("AF_INET6", 10),
        ("AF_KEY", 15),
        ("AF_NETLINK", 16),
        ("AF_PACKET", 17),
        ("AF_RDS", 21),
        ("AF_PPPOX", 24),
        ("AF_CAN", 29),
        ("AF_TIPC", 30),
        ("AF_BLUETOOTH", 31),
        ("AF_RXRPC", 33),
        ("AF_PHONET", 35),
        ("AF_ALG", 38),
        ("AF_NFC", 39),
        ("AF_VSOCK", 40),
        ("AF_KCM", 41),
        ("AF_QIPCRTR", 42),
        ("AF_SMC", 43),
        ("AF_XDP", 44),
        ("AF_MCTP", 45),
    ];
    const KINDS: &[(&str, c_int)] = &[
        ("SOCK_STREAM", 1),
        ("SOCK_DGRAM", 2),
        ("SOCK_RAW", 3),
        ("SOCK_RDM", 4),
        ("SOCK_SEQPACKET", 5),
        ("SOCK_DCCP", 6),
        ("SOCK_PACKET", 10),
    ];
    let mut seen = Vec::new();
    for &(family, af) in FAMILIES {
        for &(kind, ty) in KINDS {
            // with SOCK_CLOEXEC: the filter must see the type under the flags
            let tried = attempt(|| unsafe { socket(af, ty | 0o2000000, 0) } >= 0);
            seen.push((format!("{family} {kind}"), Json::Text(tried)));
        }
    }
    Json::Object(seen)
}

/// Protocols other than TCP and UDP over the sockets that are there; `IPPROTO_…` from `include/uapi/linux/in.h`.
fn protocols() -> Json {
    const PROTOCOLS: &[(&str, c_int, c_int, c_int)] = &[
        ("ICMP", 2, 2, 1),
        ("ICMPv6", 10, 2, 58),
        ("UDP-Lite", 2, 2, 136),
        ("SCTP stream", 2, 1, 132),
        ("L2TP", 2, 2, 115),
        ("MPTCP", 2, 1, 262),
        ("SMC", 2, 1, 256),
    ];
    Json::object(PROTOCOLS.iter().map(|&(what, family, kind, protocol)| {
        (what, Json::Text(attempt(|| unsafe { socket(family, kind, protocol) } >= 0)))
    }))
}

// ---- PID 1 ------------------------------------------------------------------------------------------------------

fn first() -> Json {
    let mut seen: Vec<(String, Json)> = Vec::new();
    for file in ["environ", "mem", "maps", "smaps", "auxv", "syscall", "stack", "io", "pagemap"] {
        seen.push((file.to_owned(), Json::Text(io(fs::read(format!("/proc/1/{file}"))))));
    }
    for link in ["root", "exe", "cwd"] {
        seen.push((link.to_owned(), Json::Text(io(fs::read_link(format!("/proc/1/{link}"))))));
    }
    for directory in ["fd", "fdinfo", "map_files", "ns"] {
        let listed = fs::read_dir(format!("/proc/1/{directory}")).and_then(|mut all| all.next().transpose());
        seen.push((directory.to_owned(), Json::Text(io(listed))));
    }
    seen.push(("ns/pid".to_owned(), Json::Text(io(fs::read_link("/proc/1/ns/pid")))));
    seen.push(("task/1/mem".to_owned(), Json::Text(io(fs::read("/proc/1/task/1/mem")))));
    for file in ["mem", "oom_score_adj", "clear_refs"] {
        let opened = fs::OpenOptions::new().write(true).open(format!("/proc/1/{file}"));
        seen.push((format!("write {file}"), Json::Text(io(opened))));
    }
    let mut signals = Vec::new();
    for number in [0, 1, 2, 9, 11, 15, 19] {
        let sent = attempt(|| unsafe { kill(1, number) } == 0);
        signals.push((number.to_string(), Json::Text(sent)));
    }
    seen.push(("kill".to_owned(), Json::Object(signals)));
    // PTRACE_ATTACH; the call itself is among the others
    let ptrace = if X86 { 101 } else { 117 };
    seen.push(("ptrace".to_owned(), Json::Text(attempt(|| unsafe { syscall(ptrace, 16, 1, 0, 0) } >= 0))));
    // how it is scheduled, and what it may use: PID 1 has this very user, so nothing but a filter says no
    let mask: u64 = 1;
    let (data, none) = (std::ptr::from_ref(&mask) as usize, 0_usize);
    let aimed = [
        ("setpriority", if X86 { 141 } else { 140 }, [0, 1, 19, none]),
        ("setpriority of every process of the user", if X86 { 141 } else { 140 }, [2, 0, 19, none]),
        ("ioprio_set", if X86 { 251 } else { 30 }, [1, 1, 3 << 13, none]),
        ("sched_setaffinity", if X86 { 203 } else { 122 }, [1, 8, data, none]),
        ("sched_setparam", if X86 { 142 } else { 118 }, [1, data, none, none]),
        ("sched_setscheduler", if X86 { 144 } else { 119 }, [1, 5, data, none]),
        ("prlimit64", if X86 { 302 } else { 261 }, [1, 7, none, none]),
    ];
    for (what, number, [a, b, c, d]) in aimed {
        let done = attempt(|| unsafe { syscall(number, a, b, c, d) } >= 0);
        seen.push((what.to_owned(), Json::Text(done)));
    }
    seen.push(("alive".to_owned(), Json::Text(io(fs::metadata("/proc/1")))));
    Json::Object(seen)
}

// ---- files ------------------------------------------------------------------------------------------------------

#[derive(Default)]
struct Files {
    writable_directories: Vec<String>,
    writable_files: Vec<String>,
    writable_kernel: Vec<String>,
    devices: Vec<String>,
    set_ids: Vec<String>,
    sockets: Vec<String>,
    looked_at: u64,
}

/// Every file of the cage but those of processes.
fn files() -> Files {
    let mut files = Files::default();
    let mut todo = vec![PathBuf::from("/")];
    while let Some(directory) = todo.pop() {
        let kernel = directory.starts_with("/proc") || directory.starts_with("/sys");
        if !kernel && can_create(&directory) {
            files.writable_directories.push(directory.display().to_string());
        }
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            files.looked_at += 1;
            let shown = path.display().to_string();
            let kind = found.file_type();
            if kind.is_dir() {
                let process = directory == Path::new("/proc")
                    && entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
                if !process {
                    todo.push(path);
                }
            } else if kind.is_file() {
                if !kernel && found.mode() & 0o6000 != 0 {
                    files.set_ids.push(shown.clone());
                }
                // 0o4000 is O_NONBLOCK: open(2)
                if fs::OpenOptions::new().write(true).custom_flags(0o4000).open(&path).is_ok() {
                    if kernel { files.writable_kernel.push(shown) } else { files.writable_files.push(shown) }
                }
            } else if kind.is_char_device() || kind.is_block_device() {
                let device = found.rdev();
                let (major, minor) = ((device >> 8) & 0xfff, device & 0xff);
                let letter = if kind.is_block_device() { 'b' } else { 'c' };
                files.devices.push(format!("{shown} {letter} {major}:{minor}"));
            } else if kind.is_socket() {
                files.sockets.push(shown);
            }
        }
    }
    for list in [
        &mut files.writable_directories,
        &mut files.writable_files,
        &mut files.writable_kernel,
        &mut files.devices,
        &mut files.set_ids,
    ] {
        list.sort();
    }
    files
}

fn can_create(directory: &Path) -> bool {
    let path = directory.join(".probe-was-here");
    let made = fs::OpenOptions::new().write(true).create_new(true).open(&path).is_ok();
    if made {
        let _ = fs::remove_file(&path);
    }
    made
}

/// Whether a program that was written inside can be run from there.
fn run_own() -> Json {
    let copy = |to: &Path| -> std::io::Result<()> {
        fs::copy("/proc/self/exe", to)?;
        fs::set_permissions(to, fs::Permissions::from_mode(0o755))
    };
    let mut seen: Vec<(String, Json)> = Vec::new();
    for directory in ["/tmp", "/home/cage", "/dev/shm", "/run", "/var/tmp"] {
        let path = Path::new(directory).join("own");
        let tried = match copy(&path) {
            Err(error) => format!("write: {}", io(Err::<(), _>(error))),
            Ok(()) => {
                let file =
                    fs::File::open(&path).map(|file| std::os::fd::IntoRawFd::into_raw_fd(file)).unwrap_or(-1);
                // PROT_READ | PROT_EXEC, MAP_PRIVATE: mmap(2)
                let mapped =
                    attempt(|| unsafe { mmap(std::ptr::null_mut(), 4096, 5, 2, file, 0) } as isize != -1);
                seen.push((format!("map {directory}"), Json::Text(mapped)));
                attempt(|| exec(&path))
            }
        };
        let _ = fs::remove_file(&path);
        seen.push((format!("run {directory}"), Json::Text(tried)));
    }
    Json::Object(seen)
}

/// Becomes `path nothing`; comes back only where that fails.
fn exec(path: &Path) -> bool {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let argv = [path.as_ptr(), c"nothing".as_ptr(), std::ptr::null()];
    unsafe { execv(path.as_ptr(), argv.as_ptr()) };
    false
}

// ---- the report -------------------------------------------------------------------------------------------------

fn report() -> Json {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_else(|error| format!("unreadable: {error}"));
    let text = |path: &str| Json::Text(read(path).trim().to_owned());
    let status = read("/proc/self/status");
    let field = |wanted: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(':'));
        line.unwrap_or("missing").split_whitespace().collect::<Vec<_>>()
    };
    let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
    let mut namespaces = BTreeMap::new();
    for kind in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
        let link = fs::read_link(format!("/proc/self/ns/{kind}"));
        namespaces.insert(kind, link.map_or_else(|error| error.to_string(), |l| l.display().to_string()));
    }
    let limits = read("/proc/self/limits");
    let limits = limits.lines().skip(1).map(|line| {
        let (name, rest) = line.split_at(line.len().min(26));
        let mut words = rest.split_whitespace().map(str::to_owned);
        let both = Json::texts([words.next().unwrap_or_default(), words.next().unwrap_or_default()]);
        (name.trim().to_owned(), both)
    });
    let mounts = read("/proc/self/mountinfo");
    let mounts = mounts.lines().filter_map(|line| {
        // proc_pid_mountinfo(5): …, 4 root, 5 mount point, 6 options, …, "-", type, source, super options
        let (front, back) = line.split_once(" - ")?;
        let front: Vec<&str> = front.split(' ').collect();
        let back: Vec<&str> = back.splitn(3, ' ').collect();
        Some(Json::object([
            ("at", Json::Text((*front.get(4)?).to_owned())),
            ("root", Json::Text((*front.get(3)?).to_owned())),
            ("options", Json::texts(front.get(5)?.split(','))),
            ("type", Json::Text((*back.first()?).to_owned())),
            ("super", Json::texts(back.get(2)?.split(','))),
        ]))
    });
    let interfaces = read("/proc/net/dev");
    let interfaces =
        interfaces.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    let routes = |path: &str, header: usize| {
        read(path)
            .lines()
            .skip(header)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let (routes4, routes6): (Vec<String>, Vec<String>) =
        (routes("/proc/net/route", 1), routes("/proc/net/ipv6_route", 0));
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() {
            processes.push(format!("{pid} {}", read(&format!("/proc/{pid}/comm")).trim()));
        }
    }
    let mut environment: Vec<String> =
        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    environment.sort();
    let files = files();
    let engines = [
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/crio/crio.sock",
        "/run/buildkit/buildkitd.sock",
        "/var/lib/docker",
        "/proc/1/root/run/docker.sock",
    ];
    let cgroup = [
        ("memory", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        ("swap", "/sys/fs/cgroup/memory.swap.max", "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"),
        ("pids", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
        ("cpu", "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
    ];
    let cgroup = cgroup.into_iter().map(|(what, second, first)| {
        let (version, found) = match fs::read_to_string(second) {
            Ok(found) => (2, found),
            Err(_) => (1, read(first)),
        };
        (what, Json::texts([format!("v{version}"), found.trim().to_owned()]))
    });
    Json::object([
        (
            "ids",
            Json::object([
                ("uid", Json::texts(field("Uid"))),
                ("gid", Json::texts(field("Gid"))),
                ("groups", Json::texts(field("Groups"))),
            ]),
        ),
        ("capabilities", Json::object(sets.map(|set| (set, Json::Text(field(set).concat()))))),
        ("no_new_privileges", Json::Text(field("NoNewPrivs").concat())),
        ("seccomp", Json::Text(field("Seccomp").concat())),
        ("hostname", text("/proc/sys/kernel/hostname")),
        ("hostname_file", text("/etc/hostname")),
        ("hosts_file", text("/etc/hosts")),
        ("resolver", text("/etc/resolv.conf")),
        ("low_ports", text("/proc/sys/net/ipv4/ip_unprivileged_port_start")),
        ("namespaces", Json::object(namespaces.into_iter().map(|(kind, link)| (kind, Json::Text(link))))),
        ("cgroup_path", text("/proc/self/cgroup")),
        ("cgroup", Json::object(cgroup)),
        ("limits", Json::object(limits)),
        ("interfaces", Json::texts(interfaces)),
        ("routes", Json::texts(routes4)),
        ("routes6", Json::texts(routes6)),
        ("mounts", Json::List(mounts.collect())),
        ("files_looked_at", Json::Number(files.looked_at)),
        ("writable_directories", Json::texts(files.writable_directories)),
        ("writable_files", Json::texts(files.writable_files)),
        ("writable_kernel_files", Json::texts(files.writable_kernel)),
        ("devices", Json::texts(files.devices)),
        ("set_id_files", Json::texts(files.set_ids)),
        ("socket_files", Json::texts(files.sockets)),
        (
            "engine_sockets",
            Json::texts(engines.into_iter().filter(|path| fs::symlink_metadata(path).is_ok())),
        ),
        ("environment", Json::texts(environment)),
        ("processes", Json::texts(processes)),
        ("parent", Json::Number(u64::from(unsafe { getppid() }.unsigned_abs()))),
        ("pid1", first()),
        ("own_programs", run_own()),
        ("sockets", sockets()),
        ("protocols", protocols()),
        ("calls", calls()),
        ("doors", doors()),
    ])
}

// ---- using things up --------------------------------------------------------------------------------------------

/// In a session of its own, deaf to every signal that can be ignored, until it is killed.
fn orphan() -> ! {
    unsafe {
        for number in 1..32 {
            signal(number, 1);
        }
        setsid();
        loop {
            pause();
        }
    }
}

/// Forks twice, as daemons do, and lets go of nothing: whoever waits for its end sees it at once.
fn daemon() {
    unsafe {
        if fork() != 0 {
            return;
        }
        setsid();
        if fork() != 0 {
            _exit(0);
        }
    }
    orphan();
}

fn hog(mib: u64) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..mib {
        // written to, so that it is really there
        held.push(vec![held.len() as u8 | 1; 1 << 20]);
    }
    println!("{}", held.len());
}

fn forks() -> Json {
    let mut children = Vec::new();
    let stopped = loop {
        match unsafe { fork() } {
            0 => loop {
                unsafe { pause() };
            },
            pid if pid < 0 => break errno(),
            _ if children.len() >= 100_000 => break 0,
            pid => children.push(pid),
        }
    };
    for pid in &children {
        unsafe {
            kill(*pid, 9);
            waitpid(*pid, std::ptr::null_mut(), 0);
        }
    }
    Json::object([("forked", Json::Number(children.len() as u64)), ("stopped", Json::Text(name(stopped)))])
}

fn bomb() -> ! {
    unsafe {
        setsid();
        for number in 1..32 {
            signal(number, 1);
        }
        loop {
            fork();
        }
    }
}

fn spin(threads: u64, millis: u64) -> Json {
    let end = std::time::Instant::now() + std::time::Duration::from_millis(millis);
    let all: Vec<_> =
        (0..threads).map(|_| std::thread::spawn(move || while std::time::Instant::now() < end {})).collect();
    for thread in all {
        let _ = thread.join();
    }
    let mut time = [0_i64; 2];
    // CLOCK_PROCESS_CPUTIME_ID: what all threads got together; clock_gettime(2)
    unsafe { clock_gettime(2, &mut time) };
    let got = time[0] * 1000 + time[1] / 1_000_000;
    Json::object([("milliseconds", Json::Number(got.unsigned_abs()))])
}
