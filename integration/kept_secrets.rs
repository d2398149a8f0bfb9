//! Where else may a credential come from than the environment?
//!
//! From a file that the user named, from the keyring of their session, from a file of Pinfold's own; for the server it
//! was given to and for no other, and shown by no command.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mounted::mount;
use crate::package::Package;
use crate::pinfold::{Home, Ran, run};
use crate::session::Session;

/// The tests; that of the keyring where this host has one to try.
pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<(&str, fn())> = vec![
        (
            "a_value_that_was_kept_reaches_its_server_and_no_other",
            a_value_that_was_kept_reaches_its_server_and_no_other,
        ),
        ("a_named_file_is_read_at_each_start", a_named_file_is_read_at_each_start),
        (
            "a_mount_ends_with_where_each_credential_comes_from",
            a_mount_ends_with_where_each_credential_comes_from,
        ),
        ("what_cannot_be_a_credential_is_not_kept", what_cannot_be_a_credential_is_not_kept),
    ];
    if Desktop::is_possible() {
        tests.push(("a_value_in_the_keyring_is_nowhere_else", a_value_in_the_keyring_is_nowhere_else));
    } else {
        eprintln!("kept_secrets: without dbus-daemon and gnome-keyring-daemon the keyring is not tried");
    }
    let named = |(name, test): (&str, fn())| {
        Trial::test(format!("kept_secrets::{name}"), move || {
            test();
            Ok(())
        })
    };
    tests.into_iter().map(named).collect()
}

const NAME: &str = "PROBE_TOKEN";

fn value() -> String {
    format!("tok-{:032x}", rand::random::<u128>())
}

/// The program without a session's keyring, and without the variable.
fn command(home: &Home, words: &[&str]) -> Command {
    let mut command = home.command(words);
    command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR").env_remove(NAME);
    command
}

/// Runs it with this at its standard input.
fn fed(mut command: Command, input: &str) -> Ran {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    Ran {
        words: vec!["(fed)".to_owned()],
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What the server was started with.
fn seen(command: Command) -> Value {
    let (mut session, _) = Session::handshake(command, json!({}));
    let seen = session.data("env", json!({"name": NAME}))["value"].clone();
    session.finish();
    seen
}

/// Every file under a directory that holds a text.
fn holding(directory: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&entry.path(), text));
        } else if kind.is_file()
            && fs::read(entry.path()).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
        {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn a_value_that_was_kept_reaches_its_server_and_no_other() {
    let (home, package) = (Home::new(), Package::probe());
    let token = value();
    mount(&home, &package.spec(), &["--env", NAME]);
    mount(&home, &package.spec(), &["--name", "other", "--env", NAME]);
    let missing = run(command(&home, &["--json", "call", "probe", "env"])).failed(20, "secret-missing");
    let hint = missing.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("pinfold secret set probe PROBE_TOKEN"), "{hint}");

    let set = fed(command(&home, &["secret", "set", "probe", NAME]), &format!("{token}\n")).ended(0);
    assert!(set.stdout.contains("file of Pinfold's own"), "{set}");
    assert_eq!(seen(command(&home, &["run", "probe"])), token.as_str());
    // another server of the very same package, which asks for the same name
    run(command(&home, &["--json", "call", "other", "env"])).failed(20, "secret-missing");
    // the environment goes before
    let mut other = command(&home, &["run", "probe"]);
    other.env(NAME, "from the environment");
    assert_eq!(seen(other), "from the environment");

    let listed = run(command(&home, &["--json", "secret", "list"])).ended(0);
    assert_eq!(
        listed.json()["secrets"],
        json!([
            {"server": "other", "variable": NAME, "from": "environment", "path": null},
            {"server": "probe", "variable": NAME, "from": "pinfold", "path": null},
        ])
    );
    let shown = run(command(&home, &["--json", "pins", "show", "probe"])).ended(0);
    let text = run(command(&home, &["secret", "list", "probe"])).ended(0);
    for said in [set, listed, shown, text] {
        assert!(!said.to_string().contains(&token), "{said}");
    }
    assert_eq!(holding(home.path(), &token), ["probe.PROBE_TOKEN.value"]);
    let file = home.file("state/secrets/probe.PROBE_TOKEN.value");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);

    run(command(&home, &["secret", "forget", "probe", NAME])).ended(0);
    assert_eq!(holding(home.path(), &token), Vec::<String>::new());
    run(command(&home, &["--json", "call", "probe", "env"])).failed(20, "secret-missing");
    // and an unmount leaves nothing, and says what went
    fed(command(&home, &["secret", "set", "probe", NAME]), &token).ended(0);
    let gone = home.run(["--json", "unmount", "probe"]).ended(0).json();
    assert_eq!(gone["secrets"], json!([NAME]));
    home.run(["unmount", "other"]).ended(0);
    assert_eq!(holding(home.path(), &token), Vec::<String>::new());
}

fn a_named_file_is_read_at_each_start() {
    let (home, package) = (Home::new(), Package::probe());
    let (first, second) = (value(), value());
    let file = home.file("token");
    fs::write(&file, format!("{first}\n")).unwrap();
    let path = file.to_str().unwrap();
    let server =
        mount(&home, &package.spec(), &["--env", NAME, "--", "--url=db://u:{secret:PROBE_TOKEN}@h/"]);
    let before = server.digest.clone();
    run(command(&home, &["secret", "set", "probe", NAME, "--file", path])).ended(0);
    assert_eq!(seen(command(&home, &["run", "probe"])), first.as_str());
    fs::write(&file, &second).unwrap();
    // it goes before the environment, for it was named
    let mut with_variable = command(&home, &["run", "probe"]);
    with_variable.env(NAME, "from the environment");
    let (mut session, _) = Session::handshake(with_variable, json!({}));
    assert_eq!(session.data("env", json!({"name": NAME}))["value"], second.as_str());
    assert_eq!(session.data("argv", json!({}))[0], format!("--url=db://u:{second}@h/"));
    session.finish();
    // where it comes from is no part of the plan
    let pin = home.run(["--json", "pins", "show", "probe"]).ended(0);
    assert_eq!(pin.json()["digest"], before.as_str());
    assert!(!pin.stdout.contains(path), "{pin}");
    assert_eq!(holding(&home.file("state"), &second), Vec::<String>::new());

    fs::remove_file(&file).unwrap();
    let mut gone = command(&home, &["--json", "call", "probe", "env"]);
    gone.env(NAME, "from the environment");
    let error = run(gone).failed(20, "secret-missing").error();
    assert!(error.to_string().contains(path), "{error}");
    home.run(["unmount", "probe"]).ended(0);
}

fn a_mount_ends_with_where_each_credential_comes_from() {
    let (home, package) = (Home::new(), Package::least("wants-a-token"));
    let spec = package.tarball();
    let shown = home.run(["--json", "show", &spec, "--env", NAME]).ended(0).json();
    let digest = shown["digest"].as_str().unwrap();
    let mounting = ["mount", &spec, "--env", NAME, "--consent", digest];
    let told = run(command(&home, &mounting)).ended(0).stdout;
    let keeps = format!("{NAME} is not set yet: keep it with `pinfold secret set wants-a-token {NAME}`");
    assert!(told.contains(&keeps), "{told}");
    let mut with_variable = command(&home, &mounting);
    with_variable.env(NAME, value());
    let told = run(with_variable).ended(0).stdout;
    assert!(told.contains("in this shell") && told.contains("secret set wants-a-token"), "{told}");
    fed(command(&home, &["secret", "set", "--no-keyring", "wants-a-token", NAME]), &value()).ended(0);
    let told = run(command(&home, &mounting)).ended(0).stdout;
    assert!(
        told.contains("kept for it in a file of Pinfold's own") && !told.contains("secret set"),
        "{told}"
    );
    let told = home.run(["unmount", "wants-a-token"]).ended(0).stdout;
    assert!(told.contains(&format!("{NAME}, which was kept for it, is gone")), "{told}");
}

fn what_cannot_be_a_credential_is_not_kept() {
    let (home, package) = (Home::new(), Package::probe());
    mount(&home, &package.spec(), &["--env", NAME]);
    let set =
        |name: &str, input: &str| fed(command(&home, &["--json", "secret", "set", "probe", name]), input);
    set(NAME, "").failed(2, "usage");
    set(NAME, "\n").failed(2, "usage");
    set(NAME, &"x".repeat(70_000)).failed(2, "usage");
    let two = set(NAME, "one\nLD_PRELOAD=two").failed(11, "env-refused");
    assert!(!two.to_string().contains("LD_PRELOAD"), "{two}");
    set("LD_PRELOAD", "x").failed(11, "env-refused");
    // its plan does not list it, so it would never get it
    let other = set("OTHER_TOKEN", "x").failed(2, "usage");
    assert!(other.error()["why"].as_str().unwrap().contains(NAME), "{other}");
    run(command(&home, &["--json", "secret", "set", "probe", NAME, "--file", "/nowhere"])).failed(2, "usage");
    run(command(&home, &["--json", "secret", "set", "nobody", NAME])).failed(15, "not-mounted");
    assert!(!home.file("state/secrets/probe.json").exists());
    home.run(["unmount", "probe"]).ended(0);
}

/// A session bus with a keyring of its own, unlocked.
struct Desktop {
    bus: Child,
    keyring: Child,
    address: String,
    directory: TempDir,
}

impl Desktop {
    fn is_possible() -> bool {
        ["dbus-daemon", "gnome-keyring-daemon"].iter().all(|program| {
            Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success())
        })
    }

    fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-session-").tempdir().unwrap();
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut keyring = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &address)
            .env("HOME", directory.path())
            .env("XDG_RUNTIME_DIR", directory.path())
            .env("XDG_DATA_HOME", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        keyring.stdin.take().unwrap().write_all(b"a password").unwrap();
        Self { bus, keyring, address, directory }
    }

    fn command(&self, home: &Home, words: &[&str]) -> Command {
        let mut command = command(home, words);
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.address);
        command
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in [&mut self.keyring, &mut self.bus] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn a_value_in_the_keyring_is_nowhere_else() {
    let (home, package, desktop) = (Home::new(), Package::probe(), Desktop::start());
    let token = value();
    mount(&home, &package.spec(), &["--env", NAME]);
    let set = crate::patience::within(crate::patience::seconds(30), "the keyring is there", || {
        let set = fed(desktop.command(&home, &["--json", "secret", "set", "probe", NAME]), &token);
        // on the bus a moment after its start
        (set.code == Some(0) && set.json()["from"] == "keyring").then_some(set)
    });
    assert!(!set.to_string().contains(&token), "{set}");
    assert_eq!(seen(desktop.command(&home, &["run", "probe"])), token.as_str());
    // neither here nor, in the clear, where the keyring keeps it
    assert_eq!(holding(home.path(), &token), Vec::<String>::new());
    assert_eq!(holding(desktop.directory.path(), &token), Vec::<String>::new());
    // a session without it, such as a service's: said, with what to do
    let error = run(command(&home, &["--json", "call", "probe", "env"])).failed(20, "secret-missing").error();
    assert!(error["hint"].as_str().unwrap().contains("--no-keyring"), "{error}");
    // another server of that name and another source has another entry, so what is forgotten is this one
    run(desktop.command(&home, &["secret", "forget", "probe", NAME])).ended(0);
    run(desktop.command(&home, &["--json", "call", "probe", "env"])).failed(20, "secret-missing");
    // from the keyring to a file: nothing stays behind in it
    fed(desktop.command(&home, &["secret", "set", "probe", NAME]), &token).ended(0);
    fed(desktop.command(&home, &["secret", "set", "probe", NAME, "--no-keyring"]), &token).ended(0);
    assert_eq!(holding(home.path(), &token), ["probe.PROBE_TOKEN.value"]);
    assert_eq!(seen(command(&home, &["run", "probe"])), token.as_str());
    run(desktop.command(&home, &["unmount", "probe"])).ended(0);
}
