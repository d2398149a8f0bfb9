//! Which words does a launch line consist of?
//!
//! Those that a shell would make of it by its quoting alone, and nothing else is done: no shell ever reads the line.
//! What a shell would *act* upon is refused by name instead of being passed on as plain text, because whoever wrote
//! `$HOME` or `&&` meant something by it that does not happen here. Single quotes say that the characters themselves
//! are meant, as they do to a shell.
//!
//! No library tells which characters stood outside quotes, so the reading is our own; a property test holds it to
//! the words that the `shell-words` crate makes of the same line.
//!
//! Source: POSIX.1-2024, Shell Command Language, 2.2 Quoting and 2.3 Token Recognition.

use crate::text::Shown;

/// The most words of a line: a program, its flags, a package, and as many arguments as a plan may have.
const WORDS: usize = 512;

/// A word of a launch line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether no part of it was quoted or escaped.
    pub(super) bare: bool,
}

/// A line that is not read as words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WordsRefused {
    /// A quote is opened and not closed.
    #[error("a {0} is not closed")]
    Open(&'static str),
    /// A backslash at the very end.
    #[error("it ends in a backslash")]
    Backslash,
    /// A control character, line breaks included.
    #[error("it holds a control character or a line break")]
    Control,
    /// More than 512.
    #[error("it has more than {WORDS} words")]
    TooMany,
    /// Something a shell would fill in.
    #[error("a shell would fill in `{0}`, and no shell reads it here")]
    Expansion(Shown),
    /// Something a shell would act upon.
    #[error("`{0}` is the shell's, and no shell reads it here")]
    Operator(Shown),
}

/// Splits a line.
///
/// # Errors
/// [`WordsRefused`]
pub(super) fn split(line: &str) -> Result<Vec<Word>, WordsRefused> {
    if line.chars().any(|c| c.is_control() && c != '\t') {
        return Err(WordsRefused::Control);
    }
    let mut words = Vec::new();
    let mut rest = line.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        if words.len() == WORDS {
            return Err(WordsRefused::TooMany);
        }
        let (word, after) = one(rest)?;
        words.push(word);
        rest = after.trim_start_matches([' ', '\t']);
    }
    Ok(words)
}

/// The first word of a text that does not begin with a blank, and what follows it.
fn one(text: &str) -> Result<(Word, &str), WordsRefused> {
    let mut word = Word { text: String::new(), bare: true };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            ' ' | '\t' => break,
            '\'' => {
                let (inside, after) = after.split_once('\'').ok_or(WordsRefused::Open("single quote"))?;
                word.text.push_str(inside);
                (word.bare, rest) = (false, after);
            }
            '"' => {
                rest = double_quoted(after, &mut word.text)?;
                word.bare = false;
            }
            '\\' => {
                let escaped = after.chars().next().ok_or(WordsRefused::Backslash)?;
                word.text.push(escaped);
                (word.bare, rest) = (false, &after[escaped.len_utf8()..]);
            }
            _ => {
                expansion(rest)?;
                word.text.push(c);
                rest = after;
            }
        }
    }
    let seen = &text[..text.len() - rest.len()];
    operator(seen, word.bare)?;
    Ok((word, rest))
}

/// What stands between double quotes is added to `word`; gives what follows the closing one.
fn double_quoted<'a>(text: &'a str, word: &mut String) -> Result<&'a str, WordsRefused> {
    let mut rest = text;
    loop {
        let open = || WordsRefused::Open("double quote");
        let c = rest.chars().next().ok_or_else(open)?;
        let after = &rest[c.len_utf8()..];
        match c {
            '"' => return Ok(after),
            '\\' => {
                let next = after.chars().next().ok_or_else(open)?;
                // Before any other character a backslash in double quotes is one (2.2.3).
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
                rest = &after[next.len_utf8()..];
            }
            _ => {
                expansion(rest)?;
                word.push(c);
                rest = after;
            }
        }
    }
}

/// Refuses a text that begins with a parameter, a command substitution or arithmetic.
fn expansion(text: &str) -> Result<(), WordsRefused> {
    if text.starts_with('`') {
        return Err(WordsRefused::Expansion(Shown::new("`…`")));
    }
    let Some(after) = text.strip_prefix('$') else { return Ok(()) };
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let whole = match after.chars().next() {
        Some('{') => after.find('}').map_or(after, |end| &after[..=end]),
        Some('(') => "(…)",
        Some(c) if name(c) => after.split(|c| !name(c)).next().unwrap_or_default(),
        // A lone `$`, as at the end of a pattern, is one to a shell too.
        _ => return Ok(()),
    };
    Err(WordsRefused::Expansion(Shown::new(&format!("${whole}"))))
}

/// Refuses a word, quotes and all, by which a shell would go on to another command, redirect, or stop reading.
fn operator(word: &str, bare: bool) -> Result<(), WordsRefused> {
    let refused = |sign: &str| Err(WordsRefused::Operator(Shown::new(sign)));
    if ["|", "||", "|&", "&", "&&", ";", ";;", "(", ")", "!", "{", "}"].contains(&word) {
        return refused(word);
    }
    if word.starts_with('#') {
        return refused("#");
    }
    // `2>file`: a redirection may name the descriptor first.
    if word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['>', '<']) || word.starts_with("&>")
    {
        return refused(word);
    }
    if bare && word.ends_with(';') {
        return refused(";");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(line: &str) -> Vec<String> {
        split(line).unwrap().into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn accepts_words_and_quotes() {
        for (line, words) in [
            ("npx -y pkg", &["npx", "-y", "pkg"][..]),
            ("  a \t b  ", &["a", "b"]),
            ("a 'b c' d", &["a", "b c", "d"]),
            (r#"a "b 'c" d"#, &["a", "b 'c", "d"]),
            (r"a\ b c", &["a b", "c"]),
            (r#""a\"b" "a\nb""#, &["a\"b", r"a\nb"]),
            ("a'b'\"c\"", &["abc"]),
            ("'' a", &["", "a"]),
            (r#"--x="y z""#, &["--x=y z"]),
            ("", &[]),
        ] {
            assert_eq!(texts(line), words, "{line}");
        }
    }

    #[test]
    fn accepts_signs_that_no_shell_would_act_upon() {
        for word in [
            "'$HOME'",
            "'`id`'",
            "'&&'",
            "\"|\"",
            "^a$",
            "https://x.example/?a=1&b=2",
            "a>=1,<2",
            "a;b",
            "{x}",
            "a#b",
            "100%",
            "\\$HOME",
            "{secret:KEY}",
            "{}",
        ] {
            assert!(split(&format!("x {word}")).is_ok(), "{word}");
        }
    }

    #[test]
    fn refuses_what_a_shell_would_fill_in() {
        for (word, named) in [
            ("$HOME/notes", "$HOME"),
            ("\"$HOME/notes\"", "$HOME"),
            ("${HOME}", "${HOME}"),
            ("${input:key}", "${input:key}"),
            ("--x=$1", "$1"),
            ("$(id)", "$(…)"),
            ("`id`", "`…`"),
            ("\"`id`\"", "`…`"),
        ] {
            let refused = split(&format!("npx {word}")).unwrap_err();
            assert_eq!(refused, WordsRefused::Expansion(Shown::new(named)), "{word}");
        }
    }

    #[test]
    fn refuses_what_a_shell_would_act_upon() {
        for (line, sign) in [
            ("npx a && b", "&&"),
            ("npx a | b", "|"),
            ("npx a || b", "||"),
            ("npx a & b", "&"),
            ("npx a ; b", ";"),
            ("npx a; b", ";"),
            ("npx a > b", ">"),
            ("npx a 2>/dev/null", "2>/dev/null"),
            ("npx a &>b", "&>b"),
            ("npx <package>", "<package>"),
            ("npx a << b", "<<"),
            ("npx a # b", "#"),
            ("npx a #'b'", "#"),
            ("npx a >'b'", ">'b'"),
        ] {
            assert_eq!(split(line).unwrap_err(), WordsRefused::Operator(Shown::new(sign)), "{line}");
        }
    }

    #[test]
    fn refuses_a_line_that_does_not_end_or_holds_more_than_text() {
        assert_eq!(split("a 'b"), Err(WordsRefused::Open("single quote")));
        assert_eq!(split("a \"b"), Err(WordsRefused::Open("double quote")));
        assert_eq!(split("a \"b\\"), Err(WordsRefused::Open("double quote")));
        assert_eq!(split("a \\"), Err(WordsRefused::Backslash));
        for bad in ["a\nb", "a\0b", "a\u{1b}[2J", "a\u{85}b"] {
            assert_eq!(split(bad), Err(WordsRefused::Control), "{bad:?}");
        }
        assert_eq!(split(&"a ".repeat(513)), Err(WordsRefused::TooMany));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_its_words_are_a_shells(line in "\\PC{0,60}|[a-c'\"\\\\ $`;|&<>#\t]{0,24}") {
            if let Ok(words) = split(&line) {
                let ours: Vec<String> = words.into_iter().map(|word| word.text).collect();
                prop_assert_eq!(Ok(ours), shell_words::split(&line));
            }
        }
    }
}
