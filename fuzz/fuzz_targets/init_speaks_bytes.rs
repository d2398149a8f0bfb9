//! Whatever bytes come out of a cage, the launcher's end of the link ends, without a panic.
#![no_main]

mod launcher;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
        launcher::uses(here).await;
        cage.abort();
    });
});
