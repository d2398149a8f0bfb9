//! A stand-in until the real screen is merged; this file is replaced by it.
#![allow(missing_docs, dead_code)]
use serde_json::Value;

use crate::text::Shown;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Tool,
    Prompt,
    Resource,
    ResourceTemplate,
    Instructions,
    Text,
    ServerInfo,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    High,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Note,
    Refuse,
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    place: Shown,
}
impl Hit {
    pub fn rule(&self) -> &'static str {
        "override"
    }
    pub fn severity(&self) -> Severity {
        Severity::High
    }
    pub fn place(&self) -> &Shown {
        &self.place
    }
    pub fn excerpt(&self) -> &Shown {
        &self.place
    }
}
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    hits: Vec<Hit>,
}
impl Verdict {
    pub fn outcome(&self) -> Outcome {
        if self.hits.is_empty() { Outcome::Pass } else { Outcome::Refuse }
    }
    pub fn refuses(&self) -> bool {
        !self.hits.is_empty()
    }
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }
}
pub struct Screen(());
impl Screen {
    pub fn shared() -> &'static Screen {
        static S: Screen = Screen(());
        &S
    }
    pub fn item(&self, kind: Kind, value: &Value) -> Verdict {
        self.text(kind, &value.to_string())
    }
    pub fn text(&self, _: Kind, text: &str) -> Verdict {
        let bad = text.to_lowercase().contains("ignore all previous instructions");
        Verdict { hits: bad.then(|| Hit { place: Shown::new("x") }).into_iter().collect() }
    }
}
