//! What if this program is told to stop?
//!
//! Heard here for every command: TERM, INT and HUP end what is being done, what it has open in the engine is cleared
//! away, and the process ends with a shell's convention for it. A second one ends it on the spot.
//!
//! A command that waits for a person's answer or for another command's lock holds its thread and does not hear; then
//! it is ended over its head, and the same is cleared away. A signal that whoever started us wants ignored (`nohup`, or
//! a shell's background) is.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::host::Host;
use crate::failure::{Code, Failure};

/// How long a command may take to hear of it.
const HEARING: Duration = Duration::from_millis(500);

/// Added to a signal's number, it is the exit status. Source: the section "Exit Status" of the shell's manual.
const BY_SIGNAL: u8 = 128;

/// The host of the one command of this process, once it is open.
pub type Opened = Arc<OnceLock<Arc<Host>>>;

/// Whether this process is told to stop.
#[derive(Clone)]
pub struct Stop {
    told: watch::Receiver<Option<u8>>,
    heard: Arc<AtomicBool>,
}

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// [`Failure`] if the system does not let it.
    pub fn listen(opened: &Opened) -> Result<Self, Failure> {
        let mut signals = Signals::new().map_err(|error| no_signals(&error))?;
        let (tell, told) = watch::channel(None);
        let heard = Arc::new(AtomicBool::new(false));
        let stop = Self { told, heard: Arc::clone(&heard) };
        let opened = Arc::downgrade(opened);
        tokio::spawn(async move {
            let status = signals.next().await;
            let _ = tell.send(Some(status));
            let deaf = async {
                tokio::time::sleep(HEARING).await;
                if heard.load(Ordering::Relaxed) {
                    return std::future::pending().await;
                }
                if let Some(host) = opened.upgrade().as_ref().and_then(|opened| opened.get()) {
                    host.leave(true).await;
                }
            };
            let status = tokio::select! {
                () = deaf => status,
                again = signals.next() => again,
            };
            std::process::exit(status.into());
        });
        Ok(stop)
    }

    /// Waits until it is; the exit status to end with.
    pub async fn told(&mut self) -> ExitCode {
        let status = match self.told.wait_for(Option::is_some).await {
            Ok(status) => *status,
            Err(_) => None,
        };
        // nobody listens any more: the program is ending by itself
        let Some(status) = status else { return std::future::pending().await };
        self.heard.store(true, Ordering::Relaxed);
        ExitCode::from(status)
    }
}

/// The signals that tell a process to stop.
struct Signals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let ignored = ignored();
        let listen = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| signal(kind)).transpose()
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// The exit status of the next.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            () = arrives(&mut self.terminate) => BY_SIGNAL + 15,
            () = arrives(&mut self.interrupt) => BY_SIGNAL + 2,
            () = arrives(&mut self.hang_up) => BY_SIGNAL + 1,
        }
    }
}

async fn arrives(signal: &mut Option<Signal>) {
    let arrived = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if arrived.is_none() {
        std::future::pending().await
    }
}

/// The signals that this process was started to ignore, one bit each from the lowest: SigIgn of proc_pid_status(5). None
/// where the system has no such file.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn no_signals(error: &std::io::Error) -> Failure {
    Failure::new(Code::Other, "Pinfold cannot start", error, "see that this user's limits are not reached")
}
