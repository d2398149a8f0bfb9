//! Who collects the dead?
//!
//! A thread that waits for any child, so that orphans, which become PID 1's children, do not pile up as zombies.
//! It looks first and takes second, under the lock that starting a program holds too: the standard library collects a child whose exec failed by
//! itself, and would not find it if the thread were quicker.

use std::collections::HashMap;
use std::io;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pinfold_init::protocol::Event;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, WaitOptions, WaitStatus, wait, waitid};
use tokio::sync::{oneshot, watch};

/// Starts programs and tells how they ended.
#[derive(Clone)]
pub struct Reaper {
    shared: Arc<Shared>,
    childless: watch::Receiver<bool>,
}

struct Shared {
    state: Mutex<State>,
    child_started: Condvar,
}

#[derive(Default)]
struct State {
    /// Started since the thread last found no child.
    started: bool,
    awaited: HashMap<u32, oneshot::Sender<Event>>,
}

impl Reaper {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), child_started: Condvar::new() });
        let (report, childless) = watch::channel(true);
        let own = shared.clone();
        std::thread::Builder::new()
            .name("reaper".into())
            .stack_size(64 * 1024)
            .spawn(move || own.reap(&report))?;
        Ok(Self { shared, childless })
    }

    /// Starts `command`. The receiver gets [`Event::Exited`] or [`Event::Killed`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<(Child, oneshot::Receiver<Event>)> {
        let (ended, end) = oneshot::channel();
        let mut state = self.shared.lock();
        let child = command.spawn()?;
        crate::sys::started(child.id());
        state.awaited.insert(child.id(), ended);
        state.started = true;
        self.shared.child_started.notify_one();
        Ok((child, end))
    }

    /// Returns when no child is left; every process in a cage is a descendant of its PID 1.
    pub async fn childless(&mut self) {
        // An error means that the thread is gone, and nothing will change any more.
        let _ = self.childless.wait_for(|childless| *childless).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic is the end of the process, so there is no poison.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reap(&self, report: &watch::Sender<bool>) {
        loop {
            let mut state = self.lock();
            while !state.started {
                state = self.child_started.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.started = false;
            report.send_replace(false);
            drop(state);
            loop {
                match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                    Ok(_) => self.take_one(),
                    Err(Errno::INTR) => {}
                    // No child is left.
                    Err(_) => break,
                }
            }
            let state = self.lock();
            if !state.started {
                report.send_replace(true);
            }
        }
    }

    fn take_one(&self) {
        let mut state = self.lock();
        // Nothing: it was the one whose exec failed.
        let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) else { return };
        let awaited =
            u32::try_from(pid.as_raw_nonzero().get()).ok().and_then(|pid| state.awaited.remove(&pid));
        if let Some(awaited) = awaited {
            // Nobody waits any more: the link is going down.
            let _ = awaited.send(event(status));
        }
    }
}

fn event(status: WaitStatus) -> Event {
    match status.terminating_signal() {
        Some(signal) => Event::Killed(signal),
        None => Event::Exited(status.exit_status().unwrap_or(-1)),
    }
}
