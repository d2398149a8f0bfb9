//! What becomes of this message?
//!
//! Decides and does nothing: a line goes in, and what is to be sent where comes out, so every rule can be tried
//! without a stream. What is not screened passes as the very bytes that came; what is screened leaves as it was
//! parsed, so a parser that reads the original differently has nothing to read. The two directions have a file each.

use std::borrow::Cow;
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::Answer;
use super::envelope::{Broken, Envelope, Id, Kind};
use super::ledger::{HeldCall, Ledger, NotTaken, Now, Topic};
use super::lists::List;
use super::session::{Counts, Dropped, Event, Policy};
use crate::text::Shown;

/// What follows from one line.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// The line itself goes on to the other side, byte for byte.
    pub pass: bool,
    /// These lines go to the client.
    pub to_client: Option<Vec<u8>>,
    /// These lines go to the server.
    pub to_server: Option<Vec<u8>>,
    /// Held calls may be decided now.
    pub release: bool,
}

impl Moves {
    pub(super) fn pass() -> Self {
        Self { pass: true, ..Self::default() }
    }

    pub(super) fn client(line: Vec<u8>) -> Self {
        Self { to_client: Some(line), ..Self::default() }
    }

    pub(super) fn server(line: Vec<u8>) -> Self {
        Self { to_server: Some(line), ..Self::default() }
    }
}

/// The rules, and what they need to remember.
pub(super) struct Referee {
    pub(super) policy: Policy,
    pub(super) ledger: Ledger,
    pub(super) counts: Counts,
    pub(super) events: Vec<Event>,
}

impl Referee {
    pub fn new(policy: Policy) -> Self {
        Self { policy, ledger: Ledger::new(), counts: Counts::default(), events: Vec::new() }
    }

    /// A line from the client.
    pub fn client_says(&mut self, line: &[u8]) -> Moves {
        if line.trim_ascii().is_empty() {
            return Moves::default();
        }
        match Envelope::read(line) {
            Ok(envelope) => self.client_message(line, &envelope),
            Err(broken) => self.client_broke(&broken),
        }
    }

    /// A line from the client that is no message: it is told so, once.
    pub fn client_broke(&mut self, broken: &Broken) -> Moves {
        self.drop(Dropped::Malformed(broken.flaw));
        // An answer to the server: it is the server that waits.
        if let Some(id) = broken.id.as_ref().filter(|_| broken.meant && !broken.asks)
            && self.ledger.client_answers(id)
        {
            return Moves::server(Answer::malformed(broken.flaw).line(Some(id)));
        }
        // Not under an open request's id: the error would be taken for that one's answer.
        let id = broken.id.as_ref().filter(|id| !self.ledger.client_waits(id));
        Moves::client(Answer::malformed(broken.flaw).line(id))
    }

    fn client_message(&mut self, line: &[u8], envelope: &Envelope<'_>) -> Moves {
        match &envelope.kind {
            Kind::Request { id, method } => self.client_asks(line, envelope, id, method),
            Kind::Notification { method } => self.client_notifies(envelope, method),
            Kind::Response { id, .. } => {
                if id.as_ref().is_some_and(|id| self.ledger.client_answers(id)) {
                    return Moves::pass();
                }
                self.drop(Dropped::Unasked);
                Moves::default()
            }
        }
    }

    fn client_asks(&mut self, line: &[u8], envelope: &Envelope<'_>, id: &Id, method: &str) -> Moves {
        let params = Params::read(envelope.params());
        let topic = match method {
            "initialize" | "server/discover" => Topic::Opener,
            // The skills extension: instructions for a model in all but name.
            "skills/list" | "skills/get" | "resources/directory/read" => Topic::Text,
            _ => match List::asked_by(method) {
                Some(list) => {
                    let page = self.ledger.known(list).page(params.cursor.as_deref());
                    Topic::List { list, page }
                }
                None => Topic::Other,
            },
        };
        if let Err(not_taken) = self.ledger.client_asks(id, topic) {
            let answer = match not_taken {
                NotTaken::InUse => Answer::id_in_use(),
                NotTaken::TooMany => Answer::too_many(),
            };
            self.counts.refused_requests += 1;
            return Moves::client(answer.line(Some(id)));
        }
        if topic == Topic::Opener {
            self.ledger.expect_opened(id, Instant::now() + self.policy.opener_timeout);
        }
        match method {
            // A client that found no `server/discover` falls back to this on the same connection.
            "initialize" => self.ledger.now = Now::Handshake,
            _ if self.ledger.now == Now::Unopened => self.ledger.now = Now::Stateless,
            _ => {}
        }
        let (list, name) = match method {
            "tools/call" => (List::Tools, params.name),
            "prompts/get" => (List::Prompts, params.name),
            // No look-up for a resource: templates make URIs that no list has.
            "resources/read" => {
                let barred =
                    params.uri.as_deref().and_then(|uri| self.ledger.known(List::Resources).barred(uri));
                let Some(why) = barred else { return Moves::pass() };
                let uri = params.uri.as_deref().unwrap_or_default();
                let answer = Answer::barred(&self.policy.server, List::Resources.noun(), uri, why);
                return self.refuse_call(id, List::Resources, uri, &answer);
            }
            _ => return Moves::pass(),
        };
        // No name: the server's own error is the best answer.
        let Some(name) = name else { return Moves::pass() };
        let looking = self.ledger.looking_up(list);
        if !looking && !self.ledger.holds_any() && self.ledger.known(list).has(&name) {
            return match self.ledger.known(list).barred(&name) {
                None => Moves::pass(),
                Some(why) => {
                    let answer = Answer::barred(&self.policy.server, list.noun(), &name, why);
                    self.refuse_call(id, list, &name, &answer)
                }
            };
        }
        // Behind a held call others wait as well, so that calls keep their order.
        let known = self.ledger.known(list).has(&name);
        self.ledger.hold(HeldCall { id: id.clone(), list, name: name.into(), line: line.to_vec() });
        if known || looking {
            return Moves { release: !looking, ..Moves::default() };
        }
        let meta = params.meta.and_then(own_meta);
        let own = self.ledger.look_up(list, meta.clone(), Instant::now() + self.policy.opener_timeout);
        Moves::server(listing(list, &own, meta.as_ref(), None))
    }

    fn client_notifies(&mut self, envelope: &Envelope<'_>, method: &str) -> Moves {
        if method == "notifications/cancelled"
            && let Some(id) = cancelled(envelope)
            && self.ledger.client_cancels(&id)
        {
            return Moves::default();
        }
        Moves::pass()
    }

    /// The next held call that can be decided: its line for the server, or an answer for the client.
    pub fn release(&mut self) -> Option<Moves> {
        let call = self.ledger.release()?;
        let known = self.ledger.known(call.list);
        let answer = if let Some(why) = known.barred(&call.name) {
            Answer::barred(&self.policy.server, call.list.noun(), &call.name, why)
        } else if known.failed && !known.has(&call.name) {
            Answer::unchecked(&self.policy.server, call.list.noun(), &call.name)
        } else {
            let mut line = call.line;
            line.push(b'\n');
            return Some(Moves::server(line));
        };
        Some(self.refuse_call(&call.id, call.list, &call.name, &answer))
    }

    /// A line that the server could not be given: the answer, if it was a request.
    pub fn unheard(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let Ok(Envelope { kind: Kind::Request { id, .. }, .. }) = Envelope::read(line) else { return None };
        self.ledger.client_cancels(&id);
        let answer = Answer::server_ended(&self.policy.server, "it no longer reads its input", &[]);
        Some(answer.line(Some(&id)))
    }

    fn refuse_call(&mut self, id: &Id, list: List, name: &str, answer: &Answer) -> Moves {
        self.ledger.client_cancels(id);
        self.counts.refused_calls += 1;
        let name: String = name.chars().take(200).collect();
        self.events.push(Event::CallRefused { list, name: Shown::new(&name) });
        Moves::client(answer.line(Some(id)))
    }

    /// What is due by now.
    pub fn expire(&mut self, now: Instant) -> Moves {
        let (openers, release) = self.ledger.expire(now);
        let answer = Answer::opener_timed_out(&self.policy.server, self.policy.opener_timeout.as_secs());
        let lines: Vec<u8> = openers.iter().flat_map(|id| answer.line(Some(id))).collect();
        if !lines.is_empty() {
            self.events.push(Event::OpenerTimedOut);
        }
        Moves { to_client: (!lines.is_empty()).then_some(lines), release, ..Moves::default() }
    }

    /// Errors for everything the client still waits for.
    pub fn server_ended(&mut self, how: &str, last_words: &[Shown]) -> Vec<u8> {
        let answer = Answer::server_ended(&self.policy.server, how, last_words);
        self.ledger.take_open().iter().flat_map(|id| answer.line(Some(id))).collect()
    }

    pub(super) fn drop(&mut self, why: Dropped) {
        self.counts.dropped += 1;
        self.events.push(Event::Dropped(why));
    }
}

/// The members of a request's `params` that a rule asks for; of any other type they count as absent.
#[derive(Default)]
struct Params<'a> {
    name: Option<Cow<'a, str>>,
    uri: Option<Cow<'a, str>>,
    cursor: Option<Cow<'a, str>>,
    meta: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    fn read(params: &'a [u8]) -> Self {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(borrow, default)]
            name: Option<&'a RawValue>,
            #[serde(borrow, default)]
            uri: Option<&'a RawValue>,
            #[serde(borrow, default)]
            cursor: Option<&'a RawValue>,
            #[serde(borrow, default, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        let Ok(raw) = serde_json::from_slice::<Raw<'a>>(params) else { return Self::default() };
        let text = |raw: Option<&'a RawValue>| {
            #[derive(Deserialize)]
            #[serde(transparent)]
            struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
            serde_json::from_str::<Text<'a>>(raw?.get()).ok().map(|text| text.0)
        };
        Self { name: text(raw.name), uri: text(raw.uri), cursor: text(raw.cursor), meta: raw.meta }
    }
}

/// A call's `_meta` for a request of our own: its progress token is the call's.
fn own_meta(meta: &RawValue) -> Option<Value> {
    let mut meta: Value = serde_json::from_str(meta.get()).ok()?;
    meta.as_object_mut()?.shift_remove("progressToken");
    Some(meta)
}

/// Our own request for one page of a list.
pub(super) fn listing(list: List, id: &Id, meta: Option<&Value>, cursor: Option<&str>) -> Vec<u8> {
    let mut params = serde_json::Map::new();
    if let Some(cursor) = cursor {
        params.insert("cursor".into(), cursor.into());
    }
    if let Some(meta) = meta {
        params.insert("_meta".into(), meta.clone());
    }
    let (id, method, params) = (id.json(), list.method(), Value::Object(params));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n").into_bytes()
}

/// The request that a `notifications/cancelled` is about.
pub(super) fn cancelled(envelope: &Envelope<'_>) -> Option<Id> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        request_id: &'a RawValue,
    }
    let params: Cancelled<'_> = serde_json::from_slice(envelope.params()).ok()?;
    Id::read(params.request_id.get().as_bytes())
}
