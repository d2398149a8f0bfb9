//! How is text that somebody else wrote drawn safely?
//!
//! Through [`Shown`], which nothing else can print around: cards, errors and log lines take it and give no way
//! back to the raw string. Two families of characters are dealt with, in two ways, on purpose:
//!
//! - what *moves the cursor* (C0, DEL, C1, the line and paragraph separators) becomes a space, so that every
//!   readable byte still shows: a carriage return could otherwise paint one command over another;
//! - what *reorders or hides* (bidi overrides and isolates, direction marks, zero-width space, soft hyphen, word
//!   joiner and its kin, byte order mark, interlinear annotation, the tag block) is removed: a visible space
//!   there would hand the writer a word boundary.
//!
//! Invariants: what scripts need stays (right-to-left letters, ZWJ, ZWNJ, variation selectors, combining marks);
//! making safe twice changes nothing; a line is never clipped here.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthStr as _;

/// How many combining marks of the script-independent blocks may sit on one base.
///
/// Vietnamese stacks two and phonetic notation three; a tower of them paints over the lines above and below.
const MARKS_PER_BASE: usize = 4;

/// Text made safe to draw on a terminal or a log line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shown(String);

impl Shown {
    /// Makes `text` safe to draw, on one line: line breaks become spaces.
    pub fn new(text: &str) -> Self {
        if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return Self(text.to_owned());
        }
        let mut safe = String::with_capacity(text.len());
        let mut marks = 0;
        for c in text.chars() {
            match fate(c) {
                Fate::Removed => continue,
                Fate::Space => safe.push(' '),
                Fate::Stays => safe.push(c),
                Fate::Mark if marks < MARKS_PER_BASE => {
                    marks += 1;
                    safe.push(c);
                    continue;
                }
                Fate::Mark => continue,
            }
            marks = 0;
        }
        Self(safe)
    }

    /// Makes text of several lines safe, a [`Shown`] a line.
    ///
    /// A carriage return alone ends a line too: on a terminal it would go back and paint over it. A final line
    /// break adds no empty line.
    pub fn lines(text: &str) -> Vec<Self> {
        let text =
            if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
        let breaks = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
        let mut lines: Vec<Self> = text.split(breaks).map(Self::new).collect();
        if text.ends_with(breaks) || text.is_empty() {
            lines.pop();
        }
        lines
    }

    /// Breaks the line at spaces so that each part is at most `width` columns wide; a word that is wider is
    /// broken where it must. Nothing but the spaces at a break is left out. A width of 0 counts as 1.
    pub fn wrap(&self, width: usize) -> Vec<Self> {
        let options = textwrap::Options::new(width.max(1))
            .break_words(true)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::wrap(&self.0, options).into_iter().map(|line| Self(line.into_owned())).collect()
    }

    /// How many terminal columns it takes.
    pub fn width(&self) -> usize {
        self.0.width()
    }

    /// Whether nothing would be drawn.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What becomes of a character that is drawn.
enum Fate {
    Stays,
    Space,
    Removed,
    Mark,
}

fn fate(c: char) -> Fate {
    match c {
        _ if c.is_control() => Fate::Space,
        '\u{2028}' | '\u{2029}' => Fate::Space,
        '\u{AD}' // soft hyphen
        | '\u{61C}' | '\u{200E}' | '\u{200F}' // direction marks
        | '\u{180E}' // Mongolian vowel separator: a zero-width format character since Unicode 6.3
        | '\u{200B}' // zero-width space
        | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' // bidi embeddings, overrides, isolates
        | '\u{2060}'..='\u{2064}' // word joiner, invisible operators
        | '\u{206A}'..='\u{206F}' // deprecated format characters
        | '\u{FEFF}' // byte order mark
        | '\u{FFF9}'..='\u{FFFB}' // interlinear annotation
        | '\u{E0000}'..='\u{E007F}' // tag block
        => Fate::Removed,
        '\u{300}'..='\u{36F}'
        | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}'
        | '\u{FE20}'..='\u{FE2F}' => Fate::Mark,
        _ => Fate::Stays,
    }
}

impl fmt::Display for Shown {
    /// Pads by terminal columns, not by characters, so that columns line up whatever the script.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(width), None) = (f.width(), f.precision()) else { return f.pad(&self.0) };
        let missing = width.saturating_sub(self.width());
        let before = match f.align() {
            Some(fmt::Alignment::Right) => missing,
            Some(fmt::Alignment::Center) => missing / 2,
            Some(fmt::Alignment::Left) | None => 0,
        };
        let fill = f.fill();
        for _ in 0..before {
            f.write_char(fill)?;
        }
        f.write_str(&self.0)?;
        for _ in before..missing {
            f.write_char(fill)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(text: &str) -> String {
        Shown::new(text).to_string()
    }

    #[test]
    fn turns_what_moves_the_cursor_into_spaces() {
        assert_eq!(drawn("rm -rf ~\x1b[2K\rls\u{9b}1A\u{7f}\u{2028}x"), "rm -rf ~ [2K ls 1A  x");
    }

    #[test]
    fn removes_what_reorders_or_hides() {
        for c in ['\u{202E}', '\u{2066}', '\u{200F}', '\u{61C}', '\u{200B}', '\u{AD}', '\u{2060}', '\u{FEFF}']
        {
            assert_eq!(drawn(&format!("a{c}b")), "ab", "{:x}", c as u32);
        }
        assert_eq!(drawn("a\u{FFF9}b\u{FFFB}\u{E0069}\u{E007F}c"), "abc");
    }

    #[test]
    fn keeps_what_scripts_need() {
        for text in
            ["שלום", "مرحبا", "می\u{200C}خواهم", "👩\u{200D}💻", "❤\u{FE0F}", "e\u{301}", "ệ", "เป็นที่", "नमस्ते"]
        {
            assert_eq!(drawn(text), text);
        }
    }

    #[test]
    fn cuts_down_a_tower_of_marks_and_accepts_a_small_stack() {
        let tower = format!("a{}b", "\u{301}".repeat(50));
        assert_eq!(drawn(&tower), format!("a{}b", "\u{301}".repeat(MARKS_PER_BASE)));
        assert_eq!(drawn("e\u{302}\u{323}\u{301}"), "e\u{302}\u{323}\u{301}");
    }

    #[test]
    fn pads_by_columns() {
        let wide = Shown::new("漢字");
        assert_eq!(format!("[{wide:6}]"), "[漢字  ]");
        assert_eq!(format!("[{wide:>6}]"), "[  漢字]");
        assert_eq!(format!("[{wide:.^7}]"), "[.漢字..]");
    }

    #[test]
    fn a_carriage_return_starts_a_line_of_its_own() {
        let lines: Vec<String> = Shown::lines("one\r\ntwo\rthree\n").iter().map(Shown::to_string).collect();
        assert_eq!(lines, ["one", "two", "three"]);
        assert!(Shown::lines("").is_empty());
        assert_eq!(Shown::lines("a\n\nb").len(), 3);
    }

    #[test]
    fn wraps_at_spaces_and_breaks_only_what_is_too_wide() {
        let text = Shown::new("a --flag=value 漢字漢字 end");
        let parts: Vec<String> = text.wrap(6).iter().map(Shown::to_string).collect();
        assert_eq!(parts, ["a", "--flag", "=value", "漢字漢", "字 end"]);
        assert!(!Shown::new("漢").wrap(0).is_empty());
    }

    #[test]
    fn serialises_as_its_safe_text() {
        assert_eq!(serde_json::to_string(&Shown::new("a\u{202E}\nb")).unwrap(), "\"a b\"");
    }

    proptest! {
        #[test]
        fn never_holds_a_forbidden_character(text in any::<String>()) {
            let safe = drawn(&text);
            prop_assert!(safe.chars().all(|c| matches!(fate(c), Fate::Stays | Fate::Mark)));
        }

        #[test]
        fn making_safe_twice_changes_nothing(text in any::<String>()) {
            let once = drawn(&text);
            prop_assert_eq!(drawn(&once), once);
        }

        #[test]
        fn wrapping_loses_nothing_but_spaces(text in any::<String>(), width in 0_usize..60) {
            let shown = Shown::new(&text);
            let solid = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let parts: String = shown.wrap(width).iter().map(Shown::to_string).collect();
            prop_assert_eq!(solid(&parts), solid(&shown.to_string()));
        }

        #[test]
        fn lines_hold_every_readable_character(text in any::<String>()) {
            let solid = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let lines: String = Shown::lines(&text).iter().map(Shown::to_string).collect();
            prop_assert_eq!(solid(&lines).is_empty(), solid(&drawn(&text)).is_empty());
        }
    }
}
