//! What the launcher does with a link to an init that it does not trust: everything, once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pinfold::cage::gate::{Duplex, Gate, GateRefused};
use pinfold::cage::link::{Ending, Link, Program};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// Lets every other name in and out, to an end that says nothing.
struct Open;

impl Gate for Open {
    fn ports(&self) -> Vec<u16> {
        vec![443, 5432]
    }

    fn localhost(&self) -> Vec<u16> {
        vec![5432]
    }

    fn name(&self, name: &str) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(name.len() % 2 == 0))
    }

    fn connect(&self, name: &str, _: u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>> {
        let answer = match name.len() % 2 {
            0 => Ok(Box::new(tokio::io::duplex(64).0) as Box<dyn Duplex>),
            _ => Err(GateRefused::new("no")),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// Opens the link and uses it, whatever is at its other end. Time is that of a paused clock: what no clock ends is a hang.
pub async fn uses(link: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let used = async {
        let Ok(link) = Link::open(link, Arc::new(Open)).await else { return };
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
}
