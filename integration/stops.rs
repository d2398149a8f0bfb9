//! What does a command leave that is told to stop in the middle, and who clears away what a killed one left?
//!
//! One that is told to stop clears away by itself, whatever it does just then. What a killed one left goes with the next
//! command, also with one that needs no engine; and without an engine that one does its work all the same.

use std::process::{Child, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::{Home, Ran, collect, ended};
use crate::registry::{Fault, Registry, own, program};
use crate::terminal::AtTerminal;
use crate::{engine, tests};

tests![
    a_mount_that_is_told_to_stop_removes_its_install_cage,
    a_show_that_is_told_to_stop_removes_its_cage,
    a_mount_that_is_told_to_stop_at_its_question_ends_at_once,
    a_mount_that_is_told_to_stop_while_it_waits_for_another_ends_at_once,
    a_signal_that_is_to_be_ignored_is,
    what_a_killed_mount_left_goes_with_a_command_that_needs_no_engine,
    a_command_that_needs_no_engine_works_without_one_whatever_is_left,
];

/// A mount whose install is under way and will not end by itself.
pub struct Installing {
    pub child: Child,
    words: Vec<String>,
    // what it fetches from
    _registry: Registry,
}

/// Begins one in this home. What it fetches never comes.
pub fn installing(home: &Home) -> Installing {
    let registry = Registry::new();
    registry.of(home);
    let name = own(&format!("stopped-{:08x}", rand::random::<u32>()));
    registry.publish(&name, json!({"bin": "server.js"}), json!({}), &[("server.js", program())]);
    let spec = format!("npm:{name}");
    let digest = home.run(["--json", "show", &spec]).ended(0).json()["digest"].as_str().unwrap().to_owned();
    registry.breaks(&format!("{name}/-/{name}-1.0.0.tgz"), Fault::Stall);
    let words = ["--json", "mount", &spec, "--consent", &digest].map(str::to_owned);
    let mut command = home.command(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    within(seconds(60), "its archive is being fetched", || registry.is_stalling().then_some(()));
    Installing { child, words: words.to_vec(), _registry: registry }
}

impl Installing {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn ended(self) -> Ran {
        collect(self.child, &self.words)
    }
}

/// Nothing is left of it, in the engine or on this disk, with no further command.
#[track_caller]
fn nothing_left(home: &Home, after: &str) {
    engine::nothing_of(home, after);
    let launches = std::fs::read_dir(home.file("state/launches")).unwrap().count();
    assert_eq!(launches, 0, "{after}: files of launches are left");
}

fn a_mount_that_is_told_to_stop_removes_its_install_cage() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let home = Home::new();
        let mounting = installing(&home);
        assert_eq!(engine::running(&home.state().unwrap()).len(), 1);
        let begun = Instant::now();
        mounting.signal(signal);
        let ran = mounting.ended().ended(code);
        assert!(begun.elapsed() < seconds(6), "{:?}: {ran}", begun.elapsed());
        nothing_left(&home, &format!("{signal:?}"));
        assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
    }
}

fn a_show_that_is_told_to_stop_removes_its_cage() {
    let (home, registry) = (Home::new(), Registry::new());
    registry.of(&home);
    registry.plain("inner");
    let outer = json!({"bin": "server.js", "dependencies": {"inner": "*"}});
    registry.publish("outer", outer, json!({}), &[]);
    registry.breaks("inner", Fault::Stall);
    let mut command = home.command(["--json", "show", "npm:outer"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    within(seconds(60), "its tree is being resolved", || registry.is_stalling().then_some(()));
    assert_eq!(engine::running(&home.state().unwrap()).len(), 1);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    collect(child, &["show"]).ended(143);
    nothing_left(&home, "show");
}

fn a_mount_that_is_told_to_stop_at_its_question_ends_at_once() {
    let (home, package) = (Home::new(), Package::least("asked-and-stopped"));
    let mut mounting = AtTerminal::start(home.command(["mount", &package.tarball()]));
    mounting.shows("anything else refuses");
    let begun = Instant::now();
    mounting.signal(Signal::INT);
    assert_eq!(mounting.ended(), Some(130));
    assert!(begun.elapsed() < seconds(5), "{:?}", begun.elapsed());
    nothing_left(&home, "at the question");
    assert_eq!(home.installed(), Vec::<String>::new());
}

fn a_mount_that_is_told_to_stop_while_it_waits_for_another_ends_at_once() {
    let home = Home::new();
    let first = installing(&home);
    let mut second = home.command(&first.words);
    second.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut second = second.spawn().unwrap();
    within(seconds(30), "the second mount waits for its turn", || {
        let mut said = [0; 512];
        let read = std::io::Read::read(second.stderr.as_mut().unwrap(), &mut said).unwrap();
        String::from_utf8_lossy(&said[..read]).contains("another mount").then_some(())
    });
    let begun = Instant::now();
    kill_process(Pid::from_child(&second), Signal::TERM).unwrap();
    assert_eq!(ended(&mut second, seconds(5)).code(), Some(143));
    assert!(begun.elapsed() < seconds(5), "{:?}", begun.elapsed());
    // the first goes on
    assert_eq!(engine::running(&home.state().unwrap()).len(), 1);
    first.signal(Signal::TERM);
    first.ended().ended(143);
    nothing_left(&home, "both");
}

fn a_signal_that_is_to_be_ignored_is() {
    let (home, package) = (Home::new(), Package::least("unhung"));
    // as nohup(1) does, and a shell with what it runs in the background
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"]);
    let pinfold = home.command(["mount", &package.tarball()]);
    command.arg(pinfold.get_program()).args(pinfold.get_args());
    command.env("PINFOLD_HOME", home.path());
    let mut mounting = AtTerminal::start(command);
    mounting.shows("anything else refuses");
    mounting.signal(Signal::HUP);
    mounting.signal(Signal::INT);
    std::thread::sleep(seconds(1));
    mounting.types("no\n");
    assert_eq!(mounting.ended(), Some(10));
}

fn what_a_killed_mount_left_goes_with_a_command_that_needs_no_engine() {
    let commands: [&[&str]; 4] = [&["list"], &["pins"], &["secret", "list"], &["egress", "no-such-server"]];
    for words in commands {
        let home = Home::new();
        let mounting = installing(&home);
        mounting.signal(Signal::KILL);
        let _ = mounting.ended();
        let state = home.state().unwrap();
        within(seconds(10), "its cage has stopped", || engine::running(&state).is_empty().then_some(()));
        assert_eq!(engine::containers(&state).len(), 1, "what is to be swept");
        home.run(words);
        nothing_left(&home, &words.join(" "));
    }
}

fn a_command_that_needs_no_engine_works_without_one_whatever_is_left() {
    let home = Home::new();
    home.run(["images", "list"]).ended(0);
    let left = home.file("state/launches/0123456789abcdef0123456789abcdef");
    std::fs::write(&left, "").unwrap();
    let list = |engine: &str| {
        let mut command = home.command(["--json", "list"]);
        command.env("DOCKER_HOST", engine);
        let begun = Instant::now();
        let ran = crate::pinfold::run(command).ended(0);
        assert_eq!(ran.json()["servers"], json!([]), "{ran}");
        assert_eq!(ran.stderr, "");
        begun.elapsed()
    };
    // none is there; one is there and never answers
    let none = list("unix:///nonexistent/docker.sock");
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let waited = list(&format!("tcp://{}", mute.local_addr().unwrap()));
    assert!(none < seconds(2) && waited < seconds(5), "{none:?}, {waited:?}");
    assert!(left.exists(), "what may be left is forgotten without a look");
    home.run(["list"]).ended(0);
    assert!(!left.exists(), "what is not left is looked for again and again");
}
