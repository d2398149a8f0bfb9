//! How is a credential kept out of what is told of a server?
//!
//! A server may put one in a name that it looks up, or write it to its standard error; what is recorded and printed of
//! that has the variable's name in the credential's place. Looked for are a value as it is, without regard to case or to
//! dots, hyphens and whatever else may be between its letters and digits, since a name in the DNS has neither case nor
//! length enough; its forms in hexadecimal, base32 and base64, wherever in a longer text they begin; the password of an
//! address; and pieces of tokens and of these forms, 16 characters or longer.
//!
//! This is a net below [`super::Secret`], not in its place: it is for what the server itself says, and a server that wants
//! to can write a credential in a way that nothing looks for. Values of fewer than six letters and digits would hide half
//! of what is said, and are left.
//!
//! Invariant: no value is in here, only keyed hashes of its pieces.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

/// Letters and digits that a value must have to be looked for.
const LEAST: usize = 6;
/// Letters and digits of a piece.
const PIECE: usize = 16;
/// Bytes of a value that are looked for in pieces; a token has fewer.
const MOST: usize = 4 * 1024;

/// What is not to be told, and what is told in its place.
#[derive(Default)]
pub struct Mask {
    hasher: RandomState,
    words: Vec<String>,
    /// By how many letters and digits they have, hashes of texts, each with its word.
    pieces: BTreeMap<usize, HashMap<u64, usize>>,
}

impl Mask {
    /// Looks for a value of this name as well.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        let word = self.words.len();
        self.words.push(format!("[{name}]"));
        let value = &value[..value.len().min(MOST)];
        self.whole(value, word);
        if let Some(password) = password(value) {
            self.whole(password, word);
        }
        // what looks like a token, alone or in an address; a host's name in one is no secret
        for part in value.split(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))) {
            if part.iter().any(u8::is_ascii_digit) {
                self.parts(&plain(part), word);
            }
        }
        for form in forms(value) {
            self.parts(&plain(&form), word);
        }
    }

    /// The text without the values; none where it has none.
    pub fn hide(&self, text: &str) -> Option<String> {
        let at: Vec<(usize, u8)> = text
            .bytes()
            .enumerate()
            .filter(|(_, b)| b.is_ascii_alphanumeric())
            .map(|(at, b)| (at, b.to_ascii_lowercase()))
            .collect();
        let letters: Zeroizing<Vec<u8>> = Zeroizing::new(at.iter().map(|(_, b)| *b).collect());
        // from where to where in the text, and the word for it
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        for (length, pieces) in &self.pieces {
            for (first, window) in letters.windows(*length).enumerate() {
                if let Some(word) = pieces.get(&self.hasher.hash_one(window)) {
                    found.push((at[first].0, at[first + length - 1].0 + 1, *word));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        let (mut hidden, mut end) = (String::new(), 0);
        for (from, to, word) in found {
            if from >= end {
                hidden.push_str(&text[end..from]);
                hidden.push_str(&self.words[word]);
            }
            end = end.max(to);
        }
        hidden.push_str(&text[end..]);
        Some(hidden)
    }

    fn whole(&mut self, value: &[u8], word: usize) {
        let letters = plain(value);
        if letters.len() >= LEAST {
            self.pieces.entry(letters.len()).or_default().insert(self.hasher.hash_one(&letters[..]), word);
        }
    }

    fn parts(&mut self, letters: &[u8], word: usize) {
        for window in letters.windows(PIECE) {
            self.pieces.entry(PIECE).or_default().insert(self.hasher.hash_one(window), word);
        }
        if (LEAST..PIECE).contains(&letters.len()) {
            self.whole(letters, word);
        }
    }
}

/// The letters and digits of a text, in lower case.
fn plain(text: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut letters = Zeroizing::new(Vec::with_capacity(text.len()));
    letters.extend(text.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase));
    letters
}

/// The password of an address: `scheme://user:PASSWORD@host`.
fn password(value: &[u8]) -> Option<&[u8]> {
    let text = std::str::from_utf8(value).ok()?;
    let authority = text.split_once("://")?.1.split('/').next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password.as_bytes())
}

/// A value in the encodings that fit into a name. What stands before it in the encoded text moves it by some bits; so
/// it is encoded at each distance, and the characters that it shares with its neighbours are left out.
fn forms(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = vec![Zeroizing::new(hex::encode(value).into_bytes())];
    for before in 0..5 {
        let mut moved = Zeroizing::new(vec![0; before]);
        moved.reserve_exact(value.len());
        moved.extend_from_slice(value);
        let mut keep = |encoded: Vec<u8>, bits: usize| {
            let encoded = Zeroizing::new(encoded);
            // characters that are of this value alone
            let own = (before * 8).div_ceil(bits)..moved.len() * 8 / bits;
            forms.extend(encoded.get(own).map(|own| Zeroizing::new(own.to_vec())));
        };
        keep(base32(&moved, b"abcdefghijklmnopqrstuvwxyz234567"), 5);
        keep(base32(&moved, b"0123456789abcdefghijklmnopqrstuv"), 5);
        if before < 3 {
            keep(STANDARD_NO_PAD.encode(&moved[..]).into_bytes(), 6);
        }
    }
    forms
}

/// Source: RFC 4648, 6 and 7.
fn base32(bytes: &[u8], alphabet: &[u8; 32]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in bytes {
        bits = (bits << 8 | u32::from(*byte)) & 0xffff;
        held += 8;
        while held >= 5 {
            held -= 5;
            encoded.push(alphabet[(bits >> held & 31) as usize]);
        }
    }
    if held > 0 {
        encoded.push(alphabet[(bits << (5 - held) & 31) as usize]);
    }
    encoded
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn mask(values: &[(&str, &str)]) -> Mask {
        let mut mask = Mask::default();
        values.iter().for_each(|(name, value)| mask.add(name, value.as_bytes()));
        mask
    }

    #[test]
    fn base32_is_that_of_its_standard() {
        let encoded =
            |text: &str| String::from_utf8(base32(text.as_bytes(), b"abcdefghijklmnopqrstuvwxyz234567"));
        for (text, form) in
            [("", ""), ("f", "my"), ("fo", "mzxq"), ("foob", "mzxw6yq"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(encoded(text).unwrap(), form);
        }
    }

    #[test]
    fn hides_a_value_in_a_name_in_every_form_that_fits_there() {
        let mask = mask(&[("TOKEN", TOKEN)]);
        let alphabet = b"abcdefghijklmnopqrstuvwxyz234567";
        let coded = |text: String| String::from_utf8(base32(text.as_bytes(), alphabet)).unwrap();
        let split = |text: &str| {
            text.as_bytes().chunks(20).map(String::from_utf8_lossy).collect::<Vec<_>>().join(".")
        };
        for name in [
            TOKEN.to_owned(),
            TOKEN.to_lowercase(),
            TOKEN.replace('_', "-"),
            split(&TOKEN.to_lowercase()),
            split(&hex::encode(TOKEN)),
            split(&coded(TOKEN.to_owned())),
            split(&coded(format!("t={TOKEN}"))),
            split(&URL_SAFE_NO_PAD.encode(TOKEN)).to_lowercase(),
            split(&URL_SAFE_NO_PAD.encode(format!("user:{TOKEN}"))),
            TOKEN[8..28].to_lowercase(),
        ] {
            let hidden = mask.hide(&format!("a.{name}.evil.example")).unwrap();
            assert!(hidden.contains("[TOKEN]") && hidden.ends_with(".evil.example"), "{name}: {hidden}");
            // at most what is between two pieces is left of it
            assert!(hidden.len() < "a.[TOKEN].evil.example".len() + 10, "{name}: {hidden}");
        }
        assert_eq!(mask.hide(&format!("{TOKEN}.x {TOKEN}")).unwrap(), "[TOKEN].x [TOKEN]");
    }

    #[test]
    fn leaves_what_is_none_a_host_in_an_address_among_it() {
        let url = "postgres://admin:correct-horse@db.production-environment.example.com:5432/shop";
        let mask = mask(&[("URL", url), ("SHORT", "ab1.c"), ("FLAG", "true")]);
        for open in [
            "db.production-environment.example.com",
            "ab1c.example.com",
            "true",
            "",
            "postgres",
            "é\u{1f600}",
        ] {
            assert_eq!(mask.hide(open), None, "{open}");
        }
        assert_eq!(mask.hide("correct-horse.evil.example").unwrap(), "[URL].evil.example");
        assert_eq!(mask.hide(url).unwrap(), "[URL]");
        assert_eq!(Mask::default().hide("correct-horse"), None);
    }

    proptest! {
        #[test]
        fn never_panics_and_a_long_value_is_never_left(value in "[ -~]{0,60}", before in "\\PC{0,9}", after in "\\PC{0,9}") {
            let mask = mask(&[("V", &value)]);
            let hidden = mask.hide(&format!("{before}{value}{after}"));
            if plain(value.as_bytes()).len() >= LEAST {
                prop_assert!(!hidden.unwrap().contains(value.trim()));
            }
        }
    }
}
