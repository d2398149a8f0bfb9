//! Who prints?
//!
//! This file, and nothing else in the launcher. Results go to standard output, everything said on the way to
//! standard error; both take text only after it was made safe to draw, so no word of a server's, a registry's or
//! a package manager's reaches a terminal raw.
//!
//! Invariants: while a server is proxied, standard output belongs to the protocol, and no method here that writes
//! to it is called; once a server has credentials, nothing that is said on the way, a failure included, holds one.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::termios::tcgetwinsize;
use serde_json::{Value, json};

use crate::consent::{Card, Palette};
use crate::failure::Failure;
use crate::install::Progress;
use crate::secret::Mask;
use crate::text::Shown;

/// Columns where the terminal does not say, or there is none.
const USUAL_WIDTH: usize = 80;

/// What a pipe with room takes at once: POSIX, `<limits.h>`, and pipe(7) on Linux.
const PIPE_BUF: usize = 4096;

/// How long a reader of standard error may leave it full before it counts as not reading.
const FULL: Duration = Duration::from_secs(1);

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// Where it is a terminal and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The way out of the program.
pub struct Out {
    json: bool,
    quiet: bool,
    verbose: bool,
    colour: Colour,
    spinner: Mutex<Option<ProgressBar>>,
    masks: Mutex<Vec<Arc<Mask>>>,
}

impl Out {
    /// As the global options say.
    pub fn new(json: bool, quiet: bool, verbose: bool, colour: Colour) -> Self {
        Self { json, quiet, verbose, colour, spinner: Mutex::new(None), masks: Mutex::default() }
    }

    /// From now on these credentials are left out of what is said on the way: a server that has them was started, and
    /// what is said may quote it.
    pub fn without(&self, mask: Arc<Mask>) {
        self.masks.lock().unwrap_or_else(PoisonError::into_inner).push(mask);
    }

    /// The text without credentials; none where it has none.
    fn hide(&self, text: &str) -> Option<String> {
        let masks = self.masks.lock().unwrap_or_else(PoisonError::into_inner);
        masks.iter().fold(None, |hidden, mask| mask.hide(hidden.as_deref().unwrap_or(text)).or(hidden))
    }

    /// Words said on the way, safe to draw and without credentials.
    fn told(&self, text: &dyn Display) -> Shown {
        let text = text.to_string();
        Shown::new(self.hide(&text).as_deref().unwrap_or(&text))
    }

    /// Whether results are JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether `-v` was given.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Colours for this stream.
    fn palette(&self, is_terminal: bool) -> Palette {
        // source: no-color.org: set and not empty
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match self.colour {
            Colour::Always => Palette::Colour,
            Colour::Auto if is_terminal && wanted => Palette::Colour,
            _ => Palette::Plain,
        }
    }

    /// Colours for questions, which are asked on standard error.
    pub fn palette_for_questions(&self) -> Palette {
        self.palette(io::stderr().is_terminal())
    }

    /// A line of the result.
    pub fn line(&self, text: impl Display) {
        write(io::stdout(), &format!("{}\n", Shown::new(&text.to_string())));
    }

    /// The result as JSON, one document.
    pub fn document(&self, value: &Value) {
        // escaped beyond what JSON asks: a terminal acts on C1 and bidi controls that JSON lets through
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        write(io::stdout(), &format!("{}\n", ascii(&text)));
    }

    /// A line of JSON, for streams of them.
    pub fn record(&self, value: &impl serde::Serialize) {
        let text = serde_json::to_string(value).unwrap_or_default();
        write(io::stdout(), &format!("{}\n", ascii(&text)));
    }

    /// A shell's script of our own making, as it is.
    pub fn script(&self, text: &[u8]) {
        write(io::stdout(), &String::from_utf8_lossy(text));
    }

    /// A card on the way, where there is nobody to ask: what the digest in the error that follows stands for.
    pub fn card_aside(&self, card: &Card<'_>) {
        if !self.json && !self.quiet {
            self.pause();
            write(
                io::stderr(),
                &format!("{}\n", card.text(USUAL_WIDTH, self.palette(io::stderr().is_terminal()))),
            );
        }
    }

    /// A card as a result. It draws third-party text safely by itself.
    pub fn card(&self, card: &Card<'_>) {
        let stdout = io::stdout();
        let width = tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { USUAL_WIDTH } else { width };
        write(&stdout, &card.text(width, self.palette(stdout.is_terminal())));
    }

    /// Something said on the way; not under `--quiet`.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.say(&format!("{}\n", self.told(&text)));
        }
    }

    /// A warning: said under `--quiet` too.
    pub fn warn(&self, text: impl Display) {
        self.say(&format!("pinfold: {}\n", self.told(&text)));
    }

    /// A failure, in its three parts or as JSON.
    pub fn failure(&self, failure: &Failure) {
        self.pause();
        let failure = failure.reworded(|part| self.hide(part));
        if self.json {
            let error = json!({"error": {
                "code": failure.code().name(),
                "message": failure.what().to_string(),
                "why": failure.why().to_string(),
                "hint": failure.hint().to_string(),
                "last_words": failure.last_words().iter().map(ToString::to_string).collect::<Vec<_>>(),
            }});
            return self.say(&format!("{}\n", ascii(&error.to_string())));
        }
        let (bold, plain) = match self.palette(io::stderr().is_terminal()) {
            Palette::Colour => ("\x1b[1;31m", "\x1b[0m"),
            Palette::Plain => ("", ""),
        };
        let mut text = format!("{bold}error[{}]{plain}: {}\n", failure.code().name(), failure.what());
        text.push_str(&format!("  why: {}\n   do: {}\n", failure.why(), failure.hint()));
        for line in failure.last_words() {
            text.push_str(&format!("    | {line}\n"));
        }
        self.say(&text);
    }

    /// Ends the progress line, if there is one, so that something else can be drawn.
    pub fn pause(&self) {
        let spinner = self.spinner.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        let spinner = self.spinner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match spinner.as_ref() {
            Some(spinner) => spinner.suspend(|| complain(text)),
            None => complain(text),
        }
    }
}

impl Progress for Out {
    fn step(&self, what: &str) {
        if self.quiet {
            return;
        }
        let what = self.told(&what);
        if !io::stderr().is_terminal() {
            return complain(&format!("  {what} …\n"));
        }
        let mut spinner = self.spinner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let bar = spinner.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_message(what.to_string());
    }
}

/// So many of a thing, in words.
pub fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A line of a server's standard error, for its client's log. Free-standing, since the ear outlives any borrow.
pub fn server_line(line: &Shown) {
    complain(&format!("{line}\n"));
}

/// Writes to standard error, as long as somebody reads it.
///
/// A client may never read its server's standard error. Once the pipe is full a write would wait for ever, and a
/// server that talks enough could bring that about: it would hold a thread of ours, then the answer to a SIGTERM.
fn complain(text: &str) {
    /// Held while writing: two writers that both saw room would not both have it.
    static NOBODY_READS: Mutex<bool> = Mutex::new(false);
    let mut nobody_reads = NOBODY_READS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stderr = io::stderr();
    for piece in text.as_bytes().chunks(PIPE_BUF) {
        // a reader that is there and busy is waited for; one that left it full once has to come back first
        let patience = if *nobody_reads { Duration::ZERO } else { FULL };
        let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: 0 };
        let room = retry_on_intr(|| poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], Some(&patience)));
        *nobody_reads = room == Ok(0);
        if *nobody_reads || retry_on_intr(|| rustix::io::write(&stderr, piece)).is_err() {
            return;
        }
    }
}

/// Writes all of it or gives up: a reader that left is no reason to fail.
fn write(mut stream: impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.flush();
}

/// JSON text with everything outside ASCII escaped.
///
/// Source: RFC 8259, section 7: any character may be escaped, beyond U+FFFF as a UTF-16 surrogate pair.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // DEL is the one ASCII control that JSON does not make escape
        if c.is_ascii() && c != '\x7f' {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_reads_back_the_same() {
        let value = json!({"a\u{9b}": "é\u{202e}\u{7f}𝄞 \u{e0041}"});
        let text = ascii(&value.to_string());
        assert!(text.is_ascii() && !text.contains('\x7f'));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
