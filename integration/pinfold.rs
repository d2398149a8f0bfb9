//! How is the program under test run?
//!
//! As a user runs it: the built binary, with a home directory of its own, its streams read to their end and its exit
//! status kept.

use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::engine;
use crate::patience::{seconds, within};

/// Longest any command may take: an install on a busy machine.
const PATIENCE: Duration = seconds(240);

/// The state ids of every home there was, for the last look at the engine.
pub static HOMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A home directory of Pinfold's, gone at its end.
pub struct Home {
    directory: TempDir,
    /// Where its engine is, unless it is everybody's.
    engine: Option<String>,
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// The words after `pinfold`.
    pub words: Vec<String>,
    /// The exit status; none if it ended by a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// The home that is kept from one run of these tests to the next, as `scripts/test` keeps it: the runtime image is
/// that one's.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-home")
}

/// Makes the runtime images that are not there.
pub fn make_runtime() {
    for runtime in ["node", "python3.13", "python3.11"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinfold"));
        command.args(["images", "build", runtime]).env("PINFOLD_HOME", kept());
        run(command).ended(0);
    }
}

/// The Node runtime image of these tests, by its name in everybody's engine.
///
/// By name, since an image without one goes with the last image that is built on it.
pub fn runtime_image() -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinfold"));
    command.args(["--json", "images", "list"]).env("PINFOLD_HOME", kept());
    let images = run(command).ended(0).json()["images"].take();
    let is_node = |image: &&Value| {
        image["kind"] == "runtime" && image["what"].as_str().is_some_and(|what| what.starts_with("node "))
    };
    let named = |image: &Value| engine::name_of(image["id"].as_str()?);
    images.as_array().unwrap().iter().filter(is_node).find_map(named).unwrap()
}

impl Home {
    /// A new one.
    pub fn new() -> Self {
        Self::under(&std::env::temp_dir())
    }

    /// A new one in this folder.
    pub fn under(folder: &Path) -> Self {
        // images count only for the state directory whose key stamped them: with the key of the home that the
        // runtime image was made in, every test has it without making its own
        let home = Self::empty(folder);
        let key = std::fs::read(kept().join("state/seal.key")).unwrap();
        let path = home.file("state/seal.key");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
        file.write_all(&key).unwrap();
        home
    }

    /// A new one to which no image of this host's means anything.
    pub fn with_a_key_of_its_own() -> Self {
        Self::empty(&std::env::temp_dir())
    }

    fn empty(folder: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-test-").tempdir_in(folder).unwrap();
        let home = Self { directory, engine: None };
        DirBuilder::new().mode(0o700).create(home.file("state")).unwrap();
        home
    }

    /// The same, with the engine at this address.
    pub fn with_engine(mut self, address: &str) -> Self {
        self.engine = Some(address.to_owned());
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The program with these arguments, to be started.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinfold"));
        command.args(words).env("PINFOLD_HOME", self.path()).env_remove("NO_COLOR");
        if let Some(engine) = &self.engine {
            command.env("DOCKER_HOST", engine);
        }
        command
    }

    /// Runs it to its end, with nothing at its input.
    pub fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        run(self.command(words))
    }

    /// The launch of a running launcher, which its cages are labelled with; none if it has not asked the engine yet.
    ///
    /// The launcher holds a lock on a file with the launch's name: proc_locks(5) says which process holds which.
    pub fn launch_of(&self, pid: u32) -> Option<String> {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let held: Vec<u64> = locks
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let inode = words.get(5)?.rsplit(':').next()?.parse().ok()?;
                (words.get(4)? == &pid.to_string()).then_some(inode)
            })
            .collect();
        let launches = std::fs::read_dir(self.file("state/launches")).ok()?;
        launches.flatten().find_map(|file| {
            let held = held.contains(&file.metadata().ok()?.ino());
            held.then(|| file.file_name().to_string_lossy().into_owned())
        })
    }

    /// The events of its audit log, of one kind.
    pub fn audit(&self, event: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.file("state/audit.jsonl")).unwrap_or_default();
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|found| found["event"] == event).collect()
    }

    /// The tree digests that were installed from here.
    pub fn installed(&self) -> Vec<String> {
        self.audit("install")
            .iter()
            .map(|event| event["tree"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The id its containers are labelled with.
    pub fn state(&self) -> Option<String> {
        std::fs::read_to_string(self.file("state/id")).ok()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        HOMES.lock().unwrap().extend(self.state());
    }
}

/// Runs a command to its end, with nothing at its input unless something was put there.
pub fn run(mut command: Command) -> Ran {
    let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    collect(command.spawn().unwrap(), &words)
}

/// Waits for a started command's end, both its outputs being pipes.
pub fn collect<S: AsRef<str>>(mut child: Child, words: &[S]) -> Ran {
    let words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    let (stdout, stderr) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("pinfold {words:?} still ran after {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(10));
    };
    Ran { words, code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn read_all(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a child's end, for so long.
pub fn ended(child: &mut std::process::Child, limit: Duration) -> ExitStatus {
    within(limit, "the process ends", || child.try_wait().unwrap())
}

impl Ran {
    /// Itself, if it ended so.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Its standard output, as the one JSON document it must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The error it reported under `--json`, after holding it to its three parts.
    #[track_caller]
    pub fn error(&self) -> Value {
        let line = self.stderr.lines().find(|line| line.starts_with("{\"error\"")).unwrap_or_default();
        let mut report: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("no error in JSON: {self}"));
        let error = report["error"].take();
        for part in ["code", "message", "why", "hint"] {
            let text = error[part].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "the error has no {part}: {self}");
        }
        assert!(self.stdout.is_empty(), "an error prints no result: {self}");
        error
    }

    /// Itself, if it failed with this exit status and stable code; under `--json`.
    #[track_caller]
    pub fn failed(self, exit: i32, code: &str) -> Self {
        let ran = self.ended(exit);
        assert_eq!(ran.error()["code"], code, "{ran}");
        ran
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { words, code, stdout, stderr } = self;
        write!(f, "pinfold {words:?} ended with {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
