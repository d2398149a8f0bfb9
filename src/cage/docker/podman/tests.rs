use super::*;
use crate::plan::{Limits, User};

fn info(version: &str, rootless: bool, controllers: &[&str]) -> Info {
    let host = json!({
        "cgroupVersion": version,
        "cgroupControllers": controllers,
        "security": {"rootless": rootless, "seccompEnabled": true},
    });
    serde_json::from_value(json!({"host": host, "version": {}})).unwrap()
}

fn settings(rows: &[Lacking]) -> Vec<&'static str> {
    rows.iter().map(Lacking::setting).collect()
}

#[test]
fn without_root_on_the_older_control_groups_every_limit_is_lacking() {
    let rows = info("v1", true, &[]).lacking();
    assert_eq!(settings(&rows), ["memory and swap", "processes", "processors"]);
    assert!(rows.iter().all(|row| row.remedy() == ROOTLESS));
    assert_eq!(info("v1", false, &[]).lacking(), []);
}

#[test]
fn a_controller_that_is_not_delegated_is_a_row_that_is_lacking() {
    assert_eq!(info("v2", true, &["cpu", "memory", "pids"]).lacking(), []);
    let rows = info("v2", true, &["memory", "pids"]).lacking();
    assert_eq!(settings(&rows), ["processors"]);
    assert_eq!(rows[0].remedy(), DELEGATE);
}

fn files() -> Files {
    Files { seccomp: "/s/seccomp".into(), hosts: "/s/hosts".into(), resolver: "/s/resolv.conf".into() }
}

/// What Podman 4.3 writes down of a run cage.
fn written() -> Value {
    let bound = |source: &str, at: &str| {
        json!({"Type": "bind", "Source": source, "Destination": at, "Driver": "", "Options": ["bind", "nosuid"],
               "RW": false, "Propagation": "rprivate"})
    };
    json!({
        "OCIRuntime": "runc",
        "Mounts": [bound("/s/hosts", "/etc/hosts"), bound("/s/resolv.conf", "/etc/resolv.conf")],
        "HostConfig": {
            "AutoRemove": true, "ReadonlyRootfs": true, "Privileged": false, "NetworkMode": "none",
            "CgroupMode": "private", "IpcMode": "shareable", "PidMode": "private", "UTSMode": "private",
            "CapAdd": [], "SecurityOpt": ["no-new-privileges"],
            "Tmpfs": {
                "/tmp": "rw,nosuid,nodev,noexec,size=134217728,mode=1777,rprivate",
                "/home/cage": "rw,nosuid,nodev,noexec,size=67108864,mode=700,U,rprivate",
            },
            "LogConfig": {"Type": "none"}, "Devices": [], "VolumesFrom": null, "ExtraHosts": [],
            "Memory": 536_870_912, "MemorySwap": 536_870_912, "PidsLimit": 256, "NanoCpus": 2_000_000_000_u64,
            "Ulimits": [{"Name": "RLIMIT_NOFILE", "Soft": 1024, "Hard": 1024}],
        },
    })
}

fn rows(made: Value) -> Vec<&'static str> {
    let profile = Profile::run(Limits::default(), User::NOBODY);
    settings(&compare(&profile, &files(), &serde_json::from_value(made).unwrap()))
}

#[test]
fn accepts_a_cage_as_podman_writes_it_down() {
    assert_eq!(rows(written()), Vec::<&str>::new());
}

#[test]
fn refuses_every_row_that_differs_and_names_it() {
    for (at, value, row) in [
        ("AutoRemove", json!(false), "removal"),
        ("ReadonlyRootfs", json!(false), "root file system"),
        ("Privileged", json!(true), "capabilities"),
        ("CapAdd", json!(["NET_ADMIN"]), "capabilities"),
        ("NetworkMode", json!("slirp4netns"), "network"),
        ("CgroupMode", json!("host"), "ipc, uts, cgroup, pid namespaces"),
        ("IpcMode", json!("host"), "ipc, uts, cgroup, pid namespaces"),
        ("PidMode", json!("host"), "ipc, uts, cgroup, pid namespaces"),
        ("UTSMode", json!("host"), "ipc, uts, cgroup, pid namespaces"),
        ("SecurityOpt", json!([]), "no-new-privileges"),
        ("SecurityOpt", json!(["no-new-privileges", "seccomp=unconfined"]), "seccomp"),
        ("Tmpfs", json!({"/tmp": "rw"}), "writable"),
        ("LogConfig", json!({"Type": "k8s-file"}), "log driver"),
        ("Devices", json!([{}]), "mounts"),
        ("Memory", json!(0), "memory and swap"),
        ("MemorySwap", json!(-1), "memory and swap"),
        ("PidsLimit", json!(0), "processes"),
        ("NanoCpus", json!(0), "processors"),
        ("Ulimits", json!([]), "open files"),
    ] {
        let mut made = written();
        made["HostConfig"][at] = value;
        assert_eq!(rows(made), [row], "{at}");
    }
    let mut added = written();
    let more = json!({"Type": "bind", "Source": "/", "Destination": "/host", "RW": true});
    added["Mounts"].as_array_mut().unwrap().push(more);
    assert_eq!(rows(added), ["mounts"]);
    let mut other = written();
    other["Mounts"][0]["Source"] = json!("/etc/hosts");
    assert_eq!(rows(other), ["mounts"]);
}

#[test]
fn an_answer_is_its_status_and_its_body() {
    assert_eq!(parse(b"HTTP/1.0 201 Created\r\nA: b\r\n\r\n{}"), Some((201, &b"{}"[..])));
    for bad in [&b""[..], b"HTTP/1.0 200", b"SSH-2.0\r\n\r\n", b"HTTP/1.0 ok\r\n\r\n"] {
        assert_eq!(parse(bad), None);
    }
}

#[test]
fn files_are_written_once_more_where_they_hold_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let podman = Podman::new("/nowhere".into(), folder.path().to_owned());
    let profile = Profile::run(Limits::default(), User::NOBODY);
    let files = podman.write_files(&profile).unwrap();
    let filter = std::fs::read(&files.seccomp).unwrap();
    std::fs::write(&files.seccomp, "{}").unwrap();
    assert_eq!(podman.write_files(&profile).unwrap().seccomp, files.seccomp);
    assert_eq!(std::fs::read(&files.seccomp).unwrap(), filter);
    assert_eq!(std::fs::metadata(&files.hosts).unwrap().permissions().mode() & 0o777, 0o644);
    // a link is somebody else's doing
    std::fs::remove_file(&files.hosts).unwrap();
    std::os::unix::fs::symlink("/etc/hosts", &files.hosts).unwrap();
    assert!(podman.write_files(&profile).is_err());
}
