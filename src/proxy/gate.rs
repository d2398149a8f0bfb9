//! May the client see this item?
//!
//! Asked through a trait, so that what a pin says about an item (it changed since consent) can be weighed together
//! with what the screen says, without this room knowing about pins.

use serde_json::Value;

use crate::screen::{Kind, Screen, Verdict};

/// What becomes of one item of a server's surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It is shown; notes may still hang on it.
    Show(Verdict),
    /// It fails the screen: absent from lists, refused on call.
    Refuse(Verdict),
    /// It is not what was consented to: absent and refused like the former, until a person accepts it.
    Hold(Verdict),
}

impl Ruling {
    /// What the screen found.
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Show(verdict) | Self::Refuse(verdict) | Self::Hold(verdict) => verdict,
        }
    }

    /// Whether the client gets it.
    pub fn shows(&self) -> bool {
        matches!(self, Self::Show(_))
    }
}

/// Rules on each item before a client may see it.
///
/// Called for every item of every page, for the server's instructions (a string, `name` empty), its name and
/// capabilities ([`Kind::ServerInfo`], `name` empty) and its free text ([`Kind::Text`], `name` empty). Must be quick
/// and do no I/O.
pub trait Gatekeeper: Send + Sync {
    /// Rules on `item`; `name` is a tool's or prompt's name, a resource's URI or a template's URI template.
    fn rule(&self, kind: Kind, name: &str, item: &Value) -> Ruling;
}

/// The screen alone decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScreenOnly;

impl Gatekeeper for ScreenOnly {
    fn rule(&self, kind: Kind, _name: &str, item: &Value) -> Ruling {
        let verdict = screened(kind, item);
        if verdict.refuses() { Ruling::Refuse(verdict) } else { Ruling::Show(verdict) }
    }
}

/// The screen's verdict on a value, a bare text or anything else.
pub(super) fn screened(kind: Kind, item: &Value) -> Verdict {
    match item {
        Value::String(text) => Screen::shared().text(kind, text),
        _ => Screen::shared().item(kind, item),
    }
}
