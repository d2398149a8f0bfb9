//! What does a flag of a runner mean here?
//!
//! A table a runner, a reason a row. What a row does not list is refused as unknown: skipping a flag could skip its
//! value too, and take that for the package. What is left out changes how a package is fetched or what is printed
//! meanwhile, which Pinfold does its own way; what is refused decides where code comes from or what else would run.

use super::LineRefused;
use super::words::Word;
use crate::text::Shown;

/// Whether a flag has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// The rest of its word after `=`, or the next word.
    Value,
    /// Only after `=`, if at all.
    Attached,
}

/// What a row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It is left out without a word: it decides nothing that a person has to know of.
    LeftOut,
    /// It is left out, and the card says so in these words.
    Noted(&'static str),
    /// It says something about the launch.
    Means(Meaning),
    /// It is refused by its name, with what to do instead.
    Refused(&'static str),
    /// It is remembered, and told with whatever becomes of the line: how its matter is put here.
    Told(&'static str),
}

/// What a flag says about the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The package that has the program.
    Package,
    /// A package beside it.
    With,
    /// The Python to use.
    Python,
    /// The module to run.
    Module,
    /// A variable of the server's.
    Variable,
}

/// A row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flag {
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    /// What it does at its runner, in a clause.
    pub(super) why: &'static str,
    pub(super) then: Then,
}

pub(super) const fn left_out(names: &'static [&'static str], takes: Takes, why: &'static str) -> Flag {
    Flag { names, takes, why, then: Then::LeftOut }
}

pub(super) const fn noted(
    names: &'static [&'static str],
    takes: Takes,
    why: &'static str,
    note: &'static str,
) -> Flag {
    Flag { names, takes, why, then: Then::Noted(note) }
}

pub(super) const fn means(names: &'static [&'static str], meaning: Meaning, why: &'static str) -> Flag {
    Flag { names, takes: Takes::Value, why, then: Then::Means(meaning) }
}

pub(super) const fn refused(
    names: &'static [&'static str],
    takes: Takes,
    why: &'static str,
    instead: &'static str,
) -> Flag {
    Flag { names, takes, why, then: Then::Refused(instead) }
}

pub(super) const fn told(
    names: &'static [&'static str],
    takes: Takes,
    why: &'static str,
    here: &'static str,
) -> Flag {
    Flag { names, takes, why, then: Then::Told(here) }
}

/// A program whose flags are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runner {
    /// How it is called in messages.
    pub(super) name: &'static str,
    pub(super) tables: &'static [&'static [Flag]],
    /// Whether `-ab` is `-a -b`, and `-pX` is `-p X`.
    pub(super) clusters: bool,
}

impl Runner {
    pub(super) fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.tables.iter().flat_map(|table| table.iter())
    }

    fn find(&self, name: &str) -> Option<&'static Flag> {
        self.flags().find(|flag| flag.names.contains(&name))
    }
}

/// What comes next in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A flag that says something, and its value.
    Means(Meaning, String),
    /// A word that is no flag.
    Word(&'a Word),
    /// `--`
    Dashes,
    /// Nothing.
    End,
}

/// A line, read word by word.
pub(super) struct Line<'a> {
    words: &'a [Word],
    /// What a cluster of short flags still holds.
    cluster: String,
    pub(super) notes: Vec<Shown>,
    /// Each flag that is told, as it was written, and how its matter is put here.
    pub(super) told: Vec<(Shown, &'static str)>,
}

impl<'a> Line<'a> {
    pub(super) fn new(words: &'a [Word]) -> Self {
        Self { words, cluster: String::new(), notes: Vec::new(), told: Vec::new() }
    }

    /// The next word as it is, flag or not.
    pub(super) fn word(&mut self) -> Option<&'a Word> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    pub(super) fn peek(&self) -> Option<&'a Word> {
        self.words.first()
    }

    /// Everything that is left, as the server's own arguments.
    pub(super) fn rest(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words).iter().map(|word| word.text.clone()).collect()
    }

    pub(super) fn note(&mut self, note: impl std::fmt::Display) {
        let note = Shown::new(&note.to_string());
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Reads on until something has to be decided.
    ///
    /// # Errors
    /// A flag that is refused, unknown, or without its value.
    pub(super) fn next(&mut self, runner: &Runner) -> Result<Next<'a>, LineRefused> {
        loop {
            let (name, attached) = match self.cluster.chars().next() {
                Some(c) => {
                    self.cluster.remove(0);
                    (format!("-{c}"), None)
                }
                None => {
                    let Some(word) = self.peek() else { return Ok(Next::End) };
                    self.word();
                    if word.text == "--" {
                        return Ok(Next::Dashes);
                    }
                    // A lone `-` is standard input wherever it has a meaning.
                    if !word.text.starts_with('-') || word.text == "-" {
                        return Ok(Next::Word(word));
                    }
                    self.flag(runner, &word.text)
                }
            };
            let refusal = Refusal { runner, flag: &name };
            let Some(flag) = runner.find(&name) else { return Err(refusal.unknown()) };
            // Refused before its value is asked for: the name is what matters.
            if let Then::Refused(instead) = flag.then {
                return Err(refusal.refused(flag.why, instead));
            }
            let value = match (flag.takes, attached) {
                (Takes::Nothing, None) | (Takes::Attached, None) => String::new(),
                (Takes::Nothing, Some(value)) => match value.as_str() {
                    "true" => String::new(),
                    _ => return Err(refusal.valued()),
                },
                (Takes::Value | Takes::Attached, Some(value)) => value,
                (Takes::Value, None) if !self.cluster.is_empty() => {
                    let value = std::mem::take(&mut self.cluster);
                    value.strip_prefix('=').map(str::to_owned).unwrap_or(value)
                }
                (Takes::Value, None) => self.word().ok_or_else(|| refusal.no_value())?.text.clone(),
            };
            match flag.then {
                Then::LeftOut | Then::Refused(_) => {}
                Then::Told(here) => self.told.push((Shown::new(&name), here)),
                Then::Noted(note) => self.note(format_args!("`{name}` is left out: {note}")),
                Then::Means(meaning) => return Ok(Next::Means(meaning, value)),
            }
        }
    }

    /// A flag's name, and the value that its word holds; what else a cluster holds is kept for later.
    fn flag(&mut self, runner: &Runner, word: &str) -> (String, Option<String>) {
        if runner.find(word).is_some() {
            return (word.to_owned(), None);
        }
        if runner.clusters && !word.starts_with("--") {
            let mut chars = word.chars().skip(1);
            let first = chars.next().unwrap_or_default();
            self.cluster = chars.collect();
            return (format!("-{first}"), None);
        }
        match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        }
    }
}

/// Says of a flag why the line ends with it.
struct Refusal<'r> {
    runner: &'r Runner,
    flag: &'r str,
}

impl Refusal<'_> {
    fn refused(&self, why: &'static str, instead: &'static str) -> LineRefused {
        LineRefused::Flag { runner: self.runner.name, flag: Shown::new(self.flag), why, instead }
    }

    fn unknown(&self) -> LineRefused {
        LineRefused::UnknownFlag { runner: self.runner.name, flag: Shown::new(self.flag) }
    }

    fn valued(&self) -> LineRefused {
        self.refused("it is given a value here, and has none that changes a launch", "leave it out")
    }

    fn no_value(&self) -> LineRefused {
        LineRefused::Incomplete {
            runner: self.runner.name,
            wanted: Shown::new(&format!("the value of {}", self.flag)),
        }
    }
}
