//! What does a server say, all of it, when we are the one who asks?
//!
//! A client as small as can be. Not an SDK's: typed handlers drop fields they do not know, and an unknown field is
//! advertised to the client's model all the same. One request at a time; what the server asks meanwhile is answered
//! with as little as the protocol allows.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::answer::Answer;
use super::envelope::{Envelope, Id, Kind};
use super::ledger::PAGES;
use super::lines::{Line, Lines};
use super::lists::{ITEMS, List};
use crate::failure::{Code, Failure};
use crate::secret::Mask;
use crate::text::Shown;

/// The most JSON values of one answer: its tree costs some hundred bytes a value.
const VALUES: usize = 500_000;

/// Which lifecycle of MCP to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// 2024-11-05 … 2025-11-25: `initialize`, then a session.
    Handshake,
    /// 2026-07-28: `server/discover`, and every request bears its context in `_meta`.
    Stateless,
}

impl Era {
    /// Both.
    pub const ALL: [Era; 2] = [Era::Handshake, Era::Stateless];

    /// The newest protocol version of it that is spoken here.
    pub fn version(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// The capabilities of the client that has them all: servers offer it the most.
    pub fn widest(self) -> Value {
        match self {
            Self::Handshake => json!({
                "roots": { "listChanged": true },
                "sampling": { "context": {}, "tools": {} },
                "elicitation": { "form": {}, "url": {} },
                "tasks": {
                    "list": {},
                    "cancel": {},
                    "requests": { "sampling": { "createMessage": {} }, "elicitation": { "create": {} } }
                }
            }),
            Self::Stateless => json!({
                "roots": {},
                "sampling": { "context": {}, "tools": {} },
                "elicitation": { "form": {}, "url": {} },
                "extensions": { "io.modelcontextprotocol/tasks": {} }
            }),
        }
    }

    /// The capabilities of the client that has none.
    pub fn narrowest(self) -> Value {
        json!({})
    }
}

/// Why a server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Its input or output failed.
    #[error("the server's streams failed: {0}")]
    Io(#[from] io::Error),
    /// It closed its output.
    #[error("the server ended before it answered {method}")]
    Ended {
        /// What was asked.
        method: String,
    },
    /// It did not answer in time. The peer is of no use after it.
    #[error("the server did not answer {method} within {} s", limit.as_secs())]
    TimedOut {
        /// What was asked.
        method: String,
        /// How long it had.
        limit: Duration,
    },
    /// It answered with an error.
    #[error("the server answered {method} with an error: {message} ({code})")]
    Refused {
        /// What was asked.
        method: String,
        /// The error's code; 0 if it has none.
        code: i64,
        /// The error's message, at most 500 characters of it.
        message: Shown,
        /// The whole error.
        error: Box<Value>,
    },
    /// Its answer cannot be read.
    #[error("the server's answer to {method} cannot be read: {why}")]
    Malformed {
        /// What was asked.
        method: String,
        /// What is wrong with it.
        why: String,
    },
    /// It answered the opener of an era with a version of the other.
    #[error("the server does not speak MCP {0}")]
    OtherEra(&'static str),
    /// A list without end.
    #[error("the server's answers to {method} have no end")]
    Endless {
        /// What was asked.
        method: &'static str,
    },
}

impl PeerError {
    /// The same without a server's credentials in what it quotes of the server.
    #[must_use]
    pub fn without(mut self, mask: &Mask) -> Self {
        if let Self::Refused { message, error, .. } = &mut self
            && let Some(hidden) = mask.hide(words_of(error))
        {
            // the whole message, for a value at the cut would be half in it
            *message = cut(&hidden);
        }
        self
    }

    /// Whether an opener failed only since the server does not know its era; the other one may work.
    pub fn is_other_era(&self) -> bool {
        match self {
            Self::OtherEra(_) => true,
            // MCP 2026-07-28: these codes tell of a server that knows the stateless era and refuses all the same.
            Self::Refused { method, code, .. } => {
                matches!(method.as_str(), "initialize" | "server/discover")
                    && !matches!(code, -32020 | -32021)
            }
            // A server of the older era may just ignore what it does not know.
            Self::TimedOut { method, .. } => method == "server/discover",
            _ => false,
        }
    }
}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Self {
        Failure::new(
            Code::ServerFailed,
            "the server did not say what it offers",
            error,
            "look at what it wrote to its standard error, and ask its author",
        )
    }
}

/// A connection to a server on which we are the client.
pub struct Peer {
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    era: Era,
    context: Value,
    limit: Duration,
    issued: u64,
    changed: HashSet<List>,
}

impl Peer {
    /// Opens a session in `era` with these client capabilities; with it comes the server's answer to the opener.
    /// `limit` is for each request, the opener included.
    pub async fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        era: Era,
        capabilities: Value,
        limit: Duration,
    ) -> Result<(Self, Value), PeerError> {
        let client = json!({ "name": "pinfold", "version": env!("CARGO_PKG_VERSION") });
        let context = json!({
            "io.modelcontextprotocol/protocolVersion": era.version(),
            "io.modelcontextprotocol/clientInfo": client,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let mut peer = Self {
            lines: Lines::new(Box::new(reader)),
            writer: Box::new(writer),
            era,
            context,
            limit,
            issued: 0,
            changed: HashSet::new(),
        };
        let opened = match era {
            Era::Handshake => {
                let params = json!({
                    "protocolVersion": era.version(),
                    "capabilities": capabilities,
                    "clientInfo": client,
                });
                let opened = peer.request("initialize", params).await?;
                let version = opened.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                if version >= Era::Stateless.version() {
                    return Err(PeerError::OtherEra(era.version()));
                }
                peer.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
                opened
            }
            Era::Stateless => {
                let opened = peer.request("server/discover", json!({})).await?;
                let versions = opened.get("supportedVersions").and_then(Value::as_array);
                if !versions.is_some_and(|versions| versions.iter().any(|version| version == era.version())) {
                    return Err(PeerError::OtherEra(era.version()));
                }
                opened
            }
        };
        Ok((peer, opened))
    }

    /// The era this session is in.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Asks, and waits for the answer's `result`. In the stateless era `_meta` is added to `params`, an object.
    ///
    /// Numbers and member order of the result are as they were written.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, PeerError> {
        let limit = self.limit;
        match tokio::time::timeout(limit, self.ask(method, params)).await {
            Ok(answer) => answer,
            Err(_) => Err(PeerError::TimedOut { method: method.to_owned(), limit }),
        }
    }

    /// Every item of a list, over all its pages, as it was written.
    pub async fn list_all(&mut self, list: List) -> Result<Vec<Value>, PeerError> {
        let method = list.method();
        let mut items = Vec::new();
        let mut cursors = HashSet::new();
        let mut params = json!({});
        for _ in 0..PAGES {
            let mut page = self.request(method, params).await?;
            let Some(Value::Array(found)) = page.get_mut(list.member()).map(Value::take) else {
                return Err(malformed(method, "it holds no list"));
            };
            items.extend(found);
            if items.len() > ITEMS {
                break;
            }
            let cursor = match page.get("nextCursor") {
                None | Some(Value::Null) => return Ok(items),
                Some(Value::String(cursor)) if cursor.is_empty() => return Ok(items),
                Some(Value::String(cursor)) => cursor.clone(),
                Some(_) => return Err(malformed(method, "its cursor is not a string")),
            };
            if !cursors.insert(cursor.clone()) {
                break;
            }
            params = json!({ "cursor": cursor });
        }
        Err(PeerError::Endless { method })
    }

    /// Whether the server said that a list changed since this was last asked.
    pub fn take_changed(&mut self, list: List) -> bool {
        self.changed.remove(&list)
    }

    async fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, PeerError> {
        self.issued += 1;
        let asked = self.issued;
        if self.era == Era::Stateless
            && let Some(params) = params.as_object_mut()
        {
            params.insert("_meta".to_owned(), self.context.clone());
        }
        self.write(&json!({ "jsonrpc": "2.0", "id": asked, "method": method, "params": params })).await?;
        let id = Id::read(asked.to_string().as_bytes());
        loop {
            let line = match self.lines.next().await? {
                None => return Err(PeerError::Ended { method: method.to_owned() }),
                Some(Line::TooLong { .. }) => return Err(malformed(method, "it is longer than 16 MiB")),
                Some(Line::Whole(line)) => line,
            };
            let reply = match Envelope::read(line) {
                Err(broken) if broken.id == id && broken.meant && !broken.asks => {
                    return Err(malformed(method, &broken.flaw.to_string()));
                }
                Err(_) => continue,
                Ok(envelope) => match &envelope.kind {
                    Kind::Response { id: answered, failed } if *answered == id => {
                        return read_answer(method, &envelope, *failed);
                    }
                    Kind::Response { .. } => continue,
                    Kind::Notification { method } => {
                        self.changed.extend(List::changed_by(method));
                        continue;
                    }
                    Kind::Request { id, method } => match method.as_ref() {
                        "ping" => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", id.json())
                            .into_bytes(),
                        "roots/list" => {
                            let id = id.json();
                            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"roots\":[]}}}}\n")
                                .into_bytes()
                        }
                        _ => Answer::not_answered().line(Some(id)),
                    },
                },
            };
            self.writer.write_all(&reply).await?;
            self.writer.flush().await?;
        }
    }

    async fn write(&mut self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.writer.write_all(&line).await?;
        self.writer.flush().await
    }
}

fn malformed(method: &str, why: &str) -> PeerError {
    PeerError::Malformed { method: method.to_owned(), why: why.to_owned() }
}

fn read_answer(method: &str, envelope: &Envelope<'_>, failed: bool) -> Result<Value, PeerError> {
    if envelope.values() > VALUES {
        return Err(malformed(method, "it holds too many values"));
    }
    if !failed {
        return serde_json::from_slice(envelope.result())
            .map_err(|error| malformed(method, &error.to_string()));
    }
    let error: Map<String, Value> = serde_json::from_slice(envelope.error()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let error = Box::new(Value::Object(error));
    Err(PeerError::Refused { method: method.to_owned(), code, message: cut(words_of(&error)), error })
}

fn words_of(error: &Value) -> &str {
    error.get("message").and_then(Value::as_str).unwrap_or_default()
}

fn cut(message: &str) -> Shown {
    Shown::new(&message.chars().take(500).collect::<String>())
}

#[cfg(test)]
pub(super) mod tests;
