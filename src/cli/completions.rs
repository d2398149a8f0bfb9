//! `pinfold completions`: help for a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell
    shell: Shell,
}

pub fn run(args: &Args) -> ExitCode {
    clap_complete::generate(args.shell, &mut super::Cli::command(), "pinfold", &mut std::io::stdout());
    ExitCode::SUCCESS
}
