//! Does every failure say what happened, why, and what to do, and leave nothing behind?
//!
//! Under `--json`, so that the three parts and the code are read as a script would; `Ran::error` holds every one of them
//! to being there.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::mounted;
use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::{Home, run};
use crate::session::{Session, initialize};
use crate::{engine, tests};

tests![
    an_unknown_package_is_not_found,
    an_unknown_version_is_not_found_and_the_newest_are_told,
    names_that_could_mean_something_else_are_refused,
    a_path_that_leads_to_no_package_is_not_found,
    without_an_engine_every_command_that_needs_one_says_where_it_looked,
    without_an_engine_a_client_is_told_in_the_protocol,
    an_engine_that_stops_in_the_middle_of_a_session_ends_it_with_an_error,
    an_unmounted_name_is_answered_in_the_protocol_in_both_eras,
    an_unknown_name_is_answered_in_the_words_of_the_command,
    a_server_that_ends_at_once_is_not_mounted_and_its_last_words_are_told,
    a_package_that_wants_install_scripts_is_named_and_none_is_run,
    two_mounts_of_one_name_at_once_are_one_mount,
    two_packages_of_one_name_at_once_do_not_mix,
    a_call_whose_result_is_an_error_is_exit_1,
    a_usage_error_is_exit_2,
];

fn an_unknown_package_is_not_found() {
    let home = Home::new();
    for word in ["show", "mount"] {
        let ran = home.run(["--json", word, "npm:@modelcontextprotocol/no-such-server-was-ever-published"]);
        let ran = ran.failed(15, "not-found");
        assert!(ran.error()["message"].as_str().unwrap().contains("no-such-server"), "{ran}");
    }
    nothing_of(&home);
}

fn an_unknown_version_is_not_found_and_the_newest_are_told() {
    let home = Home::new();
    let ran = home
        .run(["--json", "show", "npm:@modelcontextprotocol/server-memory@0.0.77"])
        .failed(15, "not-found");
    let error = ran.error();
    let told = format!("{} {} {}", error["message"], error["why"], error["hint"]);
    assert!(told.contains("0.0.77") && told.contains("202"), "no version that exists is told: {ran}");
    nothing_of(&home);
}

fn names_that_could_mean_something_else_are_refused() {
    let home = Home::new();
    for name in [
        "../../etc",
        "@x/../y",
        "a/../../b",
        "$(id)",
        "`id`",
        "a;b",
        "a|b",
        "a&b",
        "a b",
        "a\nb",
        "a'b",
        "a\"b",
        "-rf",
        "--registry=evil",
        ".hidden",
        "_x",
        "a\\b",
        "a\u{202e}b",
        "a\u{0}b",
        "http://registry.example/a",
        "A/B/C",
        "@/a",
        "node_modules",
    ] {
        if name.contains('\0') {
            continue;
        }
        for word in ["show", "mount"] {
            let ran = home.run(["--json", word, &format!("npm:{name}")]);
            let code = ran.error()["code"].as_str().unwrap_or_default().to_owned();
            assert!(
                matches!((ran.code, code.as_str()), (Some(11), "name-refused") | (Some(2), "usage")),
                "{name:?}: {ran}"
            );
        }
    }
    for version in ["$(id)", "../1", "1.0.0;id", "-1", "`x`", "1 || 2;"] {
        let ran = home.run(["--json", "show", &format!("npm:some-package@{version}")]);
        assert!(matches!(ran.code, Some(11 | 2)), "{version:?}: {ran}");
        ran.error();
    }
    nothing_of(&home);
}

fn a_path_that_leads_to_no_package_is_not_found() {
    let home = Home::new();
    let empty = tempfile::tempdir().unwrap();
    let empty = format!("path:{}", empty.path().display());
    for spec in ["path:/nonexistent", &empty, "path:/etc/passwd"] {
        home.run(["--json", "show", spec]).failed(15, "not-found");
    }
    nothing_of(&home);
}

/// No container of this home's, and no pin.
#[track_caller]
fn nothing_of(home: &Home) {
    if let Some(state) = home.state() {
        let left = engine::containers(&state);
        assert!(left.is_empty(), "{left:?}");
    }
    assert_eq!(home.run(["--json", "list"]).ended(0).json()["servers"], json!([]));
}

fn without_an_engine_every_command_that_needs_one_says_where_it_looked() {
    let server = mounted::probe();
    let nowhere = "unix:///nonexistent/docker.sock";
    let name = &server.name;
    for words in [
        vec!["show", "npm:@modelcontextprotocol/server-memory"],
        vec!["mount", "npm:@modelcontextprotocol/server-memory"],
        vec!["tools", name],
        vec!["call", name, "echo"],
        vec!["unmount", name],
        vec!["images", "list"],
    ] {
        let mut command = server.home().command([&["--json"], &words[..]].concat());
        command.env("DOCKER_HOST", nowhere);
        let ran = run(command).failed(14, "engine-missing");
        assert!(ran.error().to_string().contains(nowhere), "it does not say where it looked: {ran}");
    }
    for words in [vec!["list"], vec!["pins", "show", name], vec!["--help"]] {
        let mut command = server.home().command(&words);
        command.env("DOCKER_HOST", nowhere);
        run(command).ended(0);
    }
}

/// A client that only says its opener; the answer it gets, and how the launcher ends.
fn opener(session: &mut Session, method: &str) -> (Value, Option<i32>) {
    let params = match method {
        "initialize" => initialize(json!({})),
        _ => json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
    };
    let error = session.refused(method, params);
    session.close();
    (error, session.ended(seconds(20)).code())
}

fn without_an_engine_a_client_is_told_in_the_protocol() {
    let server = mounted::probe();
    let mut command = server.command();
    command.env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let (error, code) = opener(&mut Session::start(command), "initialize");
    assert_eq!((&error["data"]["code"], code), (&json!("engine-missing"), Some(14)), "{error}");
}

/// Stands between a client and the engine, until it is cut.
struct Between {
    address: String,
    open: Arc<Mutex<Option<Vec<UnixStream>>>>,
    _directory: tempfile::TempDir,
}

impl Between {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("engine.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let open = Arc::new(Mutex::new(Some(Vec::new())));
        let all = Arc::clone(&open);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut all = all.lock().unwrap();
                // cut: dropped at once, as by an engine that is starting or stopping
                let Some(streams) = all.as_mut() else { continue };
                let engine = UnixStream::connect("/var/run/docker.sock").unwrap();
                for (from, to) in [(&client, &engine), (&engine, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || {
                        let mut piece = [0; 65536];
                        while let Ok(read @ 1..) = from.read(&mut piece) {
                            if to.write_all(&piece[..read]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
                streams.extend([client, engine]);
            }
        });
        Self { address: format!("unix://{}", path.display()), open, _directory: directory }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn an_engine_that_stops_in_the_middle_of_a_session_ends_it_with_an_error() {
    let server = mounted::probe();
    let state = server.home().state().unwrap();
    let between = Between::new();
    let mut command = server.command();
    command.env("DOCKER_HOST", &between.address);
    let (mut session, _) = Session::handshake(command, json!({}));
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    let launch = server.home().launch_of(session.id()).unwrap();
    let waiting = session.ask("tools/call", json!({"name": "wait", "arguments": {"ms": 60_000}}));
    // what is said after it was answered, so it is under way
    assert_eq!(session.text("echo", json!({"text": "still up"})), "echo: still up");
    between.cut();
    let answer = session.answer(waiting);
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("probe")), "{answer}");
    let code = session.ended(seconds(20)).code();
    assert!(matches!(code, Some(14 | 16)), "{code:?}: {}", session.stderr());
    within(seconds(10), "the cage is gone by itself", || {
        engine::of_launch(&state, &launch).is_empty().then_some(())
    });
}

fn an_unmounted_name_is_answered_in_the_protocol_in_both_eras() {
    let home = Home::new();
    for name in ["never-mounted", "../../etc/passwd", "UPPER", "npm:left-pad"] {
        for method in ["initialize", "server/discover"] {
            let (error, code) = opener(&mut Session::start(home.command(["run", name])), method);
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains("pinfold mount"), "it does not say what to run: {error}");
            assert_eq!((&error["data"]["code"], code), (&json!("not-mounted"), Some(15)), "{name}: {error}");
        }
    }
}

fn an_unknown_name_is_answered_in_the_words_of_the_command() {
    let home = Home::new();
    let package = Package::least("is-here");
    let server = crate::mounted::mount(&home, &package.spec(), &[]);
    let starts = "only what was consented to is started";
    for (words, why) in [
        (vec!["tools", "nobody"], starts),
        (vec!["call", "nobody", "tool"], starts),
        (vec!["unmount", "nobody"], "there is nothing under that name"),
        (vec!["egress", "nobody"], "there is nothing under that name"),
        (vec!["pins", "show", "nobody"], "there is nothing under that name"),
        (vec!["pins", "reset", "nobody"], "there is nothing under that name"),
        (
            vec!["secret", "list", "nobody"],
            "credentials are kept for mounted servers, and given to nobody else",
        ),
        (vec!["show", "nobody"], "nothing is mounted under that name"),
    ] {
        let ran = home.run([&["--json"], &words[..]].concat()).failed(15, "not-mounted");
        assert_eq!(ran.error()["why"], why, "{words:?}: {ran}");
    }
    for words in [["tools", "is-her"], ["unmount", "is-hree"], ["show", "is-hear"]] {
        let ran = home.run([&["--json"], &words[..]].concat()).failed(15, "not-mounted");
        assert!(ran.error()["hint"].as_str().unwrap().starts_with("did you mean is-here?"), "{ran}");
    }
    // by what it is instead of by its name
    let ran = home.run(["--json", "unmount", &package.spec()]).failed(15, "not-mounted");
    assert!(ran.error()["hint"].as_str().unwrap().contains("mounted as is-here"), "{ran}");
    let ran = home.run(["--json", "show", "mcp-server-time"]).failed(15, "not-mounted");
    let specs = "`npm:mcp-server-time` or `pypi:mcp-server-time`";
    assert!(ran.error()["hint"].as_str().unwrap().contains(specs), "{ran}");
    home.run(["unmount", &server.name]).ended(0);
}

fn a_server_that_ends_at_once_is_not_mounted_and_its_last_words_are_told() {
    let home = Home::new();
    let package = Package::probe();
    let spec = package.spec();
    let rest = ["--", "--ends-at-once=3"];
    let shown = home.run([&["--json", "show", &spec], &rest[..]].concat()).ended(0).json();
    let digest = shown["digest"].as_str().unwrap();
    let words = [&["--json", "mount", &spec, "--consent", digest], &rest[..]].concat();
    let ran = home.run(words).failed(16, "server-failed");
    let error = ran.error();
    assert!(error["why"].as_str().unwrap().contains("exit status 3"), "{ran}");
    assert!(error["last_words"].to_string().contains("this is the last I say"), "{ran}");
    // with every word that it was started with
    let typed = error["hint"].as_str().unwrap();
    assert!(typed.contains("`pinfold show path:") && typed.contains(" -- --ends-at-once=3`"), "{typed}");
    assert_eq!(engine::sealed(&home.installed()[0]), Vec::<String>::new(), "its image is left behind");
    nothing_of(&home);
}

fn a_package_that_wants_install_scripts_is_named_and_none_is_run() {
    let home = Home::new();
    let script = "node -e \"require('fs').writeFileSync('script-was-run','')\"";
    let package = Package::probe().manifest(|manifest| manifest["scripts"] = json!({"postinstall": script}));
    let shown = home.run(["--json", "show", &package.spec()]).ended(0).json();
    let notes = shown["notes"].as_array().unwrap();
    let named =
        |note: &Value| note["note"] == "install-scripts" && note["text"].to_string().contains("probe-mcp@");
    assert!(notes.iter().any(named), "the card does not name the package: {notes:?}");
    let server = mounted::mount(&home, &package.spec(), &[]);
    let path = "/opt/server/node_modules/probe-mcp/script-was-run";
    let ran = home.run(["--json", "call", &server.name, "read", &json!({"path": path}).to_string()]).ended(0);
    assert!(ran.stdout.contains("ENOENT"), "{ran}");
    home.run(["unmount", &server.name]).ended(0);
    assert_eq!(engine::sealed(&server.tree), Vec::<String>::new());
}

fn two_mounts_of_one_name_at_once_are_one_mount() {
    let home = Home::new();
    let package = Package::least("at-once");
    let spec = package.tarball();
    let digest = home.run(["--json", "show", &spec]).ended(0).json()["digest"].as_str().unwrap().to_owned();
    let words = ["--json", "mount", &spec, "--consent", &digest];
    let mut mounted: Vec<String> = thread::scope(|scope| {
        let mounts = [(); 2].map(|()| scope.spawn(|| home.run(words).ended(0).json()));
        mounts.map(|mount| mount.join().unwrap()["mounted"].as_str().unwrap().to_owned()).to_vec()
    });
    mounted.sort();
    assert_eq!(mounted, ["before", "now"]);
    assert_eq!(home.installed().len(), 1, "installed more than once");
    let servers = home.run(["--json", "list"]).ended(0).json()["servers"].as_array().unwrap().clone();
    assert_eq!(servers.len(), 1, "{servers:?}");
    let ran = home.run(["call", "at-once", "hello"]).ended(0);
    assert_eq!(ran.stdout.trim(), "hello");
    home.run(["unmount", "at-once"]).ended(0);
    assert_eq!(engine::sealed(&home.installed()[0]), Vec::<String>::new());
    nothing_of(&home);
}

fn two_packages_of_one_name_at_once_do_not_mix() {
    let home = Home::new();
    let packages = [Package::least("same-name"), Package::least("same-name")];
    let plans = packages.each_ref().map(|package| {
        let spec = package.tarball();
        let shown = home.run(["--json", "show", &spec]).ended(0).json();
        (spec, shown["digest"].as_str().unwrap().to_owned())
    });
    assert_ne!(plans[0].1, plans[1].1);
    let codes = thread::scope(|scope| {
        let mounts = plans
            .each_ref()
            .map(|(spec, digest)| scope.spawn(|| home.run(["--json", "mount", spec, "--consent", digest])));
        mounts.map(|mount| mount.join().unwrap())
    });
    let well: Vec<bool> = codes.iter().map(|ran| ran.code == Some(0)).collect();
    assert!(well == [true, false] || well == [false, true], "{} {}", codes[0], codes[1]);
    let lost = codes.iter().find(|ran| ran.code != Some(0)).unwrap();
    lost.error();
    // the one that lost can be mounted after it was shown anew, under a name of its own
    let servers = home.run(["--json", "list"]).ended(0).json()["servers"].as_array().unwrap().clone();
    assert_eq!(servers.len(), 1, "{servers:?}");
    home.run(["unmount", "same-name"]).ended(0);
    for tree in home.installed() {
        assert_eq!(engine::sealed(&tree), Vec::<String>::new(), "an image is left behind");
    }
    nothing_of(&home);
}

fn a_call_whose_result_is_an_error_is_exit_1() {
    let server = mounted::probe();
    let ran = server
        .home()
        .run(["--json", "call", &server.name, "fill", r#"{"directory":"/nonexistent"}"#])
        .ended(1);
    let result = ran.json();
    assert!(result["isError"] == true && result.to_string().contains("ENOENT"), "{ran}");
    server.home().run(["--json", "call", &server.name, "no-such-tool"]).failed(1, "call-failed");
}

fn a_usage_error_is_exit_2() {
    let home = Home::new();
    for words in [vec!["frobnicate"], vec!["show"], vec!["run"], vec!["mount", "npm:a", "--no-such-option"]] {
        let ran = home.run(words).ended(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran}");
    }
    home.run(["--json", "show", "just-a-word/with-a-slash"]).failed(2, "usage");
    home.run(["--json", "call", "name", "tool", "not json"]).failed(2, "usage");
}
