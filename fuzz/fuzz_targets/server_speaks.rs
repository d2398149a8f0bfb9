//! Whatever a server prints, the session with its client ends, without a panic, and what reaches the client is lines
//! of JSON.
#![no_main]

use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use pinfold::proxy::{Policy, ScreenOnly, Streams, session};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLIENT: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"a","arguments":{}}}
{"jsonrpc":"2.0","id":3,"method":"prompts/list"}
{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"x://y"}}
"#;

fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let policy = Policy {
            server: "fuzzed".to_owned(),
            sampling: false,
            elicitation: false,
            opener_timeout: Duration::from_secs(30),
            ending: Duration::from_secs(4),
            gatekeeper: Arc::new(ScreenOnly),
            sightings: None,
        };
        let (mut client, from_client) = tokio::io::duplex(1 << 16);
        let (to_client, mut heard) = tokio::io::duplex(1 << 16);
        let (mut server, from_server) = tokio::io::duplex(1 << 16);
        let (to_server, mut got) = tokio::io::duplex(1 << 16);
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            let _ = client.write_all(CLIENT).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
        tokio::spawn(async move {
            let _ = server.write_all(&bytes).await;
            let _ = server.shutdown().await;
        });
        tokio::spawn(async move {
            let mut rest = Vec::new();
            let _ = got.read_to_end(&mut rest).await;
        });
        let reader = tokio::spawn(async move {
            let mut rest = Vec::new();
            let _ = heard.read_to_end(&mut rest).await;
            rest
        });
        let (events, _told) = tokio::sync::mpsc::channel(64);
        let streams = Streams { from_client, to_client, from_server, to_server };
        let ends = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            String::from("exit status 0")
        };
        let run = session(streams, policy, events, ends, std::future::pending());
        tokio::time::timeout(Duration::from_secs(3_600), run).await.expect("the session never ends");
        let heard = reader.await.unwrap();
        for line in heard.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).expect("the client hears JSON");
        }
    });
});
