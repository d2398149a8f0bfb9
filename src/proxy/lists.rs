//! Which of a list's items does the client get, and which names are barred from then on?
//!
//! Every page is sieved by itself, whoever asked for it. What was refused stays refused until a newer listing shows
//! it clean; within one listing a refusal wins, so a second item of the same name cannot clear the first.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::gate::{Gatekeeper, Ruling};
use super::scan::resembles;
use super::session::Event;
use crate::screen::{Kind, hides_in_name, look_of_name};
use crate::text::Shown;

/// The most names remembered of one list; items past it are not shown.
pub const ITEMS: usize = 10_000;

/// The longest name, in bytes; an item with a longer one is not shown.
const LONGEST_NAME: usize = 4096;

/// The members of items that clients read, of any list.
const MEMBERS: &[&str] = &[
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
    "arguments",
    "uri",
    "uriTemplate",
    "mimeType",
    "size",
    "icons",
    "_meta",
];

/// Why an item is barred whose name shows as another.
const HIDDEN_NAME: &str = "its name holds characters that do not show";
const TWIN: &str = "its name looks like that of an item that is withheld";
const NAMED_TWICE: &str = "it names a member twice";

/// The lists of a server's surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
///
/// Several listings may run at once, the client's and one of ours, so each has a round of its own and only the one
/// begun last can say that the list is complete.
#[derive(Debug, Default)]
pub(super) struct Known {
    names: HashMap<Box<str>, Entry>,
    /// What the names that were barred look like, each with its name; at most [`ITEMS`].
    looks: HashMap<Box<str>, Box<str>>,
    round: u64,
    /// The listing begun last reached its end, so a name not here is not listed.
    complete: bool,
    /// The server said that the list changed.
    pub stale: bool,
    /// Our own last look-up came to nothing.
    pub failed: bool,
    client: Chain,
}

/// The client's listing, page by page.
#[derive(Debug, Default)]
struct Chain {
    round: u64,
    next: Option<String>,
    /// No page was left out so far.
    whole: bool,
}

#[derive(Debug)]
struct Entry {
    round: u64,
    /// Why the name is barred; `None` if it is not.
    barred: Option<Box<str>>,
}

/// Which page of the client's listing was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    First,
    /// The one after the page before.
    Next,
    /// Some page: whoever asked left others out.
    Other,
}

impl Known {
    /// A listing starts at its first page; its round.
    pub fn begin(&mut self) -> u64 {
        self.round += 1;
        self.complete = false;
        self.stale = false;
        self.failed = false;
        self.round
    }

    /// It reached its last page and left none out: if none began since, what it did not name is not listed any more.
    pub fn end(&mut self, round: u64) {
        if round == self.round {
            self.complete = true;
            self.names.retain(|_, entry| entry.round >= round);
        }
    }

    /// The page that the client asks for with `cursor`.
    pub fn page(&self, cursor: Option<&str>) -> Page {
        match cursor {
            None => Page::First,
            Some(cursor) if self.client.whole && self.client.next.as_deref() == Some(cursor) => Page::Next,
            Some(_) => Page::Other,
        }
    }

    /// The client's page arrived; the round of its listing.
    pub fn client_page(&mut self, page: Page) -> u64 {
        match page {
            Page::First => self.client = Chain { round: self.begin(), next: None, whole: true },
            Page::Next => {}
            Page::Other => self.client.whole = false,
        }
        self.client.round
    }

    /// It could be read, and another follows or not.
    pub fn client_page_read(&mut self, next: Option<&str>) {
        self.client.next = next.map(ToOwned::to_owned);
        if next.is_none() && self.client.whole {
            self.end(self.client.round);
        }
    }

    /// Whether a name's verdict is at hand.
    pub fn has(&self, name: &str) -> bool {
        !self.stale && (self.complete || self.names.get(name).is_some_and(|entry| entry.round == self.round))
    }

    /// Why a name may not be used, if it may not.
    pub fn barred(&self, name: &str) -> Option<&str> {
        self.names.get(name)?.barred.as_deref()
    }

    /// Whether a name looks like another one that is barred.
    fn is_twin(&self, name: &str) -> bool {
        !self.looks.is_empty()
            && self
                .looks
                .get(&*look_of_name(name))
                .is_some_and(|first| **first != *name && self.barred(first).is_some())
    }

    /// Remembers what a listing says; tells whether that bars the name newly. `Err` past [`ITEMS`].
    fn remember(&mut self, list: List, round: u64, name: &str, barred: Option<&str>) -> Result<bool, ()> {
        // A resource that is shown need not be known: templates make URIs no list has, so reading one is never
        // held back for a look-up, and there may be more of them than one would want to keep.
        let forget = barred.is_none() && matches!(list, List::Resources | List::Templates);
        if matches!(list, List::Tools | List::Prompts)
            && barred.is_some_and(|why| why != TWIN)
            && self.looks.len() < ITEMS
        {
            self.looks.insert(look_of_name(name).into(), name.into());
        }
        if let Some(entry) = self.names.get_mut(name) {
            let news = barred.is_some() && entry.barred.as_deref() != barred;
            // Only a later listing clears a name: in one and the same a refusal wins.
            if barred.is_some() || entry.barred.is_none() || entry.round < round {
                if forget {
                    self.names.remove(name);
                    return Ok(false);
                }
                *entry = Entry { round: round.max(entry.round), barred: barred.map(Into::into) };
            }
            return Ok(news);
        }
        if forget {
            return Ok(false);
        }
        if self.names.len() >= ITEMS {
            return Err(());
        }
        self.names.insert(name.into(), Entry { round, barred: barred.map(Into::into) });
        Ok(barred.is_some())
    }
}

/// Takes out of one page what the client may not see. `Err` says why the page as a whole cannot be passed on.
pub(super) fn sieve(
    list: List,
    round: u64,
    result: &mut Map<String, Value>,
    gate: &dyn Gatekeeper,
    known: &mut Known,
    events: &mut Vec<Event>,
) -> Result<(), &'static str> {
    // A parser that folds case would read these for the ones that are checked.
    result.retain(|name, _| {
        let twin = resembles(name, &[list.member(), "nextCursor", "_meta", "inputRequests"]);
        if twin {
            events.push(Event::Withheld { what: list.method(), member: Shown::new(name) });
        }
        !twin
    });
    match result.get("nextCursor") {
        None | Some(Value::Null | Value::String(_)) => {}
        Some(_) => return Err("its cursor is not a string"),
    }
    let Some(Value::Array(items)) = result.get_mut(list.member()) else {
        return Err("it holds no list");
    };
    items.retain(|item| keep(list, round, item, gate, known, events));
    // Only now: the one that it looks like may have come after it.
    items.retain(|item| {
        let Some(name) = item.get(list.key()).and_then(Value::as_str) else { return false };
        let twin = matches!(list, List::Tools | List::Prompts) && known.is_twin(name);
        if twin {
            events.push(Event::Unusable { list });
            // It is known already, so there is room for it.
            let _ = known.remember(list, round, name, Some(TWIN));
        }
        !twin
    });

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

fn keep(
    list: List,
    round: u64,
    item: &Value,
    gate: &dyn Gatekeeper,
    known: &mut Known,
    events: &mut Vec<Event>,
) -> bool {
    let name = item.get(list.key()).and_then(Value::as_str).filter(|name| name.len() <= LONGEST_NAME);
    let Some(name) = name else {
        events.push(Event::Unusable { list });
        return false;
    };
    // Names of resources are addresses, and nobody tells two apart by looking.
    let hidden = matches!(list, List::Tools | List::Prompts) && hides_in_name(name);
    let twice = item.as_object().is_some_and(|item| item.keys().any(|name| resembles(name, MEMBERS)));
    if hidden || twice {
        events.push(Event::Unusable { list });
        let why = if hidden { HIDDEN_NAME } else { NAMED_TWICE };
        // Past the limit it is just not shown.
        let _ = known.remember(list, round, name, Some(why));
        return false;
    }
    let ruling = gate.rule(list.kind(), name, item);
    let why = why(&ruling);
    let Ok(news) = known.remember(list, round, name, why.as_deref()) else {
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
