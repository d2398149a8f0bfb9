//! Does Podman hold a cage as Docker does, and does it say where it does not?
//!
//! As root it is held against every row by the probe, as Docker is. Without root, where the kernel has the older control
//! groups, it limits nothing: then every row that is not enforced is named, and nothing is started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine;
use crate::mounted;
use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::{self, Home, Ran};
use crate::second_engine::{background, end, unmount_all};
use crate::session::Session;
use crate::{profile, tests};

tests![
    podman_as_root_holds_a_server_as_docker_does,
    a_cage_of_podmans_is_gone_with_its_launcher,
    podman_without_root_is_refused_with_every_row_that_it_does_not_enforce,
];

/// How long it may take to start.
const STARTING: std::time::Duration = seconds(30);
/// Whom the one without root runs as: an account of every Debian's.
const NOBODY: &str = "65534";

/// A Podman of a test's own, with everything it keeps in a folder that goes with it.
struct Podman {
    service: Child,
    directory: TempDir,
}

impl Podman {
    /// As root.
    fn as_root() -> Self {
        let mut command = Command::new("podman");
        let directory = folder();
        let file = |name: &str| directory.path().join(name);
        command.arg("--root").arg(file("data")).arg("--runroot").arg(file("run"));
        command.arg("--tmpdir").arg(file("tmp")).args(["--storage-driver", "overlay"]);
        Self::serving(command, directory)
    }

    /// As nobody in particular, who has no other users to give away and so keeps every file as its own.
    fn without_root() -> Self {
        let directory = folder();
        let file = |name: &str| directory.path().join(name).display().to_string();
        for name in ["home", "run", "data"] {
            fs::create_dir(file(name)).unwrap();
        }
        let settings = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n[storage.options.vfs]\nignore_chown_errors = \"true\"\n",
            file("data"),
            file("run")
        );
        fs::write(file("storage.conf"), settings).unwrap();
        chown(directory.path());
        fs::set_permissions(file("run"), fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "podman"]);
        command.env("HOME", file("home")).env("XDG_RUNTIME_DIR", file("run"));
        command.env("CONTAINERS_STORAGE_CONF", file("storage.conf")).current_dir("/");
        Self::serving(command, directory)
    }

    fn serving(mut command: Command, directory: TempDir) -> Self {
        let file = |name: &str| directory.path().join(name);
        // neither systemd nor its journal is needed, nor a runtime that some kernels have no place for
        fs::write(
            file("containers.conf"),
            "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n",
        )
        .unwrap();
        command.env("CONTAINERS_CONF", file("containers.conf"));
        let address = format!("unix://{}", file("podman.sock").display());
        command.args(["system", "service", "--time=0"]).arg(&address).process_group(0);
        let mut service = background(command, &file("podman.log"));
        within(STARTING, "Podman answers", || {
            if let Some(status) = service.try_wait().unwrap() {
                panic!(
                    "Podman ended ({status}):\n{}",
                    fs::read_to_string(file("podman.log")).unwrap_or_default()
                );
            }
            (file("podman.sock").exists() && engine::answers(&address)).then_some(())
        });
        Self { service, directory }
    }

    fn address(&self) -> String {
        format!("unix://{}", self.directory.path().join("podman.sock").display())
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        end(&mut self.service);
        // without root the service itself is a child of what was started, and not always gone with it
        let _ = kill_process_group(Pid::from_child(&self.service), Signal::KILL);
        // and it leaves a process behind that holds its user namespace
        let pause =
            fs::read_to_string(self.directory.path().join("run/libpod/tmp/pause.pid")).unwrap_or_default();
        if let Some(pid) = pause.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        unmount_all(self.directory.path());
    }
}

fn folder() -> TempDir {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test starts a Podman of its own, which only root can do"
    );
    // a short path: Podman's sockets are in there
    let directory = tempfile::Builder::new().prefix("pinfold-podman-").tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

/// Gives a folder and what is in it to nobody in particular.
fn chown(path: &Path) {
    let ran = Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(path).status().unwrap();
    assert!(ran.success(), "{}", path.display());
}

fn podman_as_root_holds_a_server_as_docker_does() {
    let podman = Podman::as_root();
    engine::carry(&pinfold::runtime_image(), &podman.address());
    let home = Home::new().with_engine(&podman.address());

    let report = home.run(["--json", "doctor"]).ended(0).json();
    assert_eq!(report["engine"]["name"], "Podman", "{report}");
    assert_eq!((&report["engine"]["rootless"], &report["cage"]), (&json!(false), &json!(true)), "{report}");
    assert_eq!(report["lacking"], json!([]));

    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    profile::all_holds(&session.data("report", json!({})));
    assert_eq!(session.finish().0, Some(0));
    home.run(["unmount", &server.name]).ended(0);
    engine::at(&podman.address(), || engine::nothing_of(&home, "unmounted"));
}

fn a_cage_of_podmans_is_gone_with_its_launcher() {
    let podman = Podman::as_root();
    engine::carry(&pinfold::runtime_image(), &podman.address());
    let home = Home::new().with_engine(&podman.address());
    let package = Package::probe();
    // a home that is kept is a volume of Podman's
    let server = mounted::mount(&home, &package.spec(), &["--persist"]);
    let (mut session, _) = Session::handshake(home.command(["run", &server.name]), json!({}));
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    let state = home.state().unwrap();
    engine::at(&podman.address(), || {
        assert_eq!(engine::running(&state).len(), 1);
        assert_eq!(engine::volumes(&state).len(), 1);
    });
    session.signal(Signal::KILL);
    engine::at(&podman.address(), || {
        within(seconds(10), "the cage is gone", || engine::containers(&state).is_empty().then_some(()));
    });
    home.run(["unmount", "--remove-data", &server.name]).ended(0);
    engine::at(&podman.address(), || engine::nothing_of(&home, "unmounted"));
}

/// A home and a program that nobody in particular can use.
struct Theirs {
    directory: TempDir,
    engine: String,
}

impl Theirs {
    /// A copy of a home.
    fn of(home: &Home, engine: &str) -> Self {
        let directory = folder();
        let program = directory.path().join("pinfold");
        fs::copy(env!("CARGO_BIN_EXE_pinfold"), &program).unwrap();
        let copied =
            Command::new("cp").arg("-a").arg(home.path()).arg(directory.path().join("home")).status();
        assert!(copied.unwrap().success());
        chown(directory.path());
        Self { directory, engine: engine.to_owned() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        command.arg(self.directory.path().join("pinfold")).args(words).current_dir("/");
        command.env("PINFOLD_HOME", self.directory.path().join("home")).env("DOCKER_HOST", &self.engine);
        command.env("HOME", self.directory.path());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        pinfold::run(self.command(words))
    }
}

/// Whether this kernel has the older control groups, as those of which Podman sets none without root.
fn older_control_groups() -> bool {
    !PathBuf::from("/sys/fs/cgroup/cgroup.controllers").exists()
}

fn podman_without_root_is_refused_with_every_row_that_it_does_not_enforce() {
    if !older_control_groups() {
        println!(
            "control groups v2: what Podman can limit without root is this machine's to say, and is not tried"
        );
        return;
    }
    let podman = Podman::without_root();
    let home = Home::new();
    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let nobodys = Theirs::of(&home, &podman.address());
    let rows = ["memory and swap", "processes", "processors"];
    let named = |text: &str| rows.iter().all(|row| text.contains(&format!("{row}: no limit")));

    // before there is an image to open a cage of, by Podman's own word
    let ran = nobodys.run(&["--json", "doctor"]);
    assert_eq!(ran.code, Some(14), "{ran}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    let lacking = report["lacking"].as_array().unwrap();
    let settings: Vec<&str> = lacking.iter().map(|row| row["setting"].as_str().unwrap()).collect();
    assert_eq!(settings, rows, "{report}");
    for row in lacking {
        assert!(row["remedy"].as_str().unwrap().contains("systemd.unified_cgroup_hierarchy=1"), "{row}");
    }
    assert_eq!(report["engine"]["rootless"], json!(true));
    let processes = report["profile"].as_array().unwrap().iter().find(|row| row["setting"] == "processes");
    assert_eq!(processes.unwrap()["enforced"], json!(false));
    let told = nobodys.run(&["doctor"]).ended(14);
    assert!(told.stdout.contains("not enforced here") && told.stdout.contains("what helps"), "{told}");
    let error = nobodys.run(&["--json", "show", &package.spec()]).failed(14, "cage-weaker").error();
    assert!(named(error["why"].as_str().unwrap()), "{error}");

    // with the server's image there, from what it wrote down of the cage
    engine::carry(&server.image, &podman.address());
    let mut running = nobodys.command(&["--json", "run", &server.name]);
    running.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let words = ["--json", "run"];
    let ran = pinfold::collect(running.spawn().unwrap(), &words).failed(14, "cage-weaker");
    let error = ran.error();
    assert!(named(error["why"].as_str().unwrap()), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("DOCKER_HOST"), "{error}");
    engine::at(&podman.address(), || {
        assert_eq!(engine::containers(&home.state().unwrap()).len(), 0, "of the refused start");
    });
    home.run(["unmount", &server.name]).ended(0);
}
