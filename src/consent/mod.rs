//! Did a person say yes to this very plan?
//!
//! A [`Consent`] is the proof, and there are two ways to one: a person typed `yes` under the card, at a terminal;
//! or somebody gave the digest of a plan that had been shown. Both are a yes to one digest and to nothing else.
//! Silence, an ended input, no terminal, another word, another digest: all are a no, and which one it was is kept.
//!
//! Invariants: nothing that arrives over MCP, from a registry or from a project's files reaches this room; there
//! is no yes to whatever comes; a [`Consent`] cannot be cloned, read from a file or made elsewhere.

mod card;
mod command;
mod console;
mod kept;
mod layout;

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use card::{Card, Note};
pub use command::{command_amended, command_for};
pub use console::Console;
pub use kept::{Kept, ShownPlans};
pub use layout::{Palette, shell_word};

use crate::digest::Digest;
use crate::failure::{Code, Failure};
use crate::plan::Plan;
use crate::state::ConsentBy;

/// How long a question stands. Long enough to read a card and look things up; nobody answers after lunch.
pub const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// How a yes was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Typed by a person at a terminal, under the card.
    Terminal,
    /// By the digest of a plan that had been shown.
    Digest,
}

impl How {
    /// As a person reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Digest => "digest",
        }
    }
}

/// A yes to one plan. The proof that a pin needs.
///
/// ```compile_fail
/// fn forged(consent: &pinfold::consent::Consent) -> pinfold::consent::Consent {
///     consent.clone()
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Consent {
    plan: Digest,
    how: How,
    at: Timestamp,
}

impl Consent {
    /// The plan it is a yes to.
    pub fn plan(&self) -> Digest {
        self.plan
    }

    /// How it was given.
    pub fn how(&self) -> How {
        self.how
    }

    /// When.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

/// How a question ended. Recorded in the audit log, whichever it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A person typed `yes`.
    TypedYes,
    /// The digest of this plan was given.
    Digest,
    /// A person typed something else, or nothing.
    Refused,
    /// Standard input and standard error are not both a terminal.
    NoTerminal,
    /// The input ended.
    Eof,
    /// Nobody answered in time.
    Timeout,
    /// The digest of another plan was given.
    OtherDigest,
    /// A digest was given, and the user's configuration takes none.
    DigestsOff,
    /// The card could not be drawn, or the answer not read.
    TerminalFailed,
}

impl Ending {
    /// As the audit log has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypedYes => "typed-yes",
            Self::Digest => "digest",
            Self::Refused => "refused",
            Self::NoTerminal => "no-terminal",
            Self::Eof => "eof",
            Self::Timeout => "timeout",
            Self::OtherDigest => "other-digest",
            Self::DigestsOff => "digests-off",
            Self::TerminalFailed => "terminal-failed",
        }
    }

    /// Whether it was a yes.
    pub fn is_yes(self) -> bool {
        matches!(self, Self::TypedYes | Self::Digest)
    }
}

impl From<How> for Ending {
    fn from(how: How) -> Self {
        match how {
            How::Terminal => Self::TypedYes,
            How::Digest => Self::Digest,
        }
    }
}

/// There is no yes to this plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} was not consented to")]
pub struct NotConsented {
    name: crate::plan::LocalName,
    typed: Box<Typed>,
    plan: Digest,
    ending: Ending,
    given: Option<Digest>,
}

/// What a person may type next.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Typed {
    show: String,
    mount: String,
    with_digest: String,
}

impl NotConsented {
    fn of(plan: &Plan, ending: Ending) -> Self {
        let digest = plan.digest().to_string();
        let typed = Typed {
            show: command::command_for(plan, "show", &[]),
            mount: command::command_for(plan, "mount", &[]),
            with_digest: command::command_for(plan, "mount", &["--consent", &digest]),
        };
        Self { name: plan.name().clone(), typed: Box::new(typed), plan: plan.digest(), ending, given: None }
    }

    /// Which of the noes it was.
    pub fn ending(&self) -> Ending {
        self.ending
    }
}

impl From<NotConsented> for Failure {
    fn from(no: NotConsented) -> Self {
        let code = if no.ending == Ending::OtherDigest { Code::ConsentMismatch } else { Code::ConsentNeeded };
        let why = match no.ending {
            Ending::NoTerminal => "there is no terminal to ask on".to_owned(),
            Ending::Eof => "the input ended without an answer".to_owned(),
            Ending::Timeout => format!("nobody answered within {} minutes", PATIENCE.as_secs() / 60),
            Ending::OtherDigest => {
                let given = no.given.map(|d| d.to_string()).unwrap_or_default();
                format!("the digest given is {given}, and the plan's is {}", no.plan)
            }
            Ending::DigestsOff => "the configuration says that only a person at a terminal can".to_owned(),
            Ending::TerminalFailed => "the terminal could not be written to or read from".to_owned(),
            Ending::Refused | Ending::TypedYes | Ending::Digest => "the answer was not `yes`".to_owned(),
        };
        let hint = match no.ending {
            Ending::DigestsOff => format!("in a terminal, run `{}`", no.typed.mount),
            Ending::OtherDigest => format!(
                "every option is part of a plan, and what was shown is kept for a day; read what would run now with `{}`",
                no.typed.show
            ),
            _ => format!(
                "run it in a terminal; or read `{}`, then run `{}`",
                no.typed.show, no.typed.with_digest
            ),
        };
        Failure::new(code, no.to_string(), why, hint)
    }
}

/// A terminal with a person at it, or what a test puts in its place.
pub trait Terminal {
    /// Columns.
    fn width(&self) -> usize;

    /// Whether it may be coloured.
    fn palette(&self) -> Palette;

    /// Draws text; all of it has been made safe.
    ///
    /// # Errors
    /// What the system says.
    fn draw(&mut self, text: &str) -> io::Result<()>;

    /// Forgets what was typed and not yet read.
    ///
    /// # Errors
    /// What the system says.
    fn forget_typed(&mut self) -> io::Result<()>;

    /// Reads a line, for at most so long.
    ///
    /// # Errors
    /// What the system says.
    fn read_line(&mut self, patience: Duration) -> io::Result<Answer>;
}

/// What came of reading a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A line, its end included.
    Line(String),
    /// The input ended.
    End,
    /// Nothing, for as long as was waited.
    Silence,
}

/// Shows the card and asks. `terminal` is `None` where there is none.
///
/// # Errors
/// [`NotConsented`] for every answer but `yes`.
pub fn ask(
    card: &Card<'_>,
    terminal: Option<&mut dyn Terminal>,
    now: Timestamp,
) -> Result<Consent, NotConsented> {
    let plan = card.plan();
    let no = |ending| NotConsented::of(plan, ending);
    let terminal = terminal.ok_or_else(|| no(Ending::NoTerminal))?;
    let ending = question(card, terminal).unwrap_or(Ending::TerminalFailed);
    if ending != Ending::TypedYes {
        return Err(no(ending));
    }
    Ok(Consent { plan: plan.digest(), how: How::Terminal, at: now })
}

fn question(card: &Card<'_>, terminal: &mut dyn Terminal) -> io::Result<Ending> {
    terminal.draw(&card.text(terminal.width(), terminal.palette()))?;
    // Whatever was typed before the card was there was no answer to it.
    terminal.forget_typed()?;
    terminal.draw("\nRun this, as shown? Type yes to consent, the whole word; anything else refuses: ")?;
    let mut answer = terminal.read_line(PATIENCE)?;
    // One letter is typed out of habit, so it is no consent; nor is it somebody who means no.
    if let Answer::Line(line) = &answer
        && line.trim_ascii().eq_ignore_ascii_case("y")
    {
        terminal.forget_typed()?;
        terminal.draw("Only the whole word is taken. Type yes to consent; anything else refuses: ")?;
        answer = terminal.read_line(PATIENCE)?;
    }
    // What was pasted after the answer must not reach the shell.
    terminal.forget_typed()?;
    Ok(match answer {
        Answer::End => Ending::Eof,
        Answer::Silence => Ending::Timeout,
        Answer::Line(line) if line.trim_ascii().eq_ignore_ascii_case("yes") => Ending::TypedYes,
        Answer::Line(_) => Ending::Refused,
    })
}

/// Takes a digest that was given for a yes to this plan.
///
/// # Errors
/// [`NotConsented`] if it is another plan's, or the configuration takes no digest.
pub fn by_digest(
    given: &Digest,
    plan: &Plan,
    open: ConsentBy,
    now: Timestamp,
) -> Result<Consent, NotConsented> {
    if open == ConsentBy::Terminal {
        return Err(NotConsented::of(plan, Ending::DigestsOff));
    }
    if *given != plan.digest() {
        return Err(NotConsented { given: Some(*given), ..NotConsented::of(plan, Ending::OtherDigest) });
    }
    Ok(Consent { plan: plan.digest(), how: How::Digest, at: now })
}

#[cfg(test)]
pub(crate) mod tests;
