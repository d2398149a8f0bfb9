//! What did the screen find, and what follows from it?
//!
//! Invariants: the outcome is worked out from the hits and from nothing else; an excerpt is made safe to draw and
//! is never longer than [`EXCERPT_CHARS`].

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::Kind;
use crate::text::Shown;

/// The most characters of somebody's text that a hit quotes.
pub const EXCERPT_CHARS: usize = 120;

/// How much a rule's hit weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth a line to a reviewer.
    Low,
    /// Refuses when a second rule of this weight agrees.
    Medium,
    /// Refuses by itself.
    High,
}

/// What follows from the hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Nothing was found.
    Pass,
    /// Something was found that a reviewer may want to see; the item goes through.
    Note,
    /// The item must not reach a model; a text ([`Kind::Text`]) reaches it inside a fence.
    Refuse,
}

/// One rule that matched, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    rule: &'static str,
    severity: Severity,
    #[serde(rename = "where")]
    place: Shown,
    excerpt: Shown,
}

impl Hit {
    /// `excerpt` is what the model would read, normalised; it is cut to [`EXCERPT_CHARS`].
    pub(super) fn new(rule: &'static str, severity: Severity, place: &str, excerpt: &str) -> Self {
        let cut: String = if excerpt.chars().nth(EXCERPT_CHARS).is_some() {
            excerpt.chars().take(EXCERPT_CHARS - 1).chain(['…']).collect()
        } else {
            excerpt.to_owned()
        };
        let place = match place.char_indices().nth(400) {
            Some((at, _)) => format!("{}…", &place[..at]),
            None => place.to_owned(),
        };
        Self { rule, severity, place: Shown::new(&place), excerpt: Shown::new(&cut) }
    }

    /// The rule's stable id, as listed in `docs/screen.md`.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// How much it weighs here: a rule's own severity, or less where the text only mentions the phrase.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Where: a path such as `inputSchema.properties.q.description`; empty for a bare text.
    pub fn place(&self) -> &Shown {
        &self.place
    }

    /// What was matched, with a little around it.
    pub fn excerpt(&self) -> &Shown {
        &self.excerpt
    }
}

/// The outcome of screening one item, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    kind: Kind,
    outcome: Outcome,
    hits: Vec<Hit>,
}

impl Verdict {
    /// High refuses, two different medium rules refuse, anything else is a note.
    pub(super) fn from_hits(kind: Kind, mut hits: Vec<Hit>) -> Self {
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.severity));
        let high = hits.iter().any(|hit| hit.severity == Severity::High);
        let mut mediums: Vec<&str> =
            hits.iter().filter(|hit| hit.severity == Severity::Medium).map(|hit| hit.rule).collect();
        mediums.sort_unstable();
        mediums.dedup();
        let outcome = match () {
            () if high || mediums.len() >= 2 => Outcome::Refuse,
            () if hits.is_empty() => Outcome::Pass,
            () => Outcome::Note,
        };
        Self { kind, outcome, hits }
    }

    /// The same, its places and excerpts in other words where `told` has some.
    #[must_use]
    pub fn reworded(mut self, told: impl Fn(&str) -> Option<String>) -> Self {
        for part in self.hits.iter_mut().flat_map(|hit| [&mut hit.place, &mut hit.excerpt]) {
            if let Some(text) = told(&part.to_string()) {
                *part = Shown::new(&text);
            }
        }
        self
    }

    /// What follows.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Whether the item must not reach a model as it is.
    pub fn refuses(&self) -> bool {
        self.outcome == Outcome::Refuse
    }

    /// Why, the heaviest first.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// The outcome as `pinfold screen` and `--json` write it: `pass`, `note`, `refuse`, and `fence` for a text.
    pub fn word(&self) -> &'static str {
        match (self.outcome, self.kind) {
            (Outcome::Pass, _) => "pass",
            (Outcome::Note, _) => "note",
            (Outcome::Refuse, Kind::Text) => "fence",
            (Outcome::Refuse, _) => "refuse",
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut verdict = serializer.serialize_struct("Verdict", 2)?;
        verdict.serialize_field("verdict", self.word())?;
        verdict.serialize_field("hits", &self.hits)?;
        verdict.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(hits: &[(&'static str, Severity)]) -> Verdict {
        let hits =
            hits.iter().map(|(rule, severity)| Hit::new(rule, *severity, "description", "x")).collect();
        Verdict::from_hits(Kind::Tool, hits)
    }

    #[test]
    fn one_high_hit_refuses_and_one_medium_hit_is_noted() {
        assert_eq!(verdict(&[("a", Severity::High)]).outcome(), Outcome::Refuse);
        assert_eq!(verdict(&[("a", Severity::Medium)]).outcome(), Outcome::Note);
        assert_eq!(verdict(&[]).outcome(), Outcome::Pass);
    }

    #[test]
    fn two_medium_rules_refuse_and_one_rule_twice_does_not() {
        assert!(verdict(&[("a", Severity::Medium), ("b", Severity::Medium)]).refuses());
        assert!(
            !verdict(&[("a", Severity::Medium), ("a", Severity::Medium), ("b", Severity::Low)]).refuses()
        );
    }

    #[test]
    fn an_excerpt_is_bounded_and_safe() {
        let hit = Hit::new("a", Severity::Low, "x", &"é\u{202E}\n".repeat(500));
        assert!(hit.excerpt().to_string().chars().count() <= EXCERPT_CHARS);
        assert!(!hit.excerpt().to_string().contains(['\n', '\u{202E}']));
    }

    #[test]
    fn a_refused_text_is_fenced() {
        let hits = vec![Hit::new("a", Severity::High, "", "x")];
        let json = serde_json::to_value(Verdict::from_hits(Kind::Text, hits)).unwrap();
        assert_eq!(json["verdict"], "fence");
        assert_eq!(json["hits"][0]["where"], "");
        assert_eq!(json["hits"][0]["severity"], "high");
    }
}
