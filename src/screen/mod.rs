//! May a model read what a server says about itself?
//!
//! A tool's name, description and schema go into the model's context unasked, so whoever writes them can give
//! orders there. The screen reads the whole surface as a model would ([`normalize`]), word by word in many
//! languages ([`tokens`], [`lexicon`]), and judges it by rules that are data ([`rules`]). It is a filter, not a
//! boundary: the boundary is the cage.
//!
//! Invariants: pure, no I/O; no panic on any input; time linear in its length and memory bounded by a window of
//! it; what cannot be looked at (too deep, a key given twice) is refused.

mod decode;
mod dictionary;
mod lexicon;
pub mod lines;
mod matcher;
mod normalize;
mod rules;
mod skeleton;
pub mod strict;
mod surface;
mod tokens;
mod verdict;

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde_json::Value;

use self::dictionary::Dictionary;
use self::matcher::{Grammar, Pattern, Sentences, Standing};
use self::normalize::{Reading, Trick};
use self::rules::{MARKERS, RULES, id};
use self::surface::{Field, Step};
pub use self::verdict::{EXCERPT_CHARS, Hit, Outcome, Severity, Verdict};

/// The most characters one string of an item may have, runs of white space counting as one: beyond it is not
/// documentation. Instructions and texts have no such limit.
pub const MAX_FIELD_CHARS: usize = 4_000;

/// A longer text is looked at in windows of this many bytes, so that memory does not grow with it.
const WINDOW: usize = 64 * 1024;

/// A single word below this many bytes is not looked at: the shortest command without spaces is longer.
const SHORT_WORD: usize = 16;

/// Neighbouring windows share this much, more than any rule spans.
const OVERLAP: usize = 2 * 1024;

/// The most hits kept for one item, the heaviest ones.
const MAX_HITS: usize = 32;

/// What is being screened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tool as `tools/list` gives it.
    Tool,
    /// A prompt as `prompts/list` gives it.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    ResourceTemplate,
    /// The server's instructions.
    Instructions,
    /// What a tool, a prompt or a resource returned, a log line, any text of a server.
    Text,
    /// The server's name, title and version.
    ServerInfo,
}

impl Kind {
    /// Whether one long string is refused for its length.
    fn is_documentation(self) -> bool {
        !matches!(self, Self::Instructions | Self::Text)
    }
}

/// The rules, compiled.
#[derive(Debug)]
pub struct Screen {
    dictionary: Dictionary,
    grammar: Grammar,
    patterns: Vec<(&'static str, Severity, Pattern)>,
    markers: Vec<OnceLock<Option<Regex>>>,
}

impl Screen {
    /// The one screen of this process, compiled when first asked for.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Screen> = LazyLock::new(Screen::compile);
        &SHARED
    }

    fn compile() -> Self {
        let mut patterns = Vec::new();
        for rule in RULES {
            for (severity, written) in
                [(Severity::High, rule.high), (Severity::Medium, rule.medium), (Severity::Low, rule.low)]
            {
                patterns.extend(written.iter().map(|written| (rule.id, severity, Pattern::new(written))));
            }
        }
        Self {
            dictionary: Dictionary::new(),
            grammar: Grammar::new(),
            patterns,
            markers: MARKERS.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Screens everything of `item` that a model may read: every string and every property name, at any depth.
    pub fn item(&self, kind: Kind, item: &Value) -> Verdict {
        let mut found = Found::default();
        let walked = surface::walk(item, &mut Vec::new(), &mut |path, field| {
            self.field(kind, path, field, &mut found)
        });
        if walked.is_err() {
            found.add(id::TOO_DEEP, Severity::High, "", "nested deeper than anybody looks");
        }
        found.verdict(kind)
    }

    /// Screens one text.
    pub fn text(&self, kind: Kind, text: &str) -> Verdict {
        let mut found = Found::default();
        self.field(kind, &[], Field::Text(text), &mut found);
        found.verdict(kind)
    }

    /// The verdict on an item that could not be parsed strictly.
    pub fn unreadable(kind: Kind, why: &strict::Strict) -> Verdict {
        let mut found = Found::default();
        match why {
            strict::Strict::DuplicateKey(key) => {
                found.add(id::DUPLICATE_KEY, Severity::High, "", &format!("`{key}` is given twice"));
            }
            strict::Strict::TooDeep | strict::Strict::Syntax(_) => {
                found.add(id::TOO_DEEP, Severity::High, "", &why.to_string());
            }
        }
        found.verdict(kind)
    }

    fn field(&self, kind: Kind, path: &[Step<'_>], field: Field<'_>, found: &mut Found) {
        match field {
            Field::Name(name) => match surface::words_of_name(name) {
                Some(words) => self.scan(path, &words, found),
                None => self.scan(path, name, found),
            },
            Field::Row(items) => {
                let row: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                self.scan(path, &row.join(" "), found);
            }
            Field::Text(text) => {
                if kind.is_documentation() && is_too_long(text) && !is_picture(path, text) {
                    // Not read any further: it is refused, and may be of any size.
                    let start: String = text.chars().take(EXCERPT_CHARS).collect();
                    found.add(id::TOO_LONG, Severity::High, &surface::written(path), &start);
                    return;
                }
                self.scan(path, text, found);
                if let Some(words) = surface::words_of_name(text) {
                    self.scan(path, &words, found);
                }
            }
        }
    }

    fn scan(&self, path: &[Step<'_>], text: &str, found: &mut Found) {
        // One short word is most of what a schema holds, and no rule is met by one.
        if text.len() < SHORT_WORD && text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return;
        }
        for window in windows(text) {
            let (readings, tricks) = normalize::readings(window);
            for trick in tricks {
                let (severity, what) = match trick {
                    Trick::TagText => (Severity::High, "text in the invisible tag block"),
                    Trick::SelectorBytes => (Severity::High, "bytes in variation selectors"),
                    Trick::Invisible => (Severity::Medium, "many invisible characters"),
                    Trick::Bidi => (Severity::Medium, "characters that reverse the reading order"),
                    Trick::Control => (Severity::Medium, "control characters"),
                };
                found.add(id::HIDDEN_TEXT, severity, &surface::written(path), what);
            }
            for reading in &readings {
                self.reading(path, reading, found);
            }
        }
    }

    fn reading(&self, path: &[Step<'_>], reading: &Reading<'_>, found: &mut Found) {
        let text: &str = &reading.text;
        let tokens = tokens::tokens(&self.dictionary, text);
        let sentences = Sentences::new(&self.grammar, &tokens);
        if tokens.len() > 1 {
            let concepts = sentences.concepts();
            for (rule, severity, pattern) in
                self.patterns.iter().filter(|(_, _, pattern)| pattern.opens(concepts))
            {
                let Some(matched) = pattern.find(&self.grammar, &sentences) else { continue };
                let (from, to) = (tokens[matched.first].start as usize, tokens[matched.last].end as usize);
                let severity = weighed(*severity, matched.standing);
                found.add(rule, severity, &surface::written(path), &excerpt(reading, from, to));
            }
        } else if let Some(token) = tokens.first()
            && token.concepts & lexicon::SECRET_PATH != 0
        {
            found.add(
                "secret-path",
                Severity::Low,
                &surface::written(path),
                &excerpt(reading, 0, text.len()),
            );
        }
        for (marker, compiled) in MARKERS.iter().zip(&self.markers) {
            if !marker.needs.iter().all(|group| group.iter().any(|needed| text.contains(needed))) {
                continue;
            }
            let Some(compiled) = compiled.get_or_init(|| Regex::new(marker.pattern).ok()) else { continue };
            if let Some(seen) = compiled.find(text) {
                let standing = sentences.standing_at(seen.start());
                let severity = weighed(marker.severity, standing);
                found.add(
                    marker.id,
                    severity,
                    &surface::written(path),
                    &excerpt(reading, seen.start(), seen.end()),
                );
            }
        }
        if let Some((from, to)) = skeleton::find(&self.dictionary, text) {
            found.add(id::SPLIT_WORDS, Severity::High, &surface::written(path), &excerpt(reading, from, to));
        }
    }
}

/// What is only mentioned is a note; what is said by a text that speaks of detecting weighs a step less.
fn weighed(severity: Severity, standing: Standing) -> Severity {
    match (standing, severity) {
        (Standing::Said, severity) => severity,
        (Standing::Doubtful, Severity::High) => Severity::Medium,
        (Standing::Doubtful | Standing::Mentioned, _) => Severity::Low,
    }
}

/// Whether a name holds something that does not show, or that would show as another thing: characters that are
/// invisible, move the cursor or change the reading order, or a mark without a letter to sit on.
pub fn hides_in_name(name: &str) -> bool {
    let bare = |c: char| unicode_normalization::char::is_combining_mark(c);
    crate::text::Shown::new(name).to_string() != name
        || name.chars().any(normalize::is_invisible)
        || name.trim().is_empty()
        || name.chars().next().is_some_and(bare)
}

/// What a name looks like: two names that a person or a model cannot tell apart look the same.
pub fn look_of_name(name: &str) -> String {
    normalize::fold(&name.to_lowercase(), None).to_lowercase()
}

/// The hits of one item while it is screened.
#[derive(Default)]
struct Found(Vec<Hit>);

impl Found {
    /// Keeps a hit, unless the same rule has one at least as heavy in the same place.
    fn add(&mut self, rule: &'static str, severity: Severity, place: &str, excerpt: &str) {
        let hit = Hit::new(rule, severity, place, excerpt);
        let same = |known: &Hit| known.rule() == rule && known.place() == hit.place();
        let place = match self.0.iter().position(same) {
            Some(known) => Some(known),
            None if self.0.len() < MAX_HITS => {
                self.0.push(hit);
                return;
            }
            None => self.0.iter().position(|known| known.severity() < severity),
        };
        if let Some(known) = place
            && self.0[known].severity() < severity
        {
            self.0[known] = hit;
        }
    }

    fn verdict(self, kind: Kind) -> Verdict {
        Verdict::from_hits(kind, self.0)
    }
}

/// What was matched, with a few words around it.
fn excerpt(reading: &Reading<'_>, from: usize, to: usize) -> String {
    const AROUND: usize = 24;
    let text: &str = &reading.text;
    let mut start = from.saturating_sub(AROUND);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = (to + AROUND).min(text.len()).min(start + 4 * EXCERPT_CHARS);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let words: Vec<&str> = text[start..end].split_whitespace().collect();
    let words = words.join(" ");
    if reading.how.is_empty() { words } else { format!("[{}] {words}", reading.how) }
}

/// Counts runs of white space as one: an indented description is not longer than the same one flush left.
fn is_too_long(text: &str) -> bool {
    if text.len() <= MAX_FIELD_CHARS {
        return false;
    }
    let mut last_was_space = false;
    let mut count = 0_usize;
    for c in text.chars() {
        let space = c.is_whitespace();
        count += usize::from(!(space && last_was_space));
        last_was_space = space;
        if count > MAX_FIELD_CHARS {
            return true;
        }
    }
    false
}

/// An icon's picture, which no model reads as text.
fn is_picture(path: &[Step<'_>], text: &str) -> bool {
    let in_icons = path.iter().any(|step| matches!(step, Step::Key("icons")));
    in_icons && matches!(path.last(), Some(Step::Key("src"))) && text.starts_with("data:image/")
}

/// The text in windows that overlap; the text itself where it is short.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        if text.len() <= WINDOW {
            rest = None;
            return Some(text);
        }
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let end = boundary(WINDOW);
        rest = text.get(boundary(WINDOW - OVERLAP)..);
        text.get(..end)
    })
}

/// The rules as a table in Markdown: what `docs/screen.md` holds between its marks.
pub fn rules_in_markdown() -> String {
    let mut table =
        String::from("| rule | severity | words in | why | found in | not in |\n|---|---|---|---|---|---|\n");
    let cell = |text: &str| Cow::from(text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " "));
    let mut row = |id: &str, severity: Severity, languages: &str, why: &str, hit: &str, near: &str| {
        let severity = match severity {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        };
        table.push_str(&format!(
            "| `{id}` | {severity} | {languages} | {} | {} | {} |\n",
            cell(why),
            cell(hit),
            cell(near)
        ));
    };
    for rule in RULES {
        let severity = match (rule.high, rule.medium) {
            ([_, ..], _) => Severity::High,
            (_, [_, ..]) => Severity::Medium,
            _ => Severity::Low,
        };
        row(rule.id, severity, &rule.languages.join(" "), rule.why, rule.hits[0], rule.near[0]);
    }
    for marker in MARKERS {
        row(marker.id, marker.severity, "any", marker.why, marker.hits[0], marker.near[0]);
    }
    table
}

#[cfg(test)]
mod tests;
