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

use super::dictionary::{Concepts, concept};
use super::tokens::Token;

/// How many words that are no fillers may stand between two elements, where the pattern does not say.
const GAP: u8 = 1;

/// The most elements a pattern has (a test walks the rules).
pub(super) const MAX_ELEMENTS: usize = 8;

/// A pattern, compiled.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Concepts of which a text must hold one each, the rarest first: what most texts fail at.
    gate: [Concepts; 3],
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
    spans: Vec<Sentence>,
    all: Concepts,
}

/// A sentence: a range of tokens, and what the matcher asks about it more than once.
struct Sentence {
    start: usize,
    end: usize,
    concepts: Concepts,
    /// The first token that speaks of detecting.
    detect: Option<usize>,
    /// The first token from there on that says a phrase is only named.
    mention: Option<usize>,
}

impl Sentence {
    /// How a match that begins with the token `first` stands.
    fn standing(&self, tokens: &[Token], first: usize) -> Standing {
        let before = |at: Option<usize>| at.is_some_and(|at| at < first);
        match (before(self.detect), tokens[first].quoted || before(self.mention)) {
            (false, _) => Standing::Said,
            (true, true) => Standing::Mentioned,
            (true, false) => Standing::Doubtful,
        }
    }
}

impl<'t> Sentences<'t> {
    pub(super) fn new(grammar: &Grammar, tokens: &'t [Token]) -> Self {
        let mut spans: Vec<Sentence> = Vec::new();
        let mut last = u32::MAX;
        for (at, token) in tokens.iter().enumerate() {
            if spans.is_empty() || last != token.sentence {
                spans.push(Sentence { start: at, end: at, concepts: 0, detect: None, mention: None });
            }
            last = token.sentence;
            let Some(sentence) = spans.last_mut() else { continue };
            sentence.end = at + 1;
            sentence.concepts |= token.concepts;
            if token.concepts & grammar.detect != 0 {
                sentence.detect.get_or_insert(at);
            }
            if sentence.detect.is_some() && token.concepts & grammar.mention != 0 {
                sentence.mention.get_or_insert(at);
            }
        }
        let all = spans.iter().fold(0, |all, sentence| all | sentence.concepts);
        Self { tokens, spans, all }
    }

    /// Everything the text speaks of.
    pub(super) fn concepts(&self) -> Concepts {
        self.all
    }

    /// How something that is no match of words stands, by where it begins in the reading.
    pub(super) fn standing_at(&self, byte: usize) -> Standing {
        let at = self.tokens.partition_point(|token| token.end as usize <= byte);
        let sentence = self.spans.partition_point(|sentence| sentence.end <= at);
        match self.spans.get(sentence) {
            Some(sentence) => sentence.standing(self.tokens, at),
            None => Standing::Said,
        }
    }
}

impl Pattern {
    /// Compiles a pattern; an element that names no concept matches nothing.
    pub(super) fn new(written: &str) -> Self {
        let mut pattern = Self {
            gate: [Concepts::MAX; 3],
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
        let elements = pattern.elements.iter().filter(|e| !e.optional).map(|e| e.any_of);
        let mut asked: Vec<Concepts> = elements
            .chain(pattern.in_sentence.iter().copied())
            .chain(pattern.in_text.iter().copied())
            .collect();
        asked.sort_by_key(|concepts| concepts.count_ones());
        for (gate, concepts) in pattern.gate.iter_mut().zip(asked) {
            *gate = concepts;
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

    /// Whether a text that speaks of `concepts` is worth a look.
    pub(super) fn opens(&self, concepts: Concepts) -> bool {
        self.gate.iter().all(|any| any & concepts != 0)
    }

    /// The weightiest match in a reading, the first of its kind.
    pub(super) fn find(&self, grammar: &Grammar, text: &Sentences<'_>) -> Option<Match> {
        let speaks_of =
            |concepts: Concepts, wanted: &[Concepts]| wanted.iter().all(|any| any & concepts != 0);
        if !self.opens(text.all) || !speaks_of(text.all, &self.in_text) {
            return None;
        }
        let mut best: Option<Match> = None;
        for sentence in &text.spans {
            let concepts = sentence.concepts;
            let fits = speaks_of(concepts, &self.in_sentence) && concepts & self.not_in_sentence == 0;
            if !fits || !self.could_match(concepts) {
                continue;
            }
            if let Some(found) = self.find_in(grammar, text.tokens, sentence) {
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

    fn find_in(&self, grammar: &Grammar, tokens: &[Token], sentence: &Sentence) -> Option<Match> {
        /// Waiting for an element, with so many words left to skip, since a first token.
        #[derive(Clone, Copy)]
        struct Waiting {
            left: u8,
            first: usize,
        }
        let mut states: [Option<Waiting>; MAX_ELEMENTS + 1] = [None; MAX_ELEMENTS + 1];
        let elements = &self.elements;
        let mut best: Option<Match> = None;
        for at in sentence.start..sentence.end {
            let token = &tokens[at];
            for k in (0..elements.len()).rev() {
                let matches = elements[k].any_of & token.concepts != 0;
                let first = if k == 0 {
                    if !matches || !self.may_start(grammar, tokens, sentence.start, at) {
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
                        let standing = sentence.standing(tokens, first);
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
    fn may_start(&self, grammar: &Grammar, tokens: &[Token], start: usize, at: usize) -> bool {
        if self.denial_matters {
            // "never", "do not ever", "must not under any circumstances": a denial reaches over fillers.
            let denied = tokens[start..at]
                .iter()
                .rev()
                .take_while(|t| !t.after_pause || t.concepts & grammar.not != 0)
                .take(3)
                .any(|t| t.concepts & grammar.not != 0);
            if denied && !tokens[at].after_pause {
                return false;
            }
        }
        if !self.command {
            return true;
        }
        if at == start {
            return true;
        }
        let (before, token) = (&tokens[at - 1], &tokens[at]);
        token.after_pause || (token.quoted && !before.quoted) || before.concepts & grammar.lead != 0
    }
}
