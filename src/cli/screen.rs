//! `pinfold screen`: put any tool definitions through the screen.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use super::out::Out;
use crate::failure::{Code, Failure};
use crate::screen::lines;
use crate::text::Shown;

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
    let mut unreadable_lines = Unreadable::default();
    let mut line = Vec::new();
    for number in 1_u64.. {
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
        match answer.verdict() {
            Some(verdict) => found |= verdict.refuses(),
            None => unreadable_lines.add(number, answer.error()),
        }
        out.record(&answer);
    }
    match unreadable_lines.failure() {
        // what was found weighs more than what could not be read
        Some(failure) if args.strict && found => out.warn(failure),
        Some(failure) => return Err(failure),
        None => {}
    }
    if args.strict && found {
        return Ok(ExitCode::from(Code::ScreenRefused.exit()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines that could not be judged: a line without a verdict is no pass, and nobody may take it for one.
#[derive(Default)]
struct Unreadable {
    count: u64,
    lines: Vec<u64>,
    why: Option<Shown>,
}

impl Unreadable {
    /// Line numbers that are told.
    const TOLD: usize = 20;

    fn add(&mut self, line: u64, why: Option<&Shown>) {
        self.count += 1;
        if self.lines.len() < Self::TOLD {
            self.lines.push(line);
        }
        if self.why.is_none() {
            self.why = why.cloned();
        }
    }

    fn failure(&self) -> Option<Failure> {
        let first = self.lines.first()?;
        let lines: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
        let rest = self.count - self.lines.len() as u64;
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let what = match self.count {
            1 => format!("line {first} could not be judged"),
            _ => format!("lines {}{more} could not be judged", lines.join(", ")),
        };
        let why = self.why.as_ref().map(ToString::to_string).unwrap_or_default();
        Some(Failure::new(
            Code::InputUnreadable,
            what,
            format!("line {first}: {why}"),
            "correct them: a line is one JSON object, with `id` and one thing to screen; the other lines were judged",
        ))
    }
}
