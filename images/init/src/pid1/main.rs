//! What is PID 1 of a cage, and why can the server it starts not harm it?
//!
//! A static program that starts what the launcher asks for, carries its three streams, reaps every orphan,
//! answers DNS and takes connections for the launcher to decide on, and ends everything when the link ends.
//! It holds no policy and keeps no secret: whatever it frees is wiped.
//!
//! Invariants: undumpable before anything else, so that a process of the same user reads none of its memory,
//! environment or files; no signal handler that matters (as PID 1, signals from inside that nobody handles are
//! ignored by the kernel, KILL and STOP too: pid_namespaces(7)); no descriptor of its own reaches a program; unsafe code only in `sys`;
//! nothing that the cage does is waited for without a bound where it could hold up the end of the cage.

#![deny(unsafe_code)]

mod addresses;
mod dns;
mod egress;
mod facts;
mod files;
mod house;
mod mounts;
mod program;
mod reaper;
mod stdio;
mod sys;

use std::io::{self, Write as _};
use std::process::ExitCode;

/// Everything freed is wiped first: arguments and environments that passed through hold credentials.
#[global_allocator]
static ALLOCATOR: sys::Wiping = sys::Wiping;

fn main() -> ExitCode {
    let ended = begin();
    // Before anything is said: whoever reads standard error may be slow.
    sys::end_everything();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The engine keeps or shows it; there is nobody else left to tell.
            let _ = writeln!(io::stderr(), "pinfold-init: {error}");
            ExitCode::FAILURE
        }
    }
}

fn begin() -> io::Result<()> {
    // First: until here the environment and memory are readable to any process of the same user.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // Before any is opened: what the engine leaked into us must not leak into a program.
    sys::keep_inherited_descriptors()?;
    let reaper = reaper::Reaper::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let served = runtime.block_on(async { house::serve(stdio::take_link()?, reaper).await });
    // Not waited for: a task that still writes to a stuck program must not hold up the end.
    runtime.shutdown_background();
    served
}
