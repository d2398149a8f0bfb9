//! What can a user ask for?
//!
//! One file a command. Each takes its arguments, as clap read them, to an outcome; [`main`] alone turns an outcome
//! into text and an exit status. Parsing meets nothing of the machine, so `--help` works on a broken one.

mod advice;
mod asked;
mod call;
mod completions;
mod doctor;
mod egress;
mod first_seen;
mod folders;
mod hearing;
mod host;
mod images;
mod list;
mod misplaced;
mod mount;
mod out;
mod outside;
mod packing;
mod pins;
mod place;
mod prepare;
mod run;
mod screen;
mod secret;
mod show;
mod start;
mod stdio;
mod stop;
mod tools;
mod trial;
mod trust;
mod unmount;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

use crate::failure::{Code, Failure};
use host::Host;
use out::{Colour, Out};
use stop::{Opened, Stop};

/// Run strangers' MCP servers in a cage: what was shown and agreed to, to the byte, with no network, no
/// privileges and no credentials beyond those named.
#[derive(Debug, Parser)]
#[command(name = "pinfold", version, max_term_width = 100)]
struct Cli {
    /// Results and errors as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing on the way; results and errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Say more on the way
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value_t)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what would run, and its digest; nothing is installed and nothing of it runs
    Show(show::Args),
    /// Show, ask, install, try, and pin a server
    Mount(mount::Args),
    /// Be the server to an AI client: MCP on standard input and output
    Run(run::Args),
    /// What a mounted server offers, each with the screen's verdict
    Tools(tools::Args),
    /// Call one tool of a mounted server
    Call(call::Args),
    /// The mounted servers
    List,
    /// What a mounted server may reach, what it reached, and what it tried in vain
    Egress(egress::Args),
    /// Forget a mounted server, its pin and its image
    Unmount(unmount::Args),
    /// Look at pins, or reset one
    Pins(pins::Args),
    /// Where mounted servers get their credentials from; no value is ever shown
    Secret(secret::Args),
    /// The runtime images that servers run on
    Images(images::Args),
    /// What this host enforces, and what it lacks
    Doctor,
    /// Screen tool definitions and texts, one JSON object a line
    Screen(screen::Args),
    /// A shell's completions for this program
    Completions(completions::Args),
}

/// Reads the command line, does it, and says how it went.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    let out = Out::new(cli.json, cli.quiet, cli.verbose, cli.color);
    // two threads: one of a session's directions never waits for the other; more would be memory for nothing
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Failure::new(
                Code::Other,
                "Pinfold cannot start",
                error,
                "see that the process limit of this user is not reached",
            );
            out.failure(&failure);
            return ExitCode::from(failure.code().exit());
        }
    };
    let outcome = runtime.block_on(execute(cli.command, &out));
    // a thread that waits in a read of standard input would keep the process for ever
    runtime.shutdown_background();
    out.pause();
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.code().exit())
        }
    }
}

async fn execute(command: Command, out: &Out) -> Result<ExitCode, Failure> {
    let command = match command {
        // these need nothing of this machine
        Command::Screen(args) => return screen::run(&args, out),
        Command::Completions(args) => return Ok(completions::run(&args, out)),
        command => command,
    };
    let opened = Opened::default();
    let mut stop = Stop::listen(&opened)?;
    let (outcome, stopped) = match command {
        // ends its session in good order when it is told to stop
        Command::Run(args) => (run::run(&args, &opened, &mut stop, out).await, false),
        command => tokio::select! {
            outcome = with_host(command, &opened, out) => (outcome, false),
            status = stop.told() => (Ok(status), true),
        },
    };
    if let Some(host) = opened.get() {
        host.leave(stopped).await;
    }
    outcome
}

async fn with_host(command: Command, opened: &Opened, out: &Out) -> Result<ExitCode, Failure> {
    let host = open(opened)?;
    let outcome = match command {
        Command::Show(args) => show::run(&args, &host, out).await,
        Command::Mount(args) => mount::run(&args, &host, out).await,
        Command::Tools(args) => tools::run(&args, &host, out).await,
        Command::Call(args) => call::run(&args, &host, out).await,
        Command::List => list::run(&host, out),
        Command::Egress(args) => egress::run(&args, &host, out),
        Command::Unmount(args) => unmount::run(&args, &host, out).await,
        Command::Pins(args) => pins::run(&args, &host, out),
        Command::Secret(args) => secret::run(&args, &host, out).await,
        Command::Images(args) => images::run(&args, &host, out).await,
        Command::Doctor => doctor::run(&host, out).await,
        Command::Run(_) | Command::Screen(_) | Command::Completions(_) => unreachable!("handled above"),
    };
    // most have done so first, and find nothing; behind the others' answer, nobody waits for it
    host.sweep_if_left().await;
    outcome
}

/// Opens the host of this process's command.
fn open(opened: &Opened) -> Result<Arc<Host>, Failure> {
    let host = Arc::new(Host::open()?);
    Ok(Arc::clone(opened.get_or_init(|| host)))
}

/// Help and version are answers; everything else is a usage error, in clap's own words.
fn not_parsed(error: &clap::Error) -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if error.use_stderr()
        && let Some(failure) = misplaced::without_quotes(&words)
    {
        let json = words.iter().any(|word| word == "--json");
        Out::new(json, false, false, Colour::Auto).failure(&failure);
        return ExitCode::from(failure.code().exit());
    }
    // a script that asked for JSON gets its errors so, these too
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.to_string();
        let why = text.trim_start_matches("error: ").lines().next().unwrap_or_default();
        let failure =
            Failure::new(Code::Usage, "the command line is not understood", why, "see `pinfold --help`");
        Out::new(true, false, false, Colour::Never).failure(&failure);
        return ExitCode::from(Code::Usage.exit());
    }
    // clap writes to the right stream by itself; a reader that left is no failure
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(Code::Usage.exit()) } else { ExitCode::SUCCESS }
}
