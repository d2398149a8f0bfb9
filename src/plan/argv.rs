//! What may an argument of a server be?
//!
//! Anything without a control character: it goes to the program as it is, with no shell in between, so URLs and
//! patterns are welcome. What a shell would act upon is marked on the card, since the person reading may think
//! of one. `{secret:NAME}` stands for a credential, filled in inside the cage.

use std::fmt;

use serde::{Deserialize, Serialize};

use unicode_width::UnicodeWidthChar;

use super::env::{EnvName, EnvRefused};
use crate::text::Shown;

/// Bytes one argument may have. It is shown whole on the card.
const LIMIT: usize = 4096;

/// How many arguments a launch may have.
pub const MOST_ARGUMENTS: usize = 256;

const SECRET: &str = "{secret:";

/// An argument that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentRefused {
    /// A C0 or C1 control character, or DEL.
    #[error("it holds a control character")]
    Control,
    /// More than 4,096 bytes.
    #[error("it is longer than {LIMIT} bytes")]
    TooLong,
    /// More than [`MOST_ARGUMENTS`].
    #[error("there are more than {MOST_ARGUMENTS}")]
    TooMany,
    /// `{secret:` without its end; passed on as it is, it would be a value that nobody meant.
    #[error("`{{secret:` has no `}}` after it")]
    OpenSecret,
    /// `{secret:NAME}` with a name that no variable may have.
    #[error("`{{secret:…}}`: {0}")]
    SecretName(#[from] EnvRefused),
}

/// One argument of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Argument(String);

impl Argument {
    /// Checks an argument.
    ///
    /// # Errors
    /// [`ArgumentRefused`]
    pub fn new(text: &str) -> Result<Self, ArgumentRefused> {
        if text.chars().any(char::is_control) {
            return Err(ArgumentRefused::Control);
        }
        if text.len() > LIMIT {
            return Err(ArgumentRefused::TooLong);
        }
        secrets_in(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The argument, `{secret:NAME}` not filled in.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The credentials it refers to, in order of appearance.
    pub fn secrets(&self) -> Vec<EnvName> {
        // Checked by `new`.
        secrets_in(&self.0).unwrap_or_default()
    }

    /// The argument taken apart, credentials to be filled in where they stand.
    pub fn pieces(&self) -> Vec<Piece> {
        let (mut pieces, mut rest) = (Vec::new(), self.0.as_str());
        // each look is as in `secrets_in`, which `new` has run over the same text
        while let Some((text, name, after)) = split_secret(rest) {
            if !text.is_empty() {
                pieces.push(Piece::Text(text.to_owned()));
            }
            pieces.push(Piece::Secret(name));
            rest = after;
        }
        if !rest.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        pieces
    }

    /// Whether it holds a character that a shell would act upon. None ever sees it.
    pub fn looks_like_shell(&self) -> bool {
        self.0.contains(['&', ';', '|', '$', '`', '<', '>']) || self.0.contains("../")
    }
}

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it stands.
    Text(String),
    /// The place of a credential's value.
    Secret(EnvName),
}

fn split_secret(text: &str) -> Option<(&str, EnvName, &str)> {
    let (before, after) = text.split_once(SECRET)?;
    let (name, after) = after.split_once('}')?;
    Some((before, name.parse().ok()?, after))
}

fn secrets_in(text: &str) -> Result<Vec<EnvName>, ArgumentRefused> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(SECRET) {
        let after = &rest[at + SECRET.len()..];
        let end = after.find('}').ok_or(ArgumentRefused::OpenSecret)?;
        names.push(after[..end].parse()?);
        rest = &after[end + 1..];
    }
    Ok(names)
}

impl TryFrom<String> for Argument {
    type Error = ArgumentRefused;

    fn try_from(text: String) -> Result<Self, ArgumentRefused> {
        Self::new(&text)
    }
}

impl From<Argument> for String {
    fn from(argument: Argument) -> String {
        argument.0
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Exactly(&self.0).fmt(f)
    }
}

/// Text as a person reads it on the card: the word as it is, or in single quotes where its ends could be
/// mistaken; what cannot be seen is written as `\u{…}`, so two different texts never look the same. So is a backtick:
/// sentences put such words between two of them, and none is to end there by itself.
#[derive(Debug, Clone, Copy)]
pub struct Exactly<'a>(pub &'a str);

impl fmt::Display for Exactly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-{}".contains(c);
        let quote = if self.0.is_empty() || !self.0.chars().all(plain) { "'" } else { "" };
        f.write_str(quote)?;
        for c in self.0.chars() {
            if !is_seen(c) || c == '`' {
                write!(f, "{}", c.escape_unicode())?;
            } else if matches!(c, '\'' | '\\') {
                write!(f, "\\{c}")?;
            } else {
                write!(f, "{c}")?;
            }
        }
        f.write_str(quote)
    }
}

/// Whether a character leaves a mark of its own on the screen.
fn is_seen(c: char) -> bool {
    // ASCII space is the only blank that is drawn as one; then the blanks that Unicode counts as letters or
    // symbols: the Hangul fillers and the empty Braille pattern.
    let blank =
        (c.is_whitespace() && c != ' ') || matches!(c, '\u{115f}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}');
    // No width: joiners, selectors, marks that would sit on the character before.
    let joins = c.width().unwrap_or(0) == 0;
    !blank && !joins && Shown::new(c.encode_utf8(&mut [0; 4])).to_string() == *c.encode_utf8(&mut [0; 4])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(text: &str) -> String {
        Argument::new(text).unwrap().to_string()
    }

    #[test]
    fn refuses_control_characters() {
        for bad in ["a\nb", "\r\x1b[2K", "\0", "a\u{9b}b", "\u{7f}", "\t"] {
            assert_eq!(Argument::new(bad), Err(ArgumentRefused::Control), "{bad:?}");
        }
    }

    #[test]
    fn accepts_what_a_url_or_a_pattern_needs() {
        for good in ["https://x.example/?a=1&b=2#c", "*.{js,ts}", "$HOME", "-c", "", "ünï", "a b", "--x=[1]"]
        {
            assert_eq!(Argument::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn marks_what_a_shell_would_act_upon_and_nothing_else() {
        for text in ["a;b", "$(id)", "`id`", "a|b", "a&b", ">x", "../../etc"] {
            assert!(Argument::new(text).unwrap().looks_like_shell(), "{text}");
        }
        for text in ["--flag=x", "a b", "/srv/notes", "{secret:X}", "a#b"] {
            assert!(!Argument::new(text).unwrap().looks_like_shell(), "{text}");
        }
    }

    #[test]
    fn finds_the_credentials_an_argument_refers_to() {
        let argument = Argument::new("postgres://{secret:DB_USER}:{secret:DB_PASS}@db.example/x").unwrap();
        let names: Vec<_> = argument.secrets().iter().map(EnvName::to_string).collect();
        assert_eq!(names, ["DB_USER", "DB_PASS"]);
        assert!(Argument::new("{secret}").unwrap().secrets().is_empty());
    }

    #[test]
    fn refuses_a_reference_that_would_be_passed_on_as_text() {
        for bad in ["{secret:", "{secret:}", "{secret:A B}", "{secret:{secret:A}}", "{secret:LD_PRELOAD}"] {
            assert!(Argument::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_drawn_argument_shows_its_ends_and_what_is_invisible() {
        assert_eq!(drawn("--flag"), "--flag");
        assert_eq!(drawn(""), "''");
        assert_eq!(drawn("a  b"), "'a  b'");
        assert_eq!(drawn("it's"), r"'it\'s'");
        assert_eq!(drawn("a`b"), r"'a\u{60}b'");
        assert_eq!(drawn("a\u{2003}b"), r"'a\u{2003}b'");
    }

    #[test]
    fn refuses_one_byte_too_many() {
        assert!(Argument::new(&"a".repeat(4096)).is_ok());
        assert_eq!(Argument::new(&"a".repeat(4097)), Err(ArgumentRefused::TooLong));
    }

    proptest! {
        #[test]
        fn never_panics_and_reads_back_the_same(text in any::<String>()) {
            if let Ok(argument) = Argument::new(&text) {
                prop_assert_eq!(argument.as_str(), text);
                prop_assert!(!argument.to_string().chars().any(char::is_control));
                let json = serde_json::to_string(&argument).unwrap();
                prop_assert_eq!(serde_json::from_str::<Argument>(&json).unwrap(), argument);
            }
        }

        #[test]
        fn two_arguments_are_never_drawn_alike(a in "[ab '\\\\\u{202e}\u{200b}]{0,6}", b in "[ab '\\\\\u{202e}\u{200b}]{0,6}") {
            prop_assume!(a != b);
            prop_assert_ne!(drawn(&a), drawn(&b));
        }
    }
}
