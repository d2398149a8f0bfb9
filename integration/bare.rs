//! What is a server without a cage?
//!
//! The very tree that was pinned, laid down by this host's own npm or pip from the pin's lock and started with this
//! host's own Node or Python: so a difference to the caged server is the cage's.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::pinfold::Home;

/// An installed server.
pub struct Bare {
    _directory: TempDir,
    program: Vec<String>,
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

impl Bare {
    /// Lays the tree of a pin down.
    pub fn of(home: &Home, name: &str) -> Self {
        let pins = home.file("state/pins");
        let pin: Value =
            serde_json::from_slice(&std::fs::read(pins.join(format!("{name}.json"))).unwrap()).unwrap();
        let lock = pins.join(format!("{name}.lock"));
        let directory = tempfile::Builder::new().prefix("pinfold-bare-").tempdir().unwrap();
        let program = match pin["plan"]["ecosystem"].as_str().unwrap() {
            "npm" => npm(directory.path(), &pin, &lock),
            "pypi" => pypi(directory.path(), &pin, &lock),
            other => panic!("{other}"),
        };
        Self { _directory: directory, program }
    }

    /// The program with these arguments, to be started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).args(arguments);
        command
    }
}

fn npm(directory: &Path, pin: &Value, lock: &Path) -> Vec<String> {
    let lock = std::fs::read(lock).unwrap();
    let manifest = serde_json::from_slice::<Value>(&lock).unwrap()["packages"][""].take();
    std::fs::write(directory.join("package-lock.json"), lock).unwrap();
    std::fs::write(directory.join("package.json"), manifest.to_string()).unwrap();
    done(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(directory),
    );
    let package = pin["plan"]["package"].as_str().unwrap();
    let file = pin["plan"]["program"]["file"]["path"].as_str().unwrap();
    vec!["node".to_owned(), directory.join("node_modules").join(package).join(file).display().to_string()]
}

fn pypi(directory: &Path, pin: &Value, lock: &Path) -> Vec<String> {
    done(Command::new("python3").args(["-m", "venv"]).arg(directory));
    let pip = directory.join("bin/pip");
    done(
        Command::new(pip)
            .args(["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r"])
            .arg(lock),
    );
    let script = pin["plan"]["program"]["script"].as_str().unwrap();
    vec![directory.join("bin").join(script).display().to_string()]
}

/// A folder of somebody's with something in it; gone at its end.
pub struct Folder(TempDir);

impl Folder {
    /// An empty one, of a user who is not root.
    pub fn new() -> Self {
        let folder = Self(tempfile::Builder::new().prefix("pinfold-folder-").tempdir().unwrap());
        folder.is_theirs();
        folder
    }

    /// Where it is, links resolved.
    pub fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// The path as text.
    pub fn text(&self) -> String {
        self.path().display().to_string()
    }

    /// Gives everything in it to that user, where these tests are root's to give.
    pub fn is_theirs(&self) {
        if rustix::process::geteuid().is_root() {
            done(Command::new("chown").args(["-R", "1000:1000"]).arg(self.0.path()));
        }
    }
}
