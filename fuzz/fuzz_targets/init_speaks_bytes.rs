//! Whatever bytes come out of a cage, the launcher's end of the link ends, without a panic.
#![no_main]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use libfuzzer_sys::fuzz_target;
use pinfold::cage::gate::{Duplex, Gate, GateRefused};
use pinfold::cage::link::{Ending, Link, Program};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Lets every name in, and every connection lead to an end that says nothing.
struct Open;

impl Gate for Open {
    fn ports(&self) -> Vec<u16> {
        vec![443]
    }

    fn localhost(&self) -> Vec<u16> {
        Vec::new()
    }

    fn name(&self, _: &str) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>> {
        let (here, _) = tokio::io::duplex(64);
        Box::pin(std::future::ready(Ok(Box::new(here) as Box<dyn Duplex>)))
    }
}

fuzz_target!(|bytes: &[u8]| {
    // time stands still but for the waits of the launcher's own, so a hang is a wait that no clock ends
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (here, mut there) = tokio::io::duplex(1 << 20);
        let bytes = bytes.to_vec();
        let cage = tokio::spawn(async move {
            let _ = there.write_all(&bytes).await;
            let mut sink = vec![0; 4096];
            // it goes on listening for a while, as an init that has nothing more to say
            let quiet = async { while there.read(&mut sink).await.is_ok_and(|read| read > 0) {} };
            let _ = tokio::time::timeout(Duration::from_secs(3_600), quiet).await;
        });
        let used = async {
            let Ok(link) = Link::open(here, Arc::new(Open)).await else { return };
            let _ = link.mounts().await;
            let _ = link.get("/x", 4_096).await;
            let _ = link.put("/x", 0o600, &b"bytes"[..], 5).await;
            let program = Program {
                argv: vec!["/bin/x".to_owned().into()],
                env: Vec::new(),
                cwd: "/".into(),
                ending: Ending::SERVER,
            };
            if let Ok(mut running) = link.run(program).await {
                let mut out = Vec::new();
                let _ = tokio::time::timeout(Duration::from_secs(60), running.stdout.read_to_end(&mut out)).await;
                let _ = tokio::time::timeout(Duration::from_secs(60), running.exit()).await;
            }
            link.close().await;
        };
        tokio::time::timeout(Duration::from_secs(7_200), used).await.expect("the launcher waits for ever");
        cage.abort();
    });
});
