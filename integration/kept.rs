//! Is what a server writes in its home kept, for it alone, and for as long as it is mounted?

use serde_json::{Value, json};

use crate::folders::Folder;
use crate::mounted::{self, mount};
use crate::package::Package;
use crate::pinfold::Home;
use crate::session::Session;
use crate::terminal::AtTerminal;
use crate::{engine, tests};

tests![
    what_is_written_at_home_is_kept_until_the_server_is_unmounted,
    what_is_kept_belongs_to_whom_the_server_runs_as,
    without_the_option_nothing_is_kept,
    a_memory_server_remembers_after_a_restart,
    a_server_that_writes_beside_its_code_is_told_where_it_can,
    at_a_terminal_what_was_kept_is_asked_about_before_it_is_lost,
];

const FILE: &str = "/home/cage/memory.json";

fn disk(home: &Home, name: &str, what: &str) -> Value {
    let mut session = Session::handshake(home.command(["run", name]), json!({})).0;
    let mut came = session.data("disk", json!({"what": what, "path": FILE, "text": "kept"}));
    // the volume is in use until the cage is gone
    assert_eq!(session.finish().0, Some(0));
    if came.get("ok").is_some() { came["ok"].take() } else { came["error"].take() }
}

fn what_is_written_at_home_is_kept_until_the_server_is_unmounted() {
    let home = Home::new();
    let package = Package::probe();
    let spec = package.spec();
    mount(&home, &spec, &["--name", "keeps", "--persist"]);
    let state = home.state().unwrap();
    // a trial leaves nothing
    assert_eq!(engine::volumes(&state), Vec::<String>::new());

    assert_eq!(disk(&home, "keeps", "write"), "done");
    assert_eq!(disk(&home, "keeps", "read"), "kept");
    let volumes = engine::volumes(&state);
    assert_eq!(volumes.len(), 1, "{volumes:?}");
    let listed = home.run(["--json", "list"]).ended(0).json();
    assert_eq!(listed["servers"][0]["persist"], true);

    // another server of the same package has a home of its own
    mount(&home, &spec, &["--name", "keeps-too", "--persist"]);
    assert_eq!(disk(&home, "keeps-too", "read"), "ENOENT");
    assert_eq!(engine::volumes(&state).len(), 2);
    // nobody to ask: nothing is lost
    home.run(["--json", "unmount", "keeps-too"]).failed(10, "consent-needed");
    let gone = home.run(["--json", "unmount", "keeps-too", "--remove-data"]).ended(0).json();
    assert_eq!(gone["data"], "removed");
    assert_eq!(engine::volumes(&state), volumes);

    // another plan of the same server: it is still its own
    mount(&home, &spec, &["--name", "keeps", "--persist", "--memory", "600m"]);
    assert_eq!(disk(&home, "keeps", "read"), "kept");
    // not swept, whatever else a command does
    home.run(["--json", "tools", "keeps"]).ended(0);
    assert_eq!(engine::volumes(&state), volumes);

    // not while a client has it
    let mut session = Session::handshake(home.command(["run", "keeps"]), json!({})).0;
    home.run(["--json", "unmount", "keeps"]).failed(1, "other");
    assert_eq!(session.text("echo", json!({"text": "here"})), "echo: here");
    session.close();
    session.ended(crate::patience::seconds(20));

    let gone = home.run(["--json", "unmount", "keeps", "--keep-data"]).ended(0).json();
    assert_eq!(gone["data"], "kept");
    assert_eq!(engine::volumes(&state), volumes);
    mount(&home, &spec, &["--name", "keeps", "--persist"]);
    assert_eq!(disk(&home, "keeps", "read"), "kept");
    let gone = home.run(["--json", "unmount", "keeps", "--remove-data"]).ended(0).json();
    assert_eq!(gone["data"], "removed");
    assert_eq!(engine::volumes(&state), Vec::<String>::new());
    home.run(["--json", "unmount", "keeps"]).failed(15, "not-mounted");

    // what was left can be forgotten by its name alone
    mount(&home, &spec, &["--name", "keeps", "--persist"]);
    assert_eq!(disk(&home, "keeps", "read"), "ENOENT");
    home.run(["unmount", "keeps", "--keep-data"]).ended(0);
    assert_eq!(home.run(["--json", "unmount", "keeps", "--remove-data"]).ended(0).json()["data"], "removed");
    assert_eq!(engine::volumes(&state), Vec::<String>::new());
}

fn what_is_kept_belongs_to_whom_the_server_runs_as() {
    let home = Home::new();
    let (package, folder) = (Package::probe(), Folder::new());
    let spec = package.spec();
    mount(&home, &spec, &["--name", "keeps", "--persist", "--mount", &folder.option(":rw")]);
    assert_eq!(disk(&home, "keeps", "write"), "done");
    let mut session = Session::handshake(home.command(["run", "keeps"]), json!({})).0;
    let seen = session.data("disk", json!({"what": "stat", "path": "/home/cage"}));
    assert_eq!(seen["ok"], json!({"uid": folder.owner(), "gid": folder.owner(), "mode": "700"}));
    let report = session.data("report", json!({}));
    let at_home =
        report["mounts"].as_array().unwrap().iter().find(|mount| mount["at"] == "/home/cage").unwrap();
    assert_ne!(at_home["type"], "tmpfs");
    assert_eq!(session.finish().0, Some(0));

    // as somebody else it could not write there: said, not found out by the server
    mount(&home, &spec, &["--name", "keeps", "--persist"]);
    let ran = home.run(["--json", "call", "keeps", "echo", "{}"]).failed(13, "mount-changed");
    assert!(ran.stderr.contains(&folder.owner().to_string()), "{ran}");
    let tree = mounted_tree(&home);
    home.run(["unmount", "keeps", "--remove-data"]).ended(0);
    assert_eq!(engine::volumes(&home.state().unwrap()), Vec::<String>::new());
    // the image for that user went with the one it was made of
    assert_eq!(engine::sealed(&tree), Vec::<String>::new());
}

fn mounted_tree(home: &Home) -> String {
    home.run(["--json", "pins", "show", "keeps"]).ended(0).json()["tree"].as_str().unwrap().to_owned()
}

fn without_the_option_nothing_is_kept() {
    let server = mounted::probe();
    let mut session = server.session();
    let written = session.data("disk", json!({"what": "write", "path": FILE, "text": "x"}));
    assert_eq!(written["ok"], "done");
    drop(session);
    let read = server.session().data("disk", json!({"what": "read", "path": FILE}));
    assert_eq!(read["error"], "ENOENT");
}

fn a_memory_server_remembers_after_a_restart() {
    let home = Home::new();
    let file = format!("MEMORY_FILE_PATH={FILE}");
    mount(&home, "npm:@modelcontextprotocol/server-memory", &["--persist", "--env", &file]);
    let session = || Session::handshake(home.command(["run", "memory"]), json!({})).0;
    let entity = json!({"name": "pinfold", "entityType": "tool", "observations": ["keeps strays"]});
    let mut first = session();
    assert_ne!(first.call("create_entities", json!({"entities": [entity]}))["isError"], true);
    assert_eq!(first.finish().0, Some(0));
    let mut second = session();
    let graph = second.call("read_graph", json!({}));
    assert!(graph.to_string().contains("keeps strays"), "{graph}");
    assert_eq!(second.finish().0, Some(0));
    assert_eq!(home.run(["--json", "unmount", "memory", "--remove-data"]).ended(0).json()["data"], "removed");
}

fn a_server_that_writes_beside_its_code_is_told_where_it_can() {
    let home = Home::new();
    mount(&home, "npm:@modelcontextprotocol/server-memory", &[]);
    let entity = json!({"entities": [{"name": "a", "entityType": "b", "observations": []}]}).to_string();
    let ran = home.run(["call", "memory", "create_entities", &entity]);
    assert!(ran.code == Some(1) && ran.stderr.contains("the root of a cage is read-only"), "{ran}");
    assert!(ran.stderr.contains(" --persist`"), "{ran}");
    home.run(["unmount", "memory", "--remove-data"]).ended(0);
}

fn at_a_terminal_what_was_kept_is_asked_about_before_it_is_lost() {
    let (home, package) = (Home::new(), Package::probe());
    mount(&home, &package.spec(), &["--name", "keeps", "--persist"]);
    let state = home.state().unwrap();
    let unmount = |options: &[&str], types: Option<&str>| {
        let mut terminal = AtTerminal::start(home.command([&["unmount", "keeps"], options].concat()));
        if let Some(keys) = types {
            terminal.shows("Type yes to remove it");
            terminal.types(keys);
        }
        (terminal.ended(), terminal.screen())
    };
    assert_eq!(disk(&home, "keeps", "write"), "done");
    for keys in ["no\n", "y\n", "\n"] {
        let (code, screen) = unmount(&[], Some(keys));
        assert_eq!(code, Some(10), "{screen}");
        assert!(screen.contains("--keep-data"), "{screen}");
        assert_eq!(disk(&home, "keeps", "read"), "kept");
    }
    assert_eq!(unmount(&["--keep-data"], None).0, Some(0));
    assert_eq!(engine::volumes(&state).len(), 1);
    // what is left of a server that is not mounted any more is asked about too
    assert_eq!(unmount(&[], Some("no\n")).0, Some(10));
    assert_eq!(unmount(&[], Some("yes\n")).0, Some(0));
    assert_eq!(engine::volumes(&state), Vec::<String>::new());
    mount(&home, &package.spec(), &["--name", "keeps", "--persist"]);
    assert_eq!(disk(&home, "keeps", "write"), "done");
    assert_eq!(unmount(&["--remove-data"], None).0, Some(0));
    assert_eq!(engine::volumes(&state), Vec::<String>::new());
}
