//! What becomes of a message from the server?
//!
//! Everything here was written by the adversary. Screened: what it says about itself, its lists, its free text and
//! its questions; anything in those that does not have the form MCP gives it is taken out, not passed.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::envelope::{Broken, Envelope, Id, Kind as Message};
use super::gate::Ruling;
use super::ledger::{LookUp, NotTaken, Now, PAGES, Topic};
use super::lists::{self, List, Page};
use super::referee::{Moves, Referee, cancelled, listing};
use super::scan::{Span, resembles, same_to_any_parser};
use super::session::{Dropped, Event};
use super::sightings::{By, Sightings};
use crate::screen::Kind;
use crate::text::Shown;

/// The most JSON values, and bytes, of a message that is screened: its tree costs some hundred bytes a value.
const VALUES: usize = 200_000;
const BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a line that is no message which may be told. Whoever tells less cuts it when credentials are out of it.
const NOISE: usize = 2 * 1024;

/// MCP 2025-11-25, `URLElicitationRequiredError`: elicitation by way of an error.
const URL_ELICITATION_REQUIRED: f64 = -32042.0;

/// The members of a question's parameters that a client reads.
const QUESTION: &[&str] = &[
    "message",
    "mode",
    "url",
    "elicitationId",
    "requestedSchema",
    "messages",
    "systemPrompt",
    "includeContext",
    "tools",
    "toolChoice",
    "task",
    "_meta",
];

/// JSON-RPC 2.0 §5.1.
const METHOD_NOT_FOUND: f64 = -32601.0;

/// What stands in for a text that fails the screen.
const WITHHELD: &str = "[pinfold: this text of the server did not pass the screen and was withheld]";

/// The protocol version that began the stateless era; versions are dates, so they sort as text.
const STATELESS: &str = "2026-07-28";

impl Referee {
    /// A line from the server.
    pub fn server_says(&mut self, line: &[u8]) -> Moves {
        match Envelope::read(line) {
            Ok(envelope) if envelope.is_double() => self.server_says_once(&envelope),
            Ok(envelope) => self.server_message(line, &envelope),
            Err(broken) if broken.meant => self.server_broke(&broken),
            Err(_) => {
                self.noise(line);
                Moves::default()
            }
        }
    }

    /// An answer with a null member beside the one that counts: the client gets it without.
    fn server_says_once(&mut self, envelope: &Envelope<'_>) -> Moves {
        let Message::Response { id, failed } = &envelope.kind else { return Moves::default() };
        let (name, value) = if *failed { ("error", envelope.error()) } else { ("result", envelope.result()) };
        let id = id.as_ref().map_or("null", Id::json);
        let mut line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":").into_bytes();
        line.extend_from_slice(value);
        line.push(b'}');
        let mut moves = self.server_says(&line);
        if std::mem::take(&mut moves.pass) {
            line.push(b'\n');
            moves.to_client = Some(line);
        }
        moves
    }

    /// A line of the server's over the limit, which began with `head`.
    pub fn server_too_long(&mut self, broken: &Broken, head: &[u8]) -> Moves {
        if broken.meant {
            return self.server_broke(broken);
        }
        self.noise(head);
        Moves::default()
    }

    /// A line of the server's that was meant as a message: whoever waits for it is told, once.
    pub fn server_broke(&mut self, broken: &Broken) -> Moves {
        self.drop(Dropped::Malformed(broken.flaw));
        let Some(id) = &broken.id else { return Moves::default() };
        if broken.asks {
            return Moves::server(Answer::malformed(broken.flaw).line(Some(id)));
        }
        if let Some((list, _)) = self.ledger.take_look_up(id) {
            self.ledger.known(list).failed = true;
            return Moves { release: true, ..Moves::default() };
        }
        match self.ledger.server_answers(id) {
            Some(_) => self.unusable(id, &broken.flaw.to_string()),
            None => Moves::default(),
        }
    }

    fn noise(&mut self, line: &[u8]) {
        self.counts.noise += 1;
        let start = String::from_utf8_lossy(&line[..line.len().min(NOISE)]);
        if !start.trim().is_empty() {
            self.events.push(Event::Noise(Shown::new(&start)));
        }
    }

    fn server_message(&mut self, line: &[u8], envelope: &Envelope<'_>) -> Moves {
        match &envelope.kind {
            Message::Request { id, method } => self.server_asks(envelope, id, method),
            Message::Notification { method } => self.server_notifies(envelope, method),
            Message::Response { id: None, .. } => {
                self.drop(Dropped::Unasked);
                Moves::default()
            }
            Message::Response { id: Some(id), failed } => {
                if let Some((list, look_up)) = self.ledger.take_look_up(id) {
                    return self.looked_up(envelope, list, look_up, *failed);
                }
                let Some(topic) = self.ledger.server_answers(id) else {
                    self.drop(Dropped::Unasked);
                    return Moves::default();
                };
                self.server_answers(line, envelope, id, topic, *failed)
            }
        }
    }

    fn server_answers(
        &mut self,
        line: &[u8],
        envelope: &Envelope<'_>,
        id: &Id,
        topic: Topic,
        failed: bool,
    ) -> Moves {
        if failed {
            return self.server_fails(envelope, id, topic);
        }
        match topic {
            Topic::Opener | Topic::List { .. } | Topic::Text => {
                let Some(result) = read_object(envelope, envelope.result()) else {
                    return self.unusable(id, "it is too large to be screened, or not an object");
                };
                if envelope.input_requests().is_some() {
                    return self.unusable(id, "it asks for input where MCP allows none");
                }
                match topic {
                    Topic::List { list, page } => self.listed(id, list, page, result),
                    Topic::Opener => self.opened(id, result),
                    _ => self.said(id, Value::Object(result)),
                }
            }
            Topic::Other | Topic::Held => match envelope.input_requests() {
                Some(_) if envelope.values() > VALUES => {
                    self.unusable(id, "its input requests are too many to be screened")
                }
                Some(span) => self.input_required(line, id, span),
                None => Moves::pass(),
            },
        }
    }

    /// An answer the client cannot get.
    fn unusable(&mut self, id: &Id, why: &str) -> Moves {
        Moves::client(Answer::malformed_answer(&self.policy.server, why).line(Some(id)))
    }

    fn server_fails(&mut self, envelope: &Envelope<'_>, id: &Id, topic: Topic) -> Moves {
        // Beside an error it can only lie in `params`, which no answer has.
        if envelope.input_requests().is_some() {
            return self.unusable(id, "it asks for input where MCP allows none");
        }
        let Some(error) = read_object(envelope, envelope.error()) else {
            return self.unusable(id, "its error is too large to be screened, or not an object");
        };
        let Some(code) = error_code(&error) else {
            return self.unusable(id, "its error has no code");
        };
        if let (Topic::List { list, .. }, true) = (topic, code == METHOD_NOT_FOUND) {
            self.sighted(|sightings| sightings.absent(list));
        }
        if error.keys().any(|name| resembles(name, &["code", "message", "data"])) {
            return self.unusable(id, "its error names a member twice");
        }
        if error.keys().any(|name| same_to_any_parser(name.as_bytes(), "inputRequests")) {
            return self.unusable(id, "it asks for input where MCP allows none");
        }
        let elicits = code == URL_ELICITATION_REQUIRED;
        if elicits && !self.policy.elicitation {
            return self.input_denied(id, Denied::Elicitation);
        }
        let mut error = Value::Object(error);
        if !self.shows_text("error", &error) {
            error = json!({ "code": code as i64, "message": WITHHELD });
        } else if !elicits && topic == Topic::Other {
            return Moves::pass();
        }
        Moves::client(message(Some(id), &[("error", &error)]))
    }

    /// What the server says about itself.
    fn opened(&mut self, id: &Id, mut result: Map<String, Value>) -> Moves {
        self.leave_out(
            "opener",
            &mut result,
            &["protocolVersion", "supportedVersions", "capabilities", "serverInfo", "instructions", "_meta"],
        );
        let version = result.get("protocolVersion").and_then(Value::as_str);
        if version.is_some_and(|version| version >= STATELESS) {
            self.ledger.now = Now::Stateless;
        }
        if let Some(instructions) = result.get("instructions") {
            let ruling = self.policy.gatekeeper.rule(Kind::Instructions, "", instructions);
            // Text of another type than text is nothing a client should have to make sense of.
            let fits = instructions.is_string() || instructions.is_null();
            if !fits || !ruling.shows() {
                result.shift_remove("instructions");
                self.events.push(match ruling {
                    Ruling::Hold(_) => Event::Held { kind: Kind::Instructions, name: Shown::default() },
                    ruling => Event::Refused {
                        kind: Kind::Instructions,
                        name: Shown::default(),
                        verdict: ruling.verdict().clone(),
                    },
                });
            }
        }
        let instructions = result.shift_remove_entry("instructions");
        let about = Value::Object(result);
        let ruling = self.policy.gatekeeper.rule(Kind::ServerInfo, "", &about);
        if !ruling.shows() {
            let verdict = ruling.verdict().clone();
            let answer = Answer::opener_refused(&self.policy.server, &lists::rules(&verdict));
            self.events.push(Event::Refused { kind: Kind::ServerInfo, name: Shown::default(), verdict });
            return Moves::client(answer.line(Some(id)));
        }
        let Value::Object(mut result) = about else { return Moves::default() };
        result.extend(instructions);
        if let Some(sightings) = &self.policy.sightings {
            sightings.opened(&result);
        }
        Moves::client(message(Some(id), &[("result", &Value::Object(result))]))
    }

    /// A result that is text for a model as a whole.
    fn said(&mut self, id: &Id, result: Value) -> Moves {
        if self.shows_text("result", &result) {
            return Moves::client(message(Some(id), &[("result", &result)]));
        }
        Moves::client(Answer::text_refused(&self.policy.server).line(Some(id)))
    }

    fn listed(&mut self, id: &Id, list: List, page: Page, mut result: Map<String, Value>) -> Moves {
        let gate = self.policy.gatekeeper.clone();
        let known = self.ledger.known(list);
        let round = known.client_page(page);
        if let Err(why) = lists::sieve(list, round, &mut result, &*gate, known, &mut self.events) {
            known.client_page(Page::Other);
            self.sighted(|sightings| {
                sightings.broke(list, By::Client);
                false
            });
            return self.unusable(id, why);
        }
        let last = next_cursor(&result).is_none();
        known.client_page_read(next_cursor(&result));
        self.sighted(|sightings| match page {
            Page::First | Page::Next => sightings.page(list, By::Client, page == Page::First, &result, last),
            Page::Other => {
                sightings.broke(list, By::Client);
                false
            }
        });
        Moves::client(message(Some(id), &[("result", &Value::Object(result))]))
    }

    /// Notes what was seen, for whoever wants to know; `note` tells whether it was the last there is.
    fn sighted(&mut self, note: impl FnOnce(&Sightings) -> bool) {
        if self.policy.sightings.as_ref().is_some_and(note) {
            self.events.push(Event::Sighted);
        }
    }

    /// A page of a listing of our own.
    fn looked_up(&mut self, envelope: &Envelope<'_>, list: List, mut look_up: LookUp, failed: bool) -> Moves {
        let done = Moves { release: true, ..Moves::default() };
        let error = read_object(envelope, envelope.error()).filter(|_| failed);
        if error.is_some_and(|error| error_code(&error) == Some(METHOD_NOT_FOUND)) {
            // It has no such list, so nothing on it; what a call makes of that is the server's to say.
            self.ledger.known(list).end(look_up.round);
            self.sighted(|sightings| sightings.absent(list));
            return done;
        }
        let result = if failed { None } else { read_object(envelope, envelope.result()) };
        let gate = self.policy.gatekeeper.clone();
        let sieved = result.and_then(|mut result| {
            lists::sieve(list, look_up.round, &mut result, &*gate, self.ledger.known(list), &mut self.events)
                .ok()?;
            let next = next_cursor(&result).map(ToOwned::to_owned);
            let first = look_up.cursors.is_empty();
            self.sighted(|sightings| sightings.page(list, By::Us, first, &result, next.is_none()));
            Some(next)
        });
        match sieved {
            Some(None) => self.ledger.known(list).end(look_up.round),
            Some(Some(cursor)) if look_up.cursors.len() < PAGES && look_up.cursors.insert(cursor.clone()) => {
                let meta = look_up.meta.clone();
                let own = self.ledger.look_further(list, look_up);
                return Moves::server(listing(list, &own, meta.as_ref(), Some(&cursor)));
            }
            _ => {
                self.sighted(|sightings| {
                    sightings.broke(list, By::Us);
                    false
                });
                self.events.push(Event::LookUpFailed { list });
                self.ledger.known(list).failed = true;
            }
        }
        done
    }

    fn server_asks(&mut self, envelope: &Envelope<'_>, id: &Id, method: &str) -> Moves {
        if self.ledger.now != Now::Handshake {
            self.drop(Dropped::WrongDirection);
            return Moves::server(Answer::no_requests_in_this_era().line(Some(id)));
        }
        let denied = match method {
            "sampling/createMessage" => Denied::Sampling,
            "elicitation/create" => Denied::Elicitation,
            _ => {
                if !self.is_clean("request", envelope, method) {
                    return Moves::server(Answer::request_refused().line(Some(id)));
                }
                return self.take_request(id).unwrap_or_else(Moves::pass);
            }
        };
        let server = self.policy.server.clone();
        if !denied.allowed(self) {
            self.events.push(Event::Denied(denied));
            return Moves::server(Answer::not_allowed(&server, denied.what()).line(Some(id)));
        }
        let params = read_object(envelope, envelope.params()).map(Value::Object);
        let Some(params) = params.and_then(|params| self.asked(denied, params)) else {
            return Moves::server(Answer::input_refused(&server, denied.what()).line(Some(id)));
        };
        if let Some(refused) = self.take_request(id) {
            return refused;
        }
        Moves::client(message(Some(id), &[("method", &method.into()), ("params", &params)]))
    }

    /// Counts a server's request among the open ones, or says why not.
    fn take_request(&mut self, id: &Id) -> Option<Moves> {
        let answer = match self.ledger.server_asks(id) {
            Ok(()) => return None,
            Err(NotTaken::InUse) => Answer::id_in_use(),
            Err(NotTaken::TooMany) => Answer::too_many(),
        };
        self.counts.refused_requests += 1;
        Some(Moves::server(answer.line(Some(id))))
    }

    /// The parameters of a question to the person or the model, screened, and marked with who asks.
    fn asked(&mut self, what: Denied, mut params: Value) -> Option<Value> {
        let twice =
            params.as_object().is_some_and(|params| params.keys().any(|name| resembles(name, QUESTION)));
        if twice || !self.shows_text(what.what(), &params) {
            return None;
        }
        if what == Denied::Elicitation
            && let Some(Value::String(text)) = params.get_mut("message")
        {
            *text = format!("[{}] {text}", self.policy.server);
        }
        Some(params)
    }

    /// A result that asks for input first (MCP 2026-07-28, multi round-trip requests).
    ///
    /// Only `inputRequests` is read and replaced; the rest, `requestState` above all, stays as the bytes it is.
    fn input_required(&mut self, line: &[u8], id: &Id, span: Span) -> Moves {
        let requests = span.of(line);
        let too_large = requests.len() > BYTES;
        let Some(Value::Object(requests)) =
            (!too_large).then(|| serde_json::from_slice(requests).ok()).flatten()
        else {
            return self.unusable(id, "its input requests cannot be screened");
        };
        let mut checked = Map::new();
        for (key, request) in requests {
            let Value::Object(mut request) = request else {
                return self.unusable(id, "an input request of it is not an object");
            };
            if request.keys().any(|name| resembles(name, &["method", "params"])) {
                return self.unusable(id, "an input request of it names a member twice");
            }
            let what = match request.get("method").and_then(Value::as_str) {
                Some("roots/list") => {
                    checked.insert(key, Value::Object(request));
                    continue;
                }
                Some("sampling/createMessage") => Denied::Sampling,
                Some("elicitation/create") => Denied::Elicitation,
                _ => return self.unusable(id, "it asks for an input that MCP does not know"),
            };
            if !what.allowed(self) {
                return self.input_denied(id, what);
            }
            let params = request.remove("params").unwrap_or(Value::Null);
            let Some(params) = self.asked(what, params) else {
                return Moves::client(Answer::input_refused(&self.policy.server, what.what()).line(Some(id)));
            };
            checked.insert(key, json!({ "method": what.method(), "params": params }));
        }
        let checked = Value::Object(checked).to_string();
        let mut rebuilt = Vec::with_capacity(line.len() + checked.len() + 1);
        rebuilt.extend_from_slice(&line[..span.start]);
        rebuilt.extend_from_slice(checked.as_bytes());
        rebuilt.extend_from_slice(&line[span.end..]);
        rebuilt.push(b'\n');
        Moves::client(rebuilt)
    }

    fn input_denied(&mut self, id: &Id, what: Denied) -> Moves {
        self.events.push(Event::Denied(what));
        let answer = Answer::input_not_allowed(&self.policy.server, what.what());
        Moves::client(answer.line(Some(id)))
    }

    fn server_notifies(&mut self, envelope: &Envelope<'_>, method: &str) -> Moves {
        for list in lists::List::changed_by(method) {
            self.ledger.known(*list).stale = true;
        }
        if method == "notifications/cancelled"
            && let Some(id) = cancelled(envelope)
        {
            self.ledger.client_answers(&id);
        }
        let text = match method {
            "notifications/message" => Some("data"),
            "notifications/progress" => Some("message"),
            "notifications/cancelled" => Some("reason"),
            "notifications/tasks" | "notifications/tasks/status" => None,
            _ if self.is_clean("notification", envelope, method) => return Moves::pass(),
            _ => {
                self.drop(Dropped::Unscreened);
                return Moves::default();
            }
        };
        if envelope.params().is_empty() {
            return Moves::pass();
        }
        let Some(params) = read_object(envelope, envelope.params()) else {
            self.drop(Dropped::Unscreened);
            return Moves::default();
        };
        // A task's questions come by `tasks/get` as well, as the answer to a request, where they are checked.
        if text.is_none() && params.contains_key("inputRequests") {
            self.drop(Dropped::Unscreened);
            return Moves::default();
        }
        let params = Value::Object(params);
        if self.shows_text("notification", &params) {
            return Moves::client(message(None, &[("method", &method.into()), ("params", &params)]));
        }
        let (Some(text), Value::Object(params)) = (text, params) else { return Moves::default() };
        // What is left are numbers, and tokens and levels the client chose or knows.
        let mut plain: Map<String, Value> = params
            .into_iter()
            .filter(|(name, value)| {
                value.is_number()
                    || matches!(name.as_str(), "level" | "progressToken" | "requestId")
                        && value.as_str().is_some_and(|text| text.len() <= 64)
            })
            .collect();
        plain.insert(text.into(), WITHHELD.into());
        let params = Value::Object(plain);
        Moves::client(message(None, &[("method", &method.into()), ("params", &params)]))
    }

    /// Whether a message of a kind that no rule knows may pass as it is: no text in it fails the screen, and it asks
    /// for no input.
    fn is_clean(&mut self, what: &'static str, envelope: &Envelope<'_>, method: &str) -> bool {
        if envelope.input_requests().is_some() || !self.shows_text(what, &method.into()) {
            return false;
        }
        let params = envelope.params();
        if params.is_empty() {
            return true;
        }
        if params.len() > BYTES || envelope.values() > VALUES {
            return false;
        }
        serde_json::from_slice(params).is_ok_and(|params: Value| self.shows_text(what, &params))
    }

    /// Takes out what some parser would take for a member that is read here.
    fn leave_out(&mut self, what: &'static str, from: &mut Map<String, Value>, known: &[&str]) {
        let events = &mut self.events;
        from.retain(|name, _| {
            let twin = resembles(name, known);
            if twin {
                events.push(Event::Withheld { what, member: Shown::new(name) });
            }
            !twin
        });
    }

    fn shows_text(&mut self, what: &'static str, text: &Value) -> bool {
        let shows = self.policy.gatekeeper.rule(Kind::Text, "", text).shows();
        if !shows {
            self.events.push(Event::Withheld { what, member: Shown::default() });
        }
        shows
    }
}

/// What a server may ask of the client only where the plan says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// An answer of the client's model: `sampling/createMessage`.
    Sampling,
    /// An answer of the person: `elicitation/create`.
    Elicitation,
}

impl Denied {
    fn allowed(self, referee: &Referee) -> bool {
        match self {
            Self::Sampling => referee.policy.sampling,
            Self::Elicitation => referee.policy.elicitation,
        }
    }

    /// What it is called in a sentence.
    pub fn what(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Sampling => "sampling/createMessage",
            Self::Elicitation => "elicitation/create",
        }
    }
}

/// Parses a part of a message that is to be screened, if it is an object of a size that can be.
fn read_object(envelope: &Envelope<'_>, part: &[u8]) -> Option<Map<String, Value>> {
    if part.len() > BYTES || envelope.values() > VALUES {
        return None;
    }
    serde_json::from_slice(part).ok()
}

/// The code of an error; `None` if it has none, or one that parsers could read differently.
fn error_code(error: &Map<String, Value>) -> Option<f64> {
    if error.keys().any(|name| resembles(name, &["code"])) {
        return None;
    }
    error.get("code")?.as_f64()
}

fn next_cursor(result: &Map<String, Value>) -> Option<&str> {
    result.get("nextCursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty())
}

/// A message of ours, as a line.
fn message(id: Option<&Id>, members: &[(&str, &Value)]) -> Vec<u8> {
    let mut line = String::from("{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        line.push_str(",\"id\":");
        line.push_str(id.json());
    }
    for (name, value) in members {
        line.push_str(&format!(",\"{name}\":{value}"));
    }
    line.push_str("}\n");
    line.into_bytes()
}
