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

async fn cage_with(gate: Arc<TestGate>) -> Cage {
    let mut init = Command::new(concat!(env!("OUT_DIR"), "/pinfold-init"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stream = tokio::io::join(init.stdout.take().unwrap(), init.stdin.take().unwrap());
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
