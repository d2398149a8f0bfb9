//! `pinfold screen`: put any tool definitions through the screen.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use super::out::Out;
use crate::failure::{Code, Failure};
use crate::screen::lines;

/// Longest line read, in bytes; the rest of a longer one is passed over.
const LINE: u64 = 64 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// JSON Lines: `{"id", "tool"|"prompt"|"resource"|"instructions"|"text"}` a line; standard input without it
    file: Option<PathBuf>,
    /// End with status 12 if anything was refused or fenced
    #[arg(long)]
    strict: bool,
}

pub fn run(args: &Args, out: &Out) -> Result<ExitCode, Failure> {
    let unreadable = |error: &std::io::Error| {
        let name =
            args.file.as_ref().map_or_else(|| "standard input".into(), |file| file.display().to_string());
        Failure::new(
            Code::NotFound,
            format!("{name} cannot be read"),
            error,
            "give a file of JSON Lines, or pipe one in",
        )
    };
    let mut input: Box<dyn BufRead> = match &args.file {
        Some(file) => Box::new(BufReader::new(File::open(file).map_err(|error| unreadable(&error))?)),
        None => Box::new(std::io::stdin().lock()),
    };
    let mut found = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            (&mut input).take(LINE).read_until(b'\n', &mut line).map_err(|error| unreadable(&error))?;
        if read == 0 {
            break;
        }
        if read as u64 == LINE && line.last() != Some(&b'\n') {
            input.skip_until(b'\n').map_err(|error| unreadable(&error))?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = lines::screen(&line);
        // a line that cannot be judged is not a pass
        found |= answer.verdict().is_none_or(crate::screen::Verdict::refuses);
        out.record(&answer);
    }
    if args.strict && found {
        return Ok(ExitCode::from(Code::ScreenRefused.exit()));
    }
    Ok(ExitCode::SUCCESS)
}
