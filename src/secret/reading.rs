//! Which letters does a text have, and where?
//!
//! As it stands, and without the escapes that programs put in for its signs: of URLs (`%40`), of JSON and most languages
//! (`\\u0040`, `\\x40`) and of HTML (`&#64;`, `&amp;`), twice over. A letter with a mark is the letter, in one character or in
//! two.

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use zeroize::Zeroizing;

/// Readings of one text.
const MOST: usize = 3;

/// A character, and where it was in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) c: char,
    pub(super) at: Range<usize>,
}

/// The letters and digits of a reading: a byte each, and where in the reading they are.
pub(super) struct Letters {
    bytes: Zeroizing<Vec<u8>>,
    at: Vec<usize>,
}

impl Letters {
    pub(super) fn of(read: &[Read]) -> Self {
        let mut letters = Self {
            bytes: Zeroizing::new(Vec::with_capacity(read.len())),
            at: Vec::with_capacity(read.len()),
        };
        for (at, one) in read.iter().enumerate() {
            let mut keep = |byte| {
                letters.bytes.push(byte);
                letters.at.push(at);
            };
            if one.c.is_ascii() {
                if one.c.is_ascii_alphanumeric() {
                    keep(one.c.to_ascii_lowercase() as u8);
                }
                continue;
            }
            decompose_compatible(one.c, |part| {
                if canonical_combining_class(part) == 0 && part.is_alphanumeric() {
                    part.to_lowercase().for_each(|part| keep(byte(part)));
                }
            });
        }
        letters
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the reading the letters from one to another are, both included.
    pub(super) fn span(&self, first: usize, last: usize) -> Range<usize> {
        self.at[first]..self.at[last] + 1
    }
}

/// A letter as a byte: those of ASCII as they are, of all others some share one.
fn byte(letter: char) -> u8 {
    let number = u32::from(letter);
    u8::try_from(number)
        .ok()
        .filter(u8::is_ascii)
        .unwrap_or(0x80 | ((number ^ number >> 7 ^ number >> 14) & 0x7f) as u8)
}

/// A text as it stands.
pub(super) fn plain(text: &str) -> Vec<Read> {
    text.char_indices().map(|(at, c)| Read { c, at: at..at + c.len_utf8() }).collect()
}

/// A text as it stands, and as it is without escapes.
pub(super) fn all(text: &str) -> Vec<Vec<Read>> {
    let mut all = vec![plain(text)];
    while all.len() < MOST
        && let Some(last) = all.last()
        && last.iter().any(|one| matches!(one.c, '%' | '\\' | '&'))
    {
        let next = unescaped(last);
        if next.len() == last.len() {
            break;
        }
        all.push(next);
    }
    all
}

fn unescaped(read: &[Read]) -> Vec<Read> {
    let mut all = Vec::with_capacity(read.len());
    let mut at = 0;
    while let Some(one) = read.get(at) {
        let rest = &read[at..];
        let escape = match one.c {
            '%' => of_url(rest),
            '\\' => of_json(rest),
            '&' => of_html(rest),
            _ => None,
        };
        match escape {
            Some((c, length)) => {
                all.extend(c.map(|c| Read { c, at: one.at.start..read[at + length - 1].at.end }));
                at += length;
            }
            None => {
                all.push(one.clone());
                at += 1;
            }
        }
    }
    all
}

fn hex(read: &[Read], from: usize, digits: usize) -> Option<u32> {
    let digits = read.get(from..from + digits)?;
    digits.iter().try_fold(0, |number, one| Some(number << 4 | one.c.to_digit(16)?))
}

/// Source: RFC 3986, 2.1; bytes of UTF-8, or else of Latin-1.
fn of_url(read: &[Read]) -> Option<(Option<char>, usize)> {
    let byte = |nth: usize| {
        let at = nth * 3;
        (read.get(at)?.c == '%').then(|| hex(read, at + 1, 2))?.map(|byte| byte as u8)
    };
    let first = byte(0)?;
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let bytes: Option<Vec<u8>> = (0..length).map(byte).collect();
    let whole = bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.chars().next());
    Some(whole.map_or((Some(char::from(first)), 3), |c| (Some(c), length * 3)))
}

/// Source: RFC 8259, 7; `\\x40` is of the languages that have it.
fn of_json(read: &[Read]) -> Option<(Option<char>, usize)> {
    let escaped = match read.get(1)?.c {
        'u' => {
            let number = hex(read, 2, 4)?;
            if let 0xd800..=0xdbff = number {
                let low = read.get(6..8)?;
                let low = (low[0].c == '\\' && low[1].c == 'u').then(|| hex(read, 8, 4))??;
                let c = char::decode_utf16([number as u16, low as u16]).next()?.ok()?;
                return Some((Some(c), 12));
            }
            (char::from_u32(number), 6)
        }
        'x' => (char::from_u32(hex(read, 2, 2)?), 4),
        'n' | 'r' | 't' => (Some(' '), 2),
        // before a sign, or before one more of its kind
        _ => (None, 1),
    };
    Some(escaped)
}

/// Source: HTML, "Named character references", those that have to be.
fn of_html(read: &[Read]) -> Option<(Option<char>, usize)> {
    let end = read.iter().take(10).position(|one| one.c == ';')?;
    let name: String = read[1..end].iter().map(|one| one.c).collect();
    let c = match name.as_str() {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(number) => u32::from_str_radix(number, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    };
    Some((Some(c), end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn last(text: &str) -> String {
        all(text).pop().unwrap().iter().map(|one| one.c).collect()
    }

    #[test]
    fn an_escape_is_read_as_what_it_stands_for() {
        for (text, read) in [
            ("p%40ss", "p@ss"),
            ("%C3%A4%e4", "ää"),
            ("100% sure", "100% sure"),
            ("%2540", "@"),
            (r"a\u003cb\x26", "a<b&"),
            (r"\ud83d\ude00 \ud83d", "\u{1f600} \\ud83d"),
            ("a&lt;b&amp;c&#64;&#x40;&unknown;", "a<b&c@@&unknown;"),
            ("%", "%"),
        ] {
            assert_eq!(last(text), read, "{text}");
        }
    }

    #[test]
    fn a_letter_with_a_mark_is_the_letter() {
        let letters = |text: &str| Letters::of(&plain(text)).bytes().to_vec();
        assert_eq!(letters("P\u{e4}s-1"), b"pas1");
        assert_eq!(letters("pa\u{308}s1"), b"pas1");
        assert_eq!(letters("Пароль"), letters("пароль"));
        assert_eq!(letters("пароль").len(), 6);
    }

    proptest! {
        #[test]
        fn never_panics_and_each_place_is_in_the_text(text in "[%\\\\&#;ux0-9a-f\\PC]{0,40}") {
            for read in all(&text) {
                prop_assert!(read.iter().all(|one| text.get(one.at.clone()).is_some()));
                Letters::of(&read);
            }
        }
    }
}
