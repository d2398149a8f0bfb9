//! How is text that somebody else wrote drawn safely?
//!
//! Through [`Shown`], which nothing else can print around: cards, errors and log lines take it and give no way
//! back to the raw string.

use std::fmt;

/// Text made safe to draw on a terminal or a log line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shown(String);

impl Shown {
    /// Makes `text` safe to draw, on one line.
    pub fn new(text: &str) -> Self {
        Self(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
