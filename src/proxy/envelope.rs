//! What kind of message is this, and what is it about?
//!
//! Only the envelope is read (`id`, `method`, and where `params`, `result` and `error` lie); MCP is not modelled, so
//! what a later version adds passes untouched. A line that is no message still tells, where it can, which request
//! it was meant to answer, so that the asker gets an error and not silence. That guess decides nothing else: the
//! worst a forged one does is fail a request that its own server left unanswered.

use std::borrow::Cow;
use std::fmt;

use super::scan::{self, Flaw, Found, Span};

/// The longest id, in bytes of JSON: it is kept for as long as its request is open.
const LONGEST_ID: usize = 1024;

/// A request's id as canonical JSON text: a number as it was written, a string with its escapes normalised. So `1`,
/// `1.0` and `"1"` are three ids (JSON-RPC 2.0 §4), and a peer that escapes differently still names the same one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(Box<str>);

impl Id {
    /// Reads the JSON text of an id; `None` if it is neither a string nor a number, or over-long.
    pub fn read(json: &[u8]) -> Option<Self> {
        if json.len() > LONGEST_ID {
            return None;
        }
        let json = std::str::from_utf8(json).ok()?;
        match json.as_bytes().first()? {
            b'"' => {
                let text: String = serde_json::from_str(json).ok()?;
                Some(Self::string(&text))
            }
            b'-' | b'0'..=b'9' => Some(Self(json.into())),
            _ => None,
        }
    }

    /// The id that is this string.
    pub fn string(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string().into())
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a message is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Request {
        id: Id,
        method: Cow<'a, str>,
    },
    Notification {
        method: Cow<'a, str>,
    },
    /// `id` is absent or null where the peer could not tell what it answers.
    Response {
        id: Option<Id>,
        failed: bool,
    },
}

/// A message, and the line it was read from.
#[derive(Debug)]
pub(super) struct Envelope<'a> {
    line: &'a [u8],
    found: Found,
    pub kind: Kind<'a>,
}

/// A line that is no message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub flaw: Flaw,
    /// The id it seems to bear.
    pub id: Option<Id>,
    /// It was meant as JSON-RPC; otherwise it is noise.
    pub meant: bool,
    /// It names a method, so it asks and does not answer.
    pub asks: bool,
}

impl<'a> Envelope<'a> {
    /// Reads one line.
    pub fn read(line: &'a [u8]) -> Result<Self, Broken> {
        let (found, outcome) = scan::scan(line);
        if let Err(flaw) = outcome {
            return Err(Broken::guess(flaw, &found, line, line));
        }
        match Self::kind(&found, line) {
            Some(kind) => Ok(Self { line, found, kind }),
            None => Err(Broken {
                flaw: Flaw::NotAMessage,
                id: found.id.and_then(|id| Id::read(id.of(line))),
                meant: found.jsonrpc.is_some(),
                asks: found.method.is_some(),
            }),
        }
    }

    fn kind(found: &Found, line: &'a [u8]) -> Option<Kind<'a>> {
        let is = |span: Option<Span>, text: &str| span.is_some_and(|span| span.of(line) == text.as_bytes());
        if !is(found.jsonrpc, "\"2.0\"") {
            return None;
        }
        // Some libraries write `"error":null` or `"result":null` beside the other; two that both say something are
        // two answers, of which each parser would choose its own.
        let failed = found.error.is_some() && !is(found.error, "null");
        if failed && found.result.is_some() && !is(found.result, "null") {
            return None;
        }
        let Some(method) = found.method else {
            if found.result.is_none() && !failed {
                return None;
            }
            let id = match found.id {
                Some(id) if id.of(line) != b"null" => Some(Id::read(id.of(line))?),
                _ => None,
            };
            return Some(Kind::Response { id, failed });
        };
        if found.result.is_some() || found.error.is_some() {
            return None;
        }
        let method = read_text(method.of(line))?;
        Some(match found.id {
            // A request whose id is null cannot be answered; MCP forbids it.
            Some(id) => Kind::Request { id: Id::read(id.of(line))?, method },
            None => Kind::Notification { method },
        })
    }

    /// The bytes of `params`; empty if there are none.
    pub fn params(&self) -> &'a [u8] {
        self.part(self.found.params)
    }

    /// The bytes of `result`; empty if there are none.
    pub fn result(&self) -> &'a [u8] {
        self.part(self.found.result)
    }

    /// The bytes of `error`; empty if there are none.
    pub fn error(&self) -> &'a [u8] {
        self.part(self.found.error)
    }

    /// An answer that holds both `result` and `error`, one of them null.
    pub fn is_double(&self) -> bool {
        self.found.result.is_some() && self.found.error.is_some()
    }

    /// Where `inputRequests` lies, directly in `result` or `params`.
    pub fn input_requests(&self) -> Option<Span> {
        self.found.input_requests
    }

    /// How many JSON values the message holds.
    pub fn values(&self) -> usize {
        self.found.values
    }

    fn part(&self, span: Option<Span>) -> &'a [u8] {
        span.map(|span| span.of(self.line)).unwrap_or_default()
    }
}

impl Broken {
    /// What the ends of an over-long line tell.
    pub fn too_long(head: &[u8], tail: &[u8]) -> Self {
        let (found, _) = scan::scan(head);
        Self::guess(Flaw::TooLong, &found, head, tail)
    }

    /// Most peers write `id` first or last: what was read before the flaw tells, else the end of the line.
    fn guess(flaw: Flaw, found: &Found, head: &[u8], line: &[u8]) -> Self {
        let tail = &line[line.len().saturating_sub(super::lines::END)..];
        let begins = head.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        let meant = found.jsonrpc.is_some()
            || (flaw != Flaw::NotJson && begins && find(tail, b"\"jsonrpc\"").is_some());
        let id = match found.id {
            Some(span) => Id::read(span.of(head)),
            None if meant => last_id(tail),
            None => None,
        };
        Self { flaw, id, meant, asks: found.method.is_some() }
    }
}

/// The value of the last `"id":` in `tail`.
fn last_id(tail: &[u8]) -> Option<Id> {
    let at = tail.windows(4).rposition(|window| window == b"\"id\"")?;
    let after = tail[at + 4..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(after).into_iter::<serde_json::Value>();
    let value = values.next()?.ok()?;
    Id::read(value.to_string().as_bytes())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn read_text(json: &[u8]) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice(json).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(line: &str) -> Result<Kind<'_>, Broken> {
        Envelope::read(line.as_bytes()).map(|envelope| envelope.kind)
    }

    fn id(json: &str) -> Id {
        Id::read(json.as_bytes()).unwrap()
    }

    #[test]
    fn one_and_one_point_nought_and_the_string_one_are_three_ids() {
        assert_ne!(id("1"), id("1.0"));
        assert_ne!(id("1"), id("\"1\""));
        assert_eq!(id("\"a\\/\\u0062\""), id("\"a/b\""));
        assert_eq!(id("18446744073709551616").json(), "18446744073709551616");
    }

    #[test]
    fn refuses_ids_that_cannot_be_answered() {
        for json in ["null", "true", "[1]", "{}", "\"\\ud800\"", "", &format!("\"{}\"", "x".repeat(1024))] {
            assert_eq!(Id::read(json.as_bytes()), None, "{json}");
        }
        assert!(kind(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).is_err());
    }

    #[test]
    fn tells_the_kinds_apart() {
        let request = kind(r#"{"id":"x","method":"a\/b","jsonrpc":"2.0"}"#);
        assert_eq!(request, Ok(Kind::Request { id: id("\"x\""), method: "a/b".into() }));
        let notification = kind(r#"{"jsonrpc":"2.0","method":"m","params":{}}"#);
        assert_eq!(notification, Ok(Kind::Notification { method: "m".into() }));
        let result = kind(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#);
        assert_eq!(result, Ok(Kind::Response { id: Some(id("1")), failed: false }));
        let error = kind(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#);
        assert_eq!(error, Ok(Kind::Response { id: None, failed: true }));
    }

    #[test]
    fn refuses_a_message_that_is_two_things_at_once() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","error":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":0,"result":[]}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        ] {
            let broken = kind(line).unwrap_err();
            assert_eq!((broken.flaw, broken.id), (Flaw::NotAMessage, Some(id("1"))), "{line}");
        }
    }

    #[test]
    fn a_broken_answer_still_tells_what_it_answers() {
        let deep =
            format!("{{\"result\":{}1{},\"jsonrpc\":\"2.0\",\"id\":7}}", "[".repeat(300), "]".repeat(300));
        for line in [
            &deep[..],
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#,
            r#"{"result":{"a":1,"a":2},"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"text":"cut off"#,
        ] {
            let broken = kind(line).unwrap_err();
            assert_eq!((broken.id, broken.meant), (Some(id("7")), true), "{line}");
        }
        let broken = Broken::too_long(br#"{"result":{"text":"xxxx"#, br#"xx"},"jsonrpc":"2.0", "id" : 7}"#);
        assert_eq!(broken, Broken { flaw: Flaw::TooLong, id: Some(id("7")), meant: true, asks: false });
        let broken =
            Broken::too_long(br#"{"id":7,"jsonrpc":"2.0","result":{"text":"xxxx"#, br#"x","id":9}}"#);
        assert_eq!(broken.id, Some(id("7")));
    }

    #[test]
    fn banners_and_logs_are_noise() {
        for line in
            ["", "Server running on stdio", r#"{"level":"info","msg":"hello","id":1}"#, "[1,2]", "1", "{"]
        {
            let broken = kind(line).unwrap_err();
            assert!(!broken.meant, "{line}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Envelope::read(&bytes);
            let _ = Envelope::read(&[&b"{\"jsonrpc\":\"2.0\",\"id\":"[..], &bytes, b"}"].concat());
            let _ = Broken::too_long(&bytes, &bytes);
        }
    }
}
