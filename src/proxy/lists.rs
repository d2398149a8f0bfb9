//! Which of a list's items does the client get, and which names are barred from then on?
//!
//! Every page is sieved by itself, whoever asked for it. What was refused stays refused until a newer listing shows
//! it clean; within one listing a refusal wins, so a second item of the same name cannot clear the first.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::gate::{Gatekeeper, Ruling};
use super::session::Event;
use crate::screen::Kind;
use crate::text::Shown;

/// The most names remembered of one list; items past it are not shown.
pub const ITEMS: usize = 10_000;

/// The longest name, in bytes; an item with a longer one is not shown.
const LONGEST_NAME: usize = 4096;

/// The lists of a server's surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl List {
    /// Every list there is.
    pub const ALL: [List; 4] = [List::Tools, List::Prompts, List::Resources, List::Templates];

    /// The method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of its result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of an item that it is used by.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// What its items are to the screen.
    pub fn kind(self) -> Kind {
        match self {
            Self::Tools => Kind::Tool,
            Self::Prompts => Kind::Prompt,
            Self::Resources => Kind::Resource,
            Self::Templates => Kind::ResourceTemplate,
        }
    }

    /// The capability of a server that announces it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// One of its items, in a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "resource template",
        }
    }

    pub(super) fn asked_by(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    /// The lists that a `…/list_changed` notification makes stale.
    pub(super) fn changed_by(method: &str) -> &'static [List] {
        match method {
            "notifications/tools/list_changed" => &[List::Tools],
            "notifications/prompts/list_changed" => &[List::Prompts],
            "notifications/resources/list_changed" => &[List::Resources, List::Templates],
            _ => &[],
        }
    }
}

/// What is known of one list's items.
#[derive(Debug, Default)]
pub(super) struct Known {
    names: HashMap<Box<str>, Entry>,
    round: u64,
    /// A listing reached its last page, so a name not here is not listed.
    complete: bool,
    /// The server said that the list changed.
    pub stale: bool,
    /// Our own last look-up came to nothing.
    pub failed: bool,
}

#[derive(Debug)]
struct Entry {
    round: u64,
    /// Why the name is barred; `None` if it is not.
    barred: Option<Box<str>>,
}

impl Known {
    /// A listing starts at its first page.
    pub fn begin(&mut self) {
        self.round += 1;
        self.complete = false;
        self.stale = false;
        self.failed = false;
    }

    /// It reached its last page: what it did not name is not listed any more.
    pub fn end(&mut self) {
        self.complete = true;
        self.names.retain(|_, entry| entry.round == self.round);
    }

    /// Whether a name's verdict is at hand.
    pub fn has(&self, name: &str) -> bool {
        !self.stale && (self.complete || self.names.get(name).is_some_and(|entry| entry.round == self.round))
    }

    /// Why a name may not be used, if it may not.
    pub fn barred(&self, name: &str) -> Option<&str> {
        self.names.get(name)?.barred.as_deref()
    }

    /// Remembers; tells whether that is news. `Err` past [`ITEMS`].
    fn remember(&mut self, list: List, name: &str, barred: Option<&str>) -> Result<bool, ()> {
        // A resource that is shown need not be known: templates make URIs no list has, so reading one is never
        // held back for a look-up, and there may be more of them than one would want to keep.
        if barred.is_none() && matches!(list, List::Resources | List::Templates) {
            if self.names.get(name).is_some_and(|entry| entry.round != self.round) {
                self.names.remove(name);
            }
            return Ok(false);
        }
        if let Some(entry) = self.names.get_mut(name) {
            let news = entry.barred.as_deref() != barred;
            if entry.round != self.round || entry.barred.is_none() {
                *entry = Entry { round: self.round, barred: barred.map(Into::into) };
            }
            return Ok(news && barred.is_some());
        }
        if self.names.len() >= ITEMS {
            return Err(());
        }
        self.names.insert(name.into(), Entry { round: self.round, barred: barred.map(Into::into) });
        Ok(barred.is_some())
    }
}

/// Takes out of one page what the client may not see. `Err` says why the page as a whole cannot be passed on.
pub(super) fn sieve(
    list: List,
    result: &mut Map<String, Value>,
    gate: &dyn Gatekeeper,
    known: &mut Known,
    events: &mut Vec<Event>,
) -> Result<(), &'static str> {
    match result.get("nextCursor") {
        None | Some(Value::Null | Value::String(_)) => {}
        Some(_) => return Err("its cursor is not a string"),
    }
    let Some(Value::Array(items)) = result.get_mut(list.member()) else {
        return Err("it holds no list");
    };
    items.retain(|item| keep(list, item, gate, known, events));

    // The rest of a page (`_meta`, what a later MCP adds) may hold text as well.
    let rest: Vec<String> = result
        .iter()
        .filter(|(name, value)| {
            *name != list.member() && *name != "nextCursor" && {
                let named = Value::Object(Map::from_iter([((*name).clone(), (*value).clone())]));
                !gate.rule(Kind::Text, "", &named).shows()
            }
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in rest {
        events.push(Event::Withheld { what: list.method(), member: Shown::new(&name) });
        result.shift_remove(&name);
    }
    Ok(())
}

fn keep(list: List, item: &Value, gate: &dyn Gatekeeper, known: &mut Known, events: &mut Vec<Event>) -> bool {
    let name = item.get(list.key()).and_then(Value::as_str).filter(|name| name.len() <= LONGEST_NAME);
    let Some(name) = name else {
        events.push(Event::Unusable { list });
        return false;
    };
    let ruling = gate.rule(list.kind(), name, item);
    let why = why(&ruling);
    let Ok(news) = known.remember(list, name, why.as_deref()) else {
        events.push(Event::Unusable { list });
        return false;
    };
    let shows = ruling.shows();
    if news {
        let name = Shown::new(name);
        match ruling {
            Ruling::Refuse(verdict) => events.push(Event::Refused { kind: list.kind(), name, verdict }),
            Ruling::Hold(_) => events.push(Event::Held { kind: list.kind(), name }),
            Ruling::Show(_) => {}
        }
    }
    shows
}

/// The reason a caller is given.
fn why(ruling: &Ruling) -> Option<String> {
    match ruling {
        Ruling::Show(_) => None,
        Ruling::Refuse(verdict) => {
            Some(format!("its description did not pass the screen ({})", rules(verdict)))
        }
        Ruling::Hold(_) => {
            Some("it changed since it was consented to, and waits for a person to accept it".into())
        }
    }
}

/// The ids of the rules that hit, each once.
pub(super) fn rules(verdict: &crate::screen::Verdict) -> String {
    let mut rules: Vec<&str> = verdict.hits().iter().map(|hit| hit.rule()).collect();
    rules.sort_unstable();
    rules.dedup();
    rules.truncate(5);
    rules.join(", ")
}
