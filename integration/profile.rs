//! Does a cage hold what its profile says, seen from the inside?
//!
//! A probing server reports, and every row of the profile's table is held against its report; so is every row of the
//! system-call list, and every socket. All rows are looked at before the test fails, each with what was promised and
//! what was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use pinfold::cage::profile::{HOME, HOSTNAME, NAMESERVER, Profile};
use pinfold::cage::seccomp::{ABSENT, ALLOWED, SOCKETS};
use pinfold::plan::{Limits, User};
use serde_json::{Value, json};

use crate::{mounted, tests};

tests![
    every_row_of_the_profile_holds_inside,
    only_the_sockets_of_the_table_open,
    calls_outside_the_list_fail_and_absent_ones_are_absent,
    doors_that_arguments_open_stay_shut,
    sockets_speak_tcp_and_udp_alone,
    nothing_of_pid_1_can_be_read_traced_or_ended,
    nothing_of_this_host_is_seen,
];

/// What the probe sees; asked once.
static REPORT: LazyLock<Value> = LazyLock::new(|| {
    let server = mounted::probe();
    let mut session = server.session();
    let report = session.data("report", json!({}));
    // the last thing the probe did to PID 1 was to send it every signal there is
    assert_eq!(session.text("echo", json!({"text": "still there"})), "echo: still there");
    let pretty = serde_json::to_string_pretty(&report).unwrap();
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/probe-report.json"), &pretty).unwrap();
    if std::env::args().any(|word| word == "--nocapture") {
        println!("{pretty}");
    }
    report
});

/// Holds everything of the profile that a probe sees against its report, from whatever engine.
pub fn all_holds(report: &Value) {
    rows_hold(report);
    sockets_hold(report);
    calls_hold(report);
    doors_hold(report);
    protocols_hold(report);
}

/// Rows held against what was seen.
#[derive(Default)]
struct Rows {
    held: usize,
    broken: Vec<String>,
}

impl Rows {
    fn hold<T: PartialEq + std::fmt::Debug>(&mut self, row: &str, promised: T, seen: T) {
        self.see(row, promised == seen, &format!("promised {promised:?}, seen {seen:?}"));
    }

    fn see(&mut self, row: &str, holds: bool, seen: &str) {
        self.held += 1;
        if !holds {
            self.broken.push(format!("  {row}: {seen}"));
        }
    }

    #[track_caller]
    fn done(self) {
        assert!(self.held > 0, "no row was held against anything");
        assert!(
            self.broken.is_empty(),
            "{} of {} rows:\n{}",
            self.broken.len(),
            self.held,
            self.broken.join("\n")
        );
    }
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().unwrap_or_else(|| panic!("no list: {value}"));
    all.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn pairs(value: &Value) -> BTreeMap<String, String> {
    let all = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    all.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn every_row_of_the_profile_holds_inside() {
    rows_hold(&REPORT);
}

fn rows_hold(report: &Value) {
    let profile = Profile::run(Limits::default(), User::NOBODY);
    let limits = profile.limits();
    let mut rows = Rows::default();

    let (uid, gid) = (profile.user().uid().to_string(), profile.user().gid().to_string());
    rows.hold("user (real, effective, saved, file)", vec![uid.clone(); 4], texts(&report["ids"]["uid"]));
    rows.hold("group (real, effective, saved, file)", vec![gid.clone(); 4], texts(&report["ids"]["gid"]));
    let groups = texts(&report["ids"]["groups"]);
    rows.see("supplementary groups", groups.iter().all(|group| *group == gid), &format!("{groups:?}"));

    let sets = pairs(&report["capabilities"]);
    rows.hold("capability sets looked at", 5, sets.len());
    for (set, bits) in sets {
        rows.hold(&format!("capabilities, {set}"), "0000000000000000".to_owned(), bits);
    }
    rows.hold("no-new-privileges", &json!("1"), &report["no_new_privileges"]);
    rows.hold("seccomp (2 is a filter)", &json!("2"), &report["seccomp"]);

    let scratch: Vec<String> = profile.scratch().iter().map(|scratch| scratch.path.to_owned()).collect();
    let mut writable = scratch.clone();
    writable.sort();
    rows.hold("writable directories", writable, texts(&report["writable_directories"]));
    let devices = ["full", "null", "random", "tty", "urandom", "zero"];
    rows.hold("files that can be written to", Vec::<String>::new(), texts(&report["writable_files"]));
    rows.hold(
        "kernel files that can be written to",
        Vec::<String>::new(),
        texts(&report["writable_kernel_files"]),
    );
    mounts(&mut rows, report, &profile);

    let seen = texts(&report["devices"]);
    let others: Vec<&String> = seen
        .iter()
        .filter(|device| {
            let name = device.split(' ').next().unwrap_or_default();
            let name = name.trim_start_matches("/dev/");
            // what hides a file is a bind mount of the null device: runc's masked paths
            let hidden = device.ends_with(" c 1:3");
            !hidden && !devices.contains(&name) && name != "pts/ptmx"
        })
        .collect();
    rows.see("devices", others.is_empty(), &format!("{others:?}"));

    rows.hold("network interfaces", vec!["lo".to_owned()], texts(&report["interfaces"]));
    rows.hold("routes", Vec::<String>::new(), texts(&report["routes"]));
    let routes6 = texts(&report["routes6"]);
    rows.see("IPv6 routes", routes6.iter().all(|route| route.ends_with(" lo")), &format!("{routes6:?}"));
    rows.hold("DNS", vec![NAMESERVER.to_owned()], lines_with(&report["resolver"], "nameserver"));
    let search = lines_with(&report["resolver"], "search");
    rows.see("search domains", search.iter().all(|domain| domain == "."), &format!("{search:?}"));
    rows.hold("low ports", &json!("0"), &report["low_ports"]);

    let memory = limits.memory().to_string();
    rows.hold("memory", &memory, &texts(&report["cgroup"]["memory"])[1]);
    // version 1 counts memory and swap together, version 2 swap alone
    let swap = texts(&report["cgroup"]["swap"]);
    let none = if swap[0] == "v1" { memory } else { "0".to_owned() };
    rows.hold("memory and swap", &none, &swap[1]);
    rows.hold("processes", &limits.pids().to_string(), &texts(&report["cgroup"]["pids"])[1]);
    let cpu = texts(&report["cgroup"]["cpu"]);
    let quota = (u64::from(limits.milli_cpus()) * 100).to_string();
    rows.see(
        "processors",
        cpu[1].split(' ').next() == Some(&quota),
        &format!("promised {quota} of 100000, seen {cpu:?}"),
    );
    let files = vec![limits.nofile().to_string(); 2];
    rows.hold("open files", files, texts(&report["limits"]["Max open files"]));

    let here =
        |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap().display().to_string();
    let namespaces = pairs(&report["namespaces"]);
    for kind in ["ipc", "uts", "cgroup", "pid", "net", "mnt"] {
        let differs = namespaces[kind].starts_with(kind) && namespaces[kind] != here(kind);
        rows.see(&format!("{kind} namespace of its own"), differs, &namespaces[kind]);
    }
    let cgroups = report["cgroup_path"].as_str().unwrap_or_default();
    rows.see("cgroup path", cgroups.lines().all(|line| line.ends_with(":/")), cgroups);
    rows.hold("host name", &json!(HOSTNAME), &report["hostname"]);
    rows.hold("host name, in its file", &json!(HOSTNAME), &report["hostname_file"]);

    for place in &scratch {
        for what in ["run", "map"] {
            let tried = &report["own_programs"][format!("{what} {place}")];
            let shut = if what == "run" { "EACCES" } else { "EPERM" };
            rows.hold(&format!("noexec: {what} what was written to {place}"), &json!(shut), tried);
        }
    }
    for place in ["/dev/shm", "/run", "/var/tmp"] {
        let tried = report["own_programs"][format!("run {place}")].as_str().unwrap_or_default();
        rows.see(&format!("nothing can be written to {place}"), tried.starts_with("write: "), tried);
    }
    rows.hold("engine sockets", Vec::<String>::new(), texts(&report["engine_sockets"]));
    rows.hold("sockets in the file system", Vec::<String>::new(), texts(&report["socket_files"]));

    let known = ["HOME", "LANG", "PATH", "TZ"];
    let environment = texts(&report["environment"]);
    let unknown: Vec<&String> = environment.iter().filter(|name| !known.contains(&name.as_str())).collect();
    rows.see(
        "environment",
        unknown.is_empty() && environment.contains(&"PATH".to_owned()),
        &format!("{environment:?}"),
    );
    rows.hold("environment, as Node sees it", environment.clone(), texts(&report["node"]["environment"]));
    rows.hold("home", &json!(HOME), &report["node"]["home"]);
    rows.hold("the user has a name", &json!("cage"), &report["node"]["user"]);

    let processes = texts(&report["processes"]);
    let strange: Vec<&String> = processes
        .iter()
        .filter(|process| {
            !["pinfold-init", "node", "native"].contains(&process.split(' ').nth(1).unwrap_or_default())
        })
        .collect();
    rows.see("processes seen", strange.is_empty() && processes.len() == 3, &format!("{processes:?}"));
    rows.see("PID 1", processes.contains(&"1 pinfold-init".to_owned()), &format!("{processes:?}"));

    // a row that is new in the table must be held here, too
    let told: BTreeSet<&str> = profile.rows().iter().map(|row| row.setting).collect();
    let held = BTreeSet::from([
        "user",
        "capabilities",
        "no-new-privileges",
        "seccomp",
        "root file system",
        "writable",
        // none here; `folders` looks at those of servers that have some
        "mounts",
        "network",
        "DNS",
        "memory and swap",
        "processes",
        "processors",
        "open files",
        "ipc, uts, cgroup, pid namespaces",
        "host name",
        // not seen from the inside; `ends` and `secrets` look at the engine for these
        "log driver",
        "removal",
        // the engine's own here; `second_engine` has another
        "runtime",
    ]);
    rows.hold("rows of the table", held, told);
    rows.done();
}

fn lines_with(value: &Value, word: &str) -> Vec<String> {
    let text = value.as_str().unwrap_or_default();
    let words = text.lines().filter_map(|line| line.strip_prefix(word)).flat_map(str::split_whitespace);
    words.map(ToOwned::to_owned).collect()
}

fn mounts(rows: &mut Rows, report: &Value, profile: &Profile) {
    let mounts: Vec<(&str, Vec<String>, &str)> = report["mounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| {
            (mount["at"].as_str().unwrap(), texts(&mount["options"]), mount["type"].as_str().unwrap())
        })
        .collect();
    let root =
        mounts.iter().find(|(at, ..)| *at == "/").map(|(_, options, _)| options.clone()).unwrap_or_default();
    rows.see("read-only root file system", root.contains(&"ro".to_owned()), &format!("{root:?}"));
    for scratch in profile.scratch() {
        let found = mounts.iter().find(|(at, ..)| *at == scratch.path);
        let flags = ["rw", "nosuid", "nodev", "noexec"];
        let holds = found.is_some_and(|(_, options, kind)| {
            *kind == "tmpfs" && flags.iter().all(|flag| options.iter().any(|option| option == flag))
        });
        rows.see(&format!("tmpfs on {}", scratch.path), holds, &format!("{found:?}"));
        let size = report["mounts"].as_array().unwrap().iter().find(|mount| mount["at"] == scratch.path);
        let size = size.map(|mount| texts(&mount["super"])).unwrap_or_default();
        let wanted = format!("size={}k", scratch.bytes / 1024);
        rows.see(
            &format!("size of {}", scratch.path),
            size.contains(&wanted),
            &format!("promised {wanted}, seen {size:?}"),
        );
    }
    // what runc itself mounts; the modes of what is in it keep a user out, as the walk shows
    let runtime = ["/proc", "/dev", "/dev/pts", "/sys/fs/cgroup"];
    // of several mounts at one place the last is the one that is seen
    let seen: BTreeMap<&str, (&Vec<String>, &str)> =
        mounts.iter().map(|(at, options, kind)| (*at, (options, *kind))).collect();
    for (at, (options, kind)) in &seen {
        let known = runtime.contains(at) || profile.scratch().iter().any(|scratch| scratch.path == *at);
        // a single device over a file hides it
        let hides = *kind == "tmpfs" && at.starts_with("/proc/");
        rows.see(
            &format!("mount {at} ({kind}) is read-only"),
            known || hides || options.contains(&"ro".to_owned()),
            &format!("{options:?}"),
        );
    }
}

fn only_the_sockets_of_the_table_open() {
    sockets_hold(&REPORT);
}

fn sockets_hold(report: &Value) {
    let promised: BTreeSet<String> = SOCKETS.iter().map(|socket| socket.name.to_owned()).collect();
    let tried = pairs(&report["sockets"]);
    let opened: BTreeSet<String> =
        tried.iter().filter(|(_, came)| *came == "open").map(|(name, _)| name.clone()).collect();
    assert_eq!(opened, promised, "sockets that opened, and those of the table");
    let mut rows = Rows::default();
    for (name, came) in tried.iter().filter(|(name, _)| !promised.contains(*name)) {
        // the filter's word, not the kernel's: a kernel with more modules would say something else
        rows.hold(name, "EPERM", came.as_str());
    }
    rows.done();
}

fn calls_outside_the_list_fail_and_absent_ones_are_absent() {
    calls_hold(&REPORT);
}

fn calls_hold(report: &Value) {
    let mut rows = Rows::default();
    for (call, came) in pairs(&report["calls"]) {
        let listed = ALLOWED.iter().any(|family| family.calls.contains(&call.as_str()));
        let absent = ABSENT.iter().any(|(name, _)| *name == call);
        rows.see(&format!("{call} is in no family"), !listed, "it is allowed");
        rows.hold(&call, if absent { "ENOSYS" } else { "EPERM" }, &came);
    }
    rows.done();
}

fn doors_that_arguments_open_stay_shut() {
    doors_hold(&REPORT);
}

fn doors_hold(report: &Value) {
    let mut rows = Rows::default();
    for (door, came) in pairs(&report["doors"]) {
        // another architecture's entry ends the process that takes it, or fails; both will do
        let shut = came == "EPERM"
            || (door == "int 0x80" && came == "signal 31")
            || (door == "x32 getpid" && came != "open");
        rows.see(&door, shut, &came);
    }
    rows.done();
}

fn sockets_speak_tcp_and_udp_alone() {
    protocols_hold(&REPORT);
}

fn protocols_hold(report: &Value) {
    let mut rows = Rows::default();
    for (protocol, came) in pairs(&report["protocols"]) {
        // refused by the filter, before the kernel looks for (and loads) a module that speaks it
        rows.hold(&protocol, "EPERM", &came);
    }
    rows.done();
}

fn nothing_of_pid_1_can_be_read_traced_or_ended() {
    let first = &REPORT["pid1"];
    let mut rows = Rows::default();
    for what in [
        "environ",
        "mem",
        "maps",
        "smaps",
        "auxv",
        "syscall",
        "stack",
        "io",
        "pagemap",
        "root",
        "exe",
        "cwd",
        "fd",
        "fdinfo",
        "map_files",
        "ns",
        "ns/pid",
        "task/1/mem",
        "write mem",
        "write oom_score_adj",
        "write clear_refs",
        "ptrace",
        "setpriority",
        "setpriority of every process of the user",
        "ioprio_set",
        "sched_setaffinity",
        "sched_setparam",
        "sched_setscheduler",
        "prlimit64",
    ] {
        let seen = first[what].as_str().unwrap_or("not tried");
        rows.see(what, ["EACCES", "EPERM"].contains(&seen), seen);
    }
    rows.hold("alive after every signal", &json!("open"), &first["alive"]);
    rows.done();
}

fn nothing_of_this_host_is_seen() {
    let report = REPORT.to_string();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert!(host.len() < 4 || !report.contains(&host), "the host's name is seen inside");
    for name in ["PINFOLD_HOME", "CARGO_MANIFEST_DIR"] {
        let value = std::env::var(name).unwrap_or_default();
        assert!(value.is_empty() || !report.contains(&value), "the value of {name} is seen inside");
    }
    assert_eq!(REPORT["node"]["argv"].as_array().map(Vec::len), Some(2), "{}", REPORT["node"]);
}
