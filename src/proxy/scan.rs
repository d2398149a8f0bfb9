//! Would every JSON parser read this message the same way?
//!
//! One pass over the bytes that builds nothing, so that a result of a megabyte costs little more than looking at it.
//! Why not a library: none checks member names for duplicates without building a tree, and `serde_json` with
//! `arbitrary_precision` reads an object whose first member is `$serde_json::private::Number` as a number.
//!
//! Invariants: what passes is JSON (RFC 8259), UTF-8, nested at most [`DEPTH`] deep, with no member named twice in
//! one object at any depth, compared after escapes are decoded. No recursion, no allocation but the names of the
//! objects still open. Escaped lone surrogates pass: they are JSON, and real results hold them.

/// How deep a message may nest, its outermost object counted.
pub const DEPTH: usize = 128;

/// Member names that `serde_json` takes for numbers and raw values of its own.
const RESERVED: &[u8] = b"$serde_json::private::";

/// Why a line is no message that all parsers read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Not JSON at all.
    #[error("it is not JSON")]
    NotJson,
    /// JSON, and no object: an array would be a batch, which only MCP 2025-03-26 had.
    #[error("it is not one JSON object (batches are not supported)")]
    NotAnObject,
    /// Some bytes are not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// An object names a member twice.
    #[error("an object in it names a member twice")]
    NamedTwice,
    /// Deeper than [`DEPTH`].
    #[error("it nests deeper than 128 levels")]
    TooDeep,
    /// Longer than [`super::lines::LIMIT`].
    #[error("it is longer than 16 MiB")]
    TooLong,
    /// A member name that our own parser would read as something else.
    #[error("it uses a reserved member name")]
    Reserved,
    /// JSON, and not JSON-RPC 2.0.
    #[error("it is not a JSON-RPC 2.0 message")]
    NotAMessage,
}

/// Where a value lies in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn of(self, line: &[u8]) -> &[u8] {
        // Spans come from a scan of the same line; a stranger's line gives an empty slice, not a panic.
        line.get(self.start..self.end).unwrap_or_default()
    }
}

/// The members an envelope is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Top {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

const TOPS: [(&[u8], Top); 6] = [
    (b"jsonrpc", Top::JsonRpc),
    (b"id", Top::Id),
    (b"method", Top::Method),
    (b"params", Top::Params),
    (b"result", Top::Result),
    (b"error", Top::Error),
];

/// What a scan has found so far; after a flaw, what it had found until then.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub jsonrpc: Option<Span>,
    pub id: Option<Span>,
    pub method: Option<Span>,
    pub params: Option<Span>,
    pub result: Option<Span>,
    pub error: Option<Span>,
    /// `inputRequests` directly in `result` or `params`.
    pub input_requests: Option<Span>,
    /// Values in the message, a bound for what a parsed tree of it would cost.
    pub values: usize,
}

impl Found {
    fn slot(&mut self, top: Top) -> &mut Option<Span> {
        match top {
            Top::JsonRpc => &mut self.jsonrpc,
            Top::Id => &mut self.id,
            Top::Method => &mut self.method,
            Top::Params => &mut self.params,
            Top::Result => &mut self.result,
            Top::Error => &mut self.error,
        }
    }
}

/// Scans a line that should be one JSON object.
pub(super) fn scan(line: &[u8]) -> (Found, Result<(), Flaw>) {
    let mut scanner = Scanner {
        text: line,
        at: 0,
        found: Found::default(),
        names: Vec::new(),
        decoded: Vec::new(),
        top: None,
        inputs: false,
    };
    let mut outcome = scanner.message();
    if outcome != Err(Flaw::NotJson) && std::str::from_utf8(line).is_err() {
        outcome = Err(Flaw::NotUtf8);
    }
    (scanner.found, outcome)
}

/// A member's name, decoded: in the line itself where it has no escape, else in `Scanner::decoded`.
#[derive(Clone, Copy)]
struct Name {
    start: u32,
    len: u32,
    decoded: bool,
}

enum Frame {
    Array,
    /// With the index of its first name in `Scanner::names`, and where decoded names ended before it.
    Object(usize, usize),
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    found: Found,
    names: Vec<Name>,
    decoded: Vec<u8>,
    /// The outermost member being read, if it is one we know, and where its value starts.
    top: Option<(Top, usize)>,
    /// The value being read is `inputRequests`; its start is kept in `found`.
    inputs: bool,
}

impl Scanner<'_> {
    fn message(&mut self) -> Result<(), Flaw> {
        let mut frames: Vec<Frame> = Vec::new();
        loop {
            // One value begins here.
            self.space();
            self.found.values += 1;
            let first = self.peek();
            if frames.is_empty() && first != Some(b'{') {
                return Err(if first == Some(b'[') { Flaw::NotAnObject } else { Flaw::NotJson });
            }
            match first {
                Some(open @ (b'{' | b'[')) => {
                    if frames.len() == DEPTH {
                        return Err(Flaw::TooDeep);
                    }
                    self.at += 1;
                    self.space();
                    if open == b'[' {
                        frames.push(Frame::Array);
                        if self.peek() != Some(b']') {
                            continue;
                        }
                    } else {
                        frames.push(Frame::Object(self.names.len(), self.decoded.len()));
                        if self.peek() != Some(b'}') {
                            self.name(frames.len())?;
                            continue;
                        }
                    }
                    // Empty: closed below.
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(Flaw::NotJson),
            }
            // One value, or the opening of an empty one, ended here: close what closes with it.
            let mut opened_empty = matches!(first, Some(b'{' | b'['));
            loop {
                if !opened_empty {
                    self.value_ended(frames.len());
                }
                self.space();
                let Some(frame) = frames.last() else {
                    return if self.at == self.text.len() { Ok(()) } else { Err(Flaw::NotJson) };
                };
                let next = self.peek();
                self.at += 1;
                match (frame, next) {
                    (Frame::Array, Some(b',')) if !opened_empty => break,
                    (Frame::Object(..), Some(b',')) if !opened_empty => {
                        self.space();
                        self.name(frames.len())?;
                        break;
                    }
                    (Frame::Array, Some(b']')) => {}
                    (&Frame::Object(names, decoded), Some(b'}')) => {
                        self.named_once(names)?;
                        self.names.truncate(names);
                        self.decoded.truncate(decoded);
                    }
                    _ => return Err(Flaw::NotJson),
                }
                frames.pop();
                opened_empty = false;
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Flaw> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Flaw::NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    /// RFC 8259 §6: no leading zero, digits on both sides of the point.
    fn number(&mut self) -> Result<(), Flaw> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Flaw> {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == from { Err(Flaw::NotJson) } else { Ok(()) }
    }

    /// Passes over a string; tells whether it holds an escape.
    fn string(&mut self) -> Result<bool, Flaw> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let digits = self.text.get(self.at + 1..self.at + 5).ok_or(Flaw::NotJson)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return Err(Flaw::NotJson);
                            }
                            self.at += 5;
                        }
                        _ => return Err(Flaw::NotJson),
                    }
                }
                // A control character, or the end of the line.
                _ => return Err(Flaw::NotJson),
            }
        }
    }

    /// A member's name, its colon and the space after it.
    fn name(&mut self, depth: usize) -> Result<(), Flaw> {
        if self.peek() != Some(b'"') {
            return Err(Flaw::NotJson);
        }
        let start = self.at + 1;
        let escaped = self.string()?;
        let raw = &self.text[start..self.at - 1];
        // A line has at most 16 MiB, so its positions fit.
        let name = if escaped {
            let from = self.decoded.len();
            decode(raw, &mut self.decoded);
            Name { start: from as u32, len: (self.decoded.len() - from) as u32, decoded: true }
        } else {
            Name { start: start as u32, len: raw.len() as u32, decoded: false }
        };
        self.names.push(name);
        self.space();
        if self.peek() != Some(b':') {
            return Err(Flaw::NotJson);
        }
        self.at += 1;
        self.space();

        let (text, at) = (self.spelled(name), self.at);
        if text.starts_with(RESERVED) {
            return Err(Flaw::Reserved);
        }
        if depth == 1 {
            // Some parsers match names whatever their case (Go's, which folds `ſ` to `s` as well), so a look-alike
            // of an envelope's member is not let through beside the one that was checked.
            if !text.is_ascii() {
                return Err(Flaw::NotAMessage);
            }
            let known = TOPS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
            if known.is_some_and(|(name, _)| *name != text) {
                return Err(Flaw::NotAMessage);
            }
            self.top = known.map(|(_, top)| (*top, at));
        } else if depth == 2
            && matches!(self.top, Some((Top::Result | Top::Params, _)))
            && same_to_any_parser(text, "inputRequests")
        {
            if self.found.input_requests.is_some() || text != b"inputRequests" {
                return Err(Flaw::NotAMessage);
            }
            self.found.input_requests = Some(Span { start: at, end: at });
            self.inputs = true;
        }
        Ok(())
    }

    /// A value ended with `depth` objects and arrays still open around it.
    fn value_ended(&mut self, depth: usize) {
        if depth == 1 {
            if let Some((top, start)) = self.top.take() {
                let end = self.at;
                *self.found.slot(top) = Some(Span { start, end });
            }
        } else if depth == 2 && self.inputs {
            self.inputs = false;
            if let Some(span) = &mut self.found.input_requests {
                span.end = self.at;
            }
        }
    }

    fn spelled(&self, name: Name) -> &[u8] {
        let from = if name.decoded { &self.decoded[..] } else { self.text };
        &from[name.start as usize..(name.start + name.len) as usize]
    }

    /// No two names from index `from` on are alike.
    fn named_once(&mut self, from: usize) -> Result<(), Flaw> {
        let mut names = std::mem::take(&mut self.names);
        let ours = &mut names[from..];
        let twice = if ours.len() <= 12 {
            ours.iter().enumerate().any(|(i, a)| {
                ours[..i].iter().any(|b| a.len == b.len && self.spelled(*a) == self.spelled(*b))
            })
        } else {
            // Sorted, not hashed: no choice of names makes it slow.
            ours.sort_unstable_by(|a, b| self.spelled(*a).cmp(self.spelled(*b)));
            ours.windows(2).any(|pair| self.spelled(pair[0]) == self.spelled(pair[1]))
        };
        self.names = names;
        if twice { Err(Flaw::NamedTwice) } else { Ok(()) }
    }
}

/// Whether some parser would take `name` for `known`: Go's folds case, and `ſ` and the Kelvin sign with it.
pub(super) fn same_to_any_parser(name: &[u8], known: &str) -> bool {
    if name.is_ascii() {
        return name.eq_ignore_ascii_case(known.as_bytes());
    }
    let name = String::from_utf8_lossy(name).replace('ſ', "s").replace('\u{212a}', "k");
    name.eq_ignore_ascii_case(known)
}

/// Whether some parser would take `name` for one of `known` though it is not that one.
pub(super) fn resembles(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name != *known && same_to_any_parser(name.as_bytes(), known))
}

/// How many bytes at the start of `text` are neither a quote, a backslash nor a control character.
fn plain(text: &[u8]) -> usize {
    // Eight bytes at a time; a byte's high bit is set where it is one of those. Borrows only run upwards, so the
    // lowest bit set is exact. Source: Hacker's Delight, 6-1.
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut at = 0;
    let (words, _) = text.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let equal = |byte: u8| {
            let differs = word ^ (ONES * u64::from(byte));
            differs.wrapping_sub(ONES) & !differs
        };
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hit = (control | equal(b'"') | equal(b'\\')) & HIGH;
        if hit != 0 {
            return at + hit.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest.iter().position(|b| matches!(b, 0..=0x1f | b'"' | b'\\')).unwrap_or(rest.len())
}

/// Decodes the escapes of a checked string. A lone surrogate becomes its three bytes as if it were a character
/// (WTF-8), so that it equals itself only.
fn decode(raw: &[u8], into: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            into.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else { return };
        rest = after;
        match escape {
            b'b' => into.push(8),
            b'f' => into.push(12),
            b'n' => into.push(b'\n'),
            b'r' => into.push(b'\r'),
            b't' => into.push(b'\t'),
            b'u' => {
                let mut unit = hex4(rest);
                rest = rest.get(4..).unwrap_or_default();
                if (0xd800..0xdc00).contains(&unit) && rest.starts_with(b"\\u") {
                    let low = hex4(&rest[2..]);
                    if (0xdc00..0xe000).contains(&low) {
                        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        rest = rest.get(6..).unwrap_or_default();
                    }
                }
                match char::from_u32(unit) {
                    Some(char) => into.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                    None => into.extend_from_slice(&[
                        0xe0 | (unit >> 12) as u8,
                        0x80 | (unit >> 6 & 0x3f) as u8,
                        0x80 | (unit & 0x3f) as u8,
                    ]),
                }
            }
            same => into.push(same),
        }
    }
}

fn hex4(digits: &[u8]) -> u32 {
    digits.iter().take(4).fold(0, |sum, digit| sum << 4 | char::from(*digit).to_digit(16).unwrap_or_default())
}

#[cfg(test)]
mod tests;
