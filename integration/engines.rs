//! Is the engine found where the user's own client finds it, and is a runtime of its that was asked for the one that
//! runs?
//!
//! What cannot be used is refused with what to do, and never another engine instead.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::mounted;
use crate::package::Package;
use crate::pinfold::{self, Home};
use crate::second_engine::SecondEngine;
use crate::session::Session;
use crate::{engine, tests};

tests![
    an_engine_is_found_at_a_socket_and_at_a_port,
    an_address_that_cannot_be_spoken_to_is_refused_with_what_to_do,
    a_context_of_the_docker_clients_is_followed_and_no_other_engine_is_tried,
    every_usual_place_is_named_where_no_engine_answers,
    a_runtime_that_was_asked_for_is_the_one_that_runs,
    a_runtime_that_does_not_show_what_it_enforces_is_refused_row_by_row,
];

/// The socket of everybody's engine.
const SOCKET: &str = "/var/run/docker.sock";

/// A command that finds its engine by these variables alone.
fn with(home: &Home, variables: &[(&str, &str)], words: &[&str]) -> Command {
    let mut command = home.command(words);
    for name in ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command
}

/// A port of this machine that leads to everybody's engine, for as long as these tests run.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = UnixStream::connect(SOCKET).unwrap();
            let (mut near_in, mut far_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = copy(&mut near_in, &mut far_out);
                let _ = far_out.shutdown(std::net::Shutdown::Write);
            });
            let (mut far_in, mut near_out) = (far, near);
            std::thread::spawn(move || {
                let _ = copy(&mut far_in, &mut near_out);
                let _ = near_out.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    port
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<u64> {
    std::io::copy(from, to)
}

fn an_engine_is_found_at_a_socket_and_at_a_port() {
    let home = Home::new();
    for address in [format!("unix://{SOCKET}"), format!("tcp://127.0.0.1:{}", port())] {
        let command = with(&home, &[("DOCKER_HOST", &address)], &["--json", "doctor"]);
        let report = pinfold::run(command).ended(0).json();
        assert_eq!(report["engine"]["address"], address.as_str());
        assert_eq!(report["cage"], json!(true), "{report}");
        assert_eq!(report["looked"], json!([{"address": address, "named_by": "DOCKER_HOST"}]));
        assert!(report["profile"].as_array().unwrap().iter().all(|row| row["enforced"] == json!(true)));
    }
}

fn an_address_that_cannot_be_spoken_to_is_refused_with_what_to_do() {
    let home = Home::new();
    for (variables, hint) in [
        (vec![("DOCKER_HOST", "ssh://me@example.com")], "ssh -nNT -L"),
        (vec![("DOCKER_HOST", "https://127.0.0.1:2376")], "ssh -L"),
        (vec![("DOCKER_HOST", "tcp://127.0.0.1:2376"), ("DOCKER_TLS_VERIFY", "1")], "ssh -L"),
        (vec![("DOCKER_HOST", "/var/run/docker.sock")], "unix:///PATH"),
    ] {
        let ran = pinfold::run(with(&home, &variables, &["--json", "images"]));
        let error = ran.failed(14, "engine-missing").error();
        assert!(error["hint"].as_str().unwrap().contains(hint), "{variables:?}: {error}");
        assert!(error["why"].as_str().unwrap().contains("DOCKER_HOST"), "{variables:?}: {error}");
    }
}

/// The settings of a docker client with this context, chosen.
fn client(name: &str, host: &str) -> TempDir {
    let settings = tempfile::tempdir().unwrap();
    let folder = pinfold_digest(name);
    let meta = settings.path().join(".docker/contexts/meta").join(folder);
    fs::create_dir_all(&meta).unwrap();
    let context = json!({"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host}}});
    fs::write(meta.join("meta.json"), context.to_string()).unwrap();
    let config = json!({"currentContext": name}).to_string();
    fs::write(settings.path().join(".docker/config.json"), config).unwrap();
    settings
}

/// The docker client's name for the folder of a context.
fn pinfold_digest(name: &str) -> String {
    ::pinfold::digest::Digest::of(name.as_bytes()).hex()
}

fn a_context_of_the_docker_clients_is_followed_and_no_other_engine_is_tried() {
    let home = Home::new();
    let settings = client("mine", &format!("unix://{SOCKET}"));
    let at = settings.path().to_str().unwrap();
    let report = pinfold::run(with(&home, &[("HOME", at)], &["--json", "doctor"])).ended(0).json();
    assert_eq!(report["engine"]["address"], format!("unix://{SOCKET}"));
    assert!(report["looked"][0]["named_by"].as_str().unwrap().contains("mine"), "{report}");
    // somewhere else by the variable, which goes before the file
    let variables = [("HOME", at), ("DOCKER_CONTEXT", "gone")];
    let error =
        pinfold::run(with(&home, &variables, &["--json", "images"])).failed(14, "engine-missing").error();
    assert!(error["why"].as_str().unwrap().contains("DOCKER_CONTEXT"), "{error}");
    let nowhere = client("nowhere", "unix:///nowhere/docker.sock");
    let variables = [("HOME", nowhere.path().to_str().unwrap())];
    let error =
        pinfold::run(with(&home, &variables, &["--json", "images"])).failed(14, "engine-missing").error();
    let why = error["why"].as_str().unwrap();
    assert!(why.contains("/nowhere/docker.sock") && !why.contains(SOCKET), "{error}");
    // certificates are not carried
    let tls = settings.path().join(".docker/contexts/tls").join(pinfold_digest("mine")).join("docker");
    fs::create_dir_all(tls).unwrap();
    let error = pinfold::run(with(&home, &[("HOME", at)], &["--json", "images"]))
        .failed(14, "engine-missing")
        .error();
    assert!(error["why"].as_str().unwrap().contains("TLS"), "{error}");
}

fn every_usual_place_is_named_where_no_engine_answers() {
    let home = Home::new();
    let empty = tempfile::tempdir().unwrap();
    let at = empty.path().to_str().unwrap();
    // one is set that is not there: the usual ones are told by `doctor` of an engine that is found
    let report = pinfold::run(with(&home, &[("HOME", at), ("XDG_RUNTIME_DIR", at)], &["--json", "doctor"]));
    let report = report.ended(0).json();
    let looked = report["looked"].to_string();
    for place in [
        SOCKET,
        &format!("{at}/docker.sock"),
        &format!("{at}/podman/podman.sock"),
        &format!("{at}/.docker/desktop/docker.sock"),
        &format!("{at}/.colima/default/docker.sock"),
        &format!("{at}/.orbstack/run/docker.sock"),
        &format!("{at}/.rd/docker.sock"),
        "/run/podman/podman.sock",
        &format!("{at}/.local/share/containers/podman/machine/podman.sock"),
    ] {
        assert!(looked.contains(&format!("unix://{place}\"")), "{place}: {looked}");
    }
}

/// An engine with two more runtimes: the usual one under another name, and gVisor.
fn with_runtimes() -> SecondEngine {
    let settings = json!({"runtimes": {
        "other": {"path": "runc"},
        "runsc": {"path": "runsc", "runtimeArgs": ["--platform=ptrace", "--network=none"]},
    }});
    SecondEngine::with_settings(&settings.to_string())
}

fn a_runtime_that_was_asked_for_is_the_one_that_runs() {
    let engine = with_runtimes();
    let home = engine.home();
    let package = Package::probe();
    let error =
        home.run(["--json", "show", &package.spec(), "--runtime", "nope"]).failed(14, "cage-weaker").error();
    let why = error["why"].as_str().unwrap();
    assert!(why.contains("other") && why.contains("runc"), "{error}");
    home.run(["--json", "show", &package.spec(), "--runtime", "/bin/sh"]).failed(2, "usage");

    let plain = home.run(["--json", "show", &package.spec()]).ended(0).json();
    assert_eq!(plain["plan"].get("cage_runtime"), None, "a plan without one is written as ever");
    let server = mounted::mount(&home, &package.spec(), &["--runtime", "other"]);
    assert_ne!(plain["digest"], server.digest.as_str());
    let shown = home.run(["show", &server.name]).ended(0).stdout;
    assert!(shown.contains("--runtime other") && shown.contains("Cage"), "{shown}");
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    let state = home.state().unwrap();
    let cage = engine.ask(|| engine::inspect(&engine::running(&state)[0].id).unwrap());
    assert_eq!(cage["HostConfig"]["Runtime"], "other");
    assert_eq!(session.finish().0, Some(0));
    home.run(["unmount", &server.name]).ended(0);
    engine.ask(|| engine::nothing_of(&home, "unmounted"));
}

fn a_runtime_that_does_not_show_what_it_enforces_is_refused_row_by_row() {
    let engine = with_runtimes();
    let home = engine.home();
    let package = Package::least("sandboxed");
    let words = [package.spec(), "--runtime".into(), "runsc".into()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = home.run([&["--json", "show"], &words[..]].concat()).ended(0).json();
    let consent = ["--consent", shown["digest"].as_str().unwrap()];
    let ran = home.run([&["--json", "mount"], &words[..], &consent].concat()).failed(14, "cage-weaker");
    let error = ran.error();
    let why = error["why"].as_str().unwrap();
    // it was started, and its init saw a kernel that says nothing of these
    for row in ["no-new-privileges", "seccomp", "memory and swap", "processes", "processors"] {
        assert!(why.contains(&format!("{row}: ")), "{row}: {error}");
    }
    assert!(error["hint"].as_str().unwrap().contains("--runtime"), "{error}");
    engine.ask(|| engine::nothing_of(&home, "refused"));
}
