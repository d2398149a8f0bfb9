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
/// Longest standard error kept, in bytes.
const ERRORS: u64 = 64 * 1024;
/// Lines of it shown to a person.
const LAST_WORDS: usize = 12;
/// How long one tool may take.
const PATIENCE: Duration = Duration::from_secs(540);

/// A tool and its arguments.
pub(super) struct Tool {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
}

/// How a tool ended.
pub(super) struct Ended {
    /// Exit status 0.
    pub(super) well: bool,
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
        }
    }

    /// With one more word.
    pub(super) fn and(mut self, word: &str) -> Self {
        self.argv.push(word.into());
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
            let out = keep(&mut running.stdout, OUTPUT, &mut output);
            let err = keep(&mut running.stderr, ERRORS, &mut errors);
            tokio::join!(out, err);
            running.handle.exit().await
        };
        let exit = match tokio::time::timeout(PATIENCE, listen).await {
            Ok(exit) => exit?,
            Err(_) => Exit::Signal(0),
        };
        let errors = String::from_utf8_lossy(&errors);
        let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
        let said =
            lines[lines.len().saturating_sub(LAST_WORDS)..].iter().map(|line| Shown::new(line)).collect();
        Ok(Ended { well: exit == Exit::Code(0), output: String::from_utf8_lossy(&output).into_owned(), said })
    }
}

/// Reads a stream to its end and keeps its first `limit` bytes: a talkative tool is heard out, never waited for.
async fn keep(stream: &mut (impl tokio::io::AsyncRead + Unpin), limit: u64, kept: &mut Vec<u8>) {
    // an output that breaks ends; the exit says why
    let _ = (&mut *stream).take(limit).read_to_end(kept).await;
    let _ = tokio::io::copy(stream, &mut tokio::io::sink()).await;
}
