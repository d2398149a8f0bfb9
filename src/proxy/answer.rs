//! What does a peer read when its request is answered by us and not by the other side?
//!
//! JSON-RPC errors whose text alone says what, why and what to do, since most clients show nothing else; a stable
//! code and the hint are in `data` for those that look.

use serde_json::{Value, json};

use super::envelope::Id;
use super::scan::Flaw;
use crate::failure::{Code, Failure};
use crate::text::Shown;

/// JSON-RPC 2.0 §5.1.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
/// Start of the range JSON-RPC leaves to implementations; MCP's own begin at -32001.
const SERVER_ERROR: i32 = -32000;

/// An error answer, still without the id it goes to.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    number: i32,
    code: &'static str,
    message: String,
    hint: String,
    last_words: Vec<Shown>,
}

impl Answer {
    fn new(number: i32, code: &'static str, message: String, hint: impl Into<String>) -> Self {
        Self { number, code, message, hint: hint.into(), last_words: Vec::new() }
    }

    /// A line that is no message, to the peer that wrote it.
    pub fn malformed(flaw: Flaw) -> Self {
        let number = if flaw == Flaw::NotJson { PARSE_ERROR } else { INVALID_REQUEST };
        Self::new(number, "malformed-message", format!("The message was dropped: {flaw}"), "")
    }

    /// An answer that is no message, to the client that waits for it.
    pub fn malformed_answer(server: &str, why: &str) -> Self {
        let message = format!("The server \"{server}\" gave an answer that cannot be passed on: {why}");
        Self::new(SERVER_ERROR, "malformed-answer", message, "report it to the server's author")
    }

    pub fn id_in_use() -> Self {
        let message = "This id belongs to a request that is still open".to_owned();
        Self::new(INVALID_REQUEST, "id-in-use", message, "use a new id for every request")
    }

    pub fn too_many() -> Self {
        let message = format!("{} requests are open already", super::ledger::OPEN);
        Self::new(SERVER_ERROR, "too-many-requests", message, "wait for answers before asking more")
    }

    /// A call of an item that is not shown.
    pub fn barred(server: &str, what: &str, name: &str, why: &str) -> Self {
        let name = brief(name);
        let message = format!("The {what} \"{name}\" of the server \"{server}\" is withheld: {why}");
        Self::new(INVALID_PARAMS, "withheld", message, format!("pinfold tools {server}"))
    }

    /// A call whose verdict could not be had.
    pub fn unchecked(server: &str, what: &str, name: &str) -> Self {
        let name = brief(name);
        let message = format!(
            "The {what} \"{name}\" was not called: the server \"{server}\" did not list its {what}s, so it cannot be checked"
        );
        Self::new(SERVER_ERROR, "unchecked", message, format!("pinfold tools {server}"))
    }

    /// Sampling or elicitation that the policy does not allow.
    pub fn not_allowed(server: &str, what: &str) -> Self {
        let message = format!("{what} is off for the server \"{server}\": no caged server is given it");
        Self::new(METHOD_NOT_FOUND, "not-allowed", message, "")
    }

    /// What a server asks of our own client.
    pub fn not_answered() -> Self {
        Self::new(METHOD_NOT_FOUND, "not-supported", "This client does not answer that".to_owned(), "")
    }

    /// What [`Self::not_allowed`] is to the server, to the client whose call it ended.
    pub fn input_not_allowed(server: &str, what: &str) -> Self {
        Self { number: SERVER_ERROR, ..Self::not_allowed(server, what) }
    }

    /// A server's question whose text fails the screen.
    pub fn input_refused(server: &str, what: &str) -> Self {
        let message = format!("The text of the {what} did not pass the screen");
        Self::new(SERVER_ERROR, "withheld", message, format!("pinfold tools {server}"))
    }

    /// A server's request of a kind we do not know, whose text fails the screen, to the server.
    pub fn request_refused() -> Self {
        let message = "The text of this request did not pass the screen".to_owned();
        Self::new(INTERNAL_ERROR, "withheld", message, "")
    }

    /// A result whose text fails the screen.
    pub fn text_refused(server: &str) -> Self {
        let message = format!("What the server \"{server}\" answered did not pass the screen");
        Self::new(SERVER_ERROR, "withheld", message, format!("pinfold tools {server}"))
    }

    pub fn no_requests_in_this_era() -> Self {
        let message = "A server cannot send requests in this version of MCP".to_owned();
        Self::new(METHOD_NOT_FOUND, "wrong-direction", message, "")
    }

    /// The server's own name or description fails the screen.
    pub fn opener_refused(server: &str, rules: &str) -> Self {
        let message = format!(
            "The server \"{server}\" is withheld: what it says about itself did not pass the screen ({rules})"
        );
        Self::new(SERVER_ERROR, Code::ScreenRefused.name(), message, format!("pinfold tools {server}"))
    }

    pub fn opener_timed_out(server: &str, seconds: u64) -> Self {
        let message = format!(
            "The server \"{server}\" did not answer within {seconds} s of its start; see what it says with: pinfold tools {server}"
        );
        Self::new(SERVER_ERROR, Code::ServerFailed.name(), message, format!("pinfold tools {server}"))
    }

    /// The server is gone, and with it the answer.
    pub fn server_ended(server: &str, how: &str, last_words: &[Shown]) -> Self {
        let message = format!(
            "The server \"{server}\" ended before it answered: {}. The call was not repeated; restart the server in the client, or see: pinfold tools {server}",
            Shown::new(how)
        );
        let mut answer =
            Self::new(SERVER_ERROR, Code::ServerFailed.name(), message, format!("pinfold tools {server}"));
        answer.last_words = last_words.to_vec();
        answer
    }

    /// A failure before there was a server to ask.
    pub fn failure(failure: &Failure) -> Self {
        let message = format!("{}: {}. To fix it: {}", failure.what(), failure.why(), failure.hint());
        let mut answer = Self::new(SERVER_ERROR, failure.code().name(), message, failure.hint().to_string());
        answer.last_words = failure.last_words().to_vec();
        answer
    }

    /// The answer as a line, its newline included; without an id where the request's could not be read.
    pub fn line(&self, id: Option<&Id>) -> Vec<u8> {
        let mut data = serde_json::Map::new();
        data.insert("code".into(), self.code.into());
        if !self.hint.is_empty() {
            data.insert("hint".into(), self.hint.as_str().into());
        }
        if !self.last_words.is_empty() {
            let words: Vec<String> = self.last_words.iter().map(ToString::to_string).collect();
            data.insert("lastWords".into(), words.into());
        }
        let error = json!({ "code": self.number, "message": self.message, "data": Value::Object(data) });
        let id = id.map_or("null", Id::json);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").into_bytes()
    }
}

fn brief(name: &str) -> Shown {
    let cut: String = name.chars().take(128).collect();
    Shown::new(&cut)
}
