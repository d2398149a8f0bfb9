//! What if the engine is killed at work, or its disk is full?
//!
//! Then the command ends soon and says so, a client is answered, nothing is half mounted, and once the engine is well
//! the same command works and clears away what the first try left.

use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::mounted;
use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::{Home, collect};
use crate::registry::{Fault, Registry, own, program};
use crate::second_engine::SecondEngine;
use crate::session::Session;
use crate::tests;

tests![
    an_engine_killed_in_the_middle_of_an_install_leaves_nothing_and_the_next_try_works,
    an_engine_killed_under_a_server_answers_every_open_call,
    a_full_engine_disk_is_called_so_and_leaves_nothing,
];

/// Longest a command may go on after its engine was killed.
const SOON: std::time::Duration = seconds(20);

fn an_engine_killed_in_the_middle_of_an_install_leaves_nothing_and_the_next_try_works() {
    let mut engine = SecondEngine::start();
    let (registry, home) = (Registry::new(), engine.home());
    registry.of(&home);
    let name = own("killed");
    registry.publish(&name, json!({"bin": "server.js"}), json!({}), &[("server.js", program())]);
    let spec = format!("npm:{name}");
    let digest = home.run(["--json", "show", &spec]).ended(0).json()["digest"].as_str().unwrap().to_owned();
    let words = ["--json", "mount", &spec, "--consent", &digest];

    registry.breaks(&format!("{name}/-/{name}-1.0.0.tgz"), Fault::Stall);
    let mut command = home.command(words);
    let mounting =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    within(seconds(60), "the archive is being fetched", || registry.is_stalling().then_some(()));
    engine.kill();
    let begun = Instant::now();
    let ran = collect(mounting, &words).failed(14, "engine-failed");
    assert!(begun.elapsed() < SOON, "{:?}: {ran}", begun.elapsed());
    assert!(ran.error()["message"].as_str().unwrap().contains("engine stopped answering"), "{ran}");
    // this needs no engine, and there is none
    assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
    home.run(words).failed(14, "engine-missing");

    engine.again();
    registry.mended();
    home.run(words).ended(0);
    let state = home.state().unwrap();
    assert_eq!(engine.ask(|| crate::engine::containers(&state)).len(), 0, "of the first try");
    assert_eq!(engine.ask(|| crate::engine::sealed_of(&state)).len(), 1);
    assert_eq!(home.run(["call", &name, "hello"]).ended(0).stdout.trim(), "hello");
    home.run(["unmount", &name]).ended(0);
    engine.ask(|| crate::engine::nothing_of(&home, "unmounted"));
}

fn an_engine_killed_under_a_server_answers_every_open_call() {
    let mut engine = SecondEngine::start();
    let home = engine.home();
    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    let wait = || json!({"name": "wait", "arguments": {"ms": 60_000}});
    let waiting = [session.ask("tools/call", wait()), session.ask("tools/call", wait())];
    // what is said after them was answered, so they are under way
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    engine.kill();
    for id in waiting {
        let answer = session.answer(id);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(&server.name), "{answer}");
    }
    let code = session.ended(SOON).code();
    assert_eq!(code, Some(14), "{}", session.stderr());
    assert!(session.stderr().contains("engine stopped answering"), "{}", session.stderr());

    engine.again();
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    assert_eq!(session.text("echo", json!({"text": "again"})), "echo: again");
    assert_eq!(session.finish().0, Some(0));
    home.run(["unmount", &server.name]).ended(0);
    engine.ask(|| crate::engine::nothing_of(&home, "unmounted"));
}

/// Text of this length that packs well, yet not so well that npm takes it for an attack.
fn bulk(length: usize) -> String {
    let block = |_| {
        let noise: String = (0..500).map(|_| format!("{:02x}", rand::random::<u8>())).collect();
        noise + &"0".repeat(99_000)
    };
    (0..length / 100_000).map(block).collect()
}

/// Shows and mounts; the exit status and, where it failed, the error's code and message.
fn mount(home: &Home, spec: &str) -> (Option<i32>, String, String) {
    let shown = home.run(["--json", "show", spec]).ended(0).json();
    let digest = shown["digest"].as_str().unwrap().to_owned();
    let ran = home.run(["--json", "mount", spec, "--consent", &digest]);
    if ran.code == Some(0) {
        return (ran.code, String::new(), String::new());
    }
    let error = ran.error();
    let part = |part: &str| error[part].as_str().unwrap_or_default().to_owned();
    assert!(part("hint").contains("make room"), "{ran}");
    (ran.code, part("code"), part("message"))
}

fn a_full_engine_disk_is_called_so_and_leaves_nothing() {
    let engine = SecondEngine::start();
    let (registry, home) = (Registry::new(), engine.home());
    registry.of(&home);
    let publish = |name: &str, megabytes: usize| {
        // after the rest of the package, so that all of it but the end of this one fits
        let files = [("server.js", program()), ("zz-bulk", bulk(megabytes * 1_000_000))];
        registry.publish(name, json!({"bin": "server.js"}), json!({}), &files);
    };
    let [small, does_not_fit, fits_once] = ["small", "does-not-fit", "fits-once"].map(own);
    publish(&small, 1);
    publish(&does_not_fit, 60);
    publish(&fits_once, 14);
    let archived = Package::least("archived");
    let noise: Vec<u8> = std::iter::repeat_with(rand::random::<u8>).take(30_000_000).collect();
    std::fs::write(archived.path().join("noise"), noise).unwrap();
    // whatever is made once, such as the runtime image with this build's init, is made
    home.run(["--json", "show", &format!("npm:{small}")]).ended(0);

    engine.data().leave(24_000_000);
    let used = engine.data().used();
    for (spec, told) in [
        // npm alone would take a file that was cut short for a warning
        (format!("npm:{does_not_fit}"), "cannot be installed"),
        // it is there in the cage, and is not there twice
        (format!("npm:{fits_once}"), "keep the cage as an image"),
        // its own archive is too large
        (archived.spec(), "disk is full"),
    ] {
        let (exit, code, message) = mount(&home, &spec);
        assert_eq!((exit, code.as_str()), (Some(14), "engine-full"), "{spec}: {message}");
        assert!(message.contains(told), "{spec}: {message}");
        engine.ask(|| crate::engine::nothing_of(&home, &spec));
        assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]), "{spec}");
        let left = engine.data().used().saturating_sub(used);
        assert!(left < 1_000_000, "{spec}: {left} bytes are left on the engine's disk");
    }
    let (exit, code, message) = mount(&home, &format!("npm:{small}"));
    assert_eq!(exit, Some(0), "{code}: {message}");
    assert_eq!(home.run(["call", &small, "hello"]).ended(0).stdout.trim(), "hello");
    // with room, the one that did not fit does
    engine.data().leave(300_000_000);
    let (exit, code, message) = mount(&home, &format!("npm:{does_not_fit}"));
    assert_eq!(exit, Some(0), "{code}: {message}");
    for name in [&small, &does_not_fit] {
        home.run(["unmount", name]).ended(0);
    }
    engine.ask(|| crate::engine::nothing_of(&home, "unmounted"));
}
