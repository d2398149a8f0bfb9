//! Does it all hold in a real engine?
//!
//! One program, run when asked for (`cargo test --test engine`), since it needs a Docker engine, Node with npm on this
//! host and a package registry. It starts the built `pinfold` as users and AI clients do and looks at what comes out,
//! at the exit status, at the engine, and, through a probing server, at the cage from the inside.
//!
//! Invariants: every home directory is a test's own, or a shared fixture's that only adds to it; what a test started
//! is gone at its end, and the last thing this program does is to ask the engine whether anything is left.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test program's own report")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod engine;
mod index;
mod mounted;
mod package;
mod patience;
mod pinfold;
mod second_engine;
mod session;
mod terminal;

mod bare;
mod postgres;

mod builds;
mod clients;
mod consent;
mod disk;
mod egress;
mod ends;
mod ends_matrix;
mod engine_faults;
mod engines;
mod errors;
mod filesystem;
mod first_seen;
mod folders;
mod images;
mod kept;
mod kept_secrets;
mod limits;
mod localhost;
mod noise;
mod people;
mod pins;
mod podman;
mod profile;
mod python;
mod registry;
mod registry_faults;
mod screen;
mod secrets;
mod servers;
mod stops;
mod trust;
mod wheels;

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// The tests of a module, by their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub fn tests() -> Vec<libtest_mimic::Trial> {
            let module = module_path!().rsplit("::").next().unwrap_or_default();
            vec![$(
                libtest_mimic::Trial::test(format!("{module}::{}", stringify!($name)), || { $name(); Ok(()) })
            ),*]
        }
    };
}
use tests;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    if arguments.test_threads.is_none() {
        // most of a test is waiting for an engine; more at once than this and the machine is what is measured
        arguments.test_threads = Some(3);
    }
    let tests = [
        profile::tests(),
        servers::tests(),
        ends::tests(),
        ends_matrix::tests(),
        stops::tests(),
        limits::tests(),
        egress::tests(),
        localhost::tests(),
        secrets::tests(),
        screen::tests(),
        noise::tests(),
        consent::tests(),
        pins::tests(),
        people::tests(),
        errors::tests(),
        folders::tests(),
        filesystem::tests(),
        kept::tests(),
        images::tests(),
        registry::tests(),
        kept_secrets::tests(),
        python::tests(),
        registry_faults::tests(),
        engine_faults::tests(),
        engines::tests(),
        podman::tests(),
        disk::tests(),
        first_seen::tests(),
        trust::tests(),
        wheels::tests(),
        builds::tests(),
        clients::tests(),
    ];
    let tests: Vec<_> = tests.into_iter().flatten().collect();
    if arguments.list {
        libtest_mimic::run(&arguments, tests).exit();
    }
    // before tests that need it run side by side
    pinfold::make_runtime();
    // what a test has to say is told at the end; where it failed, only here
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            eprintln!("failed at {place}");
        }
    }));
    let conclusion = libtest_mimic::run(&arguments, tests);
    let left = mounted::clean_up();
    for what in &left {
        eprintln!("left behind: {what}");
    }
    if conclusion.has_failed() || !left.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
