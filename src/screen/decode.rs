//! What does a text say that is written in an encoding?
//!
//! Escapes of markup, addresses and programs; base64 and hex, in one run or byte by byte; letters set one by one.
//! What does not decode to prose is not text and is left alone: a picture, a hash, a long name.
//!
//! Invariants: what is decoded is never longer than what it was decoded from; no panic on any input.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// So many letters, or bytes in hex, one by one in a row are a way of writing.
pub(super) const SHORT_WORDS: usize = 8;

/// Fewer encoded characters than these do not make a sentence.
pub(super) const MIN_ENCODED: usize = 24;

/// The text with HTML entities, percent-escapes and backslash escapes resolved; `None` where there are none.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut changed = 0;
    while let Some(at) = rest.find(['&', '%', '\\']) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        if let Some((used, resolved)) = escape(rest) {
            bytes.extend_from_slice(&resolved);
            rest = &rest[used..];
            changed += 1;
        } else {
            bytes.push(rest.as_bytes()[0]);
            rest = &rest[1..];
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    (changed >= 2).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// One escape at the start of `text`: how many bytes it takes, and the bytes it stands for.
fn escape(text: &str) -> Option<(usize, Vec<u8>)> {
    let of_char = |code: u32| char::from_u32(code).map(|c| c.to_string().into_bytes());
    let hex = |from: usize, digits: usize| {
        let digits = text.get(from..from + digits)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    match text.as_bytes() {
        [b'%', ..] => Some((3, vec![u8::try_from(hex(1, 2)?).ok()?])),
        [b'\\', b'x', ..] => Some((4, of_char(hex(2, 2)?)?)),
        [b'\\', b'u', b'{', ..] => {
            let end = text.bytes().take(12).position(|b| b == b'}')?;
            Some((end + 1, of_char(hex(3, end - 3)?)?))
        }
        [b'\\', b'u', ..] => Some((6, of_char(hex(2, 4)?)?)),
        [b'&', ..] => {
            let end = text.bytes().take(12).position(|b| b == b';')?;
            let name = text.get(1..end)?;
            let resolved = match name.strip_prefix('#') {
                Some(number) => {
                    let code = match number.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16),
                        None => number.parse(),
                    };
                    of_char(code.ok()?)?
                }
                None => match name {
                    "lt" => b"<".to_vec(),
                    "gt" => b">".to_vec(),
                    "amp" => b"&".to_vec(),
                    "quot" => b"\"".to_vec(),
                    "apos" => b"'".to_vec(),
                    "nbsp" | "Tab" | "ensp" | "emsp" | "thinsp" => b" ".to_vec(),
                    "NewLine" => b"\n".to_vec(),
                    "colon" => b":".to_vec(),
                    "period" => b".".to_vec(),
                    "shy" | "zwnj" | "zwj" | "ZeroWidthSpace" => Vec::new(),
                    _ => return None,
                },
            };
            Some((end + 1, resolved))
        }
        _ => None,
    }
}

/// The text of every base64 or hex run that decodes to text.
pub(super) fn encoded_runs(text: &str) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let in_run = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
    for run in text.split(|c: char| !c.is_ascii() || !in_run(c as u8)) {
        if run.len() < MIN_ENCODED {
            continue;
        }
        let hex_digits = run.strip_prefix("0x").unwrap_or(run);
        if hex_digits.len().is_multiple_of(2) && hex_digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            found.extend(hex::decode(hex_digits).ok().and_then(prose).map(|t| (t, "decoded from hex")));
        } else {
            // Something may be glued to the front, or a window may begin in the middle.
            let decoded = (0..4).find_map(|skip| base64(&run[skip..]).and_then(prose));
            found.extend(decoded.map(|t| (t, "decoded from base64")));
        }
    }
    found
}

/// The text of hex that is written a byte at a time: `69 67 6e`, `0x69 0x67`.
pub(super) fn hex_pairs(text: &str) -> Option<String> {
    let digits_of = |word: &str| {
        let digits = word.trim_end_matches(',');
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        (digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit())).then(|| digits.to_owned())
    };
    let mut decoded = String::new();
    let mut digits = String::new();
    for word in text.split_ascii_whitespace().map(Some).chain([None]) {
        if let Some(pair) = word.and_then(digits_of) {
            digits.push_str(&pair);
            continue;
        }
        if digits.len() >= MIN_ENCODED
            && let Some(plain) = hex::decode(&digits).ok().and_then(prose)
        {
            decoded.push_str(&plain);
            decoded.push('\n');
        }
        digits.clear();
    }
    (!decoded.is_empty()).then_some(decoded)
}

/// The text with letters that stand alone joined, where there are many in a row: `r e a d   t h i s` is `read this`.
pub(super) fn spelled_out(text: &str) -> Option<String> {
    let alone = |word: &&str| word.chars().nth(1).is_none() && word.chars().all(char::is_alphanumeric);
    let words: Vec<&str> = text.split([' ', '\t', '\n']).collect();
    let mut run = 0;
    // Two spaces in a row leave an empty word between: the gap between two words that are spelled out.
    let spelled = words.iter().any(|word| {
        run = if word.is_empty() || alone(word) { run + usize::from(!word.is_empty()) } else { 0 };
        run >= SHORT_WORDS
    });
    if !spelled {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut last_alone = false;
    for word in words {
        let this_alone = !word.is_empty() && alone(&word);
        let spelled_on = last_alone && this_alone;
        if !spelled_on && !plain.ends_with(' ') {
            plain.push(' ');
        }
        plain.push_str(word);
        last_alone = this_alone;
    }
    Some(plain)
}

/// Decodes what looks like base64: an ordinary long word or path is told apart by its letters' case.
fn base64(run: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let upper = run.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = run.bytes().filter(u8::is_ascii_lowercase).count();
    if upper < 3 || lower < 3 {
        return None;
    }
    // A run that was cut to a length base64 cannot have still decodes but for its last character.
    let whole = if run.len() % 4 == 1 { &run[..run.len() - 1] } else { run };
    STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole)).ok()
}

/// The bytes as text, where they read as prose: printable, with letters and more than one word.
fn prose(bytes: Vec<u8>) -> Option<String> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            // A run that was joined to something else ends in garbage.
            let valid = e.utf8_error().valid_up_to();
            if valid < MIN_ENCODED / 2 {
                return None;
            }
            let mut bytes = e.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()?
        }
    };
    let odd = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (odd == 0 && letters * 2 > text.chars().count()).then_some(text)
}
