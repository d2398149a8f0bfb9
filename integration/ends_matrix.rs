//! Does every way to end leave nothing, whatever is going on?
//!
//! A table of ends and of moments. Each end is a test, and each of its moments a cell: a state is brought about, the end
//! happens, and one checker looks at the engine and at this machine's processes. Within ten seconds no cage of the home
//! runs and no process of its launcher or of its cages lives; after the next command, one that needs no engine, nothing
//! in the engine carries the home's label but what is mounted.
//!
//! `PINFOLD_TIMES=1` prints how long each cell took.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::engine;
use crate::mounted::{self, Server};
use crate::package::Package;
use crate::patience::{seconds, within};
use crate::pinfold::{Home, ended};
use crate::second_engine::SecondEngine;
use crate::session::{Session, initialize};
use crate::stops::{Installing, installing};

/// How soon nothing may run any more.
const SOON: Duration = seconds(10);

/// What is going on when it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// A session without a call under way.
    Idle,
    /// A session with one.
    MidCall,
    /// A mount that fetches what it installs.
    MidInstall,
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The client closes the launcher's input.
    ClientLeaves,
    /// The process that holds the launcher's other ends is killed; of a command at a terminal, its terminal closes.
    ClientKilled,
    /// SIGTERM to the launcher.
    LauncherTold,
    /// SIGKILL to the launcher.
    LauncherKilled,
    /// The server exits.
    ServerExits,
    /// The client closes the input of a server that ignores that, and SIGTERM.
    DeafServer,
    /// The server exits, and a daemon that it forked twice holds its output open.
    Daemon,
    /// The engine is stopped in good order, and started again.
    EngineStopped,
    /// The engine is killed, and started again.
    EngineKilled,
    /// The machine starts anew: containers that never started and files of launches that nobody holds.
    Reboot,
}

/// A row: the end, and of each moment whether it is tried, or why there is no such thing.
type Row = (&'static str, End, [Result<Moment, &'static str>; 3]);

const ALL: [Result<Moment, &str>; 3] = [Ok(Moment::Idle), Ok(Moment::MidCall), Ok(Moment::MidInstall)];
const NO_SERVER: [Result<Moment, &str>; 3] =
    [ALL[0], ALL[1], Err("no server runs before its install has ended")];

#[rustfmt::skip]
const TABLE: [Row; 10] = [
    ("the_client_leaves", End::ClientLeaves, [ALL[0], ALL[1], Err("a mount reads nothing from its input")]),
    ("the_client_is_killed", End::ClientKilled, ALL),
    ("the_launcher_is_told_to_stop", End::LauncherTold, ALL),
    ("the_launcher_is_killed", End::LauncherKilled, ALL),
    ("the_server_exits", End::ServerExits, NO_SERVER),
    ("the_server_is_deaf", End::DeafServer, NO_SERVER),
    ("the_server_leaves_a_daemon", End::Daemon, NO_SERVER),
    ("the_engine_is_stopped_and_started", End::EngineStopped, ALL),
    ("the_engine_is_killed_and_started", End::EngineKilled, ALL),
    ("the_machine_starts_anew", End::Reboot, [ALL[0], Err("nothing of a call outlives the machine's end"), ALL[2]]),
];

pub fn tests() -> Vec<Trial> {
    let row = |(name, end, moments): Row| {
        Trial::test(format!("ends_matrix::{name}"), move || {
            let failed = cells(end, moments.into_iter().filter_map(Result::ok));
            if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
        })
    };
    TABLE.into_iter().map(row).collect()
}

/// Tries the cells of a row one after another; what failed, each with its cell.
fn cells(end: End, moments: impl Iterator<Item = Moment>) -> Vec<String> {
    let mut engine = matches!(end, End::EngineStopped | End::EngineKilled).then(SecondEngine::start);
    let home = engine.as_ref().map_or_else(Home::new, SecondEngine::home);
    let package = Package::probe();
    let server = mounted::mount(&home, &package.spec(), &[]);
    let mut failed = Vec::new();
    for moment in moments {
        let begun = Instant::now();
        let tried = catch_unwind(AssertUnwindSafe(|| cell(end, moment, &home, &server, engine.as_mut())));
        if let Err(panic) = tried {
            let why = panic.downcast_ref::<String>().cloned();
            let why = why.or_else(|| panic.downcast_ref::<&str>().map(|why| (*why).to_owned()));
            failed.push(format!("{end:?} x {moment:?}: {}", why.unwrap_or_default()));
        } else if std::env::var_os("PINFOLD_TIMES").is_some() {
            println!("{end:?} x {moment:?}: {:.1} s", begun.elapsed().as_secs_f64());
        }
    }
    home.run(["unmount", &server.name]).ended(0);
    failed
}

fn cell(end: End, moment: Moment, home: &Home, server: &Server, engine: Option<&mut SecondEngine>) {
    let address = engine.as_ref().map(|engine| engine.address());
    let ask = Asked { home, address, server };
    if end == End::Reboot {
        ask.as_after_a_reboot(moment);
        ask.nothing_lives(&[]);
        ask.nothing_is_left();
        return;
    }
    let under_way = match moment {
        Moment::MidInstall => UnderWay::Install(installing(home)),
        Moment::Idle | Moment::MidCall if end == End::ClientKilled => {
            UnderWay::Held(Held::start(home.command(["run", &server.name]), moment))
        }
        Moment::Idle | Moment::MidCall => {
            UnderWay::Session(session(home.command(["run", &server.name]), end, moment))
        }
    };
    let cages: Vec<String> = ask.running();
    assert_eq!(cages.len(), 1, "one cage is there before the end");
    assert!(!processes_of(&cages[0]).is_empty(), "its processes are seen before the end");
    let begun = Instant::now();
    happens(end, under_way, engine);
    ask.nothing_lives(&cages);
    if std::env::var_os("PINFOLD_TIMES").is_some() {
        println!("{end:?} x {moment:?}: nothing lives after {:.1} s", begun.elapsed().as_secs_f64());
    }
    ask.nothing_is_left();
}

/// What is ended.
enum UnderWay {
    Session(Session),
    Held(Held),
    Install(Installing),
}

/// Brings the end about, and waits for the launcher's.
fn happens(end: End, under_way: UnderWay, engine: Option<&mut SecondEngine>) {
    match (end, under_way) {
        (End::ClientLeaves | End::DeafServer, UnderWay::Session(mut session)) => {
            session.close();
            assert_eq!(session.ended(SOON).code(), Some(0), "{}", session.stderr());
        }
        (End::ClientKilled, UnderWay::Held(held)) => held.client_is_killed(),
        (End::ClientKilled, UnderWay::Install(install)) => {
            install.signal(Signal::HUP);
            install.ended().ended(129);
        }
        (End::LauncherTold, UnderWay::Session(mut session)) => {
            session.signal(Signal::TERM);
            assert_eq!(session.ended(SOON).code(), Some(143), "{}", session.stderr());
        }
        (End::LauncherTold, UnderWay::Install(install)) => {
            install.signal(Signal::TERM);
            install.ended().ended(143);
        }
        (End::LauncherKilled, UnderWay::Session(mut session)) => {
            session.signal(Signal::KILL);
            session.ended(SOON);
        }
        (End::LauncherKilled, UnderWay::Install(install)) => {
            install.signal(Signal::KILL);
            install.ended();
        }
        (End::ServerExits | End::Daemon, UnderWay::Session(mut session)) => {
            session.ask("tools/call", json!({"name": "exit", "arguments": {"code": 7}}));
            assert_eq!(session.ended(SOON).code(), Some(16), "{}", session.stderr());
        }
        (End::EngineStopped | End::EngineKilled, under_way) => {
            let engine = engine.unwrap();
            if end == End::EngineStopped {
                engine.stop()
            } else {
                engine.kill()
            }
            match under_way {
                UnderWay::Session(mut session) => {
                    // how it learns of it is a race of the engine's: the cage was ended, or the engine is gone
                    let code = session.ended(SOON).code();
                    assert!(matches!(code, Some(14 | 16)), "{code:?}: {}", session.stderr());
                }
                UnderWay::Install(install) => {
                    let ran = install.ended();
                    assert!(matches!(ran.code, Some(14 | 16)), "{ran}");
                }
                UnderWay::Held(_) => unreachable!("held for another end"),
            }
            engine.again();
        }
        _ => unreachable!("the table has no such cell"),
    }
}

/// A session, with what its end needs brought about.
fn session(command: Command, end: End, moment: Moment) -> Session {
    let mut session = Session::handshake(command, json!({})).0;
    match end {
        End::DeafServer => assert_eq!(session.text("hang", json!({})), "hanging"),
        End::Daemon => assert_eq!(session.text("daemon", json!({})), "left one"),
        _ => {}
    }
    if moment == Moment::MidCall {
        session.ask("tools/call", json!({"name": "wait", "arguments": {"ms": 60_000}}));
    }
    // what is said last was answered, so all of it is under way
    assert_eq!(session.text("echo", json!({"text": "up"})), "echo: up");
    session
}

/// A session whose client is a process of its own: nobody else holds the other ends of the launcher's pipes.
struct Held {
    launcher: Child,
    client: Child,
}

impl Held {
    fn start(mut command: Command, moment: Moment) -> Self {
        let (launcher_reads, mut input) = std::io::pipe().unwrap();
        let (output, launcher_writes) = std::io::pipe().unwrap();
        let launcher = command.stdin(launcher_reads).stdout(launcher_writes).stderr(Stdio::null()).spawn();
        // it has the pipes' other ends, which would stay open with it
        drop(command);
        let launcher = launcher.unwrap();
        let client = Command::new("sleep")
            .arg("600")
            .stdin(output.try_clone().unwrap())
            .stdout(input.try_clone().unwrap())
            .spawn()
            .unwrap();
        Self::opens(&mut input, output, moment);
        Self { launcher, client }
    }

    /// Speaks in the client's place, and lets go of its ends.
    fn opens(input: &mut PipeWriter, output: PipeReader, moment: Moment) {
        let mut say = |message: Value| writeln!(input, "{message}").unwrap();
        let call = |id: u32, tool: &str, arguments: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}})
        };
        say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize(json!({}))}));
        say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        if moment == Moment::MidCall {
            say(call(2, "wait", json!({"ms": 60_000})));
        }
        say(call(3, "echo", json!({"text": "up"})));
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("echo: up")), "the session opens");
    }

    fn client_is_killed(mut self) {
        self.client.kill().unwrap();
        self.client.wait().unwrap();
        assert_eq!(ended(&mut self.launcher, SOON).code(), Some(0));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for child in [&mut self.client, &mut self.launcher] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The checker.
struct Asked<'a> {
    home: &'a Home,
    address: Option<String>,
    server: &'a Server,
}

impl Asked<'_> {
    fn engine<T>(&self, questions: impl FnOnce() -> T) -> T {
        match &self.address {
            Some(address) => engine::at(address, questions),
            None => questions(),
        }
    }

    fn state(&self) -> String {
        self.home.state().unwrap()
    }

    fn running(&self) -> Vec<String> {
        let running = self.engine(|| engine::running(&self.state()));
        running.into_iter().map(|container| container.id).collect()
    }

    /// No cage runs, and no process of a launcher or of these cages is there.
    fn nothing_lives(&self, cages: &[String]) {
        let begun = Instant::now();
        loop {
            let mut living: Vec<String> = self.running().iter().map(|id| format!("the cage {id}")).collect();
            living.extend(cages.iter().flat_map(|id| processes_of(id)));
            living.extend(launchers_of(self.home));
            if living.is_empty() {
                return;
            }
            assert!(begun.elapsed() < SOON, "after {SOON:?} there are: {living:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// After the next command, which needs no engine, nothing carries the home's label but the mounted server's image.
    fn nothing_is_left(&self) {
        let begun = Instant::now();
        self.home.run(["list"]).ended(0);
        if std::env::var_os("PINFOLD_TIMES").is_some() {
            println!("the next command took {:.2} s", begun.elapsed().as_secs_f64());
        }
        let (containers, volumes, sealed) = self.engine(|| {
            let state = self.state();
            (engine::containers(&state), engine::volumes(&state), engine::sealed_of(&state))
        });
        assert!(containers.is_empty(), "after the next command: {containers:?}");
        assert_eq!(volumes, Vec::<String>::new(), "after the next command");
        assert_eq!(
            sealed,
            std::slice::from_ref(&self.server.image),
            "after the next command: the sealed images"
        );
        let launches = fs::read_dir(self.home.file("state/launches")).unwrap().count();
        assert_eq!(launches, 0, "after the next command: files of launches that are over");
    }

    /// What a machine has of this home that went down at that moment. Of the cages that ran nothing, since the engine
    /// removes them when it starts.
    fn as_after_a_reboot(&self, moment: Moment) {
        let found = fs::metadata(self.home.file("state")).unwrap();
        let (state, place) = (self.state(), format!("{}:{}", found.dev(), found.ino()));
        if moment == Moment::MidInstall {
            // started, and does not remove itself; what still runs of it goes with the machine
            let killed = installing(self.home);
            killed.signal(Signal::KILL);
            killed.ended();
            within(SOON, "nothing runs", || self.running().is_empty().then_some(()));
        }
        let launch = "0123456789abcdef0123456789abcdef";
        fs::write(self.home.file("state/launches").join(launch), "").unwrap();
        engine::create(&[
            ("pinfold", "cage"),
            ("pinfold.state", &state),
            ("pinfold.place", &place),
            ("pinfold.launch", launch),
        ]);
        let left = engine::containers(&state).into_iter().map(|container| container.state);
        let left: Vec<String> = left.collect();
        let expected: &[&str] =
            if moment == Moment::MidInstall { &["created", "exited"] } else { &["created"] };
        assert_eq!(left, expected, "what is to be swept");
    }
}

/// The processes of a container, by their control group: proc_pid_cgroup(5).
fn processes_of(cage: &str) -> Vec<String> {
    processes(|process| fs::read_to_string(process.join("cgroup")).is_ok_and(|groups| groups.contains(cage)))
}

/// The launchers of a home, by their environment.
fn launchers_of(home: &Home) -> Vec<String> {
    let variable = format!("PINFOLD_HOME={}", home.path().display());
    processes(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    })
}

fn processes(are: impl Fn(&std::path::Path) -> bool) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let numbered = all.filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<i32>().is_ok())
    });
    let ours = numbered.filter(|path| are(path));
    let told = ours.map(|path| {
        let words = fs::read(path.join("cmdline")).unwrap_or_default();
        format!("{} ({})", path.display(), String::from_utf8_lossy(&words).replace('\0', " "))
    });
    told.collect()
}
