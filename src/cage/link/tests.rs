//! Against the real init, run as an ordinary process: it then signals the group of the program it started instead
//! of everything, and answers DNS on a free port.

use std::process::Stdio;
use std::sync::Mutex;
use std::time::Instant;

use futures_util::future::BoxFuture;
use pinfold_init::protocol::Event;
use proptest::prelude::*;
use tokio::io::duplex;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::process::{Child, Command};

use super::super::gate::{Duplex, GateRefused};
use super::*;

/// Longest that anything here may take; never waited for when all is well.
const LONG: Duration = Duration::from_secs(20);

/// Allows `names`, connects them all to `upstream`, and remembers what it was asked.
#[derive(Default)]
struct TestGate {
    ports: Vec<u16>,
    names: Vec<&'static str>,
    upstream: Option<std::net::SocketAddr>,
    asked: Mutex<Vec<String>>,
}

impl Gate for TestGate {
    fn ports(&self) -> Vec<u16> {
        self.ports.clone()
    }

    fn localhost(&self) -> Vec<u16> {
        if self.names.contains(&"localhost") { self.ports.clone() } else { Vec::new() }
    }

    fn name(&self, name: &str) -> BoxFuture<'_, bool> {
        self.asked.lock().unwrap().push(name.to_owned());
        let allowed = self.names.contains(&name);
        Box::pin(async move { allowed })
    }

    fn connect(&self, name: &str, port: u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>> {
        self.asked.lock().unwrap().push(format!("{name}:{port}"));
        let upstream = self.upstream;
        Box::pin(async move {
            let stream = TcpStream::connect(upstream.ok_or_else(|| GateRefused::new("no upstream"))?)
                .await
                .map_err(|_| GateRefused::new("it does not answer"))?;
            Ok(Box::new(stream) as Box<dyn Duplex>)
        })
    }
}

struct Cage {
    link: Link,
    init: Child,
}

async fn cage(gate: TestGate) -> Cage {
    cage_with(Arc::new(gate)).await
}

/// Init as an ordinary process, and the stream to it.
fn spawned() -> (Child, impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let mut init = Command::new(concat!(env!("OUT_DIR"), "/pinfold-init"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = tokio::io::join(init.stdout.take().unwrap(), init.stdin.take().unwrap());
    (init, stream)
}

async fn cage_with(gate: Arc<TestGate>) -> Cage {
    let (init, stream) = spawned();
    let link = Link::open_with_dns(stream, gate, 0).await.unwrap();
    Cage { link, init }
}

fn program<const N: usize>(argv: [&str; N]) -> Program {
    Program {
        argv: argv.map(Argument::from).into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        ending: Ending { drain: Duration::from_millis(200), ..Ending::SERVER },
    }
}

fn shell(script: &str) -> Program {
    program(["sh", "-c", script])
}

async fn all(mut output: Output) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeout(LONG, output.read_to_end(&mut bytes)).await.unwrap().unwrap();
    bytes
}

async fn text(output: Output) -> String {
    String::from_utf8(all(output).await).unwrap()
}

async fn line(output: &mut Output) -> String {
    let mut line = Vec::new();
    loop {
        match timeout(LONG, output.read_u8()).await.unwrap() {
            Ok(b'\n') | Err(_) => return String::from_utf8(line).unwrap(),
            Ok(byte) => line.push(byte),
        }
    }
}

async fn exit(running: &mut Handle) -> Exit {
    timeout(LONG, running.exit()).await.expect("the program does not end").unwrap()
}

#[tokio::test]
async fn three_streams_and_an_exit_status() {
    let cage = cage(TestGate::default()).await;
    let Running { mut stdin, stdout, stderr, mut handle } =
        cage.link.run(shell("cat; echo said >&2; exit 7")).await.unwrap();
    stdin.write_all(b"heard").await.unwrap();
    stdin.shutdown().await.unwrap();
    assert_eq!((text(stdout).await, text(stderr).await), ("heard".into(), "said\n".into()));
    assert_eq!(exit(&mut handle).await, Exit::Code(7));
    assert_eq!(exit(&mut handle).await, Exit::Code(7), "asked twice");
}

#[tokio::test]
async fn ten_mebibytes_come_back_intact() {
    let cage = cage(TestGate::default()).await;
    let Running { mut stdin, mut stdout, stderr: _stderr, mut handle } =
        cage.link.run(program(["cat"])).await.unwrap();
    let sent: Vec<u8> = (0..10 * 1024 * 1024_u32).map(|n| (n ^ (n >> 9)) as u8).collect();
    let copy = sent.clone();
    let writer = tokio::spawn(async move {
        stdin.write_all(&copy).await.unwrap();
        stdin.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    timeout(LONG, stdout.read_to_end(&mut back)).await.unwrap().unwrap();
    writer.await.unwrap();
    assert!(back == sent, "{} bytes of {}", back.len(), sent.len());
    assert_eq!(exit(&mut handle).await, Exit::Code(0));
}

#[tokio::test]
async fn an_output_can_end_before_the_program() {
    let cage = cage(TestGate::default()).await;
    let Running { stdin: _stdin, stdout, stderr: _stderr, handle } =
        cage.link.run(shell("echo early; exec >&-; exec sleep 1000")).await.unwrap();
    assert_eq!(text(stdout).await, "early\n");
    drop(handle);
}

#[tokio::test]
async fn an_input_that_nobody_reads_breaks_once_it_is_closed() {
    let cage = cage(TestGate::default()).await;
    let Running { mut stdin, stdout, stderr: _stderr, handle: _handle } =
        cage.link.run(shell("exec <&-; echo closed; exec sleep 1000")).await.unwrap();
    let mut stdout = stdout;
    assert_eq!(line(&mut stdout).await, "closed");
    let broken = async {
        loop {
            if let Err(error) = stdin.write_all(&[0; 4096]).await {
                return error.kind();
            }
        }
    };
    assert_eq!(timeout(LONG, broken).await.unwrap(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn a_program_gets_its_environment_and_folder_and_nothing_else() {
    let cage = cage(TestGate::default()).await;
    let mut asked = program(["sh", "-c", "env | sort; pwd; ls /proc/self/fd"]);
    asked.cwd = "/usr".into();
    asked.env.push(("TOKEN".into(), crate::secret::Secret::new(b"hunter2".to_vec()).into()));
    let running = cage.link.run(asked).await.unwrap();
    let lines = text(running.stdout).await;
    // PWD, OLDPWD, SHLVL and `_` are the shell's own; 3 is the listing itself.
    let lines: Vec<&str> = lines
        .lines()
        .filter(|line| !["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|own| line.starts_with(own)))
        .collect();
    assert_eq!(lines, ["PATH=/usr/bin:/bin", "TOKEN=hunter2", "/usr", "0", "1", "2", "3"]);
}

#[tokio::test]
async fn a_program_starts_with_default_signals_in_a_session_of_its_own() {
    let cage = cage(TestGate::default()).await;
    let running = cage.link.run(program(["cat", "/proc/self/status", "/proc/self/stat"])).await.unwrap();
    let text = text(running.stdout).await;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    // Signals 32 and 33 are glibc's own; its posix_spawn, which started init here, leaves them ignored.
    let glibc = 0b11 << 31;
    for set in ["SigBlk:", "SigIgn:", "SigCgt:"] {
        assert_eq!(u64::from_str_radix(&field(set), 16).unwrap() & !glibc, 0, "{set}");
    }
    let stat: Vec<&str> = text.lines().last().unwrap().rsplit(") ").next().unwrap().split(' ').collect();
    let (group, session, terminal) = (stat[2], stat[3], stat[4]);
    assert_eq!((group, session, terminal), (&*field("Pid:"), &*field("Pid:"), "0"));
}

#[tokio::test]
async fn programs_run_one_after_the_other_but_not_at_once() {
    let cage = cage(TestGate::default()).await;
    for n in 0..5 {
        let mut running = cage.link.run(shell(&format!("exit {n}"))).await.unwrap();
        assert_eq!(exit(&mut running.handle).await, Exit::Code(n));
    }
    let first = cage.link.run(program(["sleep", "1000"])).await.unwrap();
    assert!(matches!(cage.link.run(shell("true")).await, Err(LinkError::Busy)));
    drop(first);
    // The turn comes back when the first is let go.
    let mut second = loop {
        match cage.link.run(shell("exit 3")).await {
            Err(LinkError::Busy) => tokio::task::yield_now().await,
            other => break other.unwrap(),
        }
    };
    assert_eq!(exit(&mut second.handle).await, Exit::Code(3));
}

#[tokio::test]
async fn says_why_a_program_does_not_start() {
    let cage = cage(TestGate::default()).await;
    for (argv, why) in
        [(["/nowhere/x"], "No such file"), (["no-such-program"], "No such file"), (["/etc"], "denied")]
    {
        // Many times: the reaper must not take away the child that failed.
        for _ in 0..20 {
            match cage.link.run(program(argv)).await.map(drop) {
                Err(LinkError::NotStarted { program, why: said }) => {
                    assert_eq!(program.to_string(), argv[0]);
                    assert!(said.to_string().contains(why), "{said}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let mut lost = shell("true");
    lost.cwd = "/nowhere".into();
    assert!(matches!(cage.link.run(lost).await.map(drop), Err(LinkError::NotStarted { .. })));
}

#[tokio::test]
async fn tells_a_signal_from_a_status() {
    let cage = cage(TestGate::default()).await;
    let mut running = cage.link.run(shell("kill -ABRT $$")).await.unwrap();
    assert_eq!(exit(&mut running.handle).await, Exit::Signal(6));
}

/// A program that says `ready` and then ignores TERM and the end of its input.
const STUBBORN: &str = "trap '' TERM; echo ready; while :; do sleep 1000; done";

fn ending(finish: u64, terminate: u64) -> Ending {
    let millis = Duration::from_millis;
    Ending { finish: Some(millis(finish)), terminate: millis(terminate), drain: millis(100) }
}

#[tokio::test]
async fn a_program_that_ignores_the_end_of_its_input_gets_term() {
    let cage = cage(TestGate::default()).await;
    let mut asked = shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    asked.ending = ending(50, 20_000);
    let Running { mut stdin, mut stdout, stderr: _stderr, mut handle } = cage.link.run(asked).await.unwrap();
    assert_eq!(line(&mut stdout).await, "ready");
    stdin.shutdown().await.unwrap();
    assert_eq!(exit(&mut handle).await, Exit::Code(9));
}

#[tokio::test]
async fn a_program_that_ignores_term_too_is_killed() {
    let cage = cage(TestGate::default()).await;
    let mut asked = shell(STUBBORN);
    asked.ending = ending(50, 50);
    let Running { stdin, mut stdout, stderr: _stderr, mut handle } = cage.link.run(asked).await.unwrap();
    assert_eq!(line(&mut stdout).await, "ready");
    let begun = Instant::now();
    drop(stdin);
    assert_eq!(exit(&mut handle).await, Exit::Signal(9));
    assert!(begun.elapsed() >= Duration::from_millis(100), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_schedule_begins_even_if_the_input_is_stuck() {
    let cage = cage(TestGate::default()).await;
    let mut asked = shell(STUBBORN);
    asked.ending = ending(50, 50);
    let Running { mut stdin, mut stdout, stderr: _stderr, mut handle } = cage.link.run(asked).await.unwrap();
    assert_eq!(line(&mut stdout).await, "ready");
    // More than the program's pipe takes, less than the link does.
    stdin.write_all(&[0; 200_000]).await.unwrap();
    stdin.shutdown().await.unwrap();
    assert_eq!(exit(&mut handle).await, Exit::Signal(9));
}

#[tokio::test]
async fn a_tool_may_work_on_after_the_end_of_its_input() {
    let cage = cage(TestGate::default()).await;
    let mut asked = shell("cat; sleep 0.3; exit 4");
    asked.ending = Ending { terminate: Duration::ZERO, ..Ending::TOOL };
    let Running { stdin, stdout: _stdout, stderr: _stderr, mut handle } = cage.link.run(asked).await.unwrap();
    drop(stdin);
    assert_eq!(exit(&mut handle).await, Exit::Code(4));
}

#[tokio::test]
async fn terminate_means_term_and_then_kill() {
    let cage = cage(TestGate::default()).await;
    for (script, expected) in [
        ("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", Exit::Code(5)),
        (STUBBORN, Exit::Signal(9)),
    ] {
        let mut asked = shell(script);
        asked.ending = ending(60_000, if expected == Exit::Code(5) { 60_000 } else { 50 });
        let mut running = cage.link.run(asked).await.unwrap();
        assert_eq!(line(&mut running.stdout).await, "ready");
        running.terminate().await;
        running.terminate().await;
        assert_eq!(exit(&mut running.handle).await, expected);
    }
}

#[tokio::test]
async fn an_orphan_that_holds_the_output_open_is_killed_not_waited_for() {
    let cage = cage(TestGate::default()).await;
    let Running { stdin: _stdin, stdout, stderr: _stderr, mut handle } =
        cage.link.run(shell("sleep 1000 & echo $!; exit 2")).await.unwrap();
    assert_eq!(exit(&mut handle).await, Exit::Code(2));
    let orphan: u32 = text(stdout).await.trim().parse().unwrap();
    gone(orphan).await;
}

/// Waits until no process of this number is there, or only its zombie.
async fn gone(pid: u32) {
    let gone = async {
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, gone).await.expect("the process is still there");
}

#[tokio::test]
async fn output_written_just_before_the_end_arrives() {
    let cage = cage(TestGate::default()).await;
    let mut running = cage.link.run(shell("head -c 1000000 /dev/zero; echo x >&2; exit 1")).await.unwrap();
    let (out, error) = tokio::join!(all(running.stdout), all(running.stderr));
    assert_eq!((out.len(), &error[..]), (1_000_000, &b"x\n"[..]));
    assert_eq!(exit(&mut running.handle).await, Exit::Code(1));
}

#[tokio::test]
async fn a_dropped_handle_kills_the_program_and_its_children() {
    let cage = cage(TestGate::default()).await;
    let mut running = cage.link.run(shell("sleep 1000 & echo $!; echo $$; wait")).await.unwrap();
    let child: u32 = line(&mut running.stdout).await.parse().unwrap();
    let program: u32 = line(&mut running.stdout).await.parse().unwrap();
    drop(running);
    gone(child).await;
    gone(program).await;
}

#[tokio::test]
async fn everything_dies_with_the_link() {
    // However the launcher goes: orderly, by dropping the link, or cut off.
    for way in ["close", "drop", "abort"] {
        let Cage { link, mut init } = cage(TestGate::default()).await;
        let mut running =
            link.run(shell("trap '' TERM HUP; echo $$; while :; do sleep 1000; done")).await.unwrap();
        let program: u32 = line(&mut running.stdout).await.parse().unwrap();
        match way {
            "close" => link.close().await,
            "drop" => drop(link),
            _ => link.driver.abort(),
        }
        timeout(LONG, init.wait()).await.unwrap().unwrap();
        gone(program).await;
        assert!(timeout(LONG, running.exit()).await.unwrap().is_err(), "{way}");
    }
}

#[tokio::test]
async fn everything_pending_ends_when_init_dies() {
    let Cage { link, mut init } = cage(TestGate::default()).await;
    let Running { mut stdin, stdout, stderr, mut handle } = link.run(shell("exec sleep 1000")).await.unwrap();
    // Full, so that the next write waits.
    let writer = tokio::spawn(async move { while stdin.write_all(&[0; 65536]).await.is_ok() {} });
    let readers = tokio::spawn(async move { tokio::join!(all(stdout), all(stderr)) });
    init.kill().await.unwrap();
    assert!(matches!(timeout(LONG, handle.exit()).await.unwrap(), Err(LinkError::Broken)));
    timeout(LONG, writer).await.unwrap().unwrap();
    timeout(LONG, readers).await.unwrap().unwrap();
    assert!(matches!(link.run(shell("true")).await.map(drop), Err(LinkError::Broken)));
    assert!(matches!(link.get("/etc/hostname", 100).await, Err(LinkError::Broken)));
    link.close().await;
}

#[tokio::test]
async fn a_file_goes_in_and_comes_out() {
    let cage = cage(TestGate::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/file");
    let path = path.to_str().unwrap();
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    cage.link.put(path, 0o640, &bytes[..], bytes.len() as u64).await.unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o7777, 0o640);
    assert!(cage.link.get(path, 300_000).await.unwrap() == bytes);
    assert!(matches!(cage.link.get(path, 299_999).await, Err(LinkError::File { .. })));
    cage.link.put(path, 0o600, &b""[..], 0).await.unwrap();
    assert_eq!(cage.link.get(path, 0).await.unwrap(), b"");
}

#[tokio::test]
async fn says_why_a_file_cannot_be_moved() {
    let cage = cage(TestGate::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("/etc/passwd", path("link")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(pipe.success());
    for bad in [path("none"), path("link"), path("pipe"), path("")] {
        assert!(matches!(cage.link.get(&bad, 1000).await, Err(LinkError::File { .. })), "{bad}");
    }
    for bad in [path("link"), path("link/x"), "relative".into()] {
        let put = cage.link.put(&bad, 0o600, &[7; 100_000][..], 100_000).await;
        assert!(matches!(put, Err(LinkError::File { .. })), "{bad}");
    }
    let short = cage.link.put(&path("short"), 0o600, &b"four"[..], 5).await;
    assert!(matches!(short, Err(LinkError::File { .. })));
    // The cage is none the worse.
    let mut running = cage.link.run(shell("exit 0")).await.unwrap();
    assert_eq!(exit(&mut running.handle).await, Exit::Code(0));
}

mod network;
mod stranger;
