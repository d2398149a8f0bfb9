//! What is this cage like?
//!
//! Read before any program runs, for the launcher to hold against what it asked the engine for: engines ignore
//! settings, and some of them silently.

use std::fs::File;
use std::io::Read as _;

use pinfold_init::protocol::{Facts, Group, Terms};
use rustix::fs::{CWD, FileType, Mode, StatVfsMountFlags};
use rustix::process::Resource;

/// Longest line of `/etc/resolv.conf` and most of its lines that are reported.
const MAX_LINE: usize = 255;
const MAX_LINES: usize = 16;

/// Looks around. What cannot be read is reported as its weakest value, so that the launcher refuses it.
pub fn gather(terms: &Terms, dns_port: u16) -> Facts {
    let resolver = read("/etc/resolv.conf").unwrap_or_default();
    let status = read("/proc/self/status").unwrap_or_default();
    let mut facts = Facts {
        pid: std::process::id(),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        dns_port,
        hostname: cut(&rustix::system::uname().nodename().to_string_lossy()),
        unprivileged_port_start: read("/proc/sys/net/ipv4/ip_unprivileged_port_start")
            .and_then(|text| text.trim().parse().ok()),
        own_filter: own_filter(),
        // of a process that has no limit there is none to tell, which is the weakest
        open_files: rustix::process::getrlimit(Resource::Nofile).maximum,
        group: group(),
        group_is_root: read("/proc/self/cgroup").is_some_and(|text| is_root(&text)),
        interfaces: interfaces(&read("/proc/net/dev").unwrap_or_default()),
        shown: terms.hidden.iter().filter(|path| shows(path)).cloned().collect(),
        writable: terms.fixed.iter().filter(|path| writable(path)).cloned().collect(),
        ..Facts::default()
    };
    read_resolver(&resolver, &mut facts);
    read_status(&status, &mut facts);
    facts
}

/// Whether the filter is Pinfold's, by what it alone tells apart: a file with a set-user-ID bit and one without, where
/// there is no folder to make either in. Whoever else answers says of both that the folder is not there, or of both no.
fn own_filter() -> bool {
    let made = |mode| rustix::fs::mknodat(CWD, "/proc/self/none/none", FileType::RegularFile, mode, 0);
    let (plain, set_id) = (made(Mode::RUSR), made(Mode::RUSR | Mode::SUID));
    (plain, set_id) == (Err(rustix::io::Errno::NOENT), Err(rustix::io::Errno::PERM))
}

/// Where the control group is, version 1 and 2: an engine mounts the cage's own there. Source: the kernel's
/// `admin-guide/cgroup-v1` and `admin-guide/cgroup-v2.rst`.
fn group() -> Group {
    let number = |path: &str| read(&format!("/sys/fs/cgroup/{path}")).and_then(|text| limit(&text));
    if read("/sys/fs/cgroup/cgroup.controllers").is_some() {
        let memory = number("memory.max");
        let swap = number("memory.swap.max");
        let cpu = read("/sys/fs/cgroup/cpu.max");
        let cpu = cpu.as_deref().and_then(|text| text.trim().split_once(' '));
        return Group {
            memory,
            memory_and_swap: memory.zip(swap).map(|(memory, swap)| memory.saturating_add(swap)),
            processes: number("pids.max"),
            milli_cpus: cpu.and_then(|(quota, period)| milli_cpus(limit(quota), limit(period))),
        };
    }
    Group {
        memory: number("memory/memory.limit_in_bytes"),
        memory_and_swap: number("memory/memory.memsw.limit_in_bytes"),
        processes: number("pids/pids.max"),
        milli_cpus: milli_cpus(number("cpu/cpu.cfs_quota_us"), number("cpu/cpu.cfs_period_us")),
    }
}

/// The least that version 1 writes for memory without a limit: the largest signed number, in whole pages of any size.
/// Source: the kernel's `PAGE_COUNTER_MAX`.
const UNLIMITED: u64 = i64::MAX as u64 - 0xffff;

/// A number as control groups write it; `max`, -1 and version 1's largest are none.
fn limit(text: &str) -> Option<u64> {
    match text.trim() {
        "max" | "-1" => Some(u64::MAX),
        number => number.parse().ok().map(|number| if number >= UNLIMITED { u64::MAX } else { number }),
    }
}

fn milli_cpus(quota: Option<u64>, period: Option<u64>) -> Option<u64> {
    match (quota?, period?) {
        (u64::MAX, _) => Some(u64::MAX),
        (quota, period) => quota.saturating_mul(1_000).checked_div(period),
    }
}

/// Whether every hierarchy's path is the root: cgroup_namespaces(7).
fn is_root(text: &str) -> bool {
    !text.is_empty() && text.lines().all(|line| line.ends_with(":/"))
}

/// The names in /proc/net/dev, whose first two lines are headings; proc_pid_net(5).
fn interfaces(text: &str) -> Vec<String> {
    let names = text.lines().skip(2).filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| cut(name.trim())).take(MAX_LINES).collect()
}

/// Whether a path that is to be hidden shows something: it is there, and is neither the null device nor an empty
/// folder.
fn shows(path: &str) -> bool {
    let Ok(found) = rustix::fs::stat(path) else { return false };
    match FileType::from_raw_mode(found.st_mode) {
        // 1:3 is the null device: Linux's `admin-guide/devices.txt`
        FileType::CharacterDevice => found.st_rdev != rustix::fs::makedev(1, 3),
        FileType::Directory => {
            std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) || !fixed(path)
        }
        _ => true,
    }
}

/// Whether something could be written through a path that is to be read-only.
fn writable(path: &str) -> bool {
    std::fs::metadata(path).is_ok() && shows(path) && !fixed(path)
}

fn fixed(path: &str) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|room| room.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// At most 64 KiB of a file.
fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(64 * 1024).read_to_string(&mut text).ok()?;
    Some(text)
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_LINE).collect()
}

/// The lines that steer look-ups; resolv.conf(5).
fn read_resolver(text: &str, facts: &mut Facts) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let list = match words.next() {
            Some("nameserver") => &mut facts.nameservers,
            Some("search" | "domain") => &mut facts.search,
            _ => continue,
        };
        let room = MAX_LINES.saturating_sub(list.len());
        list.extend(words.map(cut).take(room));
    }
}

/// The fields of /proc/self/status that say what the process may do; proc_pid_status(5).
fn read_status(text: &str, facts: &mut Facts) {
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim));
    facts.no_new_privileges = field("NoNewPrivs") == Some("1");
    facts.seccomp = field("Seccomp").and_then(|text| text.parse().ok()).unwrap_or(0);
    facts.capabilities = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .iter()
        .map(|name| field(name).and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(u64::MAX))
        .fold(0, |all, set| all | set);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_that_steer_look_ups() {
        let mut facts = Facts::default();
        read_resolver(
            "# x\nnameserver 127.0.0.1\nsearch a.example b.example\noptions ndots:0\ndomain c\n",
            &mut facts,
        );
        assert_eq!(
            (facts.nameservers, facts.search),
            (vec!["127.0.0.1".into()], ["a.example", "b.example", "c"].map(String::from).to_vec())
        );
    }

    #[test]
    fn a_monstrous_resolv_conf_fits_a_message() {
        let mut facts = Facts::default();
        read_resolver(&format!("search {}\n", ["x".repeat(4096).as_str(); 100].join(" ")), &mut facts);
        assert!(serde_json::to_vec(&facts).unwrap().len() < pinfold_init::protocol::MAX_FROM_INIT);
    }

    #[test]
    fn what_cannot_be_read_is_reported_as_the_weakest() {
        let mut facts = Facts::default();
        read_status("", &mut facts);
        assert_eq!((facts.no_new_privileges, facts.seccomp, facts.capabilities), (false, 0, u64::MAX));
    }

    #[test]
    fn reads_the_capability_sets_together() {
        let mut facts = Facts::default();
        let sets = "CapInh:\t0\nCapPrm:\t1\nCapEff:\t2\nCapBnd:\t0000000000000004\nCapAmb:\t0\n";
        read_status(&format!("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n{sets}"), &mut facts);
        assert_eq!((facts.no_new_privileges, facts.seccomp, facts.capabilities), (true, 2, 7));
    }

    #[test]
    fn reads_limits_as_control_groups_write_them() {
        assert_eq!(
            (limit("max\n"), limit("-1\n"), limit("256\n"), limit("x")),
            (Some(u64::MAX), Some(u64::MAX), Some(256), None)
        );
        assert_eq!(limit("9223372036854771712\n"), Some(u64::MAX));
        assert_eq!(milli_cpus(Some(200_000), Some(100_000)), Some(2_000));
        assert_eq!(milli_cpus(Some(u64::MAX), Some(100_000)), Some(u64::MAX));
        assert_eq!((milli_cpus(Some(1), Some(0)), milli_cpus(None, Some(1))), (None, None));
    }

    #[test]
    fn a_control_group_is_the_root_where_every_hierarchy_says_so() {
        assert!(is_root("2:pids:/\n0::/\n"));
        assert!(!is_root("2:pids:/libpod/x\n0::/\n") && !is_root(""));
    }

    #[test]
    fn reads_the_names_of_interfaces() {
        let table = "Inter-|   Receive\n face |bytes\n    lo:       0\n  eth0: 1\n";
        assert_eq!(interfaces(table), ["lo", "eth0"]);
    }

    #[test]
    fn what_is_hidden_is_gone_null_or_an_empty_read_only_folder() {
        let folder = std::env::temp_dir();
        assert!(!shows("/nowhere/at/all") && !shows("/dev/null"));
        assert!(shows("/dev/zero") && shows("/etc/passwd") && shows(folder.to_str().unwrap()));
    }

    #[test]
    fn a_filter_that_is_not_there_is_not_ours() {
        assert!(!own_filter());
    }
}
