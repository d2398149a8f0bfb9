//! What is this cage like?
//!
//! Read before any program runs, for the launcher to hold against what it asked the engine for: engines ignore
//! settings, and some of them silently.

use std::fs::File;
use std::io::Read as _;

use pinfold_init::protocol::Facts;

/// Longest line of `/etc/resolv.conf` and most of its lines that are reported.
const MAX_LINE: usize = 255;
const MAX_LINES: usize = 16;

/// Looks around. What cannot be read is reported as its weakest value, so that the launcher refuses it.
pub fn gather(dns_port: u16) -> Facts {
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
        ..Facts::default()
    };
    read_resolver(&resolver, &mut facts);
    read_status(&status, &mut facts);
    facts
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
}
