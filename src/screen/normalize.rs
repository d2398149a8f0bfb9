//! What does a model read where this text stands?
//!
//! A model reads a word through soft hyphens, look-alike letters, accents, entities and base64; a pattern over
//! raw bytes does not. So a text is turned into *readings*, each one plain way of seeing it, and every reading is
//! screened: an attack need show in one of them only. Invisible characters are read as deleted and as spaces,
//! since both are right: one joins the halves of a split word, the other keeps two words apart.
//!
//! Invariants: linear in the length of the text, since no decoding is longer than what it decodes and at most
//! [`MAX_LAYERS`] of them are followed; the text as it stands is always the first reading, so no decoy can crowd
//! it out; ordinary ASCII is borrowed, not copied.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::decode::{MIN_ENCODED, SHORT_WORDS, encoded_runs, hex_pairs, spelled_out, unescape};

/// How often an encoding inside an encoding is followed.
const MAX_LAYERS: u8 = 3;

/// One way of reading a text.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    /// NFKC, marks stripped, look-alikes folded, in its original case.
    pub(super) text: Cow<'t, str>,
    /// How it came about, for the excerpt: empty for the text as it stands.
    pub(super) how: &'static str,
}

/// A way of hiding that is remarkable by itself, whatever was hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    /// Letters written in the invisible tag block, outside a flag emoji.
    TagText,
    /// A run of variation selectors long enough to carry bytes.
    SelectorBytes,
    /// Many zero-width characters, or a long run of them.
    Invisible,
    /// Bidirectional overrides or isolates.
    Bidi,
    /// Terminal escapes and other control characters.
    Control,
}

/// Every reading of `text`, and the tricks seen while making them.
pub(super) fn readings(text: &str) -> (Vec<Reading<'_>>, Vec<Trick>) {
    let mut all = Readings { out: Vec::with_capacity(1), tricks: Vec::new() };
    all.read(Cow::Borrowed(text), "", 0);
    (all.out, all.tricks)
}

struct Readings<'t> {
    out: Vec<Reading<'t>>,
    tricks: Vec<Trick>,
}

impl<'t> Readings<'t> {
    fn read(&mut self, text: Cow<'t, str>, how: &'static str, layer: u8) {
        let mut inner: Vec<(String, &'static str)> = Vec::new();
        let looks = Looks::of(&text);
        if layer < MAX_LAYERS {
            // One escape alone spells no word, and `&amp;` or `%20` are in every other document.
            if looks.escapes >= 2 {
                inner.extend(unescape(&text).map(|plain| (plain, "written in escapes")));
            }
            if looks.longest_run >= MIN_ENCODED {
                inner.extend(encoded_runs(&text));
            }
            if looks.short_words >= SHORT_WORDS {
                inner.extend(hex_pairs(&text).map(|plain| (plain, "decoded from hex")));
                inner.extend(spelled_out(&text).map(|plain| (plain, "spelled out")));
            }
        }
        if looks.plain {
            self.out.push(Reading { text, how });
        } else {
            let invisible = Invisible::of(&text);
            self.tricks.extend(invisible.tricks());
            self.out.push(Reading { text: Cow::Owned(fold(&text, None)), how });
            if invisible.any {
                let how = "invisible characters as spaces";
                self.out.push(Reading { text: Cow::Owned(fold(&text, Some(' '))), how });
            }
            inner.extend(invisible.tag_text.map(|hidden| (hidden, "in the tag block")));
            inner.extend(invisible.selector_text.map(|hidden| (hidden, "in variation selectors")));
        }
        for (text, how) in inner {
            self.read(Cow::Owned(text), how, layer + 1);
        }
    }
}

/// What one pass over a text's bytes tells about it, so that most texts are spared all others.
#[derive(Default)]
struct Looks {
    /// Printable ASCII and white space.
    plain: bool,
    /// How many characters may begin an escape.
    escapes: usize,
    /// The longest run of characters that base64 or hex is written in.
    longest_run: usize,
    /// The most words in a row of at most four bytes: one letter of any script, or a byte in hex.
    short_words: usize,
}

impl Looks {
    fn of(text: &str) -> Self {
        let mut looks = Self { plain: true, ..Self::default() };
        let (mut run, mut word, mut short) = (0, 0, 0);
        for b in text.bytes() {
            let in_run = b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
            run = if in_run { run + 1 } else { 0 };
            looks.longest_run = looks.longest_run.max(run);
            looks.escapes += usize::from(matches!(b, b'&' | b'%' | b'\\'));
            if matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
                short = if word > 4 { 0 } else { short + usize::from(word > 0) };
                looks.short_words = looks.short_words.max(short);
                word = 0;
            } else {
                word += 1;
                looks.plain &= matches!(b, b' '..=b'~');
            }
        }
        looks.short_words = looks.short_words.max(short + usize::from(word > 0 && word <= 4));
        looks
    }
}

/// What is in a text that nobody sees.
#[derive(Default)]
struct Invisible {
    any: bool,
    tag_text: Option<String>,
    selector_text: Option<String>,
    zero_width: usize,
    longest_run: usize,
    selector_run: bool,
    bidi: bool,
    control: bool,
}

impl Invisible {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let (mut tags, mut selectors) = (String::new(), Vec::new());
        let (mut run, mut selector_run, mut flag) = (0, 0, false);
        let mut last = ' ';
        for c in text.chars() {
            if let Some(letter) = tag_letter(c) {
                // A flag of a region is a black flag followed by at most six tag letters.
                flag |= last == '\u{1F3F4}';
                if !flag && letter != '\0' {
                    tags.push(letter);
                }
            } else {
                flag = false;
            }
            if let Some(byte) = selector_byte(c) {
                selector_run += 1;
                found.selector_run |= selector_run >= 4;
                selectors.push(byte);
            } else {
                selector_run = 0;
            }
            found.bidi |= matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
            found.control |= c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
            if is_invisible(c) {
                found.any = true;
                run += 1;
                found.longest_run = found.longest_run.max(run);
                // Scripts and emoji need the joiners: these count only where nothing asks for them.
                let needed = matches!(c, '\u{200C}' | '\u{200D}') && !last.is_ascii();
                if !needed && !matches!(c, '\u{200E}' | '\u{200F}' | '\u{61C}' | '\u{FE0F}' | '\u{FE0E}') {
                    found.zero_width += 1;
                }
            } else {
                run = 0;
            }
            last = c;
        }
        if tags.chars().filter(char::is_ascii_alphabetic).count() >= 3 {
            found.tag_text = Some(tags);
        }
        if found.selector_run {
            found.selector_text = Some(String::from_utf8_lossy(&selectors).into_owned());
        }
        found
    }

    fn tricks(&self) -> impl Iterator<Item = Trick> + use<> {
        [
            (self.tag_text.is_some(), Trick::TagText),
            (self.selector_run, Trick::SelectorBytes),
            (self.zero_width >= 8 || (self.zero_width > 0 && self.longest_run >= 4), Trick::Invisible),
            (self.bidi, Trick::Bidi),
            (self.control, Trick::Control),
        ]
        .into_iter()
        .filter_map(|(seen, trick)| seen.then_some(trick))
    }
}

/// The ASCII character a tag character stands for; `\0` for the two that only open and close.
fn tag_letter(c: char) -> Option<char> {
    match c as u32 {
        0xE0001 | 0xE007F => Some('\0'),
        n @ 0xE0020..=0xE007E => char::from_u32(n - 0xE0000),
        _ => None,
    }
}

/// The byte a variation selector can carry (the 256 of them number one to one).
fn selector_byte(c: char) -> Option<u8> {
    match c as u32 {
        n @ 0xFE00..=0xFE0F => u8::try_from(n - 0xFE00).ok(),
        n @ 0xE0100..=0xE01EF => u8::try_from(n - 0xE0100 + 16).ok(),
        _ => None,
    }
}

/// Default-ignorable code points, the fillers and blanks that draw nothing, and control characters but white space.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFC}' | '\u{1D159}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
        || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}'))
}

/// NFKC with marks stripped and look-alikes folded; invisible characters deleted, or `instead` put in their place.
pub(super) fn fold(text: &str, instead: Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    let visible = text.chars().filter_map(|c| if is_invisible(c) { instead } else { Some(c) });
    let mut word = String::new();
    for c in visible.nfkd().filter(|c| !is_combining_mark(*c)) {
        let c = enclosed_letter(c).unwrap_or(c);
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            fold_word(&mut word, &mut out);
            // Every kind of white space reads as one; dashes and quotes have many shapes.
            out.push(match c {
                '\n' => '\n',
                '\u{2028}' | '\u{2029}' | '\u{85}' => '\n',
                c if c.is_whitespace() => ' ',
                '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' | '\u{2BC}' => '\'',
                '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{AB}' | '\u{BB}' | '\u{300C}' | '\u{300D}' => '"',
                '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
                '\u{3002}' => '.',
                '\u{3001}' => ',',
                '\u{FE3A}' => ':',
                c => c,
            });
        }
    }
    fold_word(&mut word, &mut out);
    out
}

/// Puts `word` out with look-alikes folded, where folding makes it Latin: a word that is wholly of another script
/// and does not turn into ASCII as a whole is that script's word and stays.
fn fold_word(word: &mut String, out: &mut String) {
    if word.is_empty() {
        return;
    }
    if word.is_ascii() {
        out.push_str(word);
    } else {
        let mixed = word.chars().any(is_latin);
        let fold = |c: char| if mixed { resembling(c).or_else(|| twin(c)) } else { twin(c) };
        let folded: String = word.chars().map(|c| fold(c).unwrap_or(c)).collect();
        if mixed || folded.is_ascii() {
            out.push_str(&folded);
        } else {
            out.push_str(word);
        }
    }
    word.clear();
}

/// Latin letters as they come out of NFKD: ASCII, and the phonetic and small capital ones.
fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c, '\u{250}'..='\u{2AF}' | '\u{1D00}'..='\u{1D7F}' | '\u{A720}'..='\u{A7FF}')
}

/// Letters in squares and circles, and the letters flags are made of, which NFKC leaves alone.
fn enclosed_letter(c: char) -> Option<char> {
    let n = c as u32;
    let start =
        [0x1F130, 0x1F150, 0x1F170, 0x1F1E6].into_iter().find(|start| (*start..*start + 26).contains(&n))?;
    char::from_u32(u32::from(b'A') + n - start)
}

/// The Latin letter a character cannot be told from (Unicode's table of confusables, UTS 39).
fn twin(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    // In lower case: the table has a capital I look like a small L.
    let mut lower = c.to_lowercase();
    let (Some(small), None) = (lower.next(), lower.next()) else { return None };
    let mut buffer = [0; 4];
    let mut looks_like = unicode_security::confusable_detection::skeleton(small.encode_utf8(&mut buffer));
    match (looks_like.next(), looks_like.next()) {
        (Some(one), None) if one.is_ascii_alphabetic() => Some(one),
        _ => None,
    }
}

/// The Latin letter a character resembles, for words that mix it with Latin letters: what fonts set apart but a
/// reader takes for one.
fn resembling(c: char) -> Option<char> {
    let ours = match c {
        'α' => 'a',
        'β' | 'в' | 'В' => 'b',
        'ε' | 'э' | 'є' => 'e',
        'η' | 'п' | 'и' | 'И' | 'ո' | 'ռ' => 'n',
        'ι' | 'ı' | 'ɪ' => 'i',
        'κ' | 'к' | 'ᴋ' | 'қ' => 'k',
        'м' | 'ᴍ' => 'm',
        'ν' => 'v',
        'σ' | 'ᴏ' | 'ø' | 'Ø' => 'o',
        'τ' | 'т' | 'ᴛ' => 't',
        'υ' | 'ц' | 'ᴜ' => 'u',
        'ω' | 'ш' | 'щ' => 'w',
        'χ' => 'x',
        'γ' => 'y',
        'ρ' | 'ᴘ' => 'p',
        'г' | 'я' | 'Я' | 'ʀ' => 'r',
        'н' | 'Н' | 'ʜ' | 'һ' => 'h',
        'ѕ' | 'ꜱ' => 's',
        'ᴀ' => 'a',
        'ʙ' => 'b',
        'ᴄ' => 'c',
        'ᴅ' | 'đ' | 'Đ' | 'ð' => 'd',
        'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɢ' | 'ɡ' => 'g',
        'ᴊ' => 'j',
        'ʟ' | 'ł' | 'Ł' | 'ӏ' => 'l',
        'ɴ' => 'n',
        'ǫ' => 'q',
        'ᴠ' => 'v',
        'ᴡ' => 'w',
        'ʏ' => 'y',
        'ᴢ' => 'z',
        _ => return None,
    };
    Some(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reads(text: &str) -> Vec<String> {
        readings(text).0.into_iter().map(|r| r.text.into_owned()).collect()
    }

    fn read_as(text: &str, plain: &str) -> bool {
        let found = reads(text).iter().any(|r| r.to_lowercase().contains(plain));
        assert!(found, "{text:?} reads {:?}, not {plain:?}", reads(text));
        found
    }

    #[test]
    fn plain_ascii_has_one_reading_and_is_not_copied() {
        let (readings, tricks) = readings("Lists the files of a directory.");
        assert!(matches!(&readings[..], [Reading { text: Cow::Borrowed(_), how: "" }]));
        assert!(tricks.is_empty());
    }

    #[test]
    fn invisible_characters_are_read_both_ways() {
        assert!(read_as("ig\u{200B}nore", "ignore"));
        assert!(read_as("ignore\u{2060}previous", "ignore previous"));
    }

    #[test]
    fn folds_what_looks_like_latin() {
        for text in [
            "іgnоrе",
            "ｉｇｎｏｒｅ",
            "𝐢𝐠𝐧𝐨𝐫𝐞",
            "ɪɢɴᴏʀᴇ",
            "ígnóré",
            "ιgnοre",
            "🅸🅶🅽🅾🆁🅴",
            "ⓘⓖⓝⓞⓡⓔ",
            "ignоге",
            "i\u{332}g\u{332}nore",
        ] {
            assert!(read_as(text, "ignore"));
        }
    }

    #[test]
    fn leaves_other_scripts_their_words() {
        assert!(reads("Игнорируй инструкции").iter().any(|r| r.to_lowercase().contains("инструкции")));
        assert!(reads("忽略之前的指令").iter().any(|r| r.contains("忽略")));
    }

    #[test]
    fn decodes_tag_text_and_leaves_flags_alone() {
        let hidden: String =
            "ignore this".chars().filter_map(|c| char::from_u32(0xE0000 + c as u32)).collect();
        assert!(read_as(&format!("Adds.{hidden}"), "ignore this"));
        assert_eq!(readings(&hidden).1[0], Trick::TagText);
        let wales = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}";
        assert!(!readings(wales).1.contains(&Trick::TagText));
    }

    #[test]
    fn decodes_bytes_carried_by_variation_selectors_and_leaves_emoji_alone() {
        let hidden: String =
            "ignore this".bytes().filter_map(|b| char::from_u32(0xE0100 + u32::from(b) - 16)).collect();
        assert!(read_as(&format!("😀{hidden}"), "ignore this"));
        assert!(readings("❤️ and 👩‍💻 and ☎️").1.is_empty());
    }

    #[test]
    fn decodes_entities_escapes_base64_and_hex() {
        for text in [
            "&#105;gnore&#32;this &lt;b&gt;",
            "%69gnore%20this",
            r"\u0069gnore\x20this",
            "run aWdub3JlIHRoaXMgYW5kIGFsbCB0aGUgcmVzdA== now",
            "run 69676e6f7265207468697320616e6420616c6c now",
            "69 67 6e 6f 72 65 20 74 68 69 73 20 61 6e 64",
            "%2569gnore%2520this",
        ] {
            assert!(read_as(text, "ignore this"));
        }
    }

    #[test]
    fn does_not_decode_what_is_no_text() {
        for text in [
            "sha512-9dP0fQ3JpN2r5lKz1mXw8bVt6cYh4uGe7iOo0sRaDkFjLqWvTnUyExZgMHBPCSIA",
            "IdentifiersInCamelCaseAreLong",
            "100% of &nbsp; the %d items",
        ] {
            assert_eq!(reads(text).len(), 1, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_first_reading_is_the_text_as_it_stands(text in any::<String>()) {
            prop_assert_eq!(readings(&text).0[0].how, "");
        }

        #[test]
        fn readings_are_bounded_on_any_text(text in "[ -~]{0,80}|[&#0-9;%a-f ]{0,200}") {
            let total: usize = readings(&text).0.iter().map(|r| r.text.len()).sum();
            prop_assert!(total <= text.len() * 24 + 64);
        }
    }
}
