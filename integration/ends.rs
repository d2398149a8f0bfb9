//! What is left when a session ends, however it ends?
//!
//! Nothing: no container, no process, no network, no volume. Orderly ends leave nothing at the launcher's own end; the
//! end of a killed launcher leaves no running cage ten seconds later, and nothing at all after the next command.

use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::mounted::{self, Server};
use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::Home;
use crate::session::{Session, initialize};
use crate::{engine, tests};

tests![
    twenty_kills_at_random_moments_leave_no_cage,
    kills_in_the_middle_of_a_mount_leave_nothing,
    two_sessions_of_one_server_are_two_cages,
    a_server_with_a_session_is_not_unmounted_under_it,
    the_end_of_its_input_ends_a_server_that_listens_for_it,
    the_end_of_its_input_ends_a_server_that_is_deaf,
    sigterm_sigint_and_sighup_end_the_launcher_and_its_cage,
    sigterm_ends_a_launcher_whose_server_is_deaf,
    a_client_that_left_without_a_word_is_noticed,
    a_client_that_left_before_the_server_started_is_noticed,
    a_server_that_exits_answers_every_open_call_with_an_error,
    a_server_that_crashes_is_told_apart_from_one_that_exits,
    orphans_that_ignore_signals_end_with_the_cage,
    a_cage_that_somebody_else_kills_is_an_end_too,
    what_was_created_and_never_started_is_swept_and_nothing_else,
    a_copied_home_and_the_first_leave_each_other_s_sessions_alive,
    no_network_and_no_volume_is_ever_made,
];

/// The running launcher's cage; waits for it to be there.
#[track_caller]
fn cage_of(server: &Server, session: &Session) -> (String, String) {
    let state = server.home().state().unwrap();
    let launch = within(seconds(30), "the launcher has a launch", || server.home().launch_of(session.id()));
    within(seconds(30), "the launch has a cage", || {
        let found =
            engine::of_launch(&state, &launch).into_iter().find(|container| container.state == "running");
        found.map(|container| (container.id, launch.clone()))
    })
}

/// The launcher has ended, and so its cage is gone: not just stopped.
#[track_caller]
fn nothing_left(server: &Server, launch: &str) {
    let left = engine::of_launch(&server.home().state().unwrap(), launch);
    assert!(left.is_empty(), "left behind: {left:?}");
    assert!(!server.home().file("state/launches").join(launch).exists(), "the launch's file is left behind");
}

fn deaf() -> Server {
    mounted::probe_with("probe-deaf", &[], &["--deaf"])
}

/// `PINFOLD_KILLS=200 cargo test --locked --test engine -- twenty_kills` tries more of them.
fn twenty_kills_at_random_moments_leave_no_cage() {
    let kills: u32 = std::env::var("PINFOLD_KILLS").map_or(20, |number| number.parse().unwrap());
    let home = Home::new();
    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let state = home.state().unwrap();
    let (tried, answered) = {
        let begun = Instant::now();
        let session = Session::handshake(home.command(["run", &server.name]), json!({})).0;
        (begun.elapsed(), session.finish().0)
    };
    assert_eq!(answered, Some(0));
    let mut moments = Vec::new();
    let mut up = 0;
    // a launch and half of one, in as many pieces: from its first instruction to a call under way
    let piece = tried * 3 / 2 / kills;
    for kill in 0..kills {
        let moment = piece * kill + piece.mul_f64(rand::random());
        moments.push(moment);
        let mut session = Session::start(home.command(["run", &server.name]));
        session.send(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize(json!({}))}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for (id, tool) in [(2, "spawn"), (3, "wait")] {
            let arguments = json!({"name": tool, "arguments": {"count": 2, "ms": 60_000}});
            session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": arguments}));
        }
        std::thread::sleep(moment);
        session.signal(Signal::KILL);
        session.ended(seconds(5));
        up += usize::from(session.line(Duration::ZERO).is_ok());
    }
    assert!(
        (1..kills as usize).contains(&up),
        "{up} of {kills} servers had answered when their launcher was killed, at {moments:?}"
    );
    within(seconds(10), &format!("no cage runs after kills at {moments:?}"), || {
        engine::running(&state).is_empty().then_some(())
    });
    home.run(["unmount", &server.name]).ended(0);
    let left = engine::containers(&state);
    assert!(left.is_empty(), "after the next command, killed at {moments:?}: {left:?}");
    let launches = std::fs::read_dir(home.file("state/launches")).unwrap().count();
    assert_eq!(launches, 0, "files of launches that are over");
}

fn kills_in_the_middle_of_a_mount_leave_nothing() {
    let home = Home::new();
    let package = Package::least("cut-short");
    let spec = package.tarball();
    let digest = home.run(["--json", "show", &spec]).ended(0).json()["digest"].as_str().unwrap().to_owned();
    let state = home.state().unwrap();
    let words = ["--json", "mount", &spec, "--consent", &digest];
    let begun = Instant::now();
    home.run(words).ended(0);
    let whole = begun.elapsed();
    home.run(["unmount", "cut-short"]).ended(0);
    for kill in 0..6_u32 {
        let moment = whole / 6 * kill + (whole / 6).mul_f64(rand::random());
        let mut command = home.command(words);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(moment);
        let _ = child.kill();
        child.wait().unwrap();
    }
    within(seconds(10), "no cage of a killed mount runs", || {
        engine::running(&state).is_empty().then_some(())
    });
    // the next command sweeps; that mount finds nothing of the others in its way, and takes everything with it again
    home.run(words).ended(0);
    assert_eq!(home.run(["call", "cut-short", "hello"]).ended(0).stdout.trim(), "hello");
    home.run(["unmount", "cut-short"]).ended(0);
    let left = engine::containers(&state);
    assert!(left.is_empty(), "{left:?}");
    for tree in home.installed() {
        assert_eq!(engine::sealed(&tree), Vec::<String>::new(), "an image is left behind");
    }
}

fn two_sessions_of_one_server_are_two_cages() {
    let server = mounted::probe();
    let (mut one, mut other) = (server.session(), server.session());
    let ((first, launch), (second, _)) = (cage_of(&server, &one), cage_of(&server, &other));
    assert_ne!(first, second);
    assert_eq!(one.text("echo", json!({"text": "one"})), "echo: one");
    assert_eq!(other.text("echo", json!({"text": "two"})), "echo: two");
    let (code, stderr) = one.finish();
    assert_eq!(code, Some(0), "{stderr}");
    nothing_left(&server, &launch);
    assert_eq!(other.text("echo", json!({"text": "still"})), "echo: still");
}

fn a_server_with_a_session_is_not_unmounted_under_it() {
    let home = Home::new();
    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    home.run(["--json", "unmount", &server.name]).failed(1, "other");
    assert_eq!(session.text("echo", json!({"text": "on"})), "echo: on");
    session.finish();
    home.run(["--json", "unmount", &server.name]).ended(0);
    assert_eq!(engine::sealed(&server.tree), Vec::<String>::new(), "an image without a pin");
}

fn the_end_of_its_input_ends_a_server_that_listens_for_it() {
    let server = mounted::probe();
    let session = server.session();
    let (_, launch) = cage_of(&server, &session);
    let begun = Instant::now();
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(begun.elapsed() < seconds(5), "{:?}", begun.elapsed());
    nothing_left(&server, &launch);
}

fn the_end_of_its_input_ends_a_server_that_is_deaf() {
    let server = deaf();
    let session = server.session();
    let (_, launch) = cage_of(&server, &session);
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
    nothing_left(&server, &launch);
}

fn sigterm_sigint_and_sighup_end_the_launcher_and_its_cage() {
    let server = mounted::probe();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut session = server.session();
        let (_, launch) = cage_of(&server, &session);
        // a call under way is no reason to stay
        session.ask("tools/call", json!({"name": "wait", "arguments": {"ms": 60_000}}));
        session.signal(signal);
        let status = session.ended(seconds(15));
        assert_eq!(status.code(), Some(code), "{signal:?}: {status}; {}", session.stderr());
        nothing_left(&server, &launch);
    }
}

fn sigterm_ends_a_launcher_whose_server_is_deaf() {
    let server = deaf();
    let mut session = server.session();
    session.text("spawn", json!({"count": 3}));
    let (_, launch) = cage_of(&server, &session);
    session.signal(Signal::TERM);
    assert_eq!(session.ended(seconds(15)).code(), Some(143), "{}", session.stderr());
    nothing_left(&server, &launch);
}

fn a_client_that_left_without_a_word_is_noticed() {
    let server = mounted::probe();
    let state = server.home().state().unwrap();
    let mut child =
        server.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut say = |message: serde_json::Value| {
        use std::io::Write;
        let _ = writeln!(input, "{message}");
    };
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize(json!({}))}));
    let launch = within(seconds(30), "the launcher has a launch", || server.home().launch_of(child.id()));
    within(seconds(30), "its cage runs", || {
        engine::of_launch(&state, &launch).iter().any(|container| container.state == "running").then_some(())
    });
    // the client's reading end is gone, its writing end is still held by somebody
    drop(child.stdout.take());
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    let status = crate::pinfold::ended(&mut child, seconds(15));
    assert_eq!(status.code(), Some(0), "{status}");
    nothing_left(&server, &launch);
}

fn a_client_that_left_before_the_server_started_is_noticed() {
    let server = mounted::probe();
    let mut session = Session::start(server.command());
    session.close();
    let status = session.ended(seconds(20));
    assert_eq!(status.code(), Some(0), "{status}: {}", session.stderr());
}

fn a_server_that_exits_answers_every_open_call_with_an_error() {
    let server = mounted::probe();
    let mut session = server.session();
    let (_, launch) = cage_of(&server, &session);
    let waiting = session.ask("tools/call", json!({"name": "wait", "arguments": {"ms": 60_000}}));
    let exiting = session.ask("tools/call", json!({"name": "exit", "arguments": {"code": 7}}));
    for id in [waiting, exiting] {
        let answer = session.answer(id);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("probe") && message.contains("exit status 7"), "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "server-failed", "{answer}");
    }
    assert_eq!(session.ended(seconds(15)).code(), Some(16), "{}", session.stderr());
    nothing_left(&server, &launch);
}

fn a_server_that_crashes_is_told_apart_from_one_that_exits() {
    let server = mounted::probe();
    let mut session = server.session();
    let error = session.refused("tools/call", json!({"name": "abort", "arguments": {}}));
    assert!(error["message"].as_str().unwrap_or_default().contains("signal 6"), "{error}");
    assert_eq!(session.ended(seconds(15)).code(), Some(16), "{}", session.stderr());
}

fn orphans_that_ignore_signals_end_with_the_cage() {
    let server = mounted::probe();
    let mut session = server.session();
    let (_, launch) = cage_of(&server, &session);
    assert_eq!(session.text("spawn", json!({"count": 20})), "spawned");
    let begun = Instant::now();
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
    // they hold the server's output open; nobody waits for them
    assert!(begun.elapsed() < seconds(10), "{:?}", begun.elapsed());
    nothing_left(&server, &launch);
}

fn a_cage_that_somebody_else_kills_is_an_end_too() {
    let server = mounted::probe();
    let mut session = server.session();
    let (id, launch) = cage_of(&server, &session);
    let waiting = session.ask("tools/call", json!({"name": "wait", "arguments": {"ms": 60_000}}));
    // what is said after it was answered, so it is under way
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    engine::kill(&id);
    let answer = session.answer(waiting);
    assert!(answer["error"]["message"].is_string(), "{answer}");
    let code = session.ended(seconds(15)).code();
    assert!(matches!(code, Some(14 | 16)), "{code:?}: {}", session.stderr());
    nothing_left(&server, &launch);
}

fn what_was_created_and_never_started_is_swept_and_nothing_else() {
    let home = Home::new();
    // any command that asks the engine makes the state directory's id
    home.run(["images", "list"]).ended(0);
    let state = home.state().unwrap();
    let other = "f".repeat(32);
    let dead = "0123456789abcdef0123456789abcdef";
    let found = std::fs::metadata(home.file("state")).unwrap();
    let place = format!("{}:{}", found.dev(), found.ino());
    let labels_at = |state, place, launch| {
        [("pinfold", "cage"), ("pinfold.state", state), ("pinfold.place", place), ("pinfold.launch", launch)]
    };
    let labels = |state, launch| labels_at(state, place.as_str(), launch);
    // a copy of the home has its id, and lies elsewhere
    let copied = engine::create(&labels_at(&state, "1:1", dead));
    let ours = engine::create(&labels(&state, dead));
    let nameless = engine::create(&labels(&state, "not a launch"));
    let theirs = engine::create(&labels(&other, dead));
    let unmarked = engine::create(&[("pinfold.state", &state)]);
    let swept = home.run(["--json", "mount", "path:/nonexistent"]);
    let left: Vec<bool> = [&ours, &nameless, &theirs, &unmarked, &copied]
        .iter()
        .map(|id| engine::inspect(id).is_some())
        .collect();
    for id in [&theirs, &unmarked, &copied]
        .into_iter()
        .chain([&ours, &nameless].into_iter().filter(|id| engine::inspect(id).is_some()))
    {
        engine::remove(id);
    }
    assert_eq!(left, [false, false, true, true, true], "{swept}");
}

fn a_copied_home_and_the_first_leave_each_other_s_sessions_alive() {
    let package = Package::probe();
    let (first, copy) = (Home::new(), Home::new());
    let server = mounted::mount(&first, &package.spec(), &[]);
    let (mut session, _) = Session::handshake(first.command(["run", &server.name]), json!({}));
    // with the file of the launch that lives, which nobody holds in the copy
    let copied = std::process::Command::new("cp")
        .args(["-a", "--"])
        .arg(first.file("."))
        .arg(copy.path())
        .status()
        .unwrap();
    assert!(copied.success());
    assert_eq!(first.state(), copy.state());
    let launch = first.launch_of(session.id()).unwrap();
    assert!(copy.file("state/launches").join(&launch).exists(), "the copy has the launch's file");
    let (mut other, _) = Session::handshake(copy.command(["run", &server.name]), json!({}));
    for home in [&copy, &first] {
        for words in [
            &["list"][..],
            &["images", "prune"],
            &["doctor"],
            &["tools", &server.name],
            &["call", &server.name, "echo"],
            &["mount", "path:/nonexistent"],
        ] {
            let ran = home.run(words);
            for (session, whose) in [(&mut session, "the first's"), (&mut other, "the copy's")] {
                assert_eq!(session.text("echo", json!({"text": "on"})), "echo: on", "{whose}, after {ran}");
            }
        }
        // its image is in use by both
        home.run(["--json", "unmount", &server.name]).failed(1, "other");
    }
    assert!(!copy.file("state/launches").join(&launch).exists(), "the copy has seen to its own file");
    for (session, home) in [(session, &first), (other, &copy)] {
        let (code, stderr) = session.finish();
        assert_eq!(code, Some(0), "{stderr}");
        home.run(["list"]).ended(0);
    }
    let state = first.state().unwrap();
    assert!(engine::containers(&state).is_empty());
    first.run(["unmount", &server.name]).ended(0);
}

fn no_network_and_no_volume_is_ever_made() {
    let server = mounted::probe();
    let session = server.session();
    let (id, _) = cage_of(&server, &session);
    let seen = engine::inspect(&id).unwrap();
    assert_eq!(seen["HostConfig"]["NetworkMode"], "none");
    assert_eq!(seen["HostConfig"]["LogConfig"]["Type"], "none", "what a server says is on the engine's disk");
    assert_eq!(seen["HostConfig"]["AutoRemove"], true);
    assert_eq!(seen["Mounts"].as_array().map(Vec::len), Some(0), "{}", seen["Mounts"]);
    let networks = seen["NetworkSettings"]["Networks"].as_object().unwrap();
    assert!(networks.keys().all(|name| name == "none"), "{networks:?}");
    drop(session);
    assert_eq!(engine::networks_and_volumes(), Vec::<String>::new());
}
