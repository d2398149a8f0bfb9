//! How is one of our own tools run in a cage?
//!
//! To its end, with a bounded ear for what it says: package managers and `tar`, not servers.

use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::InstallError;
use crate::cage::link::{Argument, Ending, Exit, Program, Value};
use crate::cage::profile::HOME;
use crate::cage::{Cage, CageError};
use crate::text::Shown;

/// Longest standard output kept, in bytes.
const OUTPUT: u64 = 1024 * 1024;
/// The end of a standard error that is kept, in bytes.
const ERRORS: usize = 64 * 1024;
/// Characters of a line of it.
const LINE_CHARS: usize = 400;
/// Lines of it shown to a person.
const LAST_WORDS: usize = 12;
/// How long one tool may take unless it is told.
const PATIENCE: Duration = Duration::from_secs(540);

/// A tool and its arguments.
pub(super) struct Tool {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
    patience: Duration,
}

/// How a tool ended.
pub(super) struct Ended {
    /// Exit status 0.
    pub(super) well: bool,
    /// It took too long and was ended.
    pub(super) late: bool,
    /// What it printed.
    pub(super) output: String,
    /// Its last words, safe to draw.
    pub(super) said: Vec<Shown>,
}

impl Tool {
    /// A tool by its words.
    pub(super) fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", HOME), ("LANG", "C.UTF-8")];
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            cwd: "/tmp".into(),
            patience: PATIENCE,
        }
    }

    /// With one more word.
    pub(super) fn and(mut self, word: &str) -> Self {
        self.argv.push(word.into());
        self
    }

    /// It may take so long.
    pub(super) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs it in this folder.
    pub(super) fn within(mut self, cwd: &str) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// With these variables too.
    pub(super) fn with(mut self, env: &[(&str, String)]) -> Self {
        self.env.extend(env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self
    }

    /// Runs it, and takes any end but a good one for a fault.
    pub(super) async fn run(self, cage: &Cage) -> Result<String, InstallError> {
        let tool = Shown::new(self.argv.first().map_or("", String::as_str));
        let ended = self.attempt(cage).await?;
        if ended.well { Ok(ended.output) } else { Err(InstallError::Tool { tool, said: ended.said }) }
    }

    /// Runs it to whatever end.
    pub(super) async fn attempt(self, cage: &Cage) -> Result<Ended, CageError> {
        let program = Program {
            argv: self.argv.into_iter().map(Argument::from).collect(),
            env: self.env.into_iter().map(|(name, value)| (name, Value::Plain(value))).collect(),
            cwd: self.cwd,
            ending: Ending::TOOL,
        };
        let mut running = cage.run(program).await?;
        drop(running.stdin);
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let listen = async {
            let out = beginning(&mut running.stdout, OUTPUT, &mut output);
            let err = end(&mut running.stderr, ERRORS, &mut errors);
            tokio::join!(out, err);
            running.handle.exit().await
        };
        let (exit, late) = match tokio::time::timeout(self.patience, listen).await {
            Ok(exit) => (exit?, false),
            Err(_) => (Exit::Signal(0), true),
        };
        let errors = String::from_utf8_lossy(&errors);
        let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let cut = |line: &&str| Shown::new(&line.chars().take(LINE_CHARS).collect::<String>());
        let said = lines[lines.len().saturating_sub(LAST_WORDS)..].iter().map(cut).collect();
        Ok(Ended {
            well: exit == Exit::Code(0),
            late,
            output: String::from_utf8_lossy(&output).into_owned(),
            said,
        })
    }
}

/// Reads a stream to its end and keeps its first `limit` bytes: a talkative tool is heard out, never waited for.
async fn beginning(stream: &mut (impl tokio::io::AsyncRead + Unpin), limit: u64, kept: &mut Vec<u8>) {
    // an output that breaks ends; the exit says why
    let _ = (&mut *stream).take(limit).read_to_end(kept).await;
    let _ = tokio::io::copy(stream, &mut tokio::io::sink()).await;
}

/// Reads a stream to its end and keeps its last `limit` bytes, where the reason of an end stands.
async fn end(stream: &mut (impl tokio::io::AsyncRead + Unpin), limit: usize, kept: &mut Vec<u8>) {
    let mut some = vec![0; 16 * 1024];
    // an output that breaks ends; the exit says why
    while let Ok(read @ 1..) = stream.read(&mut some).await {
        kept.extend_from_slice(&some[..read]);
        if kept.len() > 2 * limit {
            kept.drain(..kept.len() - limit);
        }
    }
    kept.drain(..kept.len().saturating_sub(limit));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_said_last_is_kept() {
        let said = [b"first ".repeat(50_000), b"the reason".to_vec()].concat();
        let mut kept = Vec::new();
        end(&mut &said[..], 100, &mut kept).await;
        assert_eq!(kept.len(), 100);
        assert!(kept.ends_with(b"the reason"));
        let mut kept = Vec::new();
        end(&mut &b"short"[..], 100, &mut kept).await;
        assert_eq!(kept, b"short");
    }
}
