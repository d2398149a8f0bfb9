//! An init that is not ours: what it says is hostile.

use super::*;

/// The link's other end, in the hands of a test.
struct Stranger {
    opener: Opener,
    opened: tokio::sync::mpsc::UnboundedReceiver<Stream>,
}

fn stranger(stream: tokio::io::DuplexStream) -> Stranger {
    let (mux, opener) = Mux::new(stream, Mode::Server);
    let (report, opened) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(mux.run(move |stream| {
        let _ = report.send(stream);
    }));
    Stranger { opener, opened }
}

impl Stranger {
    /// Takes the next stream and its first message.
    async fn next(&mut self) -> (Stream, Vec<u8>) {
        let mut stream = timeout(LONG, self.opened.recv()).await.unwrap().unwrap();
        let message = message::read_bytes(&mut stream, protocol::MAX_FROM_LAUNCHER).await.unwrap();
        (stream, message)
    }

    async fn greet(&mut self, greeting: &Greeting) {
        let (mut hello, _) = self.next().await;
        message::write(&mut hello, greeting).await.unwrap();
    }

    async fn say(&self, bytes: &[u8]) -> Stream {
        let mut stream = self.opener.open().await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }
}

fn ready(version: u32) -> Greeting {
    Greeting::Ready { version, facts: Box::default() }
}

async fn linked(gate: TestGate) -> (Link, Stranger) {
    let (near, far) = duplex(1 << 16);
    let mut stranger = stranger(far);
    let greeting = ready(protocol::VERSION);
    let link = tokio::join!(Link::open(near, Arc::new(gate)), stranger.greet(&greeting)).0;
    (link.unwrap(), stranger)
}

async fn misbehaved(link: &Link) -> &'static str {
    timeout(LONG, link.ends.ended()).await.expect("the link is still up");
    match link.run(shell("true")).await.map(drop) {
        Err(LinkError::Misbehaved(what)) => what,
        other => panic!("{other:?}"),
    }
}

/// A version that is not ours.
const OTHER: u32 = protocol::VERSION + 1;

#[tokio::test]
async fn refuses_an_init_of_another_version_or_none_at_all() {
    for (greeting, expected) in [
        (ready(OTHER), "version"),
        (Greeting::Unable { version: OTHER, why: "x".into() }, "version"),
        (Greeting::Unable { version: protocol::VERSION, why: "\u{1b}[2J".into() }, "unable"),
    ] {
        let (near, far) = duplex(1 << 16);
        let mut stranger = stranger(far);
        let opened =
            tokio::join!(Link::open(near, Arc::new(TestGate::default())), stranger.greet(&greeting)).0;
        let got = match opened.map(drop) {
            Err(LinkError::Version { theirs: OTHER }) => "version",
            Err(LinkError::Unable { why }) if !why.to_string().contains('\u{1b}') => "unable",
            other => panic!("{other:?}"),
        };
        assert_eq!(got, expected);
    }
    let (near, far) = duplex(64);
    drop(far);
    let opened = Link::open(near, Arc::new(TestGate::default())).await;
    assert!(matches!(opened.map(drop), Err(LinkError::Broken)));
}

#[tokio::test]
async fn refuses_a_stream_that_says_nothing_known() {
    for bytes in [
        &b"\0\0\0\x02{}"[..],
        b"\0\0\0\x07\"names2",
        b"\0\0\0\x09\"sudo-me!\"",
        b"\0\x01\0\x01",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x2e{\"connect\":{\"name\":\"a\\u0000.example\",\"port\":1}}",
    ] {
        let (link, stranger) = linked(TestGate::default()).await;
        let _stream = stranger.say(bytes).await;
        assert!(misbehaved(&link).await.starts_with("a message"), "{bytes:?}");
    }
}

#[tokio::test]
async fn refuses_a_second_stream_of_questions() {
    let (link, stranger) = linked(TestGate::default()).await;
    let names = message::encode(&Asking::Names).unwrap();
    let _first = stranger.say(&names).await;
    let _second = stranger.say(&names).await;
    assert_eq!(misbehaved(&link).await, "a second stream of questions");
}

#[tokio::test]
async fn refuses_connections_beyond_the_bound() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gate = TestGate { upstream: Some(upstream.local_addr().unwrap()), ..TestGate::default() };
    let _accepted = tokio::spawn(async move {
        let mut accepted = Vec::new();
        while let Ok(connection) = upstream.accept().await {
            accepted.push(connection);
        }
    });
    let (_link, stranger) = linked(gate).await;
    let connect = message::encode(&Asking::Connect { name: "a.example".parse().unwrap(), port: 1 }).unwrap();
    let mut streams = Vec::new();
    for n in 0..=MAX_CONNECTIONS {
        let mut stream = stranger.say(&connect).await;
        let read = timeout(LONG, message::read(&mut stream, 64)).await;
        let Connected { open } = read.unwrap_or_else(|_| panic!("no answer to connection {n}")).unwrap();
        assert_eq!(open, n < MAX_CONNECTIONS, "{n}");
        streams.push(stream);
    }
}

#[tokio::test]
async fn refuses_a_file_longer_than_was_asked_for() {
    let (link, mut stranger) = linked(TestGate::default()).await;
    let lie = async {
        let (mut stream, _) = stranger.next().await;
        message::write(&mut stream, &Found::File { length: 11 }).await.unwrap();
        stream
    };
    let (got, _stream) = tokio::join!(link.get("/x", 10), lie);
    assert!(matches!(got, Err(LinkError::Misbehaved(_))), "{got:?}");
}

#[tokio::test]
async fn refuses_an_end_before_the_start_and_a_start_after_it() {
    for events in [vec![Event::Exited(0)], vec![Event::Started, Event::Started]] {
        let (link, mut stranger) = linked(TestGate::default()).await;
        let lie = async {
            for _ in 0..4 {
                let (mut stream, opening) = stranger.next().await;
                if matches!(serde_json::from_slice(&opening).unwrap(), Opening::Run(_)) {
                    for event in &events {
                        message::write(&mut stream, event).await.unwrap();
                    }
                    return stream;
                }
            }
            panic!("no run");
        };
        let (running, _stream) = tokio::join!(link.run(shell("true")), lie);
        let error = match running {
            Ok(mut running) => timeout(LONG, running.exit()).await.unwrap().unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, LinkError::Misbehaved(_)), "{error:?}");
    }
}

#[tokio::test]
async fn refuses_crumbs_that_pile_up_but_not_those_that_are_read() {
    for read in [true, false] {
        let (link, mut stranger) = linked(TestGate::default()).await;
        let crumbs = async {
            let (mut control, mut output) = (None, None);
            for _ in 0..4 {
                let (mut stream, opening) = stranger.next().await;
                match serde_json::from_slice(&opening).unwrap() {
                    Opening::Run(_) => {
                        message::write(&mut stream, &Event::Started).await.unwrap();
                        control = Some(stream);
                    }
                    Opening::Stream { which: protocol::Standard::Output, .. } => output = Some(stream),
                    _ => {}
                }
            }
            (control, output.unwrap())
        };
        let (running, (_control, mut output)) = tokio::join!(link.run(shell("true")), crumbs);
        let Running { stdin: _stdin, mut stdout, stderr: _stderr, handle: _handle } = running.unwrap();
        let write = async {
            for _ in 0..100_000 {
                output.write_all(b"x").await?;
            }
            output.shutdown().await
        };
        if read {
            let mut all = Vec::new();
            let (written, read) = tokio::join!(write, timeout(LONG, stdout.read_to_end(&mut all)));
            written.unwrap();
            read.unwrap().unwrap();
            assert_eq!(all.len(), 100_000);
        } else {
            // Whether the last of them can still be written does not matter.
            let _ = timeout(LONG, write).await.unwrap();
            timeout(LONG, link.ends.ended()).await.expect("the link is still up");
        }
    }
}

/// Bytes that get past the first look: frames of the right shape with hostile contents. yamux's header is version,
/// type, flags (2), stream (4), length (4).
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let frame = (
        0..5_u8,
        0..16_u16,
        prop_oneof![0..8_u32, any::<u32>()],
        prop_oneof![0..64_u32, 250_000..270_000_u32, any::<u32>()],
        proptest::collection::vec(any::<u8>(), 0..64),
    );
    let frame = frame.prop_map(|(kind, flags, stream, length, body)| {
        let mut bytes = vec![0, kind];
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&body);
        bytes
    });
    proptest::collection::vec(frame, 0..40).prop_map(|frames| frames.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Not one panic, and the link ends when the stranger hangs up, whatever it said.
    #[test]
    fn no_bytes_from_init_make_the_launcher_panic_or_hang(
        bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..600), frames()],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = duplex(1 << 16);
            let stranger = async {
                // Refused half-way, for what it said so far.
                let _ = far.write_all(&bytes).await;
                let _ = far.shutdown().await;
                let _ = tokio::io::copy(&mut far, &mut tokio::io::sink()).await;
            };
            let opened = timeout(LONG, async {
                tokio::join!(Link::open(near, Arc::new(TestGate::default())), stranger).0
            }).await.expect("the launcher hangs");
            assert!(opened.is_err());
        });
    }
}
