//! How are the fields of a card laid out, whatever is in them?
//!
//! Every line of a field is indented under its label, and every line of somebody else's words begins with a mark
//! of ours, however narrow the terminal: no text can reach the first column, where labels stand. Lines break at
//! the width and nothing is ever left out. Widths are counted on the wide side, since a line that a terminal
//! breaks by itself would start in the first column.

use unicode_width::UnicodeWidthChar;

use crate::text::Shown;

/// Column where values begin, beside their labels.
const BESIDE: usize = 13;

/// Columns below which values go under their labels.
const NARROW: usize = 60;

/// Indent of values under their labels.
const UNDER: usize = 2;

/// Columns below which nothing is laid out any narrower.
const NARROWEST: usize = 24;

/// The mark before each line of somebody else's words.
const THEIRS: &str = "│ ";

/// Whether a card is coloured. Colour only helps; nothing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// No escape sequence at all.
    Plain,
    /// ANSI colours.
    Colour,
}

/// Who speaks in a line, and how loud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// A fact, in our words.
    Ours,
    /// Something to look at twice.
    Notice,
    /// Something that can hurt.
    Danger,
    /// Somebody else's words.
    Theirs,
}

impl Palette {
    fn paint(self, text: &str, voice: Voice) -> String {
        let style = match (self, voice) {
            (Self::Plain, _) | (Self::Colour, Voice::Ours) => return text.to_owned(),
            (Self::Colour, Voice::Notice) => "33",
            (Self::Colour, Voice::Danger) => "1;31",
            (Self::Colour, Voice::Theirs) => "2",
        };
        format!("\x1b[{style}m{text}\x1b[0m")
    }

    fn label(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[1m{text}\x1b[0m"),
        }
    }
}

/// Fields being laid out.
pub(super) struct Layout {
    out: String,
    palette: Palette,
    width: usize,
    indent: usize,
}

impl Layout {
    pub(super) fn new(width: usize, palette: Palette) -> Self {
        let width = width.max(NARROWEST);
        let indent = if width < NARROW { UNDER } else { BESIDE };
        Self { out: String::new(), palette, width, indent }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// A line of its own in the first column; our words only.
    pub(super) fn heading(&mut self, text: &str) {
        self.out.push_str(&self.palette.label(text));
        self.out.push('\n');
    }

    /// A line to be copied: never broken by us, since a terminal's own break copies as none. Our words only.
    pub(super) fn copied(&mut self, text: &str) {
        self.out.push_str(&Shown::new(text).to_string());
        self.out.push('\n');
    }

    /// A field of words whose ends matter: on one line if they fit, else one a line, and where even a word is
    /// broken, the rest of it set in. Broken anywhere, so that a space at the end of a line can be counted.
    pub(super) fn words(&mut self, label: &'static str, words: &[String]) {
        let joined = words.join(" ");
        let room = self.width - self.indent;
        if columns_in(&joined) <= room {
            return self.field(label, &[(Voice::Ours, joined)]);
        }
        let lines: Vec<_> = words
            .iter()
            .flat_map(|word| {
                let (first, rest) = split_at_columns(word, room);
                let rest = rest.then(|| broken_anywhere(&word[first.len()..], room - UNDER));
                let rest = rest.into_iter().flatten().map(|line| format!("{:UNDER$}{line}", ""));
                std::iter::once(first.to_owned()).chain(rest)
            })
            .map(|line| (Voice::Ours, line))
            .collect();
        self.field(label, &lines);
    }

    /// A field: its label, once, and its values, each from a line of its own.
    pub(super) fn field(&mut self, label: &'static str, values: &[(Voice, String)]) {
        let mut label = Some(label);
        if self.indent == UNDER {
            self.out.push_str(&self.palette.label(label.take().unwrap_or_default()));
            self.out.push('\n');
        }
        for (voice, value) in values {
            // Once more, whatever it is: what has been made safe stays as it is.
            let value = Shown::new(value).to_string();
            let mark = if *voice == Voice::Theirs { THEIRS } else { "" };
            // A mark takes as many columns as it has characters.
            for line in broken(&value, self.width - self.indent - mark.chars().count()) {
                match label.take() {
                    Some(label) => {
                        self.out.push_str(&self.palette.label(label));
                        self.out.extend(std::iter::repeat_n(' ', self.indent.saturating_sub(label.len())));
                    }
                    None => self.out.extend(std::iter::repeat_n(' ', self.indent)),
                }
                self.out.push_str(mark);
                self.out.push_str(&self.palette.paint(&line, *voice));
                self.out.push('\n');
            }
        }
    }
}

/// The text in lines of at most `width` columns, broken after a space where one is near, else anywhere. The lines
/// put together are the text.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut columns, mut after_space) = (String::new(), 0, 0);
    for c in text.chars() {
        let wide = columns_of(c);
        if columns + wide > width {
            // A break that leaves more than half of the line empty helps nobody.
            let cut = if columns_in(&line[..after_space]) * 2 > width { after_space } else { line.len() };
            let rest = line.split_off(cut);
            lines.push(std::mem::replace(&mut line, rest));
            columns = columns_in(&line);
            after_space = 0;
        }
        line.push(c);
        columns += wide;
        if c == ' ' {
            after_space = line.len();
        }
    }
    lines.push(line);
    lines
}

fn broken_anywhere(mut text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    while !text.is_empty() {
        let (line, _) = split_at_columns(text, width);
        lines.push(line.to_owned());
        text = &text[line.len()..];
    }
    lines
}

/// As much of the text as has at most `width` columns, and whether there is more. At least one character, so
/// that whoever repeats this comes to an end; no character is wider than the narrowest line.
fn split_at_columns(text: &str, width: usize) -> (&str, bool) {
    let mut columns = 0;
    for (at, c) in text.char_indices() {
        columns += columns_of(c);
        if columns > width && at > 0 {
            return (&text[..at], true);
        }
    }
    (text, false)
}

fn columns_in(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The most columns any terminal gives the character.
fn columns_of(c: char) -> usize {
    match c {
        // Asks for the wide form of the character before it.
        '\u{fe0f}' => 1,
        _ => c.width_cjk().unwrap_or(0),
    }
}

/// A word as one types it in a shell. No backtick is left in it, as commands are shown between these: with one, the
/// rest of a word would read as Pinfold's own.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if text.contains('`') {
        // source: POSIX.1-2024, 2.2.4 Dollar-Single-Quotes
        let escaped = text.replace('\\', r"\\").replace('\'', r"\'").replace('`', r"\140");
        return format!("$'{escaped}'");
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn breaks_after_a_space_where_one_is_near_and_anywhere_else() {
        assert_eq!(broken("one two three", 8), ["one two ", "three"]);
        assert_eq!(broken("a bbbbbbbbbbbb", 8), ["a bbbbbb", "bbbbbb"]);
        assert_eq!(broken("", 8), [""]);
        assert_eq!(broken("漢字漢字", 5), ["漢字", "漢字"]);
    }

    #[test]
    fn their_words_never_reach_the_first_column_without_our_mark() {
        for width in [0, 24, 40, 59, 60, 80] {
            let mut layout = Layout::new(width, Palette::Plain);
            layout.field("Words", &[(Voice::Theirs, "x\nDigest sha256:0 ".repeat(20))]);
            let text = layout.finish();
            let marked = text
                .lines()
                .all(|l| l == "Words" || l.trim_start_matches("Words").trim_start().starts_with(THEIRS));
            assert!(marked, "{text}");
        }
    }

    #[test]
    fn quotes_a_word_for_a_shell() {
        assert_eq!(shell_word("npm:@a/b@1.0.0"), "npm:@a/b@1.0.0");
        assert_eq!(shell_word("path:/it's here"), r"'path:/it'\''s here'");
        assert_eq!(shell_word(r"/a`b'c\d"), r"$'/a\140b\'c\\d'");
    }

    #[test]
    fn words_stay_apart_however_narrow_it_is() {
        let drawn = |words: &[&str]| {
            let mut layout = Layout::new(24, Palette::Plain);
            layout.words("Command", &words.iter().map(ToString::to_string).collect::<Vec<_>>());
            layout.finish()
        };
        assert_eq!(drawn(&["node", "x.js"]), "Command\n  node x.js\n");
        assert_eq!(
            drawn(&["node", &"x".repeat(44)]),
            format!("Command\n  node\n  {0}xx\n    {0}\n    xx\n", "x".repeat(20))
        );
        assert_ne!(drawn(&["a".repeat(22).as_str(), "b"]), drawn(&[&format!("{}b", "a".repeat(22))]));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_line_is_too_long(text in "\\PC{0,200}", width in 11..90usize) {
            let lines = broken(&text, width);
            prop_assert_eq!(lines.concat(), text);
            prop_assert!(lines.iter().all(|line| columns_in(line) <= width));
        }
    }
}
