//! Which words does the lexicon know, and how are they found?
//!
//! The lexicon's rows, compiled for look-up: words, beginnings of words, and phrases. A word that is not found as it
//! stands is tried with digits read as letters and, as Spanish has them, without the pronouns at its end.
//!
//! Invariants: a look-up costs no more than the word's length; nothing here depends on where a word stands.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::lexicon::{self, CONCEPTS};
use super::normalize::fold;
use super::tokens::Token;

/// The number of a word that is in no phrase.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// A set of concepts, a bit each.
pub(super) type Concepts = u128;

/// A map whose keys are ours alone: nobody can fill it with collisions, so a plain hash will do.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        // The map takes its bucket from the low bits and its tag from the high ones.
        self.0 ^ (self.0 >> 29)
    }
}

/// Words and phrases, compiled.
#[derive(Debug)]
pub(super) struct Dictionary {
    words: Map<String, Word>,
    /// By their first three characters.
    prefixes: Map<String, Vec<(String, Concepts)>>,
    /// By their first word; longest first.
    phrases: Map<u32, Vec<(Vec<u32>, Concepts)>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// Its number, for phrases; [`UNKNOWN`] for none.
    pub(super) id: u32,
    pub(super) concepts: Concepts,
}

/// The bit of a concept; 0, which matches nothing, for an unknown name (a test walks all names used).
pub(super) fn concept(name: &str) -> Concepts {
    CONCEPTS.iter().position(|known| *known == name).map_or(0, |bit| 1 << bit)
}

impl Dictionary {
    pub(super) fn new() -> Self {
        let mut built = Self { words: Map::default(), prefixes: Map::default(), phrases: Map::default() };
        for (name, _language, entries) in lexicon::ROWS {
            let bit = concept(name);
            for entry in entries.split_whitespace() {
                built.add(entry, bit);
            }
        }
        for phrases in built.phrases.values_mut() {
            phrases.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        built
    }

    fn add(&mut self, entry: &str, bit: Concepts) {
        let entry = if entry.is_ascii() { entry.to_owned() } else { fold(entry, None).to_lowercase() };
        // As the reader does it: an apostrophe is nothing, a hyphen parts two words.
        let entry = entry.replace('\'', "").replace('-', "_");
        if let Some(prefix) = entry.strip_suffix('*') {
            let key = prefix.chars().take(3).collect();
            self.prefixes.entry(key).or_default().push((prefix.to_owned(), bit));
        } else if entry.contains('_') {
            // Programs write the same as one word: `api_key`.
            self.word(&entry, bit);
            let ids: Vec<u32> = entry.split('_').map(|part| self.word(part, 0)).collect();
            let phrases = self.phrases.entry(ids[0]).or_default();
            match phrases.iter_mut().find(|(rest, _)| rest[..] == ids[1..]) {
                Some((_, concepts)) => *concepts |= bit,
                None => phrases.push((ids[1..].to_vec(), bit)),
            }
        } else {
            self.word(&entry, bit);
        }
    }

    fn word(&mut self, text: &str, bit: Concepts) -> u32 {
        let id = u32::try_from(self.words.len()).unwrap_or(UNKNOWN);
        let word = self.words.entry(text.to_owned()).or_insert(Word { id, concepts: 0 });
        word.concepts |= bit;
        word.id
    }

    /// A word of the lexicon exactly as it stands, for scripts without spaces.
    pub(super) fn exactly(&self, text: &str) -> Option<Word> {
        self.words.get(text).copied().filter(|word| word.concepts != 0)
    }

    /// Whether `text`, in lower case, is a word of the lexicon.
    pub(super) fn knows(&self, text: &str) -> bool {
        self.words.contains_key(text) || self.by_prefix(text) != 0
    }

    fn by_prefix(&self, text: &str) -> Concepts {
        let Some((at, c)) = text.char_indices().nth(2) else { return 0 };
        let Some(prefixes) = self.prefixes.get(&text[..at + c.len_utf8()]) else { return 0 };
        prefixes
            .iter()
            .filter(|(prefix, _)| text.starts_with(prefix.as_str()))
            .fold(0, |all, (_, bit)| all | bit)
    }

    /// What a word, in lower case, may stand for.
    pub(super) fn look_up(&self, text: &str) -> Word {
        if let Some(word) = self.words.get(text) {
            return *word;
        }
        let concepts = self.by_prefix(text);
        if concepts == 0
            && text.bytes().any(|b| b.is_ascii_digit())
            && text.bytes().any(|b| b.is_ascii_alphabetic())
        {
            // Digits for letters. A one stands for an i or an l.
            for one in ['i', 'l'] {
                let plain: String = text.chars().map(|c| unleet(c, one)).collect();
                if let Some(word) = self.words.get(&plain) {
                    return *word;
                }
            }
        }
        if concepts == 0 {
            // Spanish joins pronouns to the verb: pásame, enviárselo.
            const PRONOUNS: &[&str] =
                &["selo", "sela", "melo", "mela", "me", "le", "les", "lo", "la", "los", "las", "nos"];
            for pronoun in PRONOUNS {
                if let Some(verb) = text.strip_suffix(pronoun)
                    && verb.len() >= 4
                    && let Some(word) = self.words.get(verb)
                {
                    return Word { id: UNKNOWN, concepts: word.concepts };
                }
            }
        }
        Word { id: UNKNOWN, concepts }
    }
}

fn unleet(c: char, one: char) -> char {
    match c {
        '0' => 'o',
        '1' => one,
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        '8' => 'b',
        c => c,
    }
}

impl Dictionary {
    /// Joins tokens that make up a phrase, the longest first: the whole stands for what the phrase and its words do.
    pub(super) fn join_phrases(&self, tokens: &mut Vec<Token>) {
        let (mut read, mut written) = (0, 0);
        while read < tokens.len() {
            let mut token = tokens[read];
            let found = self.phrases.get(&token.word).and_then(|phrases| {
                phrases.iter().find(|(rest, _)| {
                    let Some(next) = tokens.get(read + 1..read + 1 + rest.len()) else { return false };
                    next.iter().zip(rest).all(|(t, id)| t.word == *id && t.sentence == token.sentence)
                })
            });
            if let Some((rest, concepts)) = found {
                let parts = &tokens[read..=read + rest.len()];
                token.end = parts[rest.len()].end;
                token.concepts = concepts
                    | (parts.iter().fold(0, |all, t| all | t.concepts) & !(lexicon::FILLER | lexicon::NOT));
                token.joined = true;
                read += rest.len();
            }
            tokens[written] = token;
            read += 1;
            written += 1;
        }
        tokens.truncate(written);
    }
}
