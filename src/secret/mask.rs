//! How is a credential kept out of what is told of a server?
//!
//! A server may put one in a name that it looks up, or write it to its standard error; what is recorded and printed of
//! that has the variable's name in the credential's place. Looked for are a value as it is, without regard to case or to
//! dots, hyphens and whatever else may be between its letters and digits, since a name in the DNS has neither case nor
//! length enough, and a terminal folds; its forms in hexadecimal, base32 and base64, wherever in a longer text they begin;
//! the password of an address or of a connection's settings; and pieces of tokens and of these forms, 16 characters or
//! longer. A text is read as it stands and once more without the escapes of URLs, JSON and HTML ([`reading`]).
//!
//! Less is hidden than could be, for what a server says has to be of use. A host in an address is no secret, and its
//! parts are not looked for. What has fewer than 16 letters and digits is not put together across blanks, and a number
//! across nothing at all: a date is not a credential of eight digits.
//!
//! This is a net below [`super::Secret`], not in its place: it is for what the server itself says, and a server that wants
//! to can write a credential in a way that nothing looks for. Values of fewer than six letters and digits would hide half
//! of what is said, and are left.
//!
//! It costs little where there is nothing to hide: a sum that rolls over the text is looked up in a table of bits, and only
//! what is set there is hashed.
//!
//! Invariant: no value is in here, only keyed hashes of its pieces, and bits of sums that many texts share.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

use super::reading::{self, Letters, Read};

/// Letters and digits that a value must have to be looked for.
const LEAST: usize = 6;
/// Letters and digits of a piece.
const PIECE: usize = 16;
/// Bytes of a value whose every piece is looked for in every form; a token has fewer. Of what follows every piece as it
/// is, and of its forms each 16th: whoever prints the rest whole has it hidden whole.
const MOST: usize = 4 * 1024;

/// What is not to be told, and what is told in its place.
#[derive(Default)]
pub struct Mask {
    hasher: RandomState,
    sums: Sums,
    words: Vec<String>,
    /// By how many letters and digits they have.
    texts: BTreeMap<usize, Texts>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mask").field(&self.words).finish()
    }
}

/// Texts of one length.
struct Texts {
    /// A bit for each sum that one of them has.
    bits: Vec<u64>,
    /// Their hashes, each with what it means.
    hashes: HashMap<u64, Meaning>,
}

#[derive(Clone, Copy)]
struct Meaning {
    word: usize,
    between: Between,
}

/// What may stand between the letters of a text for it to be that text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Anything,
    NoBlank,
    /// As many other characters as the value has, and no more.
    Only(usize),
}

/// Where in a text, and which word is told instead.
struct Found {
    at: Range<usize>,
    word: usize,
}

impl Mask {
    /// Looks for a value of this name as well.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        if is_host(name, value) {
            return;
        }
        let word = self.words.len();
        self.words.push(format!("[{name}]"));
        let text = Zeroizing::new(String::from_utf8_lossy(value).into_owned());
        let addresses = addresses(&text);
        let passwords = addresses.iter().filter_map(|address| address.password.clone());
        let settings = settings(&text);
        let named = settings.iter().filter(|(key, _)| is_secret(key)).map(|(_, at)| at.clone());
        for at in std::iter::once(0..text.len()).chain(passwords).chain(named) {
            for read in reading::all(&text[at]) {
                self.whole(&Letters::of(&read), &read, word);
            }
        }
        // what looks like a token, alone or in an address; a host's name in one is no secret
        let hosts = settings.iter().filter(|(key, _)| is_host_key(key)).map(|(_, at)| at.clone());
        let hosts: Vec<_> = addresses.into_iter().map(|address| address.host).chain(hosts).collect();
        let is_apart = |(at, c): (usize, char)| {
            !(c.is_alphanumeric() || matches!(c, '-' | '_')) || hosts.iter().any(|host| host.contains(&at))
        };
        let mut from = 0;
        for (at, c) in text.char_indices().filter(|one| is_apart(*one)) {
            self.part(&text[from..at], word);
            from = at + c.len_utf8();
        }
        self.part(&text[from..], word);

        let (first, rest) = value.split_at(value.len().min(MOST));
        for form in forms(first) {
            self.pieces(&letters(&form), 1, word);
        }
        if !rest.is_empty() {
            self.pieces(&letters(&value[MOST - PIECE..]), 1, word);
            for form in forms(&value[MOST - PIECE..]) {
                self.pieces(&letters(&form), PIECE, word);
            }
        }
    }

    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text without the values; none where it has none.
    pub fn hide(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        (!found.is_empty()).then(|| self.without(text, 0..text.len(), &found))
    }

    /// Each of the lines without the values, those that go over from one line to the next among them. Lines have their
    /// ends; one without was cut, and the next goes on with it.
    pub fn hide_each(&self, lines: &[&str]) -> Vec<String> {
        let text = Zeroizing::new(lines.concat());
        let found = self.find(&text);
        let mut from = 0;
        let each = lines.iter().map(|line| {
            let at = from..from + line.len();
            from = at.end;
            self.without(&text, at, &found)
        });
        each.collect()
    }

    fn without(&self, text: &str, part: Range<usize>, found: &[Found]) -> String {
        let (mut hidden, mut end) = (String::new(), part.start);
        for Found { at, word } in found.iter().filter(|one| one.at.start < part.end) {
            if at.end <= end {
                continue;
            }
            let from = at.start.max(part.start);
            if from >= end {
                hidden.push_str(&text[end..from]);
                hidden.push_str(&self.words[*word]);
            }
            end = at.end.min(part.end);
        }
        hidden.push_str(&text[end..part.end]);
        hidden
    }

    /// Where values are, in the order of their beginnings.
    fn find(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        if self.texts.is_empty() {
            return found;
        }
        for read in reading::all(text) {
            let letters = Letters::of(&read);
            for (length, texts) in &self.texts {
                self.sums.each(letters.bytes(), *length, |first, sum| {
                    if !texts.may_have(sum) {
                        return;
                    }
                    let window = &letters.bytes()[first..first + length];
                    let Some(meaning) = texts.hashes.get(&self.hasher.hash_one(window)) else { return };
                    let span = letters.span(first, first + length - 1);
                    if meaning.between.allows(&read[span.clone()], *length) {
                        let at = read[span.start].at.start..read[span.end - 1].at.end;
                        found.push(Found { at, word: meaning.word });
                    }
                });
            }
        }
        found.sort_unstable_by_key(|one| (one.at.start, one.at.end));
        found
    }

    fn whole(&mut self, letters: &Letters, read: &[Read], word: usize) {
        let bytes = letters.bytes();
        if bytes.len() < LEAST {
            return;
        }
        let own = &read[letters.span(0, bytes.len() - 1)];
        let between = match bytes.len() {
            PIECE.. => Between::Anything,
            _ if bytes.iter().all(u8::is_ascii_digit) => Between::Only(own.len() - bytes.len()),
            _ if own.iter().any(|one| one.c.is_whitespace()) => Between::Anything,
            _ => Between::NoBlank,
        };
        self.keep(bytes, Meaning { word, between });
    }

    /// A word of a value, if it looks like a token.
    fn part(&mut self, part: &str, word: usize) {
        if !part.bytes().any(|b| b.is_ascii_digit()) {
            return;
        }
        let read = reading::plain(part);
        let letters = Letters::of(&read);
        self.pieces(letters.bytes(), 1, word);
        if letters.bytes().len() < PIECE {
            self.whole(&letters, &read, word);
        }
    }

    fn pieces(&mut self, letters: &[u8], step: usize, word: usize) {
        for window in letters.windows(PIECE).step_by(step) {
            self.keep(window, Meaning { word, between: Between::Anything });
        }
    }

    fn keep(&mut self, letters: &[u8], meaning: Meaning) {
        let texts = self.texts.entry(letters.len()).or_insert_with(|| Texts::of_length(letters.len()));
        texts.note(self.sums.of(letters));
        texts.hashes.insert(self.hasher.hash_one(letters), meaning);
    }
}

impl Texts {
    fn of_length(length: usize) -> Self {
        // of pieces there are some hundred thousand for ten long tokens, of everything else a few
        let bits: usize = if length == PIECE { 1 << 22 } else { 1 << 12 };
        Self { bits: vec![0; bits / 64], hashes: HashMap::new() }
    }

    fn place(&self, sum: u64) -> (usize, u64) {
        // the upper bits, which are the better mixed
        let bit = (sum >> 32) as usize % (self.bits.len() * 64);
        (bit / 64, 1 << (bit % 64))
    }

    fn note(&mut self, sum: u64) {
        let (at, bit) = self.place(sum);
        self.bits[at] |= bit;
    }

    fn may_have(&self, sum: u64) -> bool {
        let (at, bit) = self.place(sum);
        self.bits[at] & bit != 0
    }
}

impl Between {
    fn allows(self, span: &[Read], letters: usize) -> bool {
        match self {
            Self::Anything => true,
            Self::NoBlank => !span.iter().any(|one| one.c.is_whitespace()),
            Self::Only(others) => span.len() == letters + others,
        }
    }
}

/// Sums that roll: of a window from that of the one before. Their base and weights are of this process alone.
struct Sums {
    base: u64,
    weights: Box<[u64; 256]>,
}

impl Default for Sums {
    fn default() -> Self {
        let random = RandomState::new();
        let weights = Box::new(std::array::from_fn(|byte| random.hash_one(byte)));
        Self { base: random.hash_one("base") | 1, weights }
    }
}

impl Sums {
    fn of(&self, letters: &[u8]) -> u64 {
        letters.iter().fold(0, |sum, b| self.next(sum, *b))
    }

    fn next(&self, sum: u64, letter: u8) -> u64 {
        sum.wrapping_mul(self.base).wrapping_add(self.weights[usize::from(letter)])
    }

    /// Every window of a length: where it begins, and its sum.
    fn each(&self, letters: &[u8], length: usize, mut look: impl FnMut(usize, u64)) {
        if letters.len() < length {
            return;
        }
        let power = (0..length).fold(1_u64, |power, _| power.wrapping_mul(self.base));
        let mut sum = self.of(&letters[..length]);
        look(0, sum);
        for (first, (gone, came)) in letters.iter().zip(&letters[length..]).enumerate() {
            sum = self.next(sum, *came).wrapping_sub(power.wrapping_mul(self.weights[usize::from(*gone)]));
            look(first + 1, sum);
        }
    }
}

/// The letters and digits of a text that has no others than those of ASCII, in lower case.
fn letters(text: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut letters = Zeroizing::new(Vec::with_capacity(text.len()));
    letters.extend(text.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase));
    letters
}

/// Whether a value is the bare name of a host, by its own form and its variable's name.
fn is_host(name: &str, value: &[u8]) -> bool {
    let last = name.rsplit('_').next().unwrap_or_default();
    matches!(last, "HOST" | "HOSTNAME")
        && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
}

/// An address in a value: `scheme://user:PASSWORD@HOST`.
struct Address {
    password: Option<Range<usize>>,
    host: Range<usize>,
}

fn addresses(text: &str) -> Vec<Address> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>');
    let address = |(at, _): (usize, &str)| {
        let start = at + 3;
        let rest = &text[start..];
        let mut end = rest.find(ends).unwrap_or(rest.len());
        // a password may have such a sign as it is; then what follows the colon is no port
        let no_port = rest[..end]
            .rsplit_once(':')
            .is_some_and(|(_, port)| !port.is_empty() && !port.bytes().all(|b| b.is_ascii_digit()));
        if no_port
            && !rest[..end].contains('@')
            && let Some(sign) = rest.rfind('@')
        {
            end = rest[sign..].find(ends).map_or(rest.len(), |end| sign + end);
        }
        let sign = rest[..end].rfind('@');
        let colon = sign.and_then(|sign| rest[..sign].find(':'));
        Address {
            password: sign.zip(colon).map(|(sign, colon)| start + colon + 1..start + sign),
            host: start + sign.map_or(0, |sign| sign + 1)..start + end,
        }
    };
    text.match_indices("://").map(address).collect()
}

/// The settings of a connection, `key=value` apart by semicolons, ampersands or blanks, or as JSON has them: each key, and
/// where its value is.
fn settings(text: &str) -> Vec<(String, Range<usize>)> {
    let setting = |(at, sign): (usize, &str)| {
        let before = text[..at].trim_end().trim_end_matches(['"', '\'']);
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let key: String = before.chars().rev().take_while(|c| is_key(*c)).collect();
        let key: String = key.chars().rev().collect::<String>().to_ascii_lowercase();
        let mut from = at + sign.len();
        from += text[from..].len() - text[from..].trim_start().len();
        let length = match text[from..].chars().next() {
            Some(quote @ ('"' | '\'')) => {
                from += 1;
                text[from..].find(quote)
            }
            _ => text[from..].find(|c: char| c.is_whitespace() || matches!(c, ';' | '&')),
        };
        (key, from..length.map_or(text.len(), |length| from + length))
    };
    let signs = text.match_indices('=').chain(text.match_indices(':'));
    signs.map(setting).filter(|(key, _)| !key.is_empty()).collect()
}

fn is_secret(key: &str) -> bool {
    ["password", "passwd", "pwd", "pass", "secret", "token", "key"].iter().any(|end| key.ends_with(end))
}

fn is_host_key(key: &str) -> bool {
    ["host", "hostname", "hostaddr", "server", "source"].contains(&key)
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

    #[test]
    fn a_host_in_an_address_stays_with_what_belongs_to_it() {
        let host = "db7.abc123xyz.us-east-1.rds.amazonaws.com";
        let mask = mask(&[
            ("URL", &format!("postgres://app7:sesame-0pen@{host}:5432/shop")),
            ("DSN", &format!("host={host} user=app password=sesame-open-now")),
            ("HOOK", "https://abc123xyz.example.com/hook/T0000001/B0000001"),
            ("ODD", &format!("mysql://root:pa/ss#wd@{host}/x")),
            ("DB_HOST", host),
        ]);
        for open in [host, "abc123xyz", "us-east-1", "abc123xyz.example.com"] {
            assert_eq!(mask.hide(open), None, "{open}");
        }
        for (said, told) in [
            ("sesame-0pen", "[URL]"),
            ("T0000001/B0000001", "[HOOK]/[HOOK]"),
            ("sesame-open-now", "[DSN]"),
            ("pa/ss#wd", "[ODD]"),
        ] {
            assert_eq!(mask.hide(said).as_deref(), Some(told), "{said}");
        }
    }

    #[test]
    fn short_values_are_not_put_together_from_words() {
        let mask = mask(&[
            ("REGION", "us-east-1"),
            ("ENV", "production"),
            ("PIN", "20261201"),
            ("WORDS", "my pass word"),
        ]);
        for open in ["us, east 1 gate", "the product ion", "2026-12-01 10:00", "2026 1201", "20 26 12 01"] {
            assert_eq!(mask.hide(open), None, "{open}");
        }
        for (said, told) in [
            ("in us-east-1.", "in [REGION]."),
            ("US.EAST.1.evil.example", "[REGION].evil.example"),
            ("ENV=production", "ENV=[ENV]"),
            ("pin 20261201", "pin [PIN]"),
            ("my  pass\tword", "[WORDS]"),
        ] {
            assert_eq!(mask.hide(said).as_deref(), Some(told), "{said}");
        }
    }

    #[test]
    fn hides_a_value_in_the_escapes_of_the_formats_that_servers_write() {
        let mask = mask(&[
            ("PASSWORD", "p@ss!word#2024"),
            ("URL", "postgres://app:Tr%40ub%26dor@db.example/x"),
            ("SIGNS", "a<b&c\"d'e>fg"),
            ("UMLAUT", "grüße-an-alle"),
            ("CYRILLIC", "пароль"),
        ]);
        for (said, told) in [
            ("p%40ss!word%232024", "[PASSWORD]"),
            ("p%2540ss%21word%25232024", "[PASSWORD]"),
            ("Tr@ub&dor", "[URL]"),
            ("Tr%40ub%26dor", "[URL]"),
            (r#"a\u003cb\u0026c\"d\u0027e\u003efg"#, "[SIGNS]"),
            ("a&lt;b&amp;c&quot;d&#39;e&gt;fg", "[SIGNS]"),
            ("gr%C3%BC%C3%9Fe-an-alle", "[UMLAUT]"),
            (r"gr\u00fc\u00dfe-an-alle", "[UMLAUT]"),
            ("gru\u{308}ße-an-alle", "[UMLAUT]"),
            ("ПАРОЛЬ", "[CYRILLIC]"),
        ] {
            assert_eq!(mask.hide(said).as_deref(), Some(told), "{said}");
        }
    }

    #[test]
    fn a_value_that_goes_over_from_one_line_to_the_next_is_in_neither() {
        let mask = mask(&[("KEY", "8f3e2a91c07d4b65e1f2a3b4"), ("PHRASE", "correct horse battery staple")]);
        let lines =
            ["key=8f3e2a91c07\n", "d4b65e1f2a3b4\n", "| correct horse |\n", "| battery staple |\n", "end"];
        let told = mask.hide_each(&lines).concat();
        for open in ["8f3e", "d4b6", "horse", "staple"] {
            assert!(!told.contains(open), "{told}");
        }
        assert!(told.starts_with("key=[KEY]") && told.ends_with(" |\nend"), "{told}");
        assert_eq!(mask.hide_each(&["a\n", "b"]), ["a\n", "b"]);
    }

    #[test]
    fn the_end_of_a_long_value_is_hidden_as_its_beginning_is() {
        let value: String = (0..3_000).map(|number| format!("{number:x}-")).collect();
        assert!(value.len() > 2 * MOST);
        let mask = mask(&[("LONG", &value)]);
        let end = &value[value.len() - 100..];
        for said in [value.clone(), end.to_owned(), hex::encode(&value), STANDARD_NO_PAD.encode(&value)] {
            let told = mask.hide(&said).unwrap();
            let left = told.replace("[LONG]", "");
            assert!(left.len() < PIECE * 2, "{left}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_a_long_value_is_never_left(value in "[ -~]{0,60}", before in "\\PC{0,9}", after in "\\PC{0,9}") {
            let mask = mask(&[("V", &value)]);
            let hidden = mask.hide(&format!("{before}{value}{after}"));
            if letters(value.as_bytes()).len() >= LEAST {
                prop_assert!(!hidden.unwrap().contains(value.trim()));
            }
        }
    }
}
