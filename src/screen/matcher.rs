//! Does a row of words say what a rule describes?
//!
//! A pattern is a row of concepts: `^OVERRIDE PRIOR INSTRUCTIONS`. Filler words may stand anywhere between, and
//! one other word, or `~N` of them. `A|B` is either, `A?` may be missing, `^` wants a command (not "it ignores" or
//! "an option to ignore"), `&A` and `!A` want the sentence to speak of A, or not to, `&&A` the same of the whole text.
//!
//! Two things are looked at before a match starts: a denial in front ("never include passwords") makes it no
//! match, and a sentence that speaks of detecting the phrase makes it a mention, which weighs less.
//!
//! Invariants: no backtracking. Per pattern and position one state is kept per element, the one with the most gap
//! left, which decides whatever any other would; so the work is linear in the words.

use super::tokens::{Concepts, Token, concept};

/// How many words that are no fillers may stand between two elements, where the pattern does not say.
const GAP: u8 = 1;

/// The most elements a pattern has (a test walks the rules).
pub(super) const MAX_ELEMENTS: usize = 8;

/// A pattern, compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    elements: Vec<Element>,
    command: bool,
    denial_matters: bool,
    in_sentence: Vec<Concepts>,
    not_in_sentence: Concepts,
    in_text: Vec<Concepts>,
}

#[derive(Debug, Clone, Copy)]
struct Element {
    any_of: Concepts,
    optional: bool,
    gap: u8,
}

/// How a phrase stands in its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It is quoted, or named as something to look for.
    Mentioned,
    /// The sentence speaks of detecting, but says this in its own words.
    Doubtful,
    /// It is said.
    Said,
}

/// A match: the first and last token, and how it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) standing: Standing,
}

/// The concepts the matcher itself asks for.
#[derive(Debug)]
pub(super) struct Grammar {
    filler: Concepts,
    not: Concepts,
    lead: Concepts,
    detect: Concepts,
    mention: Concepts,
}

impl Grammar {
    pub(super) fn new() -> Self {
        Self {
            filler: concept("FILLER"),
            not: concept("NOT") | concept("WITHOUT"),
            lead: concept("LEAD"),
            detect: concept("DETECT"),
            mention: concept("MENTION"),
        }
    }
}

/// A reading's tokens, with what each sentence speaks of.
pub(super) struct Sentences<'t> {
    tokens: &'t [Token],
    /// The range of tokens and the concepts of every sentence.
    spans: Vec<(usize, usize, Concepts)>,
    all: Concepts,
}

impl<'t> Sentences<'t> {
    pub(super) fn new(tokens: &'t [Token]) -> Self {
        let mut spans: Vec<(usize, usize, Concepts)> = Vec::new();
        let mut last = u32::MAX;
        for (at, token) in tokens.iter().enumerate() {
            match spans.last_mut() {
                Some((_, end, concepts)) if last == token.sentence => {
                    *end = at + 1;
                    *concepts |= token.concepts;
                }
                _ => spans.push((at, at + 1, token.concepts)),
            }
            last = token.sentence;
        }
        let all = spans.iter().fold(0, |all, (_, _, concepts)| all | concepts);
        Self { tokens, spans, all }
    }
}

impl Pattern {
    /// Compiles a pattern; an element that names no concept matches nothing.
    pub(super) fn new(written: &str) -> Self {
        let mut pattern = Self {
            elements: Vec::new(),
            command: false,
            denial_matters: true,
            in_sentence: Vec::new(),
            not_in_sentence: 0,
            in_text: Vec::new(),
        };
        let any_of = |names: &str| names.split('|').fold(0, |all, name| all | concept(name));
        let mut gap = GAP;
        for part in written.split_whitespace() {
            if let Some(n) = part.strip_prefix('~') {
                gap = n.parse().unwrap_or(GAP);
            } else if let Some(names) = part.strip_prefix("&&") {
                pattern.in_text.push(any_of(names));
            } else if let Some(names) = part.strip_prefix('&') {
                pattern.in_sentence.push(any_of(names));
            } else if let Some(names) = part.strip_prefix('!') {
                pattern.not_in_sentence |= any_of(names);
            } else {
                let names = part.trim_start_matches('^');
                pattern.command |= names.len() < part.len();
                let optional = names.ends_with('?');
                let names = names.trim_end_matches('?');
                if pattern.elements.is_empty() {
                    let own = concept("NOT") | concept("WITHOUT");
                    pattern.denial_matters = any_of(names) & own == 0;
                }
                pattern.elements.push(Element { any_of: any_of(names), optional, gap });
                gap = GAP;
            }
        }
        pattern
    }

    /// Whether `written` uses known names only and is of a size the matcher takes.
    #[cfg(test)]
    pub(super) fn is_sound(written: &str) -> bool {
        let names = written.split_whitespace().filter(|part| !part.starts_with('~'));
        let known = |part: &str| {
            part.trim_start_matches(['&', '!', '^'])
                .trim_end_matches('?')
                .split('|')
                .all(|name| concept(name) != 0)
        };
        let compiled = Self::new(written);
        names.clone().all(known)
            && !compiled.elements.is_empty()
            && compiled.elements.len() <= MAX_ELEMENTS
            && !compiled.elements[0].optional
            && !compiled.elements[compiled.elements.len() - 1].optional
    }

    /// The weightiest match in a reading, the first of its kind.
    pub(super) fn find(&self, grammar: &Grammar, text: &Sentences<'_>) -> Option<Match> {
        let speaks_of =
            |concepts: Concepts, wanted: &[Concepts]| wanted.iter().all(|any| any & concepts != 0);
        if !self.could_match(text.all) || !speaks_of(text.all, &self.in_text) {
            return None;
        }
        let mut best: Option<Match> = None;
        for (start, end, concepts) in &text.spans {
            let fits = speaks_of(*concepts, &self.in_sentence) && concepts & self.not_in_sentence == 0;
            if !fits || !self.could_match(*concepts) {
                continue;
            }
            let sentence = &text.tokens[*start..*end];
            if let Some(found) = self.find_in(grammar, sentence, *concepts) {
                let found = Match { first: start + found.first, last: start + found.last, ..found };
                if best.is_none_or(|best| found.standing > best.standing) {
                    best = Some(found);
                }
                if found.standing == Standing::Said {
                    break;
                }
            }
        }
        best
    }

    fn could_match(&self, concepts: Concepts) -> bool {
        self.elements.iter().all(|e| e.optional || e.any_of & concepts != 0)
    }

    fn find_in(&self, grammar: &Grammar, sentence: &[Token], concepts: Concepts) -> Option<Match> {
        /// Waiting for an element, with so many words left to skip, since a first token.
        #[derive(Clone, Copy)]
        struct Waiting {
            left: u8,
            first: usize,
        }
        let mut states: [Option<Waiting>; MAX_ELEMENTS + 1] = [None; MAX_ELEMENTS + 1];
        let elements = &self.elements;
        let mut best: Option<Match> = None;
        for (at, token) in sentence.iter().enumerate() {
            for k in (0..elements.len()).rev() {
                let matches = elements[k].any_of & token.concepts != 0;
                let first = if k == 0 {
                    if !matches || !self.may_start(grammar, sentence, at) {
                        continue;
                    }
                    at
                } else {
                    let Some(waiting) = states[k] else { continue };
                    if token.concepts & grammar.filler == 0 {
                        states[k] = waiting.left.checked_sub(1).map(|left| Waiting { left, ..waiting });
                    }
                    if !matches {
                        continue;
                    }
                    waiting.first
                };
                // On to the next element, and past those that may be missing.
                let mut next = k + 1;
                loop {
                    let Some(element) = elements.get(next) else {
                        let standing = standing(grammar, sentence, first, concepts);
                        if best.is_none_or(|best| standing > best.standing) {
                            best = Some(Match { first, last: at, standing });
                        }
                        if standing == Standing::Said {
                            return best;
                        }
                        break;
                    };
                    if states[next].is_none_or(|waiting| waiting.left <= element.gap) {
                        states[next] = Some(Waiting { left: element.gap, first });
                    }
                    // A phrase ("system prompt") is several elements at once.
                    let taken = token.joined && element.any_of & token.concepts != 0;
                    if !element.optional && !taken {
                        break;
                    }
                    next += 1;
                }
            }
        }
        best
    }

    /// Whether the words in front let a match begin here.
    fn may_start(&self, grammar: &Grammar, sentence: &[Token], at: usize) -> bool {
        if self.denial_matters {
            // "never", "do not ever", "must not under any circumstances": a denial reaches over fillers.
            let denied = sentence[..at]
                .iter()
                .rev()
                .take_while(|t| !t.after_pause || t.concepts & grammar.not != 0)
                .take(3)
                .any(|t| t.concepts & grammar.not != 0);
            if denied && !sentence[at].after_pause {
                return false;
            }
        }
        if !self.command {
            return true;
        }
        let token = &sentence[at];
        let Some(before) = at.checked_sub(1).map(|b| &sentence[b]) else { return true };
        token.after_pause || (token.quoted && !before.quoted) || before.concepts & grammar.lead != 0
    }
}

fn standing(grammar: &Grammar, sentence: &[Token], first: usize, concepts: Concepts) -> Standing {
    if concepts & grammar.detect == 0 {
        return Standing::Said;
    }
    let Some(detect) = sentence[..first].iter().position(|t| t.concepts & grammar.detect != 0) else {
        return Standing::Said;
    };
    let named = sentence[detect..first].iter().any(|t| t.concepts & grammar.mention != 0);
    if sentence[first].quoted || named { Standing::Mentioned } else { Standing::Doubtful }
}

impl Sentences<'_> {
    /// How something that is no match of words stands, by where it begins in the reading.
    pub(super) fn standing_at(&self, grammar: &Grammar, byte: usize) -> Standing {
        let Some(at) = self.tokens.iter().position(|t| t.end as usize > byte) else { return Standing::Said };
        let Some((start, end, concepts)) =
            self.spans.iter().find(|(start, end, _)| (*start..*end).contains(&at))
        else {
            return Standing::Said;
        };
        standing(grammar, &self.tokens[*start..*end], at - start, *concepts)
    }
}
