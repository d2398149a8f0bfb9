//! How fast is a caged server, next to the same server without a cage?
//!
//! Run by `scripts/bench`. Each figure has its comparison in the same run: ours and theirs take turns in short
//! blocks, so that whatever else the machine does falls on both, and medians are compared. The figures are those
//! of the real program, engine and package; nothing is mocked. What each figure is, and its budget, is in the
//! module that measures it.
//!
//! Invariant: what was there before is there afterwards, images, mounts and containers alike.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it measures")]

mod bare;
mod calls;
mod client;
mod door;
mod engine;
mod machine;
mod memory;
mod mounts;
mod remount;
mod report;
mod results;
mod samples;
mod screening;
mod start;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use bare::Bare;
use engine::Engine;
use mounts::Mounts;
use report::Report;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure everything, print the table and write the JSON
    Measure(Measure),
    /// Remove what a measurement made, ended or not
    Clean {
        /// The folder the measurement was given
        #[arg(long)]
        work: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
struct Measure {
    /// An empty folder to work in
    #[arg(long)]
    work: PathBuf,
    /// Where the figures go
    #[arg(long)]
    json: PathBuf,
    /// The npm package to start, with or without a version
    #[arg(long, default_value = "@modelcontextprotocol/server-everything")]
    package: String,
    /// The Python package to start, with or without a version
    #[arg(long, default_value = "mcp-server-time")]
    python: String,
    /// Measure these parts only
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Starts of each kind
    #[arg(long, default_value_t = 12)]
    starts: usize,
    /// Small calls on each side
    #[arg(long, default_value_t = 1_000)]
    calls: usize,
    /// 1 MiB results on each side
    #[arg(long, default_value_t = 120)]
    results: usize,
    /// Fail when a budget is passed
    #[arg(long)]
    check: bool,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The screen, in this process
    Screening,
    /// Mounting what is mounted
    Remount,
    /// From a config to the first answer
    Starts,
    /// What a small call costs more
    Calls,
    /// Results of 1 MiB, and memory after them
    Results,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Measure(asked) => measure(&asked),
        Command::Clean { work } => mounts::clean(&work).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("bench: {error}");
        ExitCode::FAILURE
    })
}

fn measure(asked: &Measure) -> Outcome<ExitCode> {
    let engine = Engine::find(&mounts::home(&asked.work))?;
    let mut report = Report::new(machine::facts(&engine)?);

    let wanted = |part| asked.only.is_empty() || asked.only.contains(&part);

    if wanted(Part::Screening) {
        step("screening");
        screening::measure(&mut report)?;
    }
    step("mounting, and copying the servers out of their images");
    let mounts = Mounts::make(&asked.work, &engine, &asked.package, &asked.python)?;
    let bare = Bare::copy(&asked.work, &engine, &mounts)?;
    report.fact("package", mounts.everything.release());
    report.fact("python_package", mounts.python.release());
    report.fact("node", bare.versions()?);
    if wanted(Part::Remount) {
        step("mounting again");
        remount::measure(&mut report, &mounts, &engine)?;
    }
    if wanted(Part::Starts) {
        step("starts");
        start::measure(&mut report, &mounts, &bare, asked.starts)?;
        start::python(&mut report, &mounts, &bare, asked.starts)?;
        start::timeline(&mut report, &mounts, &engine, asked.starts)?;
    }
    if wanted(Part::Calls) {
        step("small calls");
        calls::measure(&mut report, &mounts, &bare, asked.calls)?;
    }
    if wanted(Part::Results) {
        step("large results");
        results::measure(&mut report, &mounts, &bare, &engine, asked.results)?;
    }

    report.fact("load_at_end", machine::load()?);
    report.write(&asked.json)?;
    report.print(&asked.json);
    Ok(if asked.check && !report.holds() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is being done, for whoever waits.
fn step(what: &str) {
    eprintln!("bench: {what}");
}
