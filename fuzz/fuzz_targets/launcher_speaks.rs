//! Whatever comes down the link, init's readers of it end without a panic, and allocate no more than they accept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pinfold_init::message;
use pinfold_init::mux::{Mode, Mux};
use pinfold_init::protocol::{Answer, Connected, MAX_FROM_LAUNCHER, Opening, Order};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fuzz_target!(|bytes: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        // one message of each kind that init reads
        if let Ok(read) = message::read_bytes(&mut &bytes[..], MAX_FROM_LAUNCHER).await {
            let _ = serde_json::from_slice::<Opening<'_>>(&read);
            let _ = serde_json::from_slice::<Order>(&read);
            let _ = serde_json::from_slice::<Answer>(&read);
            let _ = serde_json::from_slice::<Connected>(&read);
        }
        // and the bytes as a link
        let (mut here, there) = tokio::io::duplex(1 << 20);
        let (mux, _opener) = Mux::new(there, Mode::Server);
        let bytes = bytes.to_vec();
        let sender = tokio::spawn(async move {
            let _ = here.write_all(&bytes).await;
            let _ = here.shutdown().await;
            let mut rest = Vec::new();
            let _ = here.read_to_end(&mut rest).await;
        });
        let accept = |mut stream: pinfold_init::mux::Stream| {
            tokio::spawn(async move {
                if let Ok(read) = message::read_bytes(&mut stream, MAX_FROM_LAUNCHER).await {
                    let _ = serde_json::from_slice::<Opening<'_>>(&read);
                }
                let mut rest = Vec::new();
                let _ = (&mut stream).take(1 << 20).read_to_end(&mut rest).await;
            });
        };
        let run = tokio::time::timeout(std::time::Duration::from_secs(3_600), mux.run(accept)).await;
        drop(run);
        sender.abort();
    });
});
