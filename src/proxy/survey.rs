//! What does a server offer, to whom, and what does the screen say to it?
//!
//! Asked on a throw-away server by a client of our own, so that nothing is probed on a client's connection. What a
//! server shows depends on the client's capabilities and the era, so a surface is several surveys merged: every item
//! seen counts, and one that differs between two surveys is volatile.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::gate::screened;
use super::lists::List;
use super::peer::{Era, Peer, PeerError};
use crate::digest::Digest;
use crate::screen::{Kind, Verdict};
use crate::secret::Mask;

/// How often a list that changes while it is read is read again.
const SETTLING: usize = 3;

/// One item of a server's surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    kind: Kind,
    name: String,
    raw: Value,
    verdict: Verdict,
    digest: Digest,
}

impl Item {
    fn new(kind: Kind, name: String, raw: Value) -> Self {
        let verdict = screened(kind, &raw);
        let digest = digest_of(&raw);
        Self { kind, name, raw, verdict, digest }
    }

    /// The same with the name of each credential in its value's place. The screen's word is that to what was said.
    fn without(self, mask: &Mask) -> Self {
        let raw = without(self.raw.clone(), mask);
        if raw == self.raw {
            return self;
        }
        let name = mask.hide(&self.name).unwrap_or(self.name);
        let told = Self::new(self.kind, name, raw);
        let verdict = if told.verdict.outcome() == self.verdict.outcome() {
            told.verdict
        } else {
            self.verdict.reworded(|_| Some("(with a credential in it, and not told)".to_owned()))
        };
        Self { verdict, ..told }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name, a resource's URI or a template's URI template; empty for instructions and the server's self.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything advertised about it, as it was written.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// What the screen says.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// SHA-256 of its canonical JSON (RFC 8785).
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// What an item is known by: SHA-256 of its canonical JSON (RFC 8785).
pub(super) fn digest_of(raw: &Value) -> Digest {
    // RFC 8785 has no form for a number no double can hold; its own text is as good a name for it.
    Digest::of_canonical(raw).unwrap_or_else(|_| Digest::of(raw.to_string().as_bytes()))
}

/// What a server said, with the name of each credential in its value's place. So it is the same from start to start,
/// whatever the value is then, and can be kept.
pub(super) fn without(said: Value, mask: &Mask) -> Value {
    if mask.is_empty() {
        return said;
    }
    let text = |text: String| mask.hide(&text).unwrap_or(text);
    match said {
        Value::String(said) => Value::String(text(said)),
        Value::Array(all) => all.into_iter().map(|said| without(said, mask)).collect(),
        Value::Object(all) => all.into_iter().map(|(name, said)| (text(name), without(said, mask))).collect(),
        said => said,
    }
}

/// A server's whole surface as one client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    era: Era,
    about: Item,
    instructions: Option<Item>,
    items: Vec<Item>,
    unnamed: usize,
}

impl Survey {
    /// Asks a server for everything; `opened` is its answer to the opener.
    ///
    /// Fails as the first list does that the server announces and then does not give.
    pub async fn take(peer: &mut Peer, opened: &Value) -> Result<Self, PeerError> {
        let about = match peer.era() {
            Era::Handshake => opened.get("serverInfo").cloned(),
            Era::Stateless => opened.pointer("/_meta/io.modelcontextprotocol~1serverInfo").cloned(),
        };
        let about = about.or_else(|| opened.get("serverInfo").cloned()).unwrap_or(Value::Null);
        let instructions = match opened.get("instructions") {
            None | Some(Value::Null) => None,
            Some(text) => Some(Item::new(Kind::Instructions, String::new(), text.clone())),
        };
        let announced = opened.get("capabilities").cloned().unwrap_or_default();
        let mut survey = Self {
            era: peer.era(),
            about: Item::new(Kind::ServerInfo, String::new(), about),
            instructions,
            items: Vec::new(),
            unnamed: 0,
        };
        if survey.era == Era::Handshake {
            // Some servers add tools once they are told that the session is open. A ping comes after that.
            match peer.request("ping", json!({})).await {
                Ok(_) | Err(PeerError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for list in List::ALL {
            if announced.get(list.capability()).is_none_or(Value::is_null) {
                continue;
            }
            survey.add(list, read_list(peer, list).await?);
        }
        Ok(survey)
    }

    fn add(&mut self, list: List, raw: Vec<Value>) {
        for raw in raw {
            let Some(name) = raw.get(list.key()).and_then(Value::as_str).map(ToOwned::to_owned) else {
                self.unnamed += 1;
                continue;
            };
            self.items.push(Item::new(list.kind(), name, raw));
        }
    }

    /// The same without the server's credentials, which it may have put in anything it says: to be kept and told. What a
    /// client hears is not made of this.
    #[must_use]
    pub fn without(self, mask: &Mask) -> Self {
        Self {
            about: self.about.without(mask),
            instructions: self.instructions.map(|item| item.without(mask)),
            items: self.items.into_iter().map(|item| item.without(mask)).collect(),
            ..self
        }
    }

    /// The era it was taken in.
    pub fn era(&self) -> Era {
        self.era
    }

    /// What the server says about itself: `raw` is its `serverInfo`, null if it gave none.
    pub fn about(&self) -> &Item {
        &self.about
    }

    /// Its instructions for the model, if it has any.
    pub fn instructions(&self) -> Option<&Item> {
        self.instructions.as_ref()
    }

    /// Tools, prompts, resources and templates, in the order they were listed.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Items without a usable name: the proxy never passes them on.
    pub fn unnamed(&self) -> usize {
        self.unnamed
    }

    /// What several surveys show together.
    pub fn merge(surveys: &[Survey]) -> Surface {
        let mut seen: HashMap<(Kind, String), Vec<Item>> = HashMap::new();
        let mut order = Vec::new();
        for survey in surveys {
            for item in survey.instructions.iter().chain(&survey.items) {
                let key = (item.kind, item.name.clone());
                let forms = seen.entry(key.clone()).or_insert_with(|| {
                    order.push(key);
                    Vec::new()
                });
                if !forms.iter().any(|form| form.digest == item.digest) {
                    forms.push(item.clone());
                }
            }
        }
        let entries =
            order.into_iter().filter_map(|key| seen.remove(&key)).map(|forms| Entry { forms }).collect();
        Surface { entries }
    }
}

async fn read_list(peer: &mut Peer, list: List) -> Result<Vec<Value>, PeerError> {
    let mut items = Vec::new();
    for _ in 0..SETTLING {
        peer.take_changed(list);
        items = match peer.list_all(list).await {
            Ok(items) => items,
            // Announced as one capability, templates are often left out.
            Err(PeerError::Refused { code: -32601, .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        if !peer.take_changed(list) {
            break;
        }
    }
    Ok(items)
}

/// What a server offers to any client, as several surveys saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    entries: Vec<Entry>,
}

impl Surface {
    /// Every item seen, the instructions first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// One item in all the forms it was seen in.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    forms: Vec<Item>,
}

impl Entry {
    /// The form seen first.
    pub fn item(&self) -> &Item {
        // An entry is made of at least one item.
        &self.forms[0]
    }

    /// All its forms, each once.
    pub fn forms(&self) -> &[Item] {
        &self.forms
    }

    /// Whether two surveys saw it differently: it is screened each time, and cannot be pinned.
    pub fn is_volatile(&self) -> bool {
        self.forms.len() > 1
    }

    /// Whether any form of it fails the screen.
    pub fn refused(&self) -> bool {
        self.forms.iter().any(|form| form.verdict.refuses())
    }
}

#[cfg(test)]
mod tests;
