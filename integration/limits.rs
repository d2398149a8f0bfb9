//! What happens when a server takes all it can get?
//!
//! It meets its limit, and the host and the launcher live: each test uses one thing up and then asks the same server
//! for a word. The small probe has limits of its own, so that they are met soon and are seen to be the plan's.

use std::time::Instant;

use serde_json::json;

use crate::mounted::{self, Server};
use crate::patience::seconds;
use crate::{engine, tests};

tests![
    a_child_that_takes_too_much_memory_is_killed_and_the_server_lives,
    forks_end_at_the_limit,
    a_fork_bomb_ends_with_its_session,
    files_end_at_the_limit,
    temporary_files_end_at_the_size_of_their_place,
    processor_time_is_shared_out_as_planned,
    a_mebibyte_comes_through_whole,
    a_client_that_does_not_read_stops_the_server_and_nothing_grows,
    an_answer_beyond_the_bound_is_an_error_and_the_session_lives,
];

fn small() -> Server {
    mounted::probe_with("probe-small", &["--memory", "160m", "--pids", "64", "--cpus", "0.5"], &[])
}

fn a_child_that_takes_too_much_memory_is_killed_and_the_server_lives() {
    let mut session = small().session();
    let ended = session.data("hog", json!({"mib": 1024}));
    assert_eq!(ended["signal"], "SIGKILL", "{ended}");
    assert_eq!(session.text("echo", json!({"text": "alive"})), "echo: alive");
}

fn forks_end_at_the_limit() {
    let mut session = small().session();
    let ended = session.data("fork", json!({}));
    let forked: serde_json::Value = serde_json::from_str(ended["stdout"].as_str().unwrap()).unwrap();
    assert_eq!(forked["stopped"], "EAGAIN", "{forked}");
    let count = forked["forked"].as_u64().unwrap();
    // init, Node and its threads are among the 64
    assert!((8..64).contains(&count), "{forked}");
    assert_eq!(session.text("echo", json!({"text": "alive"})), "echo: alive");
}

fn a_fork_bomb_ends_with_its_session() {
    let server = small();
    let state = server.home().state().unwrap();
    let mut session = server.session();
    session.text("bomb", json!({}));
    let mine = session.id();
    let before: Vec<String> = engine::running(&state).into_iter().map(|container| container.id).collect();
    assert!(!before.is_empty());
    let begun = Instant::now();
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "launcher {mine}: {stderr}");
    assert!(begun.elapsed() < seconds(20), "{:?}", begun.elapsed());
}

fn files_end_at_the_limit() {
    let mut session = mounted::probe().session();
    let files = session.data("files", json!({}));
    assert_eq!(files["stopped"], "EMFILE", "{files}");
    assert!(files["open"].as_u64().unwrap() < 1024, "{files}");
    assert_eq!(session.text("echo", json!({"text": "alive"})), "echo: alive");
}

fn temporary_files_end_at_the_size_of_their_place() {
    let mut session = small().session();
    for (directory, mib) in [("/tmp", 160 / 4), ("/home/cage", 160 / 8)] {
        let filled = session.data("fill", json!({"directory": directory}));
        assert_eq!(filled["stopped"], "ENOSPC", "{directory}: {filled}");
        let bytes = filled["bytes"].as_u64().unwrap();
        assert!(bytes <= mib << 20 && bytes > (mib - 2) << 20, "{directory}: {filled}");
    }
    assert_eq!(session.text("echo", json!({"text": "alive"})), "echo: alive");
}

fn processor_time_is_shared_out_as_planned() {
    let mut session = small().session();
    let ended = session.data("spin", json!({"threads": 4, "ms": 2000}));
    let spun: serde_json::Value = serde_json::from_str(ended["stdout"].as_str().unwrap()).unwrap();
    let got = spun["milliseconds"].as_u64().unwrap();
    // half a processor for two seconds is one; the quota is counted out in slices of 100 ms, on each processor
    assert!(got <= 1300, "four threads got {got} ms of two seconds with half a processor");
}

fn a_mebibyte_comes_through_whole() {
    let mut session = mounted::probe().session();
    let text = session.text("big", json!({"bytes": 1 << 20}));
    assert_eq!(text.len(), 1 << 20);
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
}

fn a_client_that_does_not_read_stops_the_server_and_nothing_grows() {
    let mut session = mounted::probe().session();
    let before = session.memory();
    let ids: Vec<u64> = (0..64)
        .map(|_| session.ask("tools/call", json!({"name": "big", "arguments": {"bytes": 1 << 20}})))
        .collect();
    // the last of them is answered after all the others, and the server goes on only as its answers are read
    let mut last = 0;
    for id in ids {
        last = session.answer_line(id).len();
    }
    assert!(last > 1 << 20);
    let grown = session.memory() - before;
    assert!(grown < 16 << 10, "the launcher grew by {grown} KiB while 64 MiB waited for their reader");
}

fn an_answer_beyond_the_bound_is_an_error_and_the_session_lives() {
    let mut session = mounted::probe().session();
    let error = session.refused("tools/call", json!({"name": "big", "arguments": {"bytes": 17 << 20}}));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("16 MiB")), "{error}");
    let text = "x".repeat(17 << 20);
    let error = session.refused("tools/call", json!({"name": "echo", "arguments": {"text": text}}));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("16 MiB")), "{error}");
    assert_eq!(session.text("echo", json!({"text": "on"})), "echo: on");
}
