//! `pinfold completions`: help for a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::out::Out;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell
    shell: Shell,
}

pub fn run(args: &Args, out: &Out) -> ExitCode {
    // into memory first: the generator panics where its reader has left
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "pinfold", &mut script);
    out.script(&script);
    ExitCode::SUCCESS
}
