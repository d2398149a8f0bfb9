//! When is a server pinned that could not be tried at mount?
//!
//! At the first start that shows what it offers, by whichever command; to the same digests as a trial would have given,
//! once, and never over what is there.

use serde_json::{Value, json};

use crate::mounted::mount;
use crate::package::Package;
use crate::pinfold::{Home, run};
use crate::session::Session;
use crate::tests;

tests![
    the_first_session_that_lists_everything_pins_it,
    a_session_that_lists_a_part_pins_that_part_at_its_end,
    tools_pins_what_it_sees_and_call_a_server_that_has_tools_alone,
    a_surface_that_is_there_stays,
];

const KEY: &str = "PROBE_TOKEN";

/// The probe, mounted without the key that it does not start without.
fn untried(home: &Home, package: &Package) {
    mount(home, &package.spec(), &["--env", KEY, "--", "--needs=PROBE_TOKEN"]);
    assert_eq!(surface(home), Value::Null);
}

fn surface(home: &Home) -> Value {
    home.run(["--json", "pins", "show", "probe"]).ended(0).json()["surface"].clone()
}

fn session(home: &Home) -> Session {
    let mut command = home.command(["run", "probe"]);
    command.env(KEY, "made-up");
    Session::handshake(command, json!({})).0
}

fn everything(session: &mut Session) {
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        session.list(method, member);
    }
}

fn the_first_session_that_lists_everything_pins_it() {
    let (home, package) = (Home::new(), Package::probe());
    untried(&home, &package);
    let mut first = session(&home);
    everything(&mut first);
    // while the session is still there
    let seen = crate::patience::within(crate::patience::seconds(10), "its surface in the pin", || {
        Some(surface(&home)).filter(|surface| !surface.is_null())
    });
    let (code, stderr) = first.finish();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("probe was seen for the first time"), "{stderr}");
    let mut again = session(&home);
    everything(&mut again);
    let (_, stderr) = again.finish();
    assert!(!stderr.contains("for the first time"), "{stderr}");
    assert_eq!(surface(&home), seen);
    // what a trial of the same server pins
    let tried = Home::new();
    let words = ["--env", KEY, "--", "--needs=PROBE_TOKEN"];
    let shown = tried.run([&["--json", "show", &package.spec()], &words[..]].concat()).ended(0).json();
    let digest = shown["digest"].as_str().unwrap().to_owned();
    let spec = package.spec();
    let mut command = tried.command([&["--json", "mount", &spec, "--consent", &digest], &words[..]].concat());
    command.env(KEY, "made-up");
    run(command).ended(0);
    assert_eq!(surface(&tried), seen);
    for home in [home, tried] {
        home.run(["unmount", "probe"]).ended(0);
    }
}

fn a_session_that_lists_a_part_pins_that_part_at_its_end() {
    let (home, package) = (Home::new(), Package::probe());
    untried(&home, &package);
    // a page of two, and then the client leaves
    let mut half = session(&home);
    let page = half.request("tools/list", json!({}));
    assert!(page["nextCursor"].is_string(), "{page}");
    half.finish();
    assert_eq!(surface(&home), Value::Null);
    let mut tools = session(&home);
    let listed = tools.list("tools/list", "tools");
    tools.finish();
    let seen = surface(&home);
    let items = seen["items"].as_object().unwrap();
    assert_eq!(items.len(), listed.len(), "{seen}");
    assert!(items.keys().all(|key| key.starts_with("tool/")), "{seen}");
    assert!(seen["instructions"].is_string(), "{seen}");
    home.run(["unmount", "probe"]).ended(0);
}

fn tools_pins_what_it_sees_and_call_a_server_that_has_tools_alone() {
    let (home, package) = (Home::new(), Package::probe());
    untried(&home, &package);
    let with_key = |words: &[&str]| {
        let mut command = home.command(words);
        command.env(KEY, "made-up");
        run(command).ended(0)
    };
    // it has prompts too, which a call does not look at
    with_key(&["call", "probe", "env"]);
    assert_eq!(surface(&home), Value::Null);
    let said = with_key(&["tools", "probe"]);
    assert!(said.stderr.contains("for the first time"), "{said}");
    let seen = surface(&home);
    assert!(
        seen["items"].as_object().is_some_and(|items| items.keys().any(|key| key.starts_with("prompt/")))
    );
    home.run(["unmount", "probe"]).ended(0);

    let home = Home::new();
    let package = Package::least("least-first-seen");
    let server = mount(&home, &package.tarball(), &["--env", KEY]);
    let mut command = home.command(["call", &server.name, "hello"]);
    command.env(KEY, "made-up");
    let said = run(command).ended(0);
    assert!(said.stderr.contains("for the first time"), "{said}");
    let seen = home.run(["--json", "pins", "show", &server.name]).ended(0).json();
    assert!(seen["surface"]["items"]["tool/hello"].is_string(), "{seen}");
    home.run(["unmount", &server.name]).ended(0);
}

fn a_surface_that_is_there_stays() {
    let server = crate::mounted::probe();
    let before = server.home().run(["--json", "pins", "show", "probe"]).ended(0).json();
    let mut session = server.session();
    everything(&mut session);
    let (_, stderr) = session.finish();
    assert!(!stderr.contains("for the first time"), "{stderr}");
    server.home().run(["tools", "probe"]).ended(0);
    let after = server.home().run(["--json", "pins", "show", "probe"]).ended(0).json();
    assert_eq!(before["surface"], after["surface"]);
}
