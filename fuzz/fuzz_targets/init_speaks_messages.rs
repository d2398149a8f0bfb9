//! An init that speaks yamux well and lies in it: messages of the protocol in any order, bodies of any kind.
#![no_main]

mod launcher;

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pinfold_init::mux::{Mode, Mux};
use pinfold_init::protocol::{Asking, Done, Event, Facts, Found, Greeting, Mount, Mounted, Rooted, VERSION};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// One thing that init does.
#[derive(Arbitrary, Debug)]
enum Move {
    /// Answers the next stream that the launcher opened with a message of the protocol, and these bytes.
    Answer(Said, Vec<u8>),
    /// Opens a stream of its own, with this message and these bytes.
    Ask(Said, Vec<u8>),
    /// Drops the oldest stream it holds.
    Drop,
    /// Ends the writing side of the oldest stream it holds.
    End,
}

/// A message: of the protocol, or not.
#[derive(Arbitrary, Debug)]
enum Said {
    Ready { version: bool, seccomp: u32, hostname: String, nameservers: Vec<String> },
    Started,
    NotStarted(String),
    Exited(i32),
    Killed(i32),
    Written,
    Failed(String),
    File(u64),
    MountsDone,
    At(String, bool, Option<(u64, u64)>),
    Names,
    Question(String),
    Connect(String, u16),
    Json(String),
    Length(u32),
}

impl Said {
    fn bytes(&self) -> Vec<u8> {
        let value = match self {
            Self::Ready { version, seccomp, hostname, nameservers } => json(Greeting::Ready {
                version: if *version { VERSION } else { 0 },
                facts: Box::new(Facts {
                    pid: 1,
                    seccomp: *seccomp,
                    hostname: hostname.clone(),
                    nameservers: nameservers.clone(),
                    ..Facts::default()
                }),
            }),
            Self::Started => json(Event::Started),
            Self::NotStarted(why) => json(Event::NotStarted { why: why.clone() }),
            Self::Exited(code) => json(Event::Exited(*code)),
            Self::Killed(signal) => json(Event::Killed(*signal)),
            Self::Written => json(Done::Written),
            Self::Failed(why) => json(Done::Failed { why: why.clone() }),
            Self::File(length) => json(Found::File { length: *length }),
            Self::MountsDone => json(Mounted::Done),
            Self::At(at, shared, root) => json(Mounted::At(Mount {
                at: at.clone(),
                read_only: true,
                shared: *shared,
                plain: true,
                executed: false,
                kind: "tmpfs".to_owned(),
                bytes: Some(1 << 20),
                root: root.map(|(device, inode)| Rooted { device, inode, uid: 0, gid: 0 }),
            })),
            Self::Names => json(Asking::Names),
            Self::Question(name) => serde_json::json!({"name": name}),
            Self::Connect(name, port) => serde_json::json!({"connect": {"name": name, "port": port}}),
            Self::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| json(text)),
            Self::Length(length) => return length.to_be_bytes().to_vec(),
        };
        let body = value.to_string().into_bytes();
        let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
        bytes.extend(body);
        bytes
    }
}

/// A message of the protocol's own types, so that this keeps in step with it.
fn json(message: impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(message).unwrap()
}

fuzz_target!(|moves: Vec<Move>| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (here, there) = tokio::io::duplex(1 << 20);
        let (mux, opener) = Mux::new(there, Mode::Server);
        let (give, mut take) = tokio::sync::mpsc::unbounded_channel();
        let driver = tokio::spawn(mux.run(move |stream| drop(give.send(stream))));
        let cage = tokio::spawn(async move {
            let mut held = std::collections::VecDeque::new();
            for made in moves.into_iter().take(200) {
                let soon = Duration::from_secs(1);
                match made {
                    Move::Answer(said, rest) => {
                        if let Ok(Some(mut stream)) = tokio::time::timeout(soon, take.recv()).await {
                            let bytes = [said.bytes(), rest].concat();
                            let _ = tokio::time::timeout(soon, stream.write_all(&bytes)).await;
                            let _ = tokio::time::timeout(soon, stream.flush()).await;
                            held.push_back(stream);
                        }
                    }
                    Move::Ask(said, rest) => {
                        if let Ok(Ok(mut stream)) = tokio::time::timeout(soon, opener.open()).await {
                            let bytes = [said.bytes(), rest].concat();
                            let _ = tokio::time::timeout(soon, stream.write_all(&bytes)).await;
                            let _ = tokio::time::timeout(soon, stream.flush()).await;
                            let mut answer = [0; 256];
                            let _ = tokio::time::timeout(soon, stream.read(&mut answer)).await;
                            held.push_back(stream);
                        }
                    }
                    Move::Drop => drop(held.pop_front()),
                    Move::End => {
                        if let Some(stream) = held.front_mut() {
                            let _ = tokio::time::timeout(soon, stream.shutdown()).await;
                        }
                    }
                }
            }
            tokio::time::sleep(Duration::from_secs(3_600)).await;
        });
        launcher::uses(here).await;
        cage.abort();
        driver.abort();
    });
});
