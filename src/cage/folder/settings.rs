//! What do git's settings name that git would run?
//!
//! A repository's settings are text in which programs, folders of hooks and further settings are named. Only what is
//! named is of interest here, not whether git would come to run it: conditions of `includeIf` count as met.
//!
//! Invariants: no I/O here; a line that git would refuse is passed over, and never anything after it; what is read is as
//! long as the text.
//!
//! Source: git-config(1), "Syntax" and "Variables".

/// What one setting names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Names {
    /// A folder of hooks.
    Hooks(String),
    /// Further settings, by a path relative to the file that names it.
    Settings(String),
    /// Words of a command; those that are files of a folder are run.
    Command(String),
    /// Where the working tree is, by a path relative to the repository.
    Tree(String),
}

/// Settings whose value git runs: section, key, and why. A subsection may be between; `*` is any key.
const RUN: &[(&str, &str, &str)] = &[
    ("alias", "*", "with `!`, a command of the shell's"),
    ("browser", "cmd", "opens pages of help"),
    ("browser", "path", "opens pages of help"),
    ("core", "alternaterefscommand", "run by a fetch"),
    ("core", "askpass", "asks for passwords"),
    ("core", "editor", "run by a commit"),
    ("core", "fsmonitor", "run by every look at the working tree"),
    ("core", "gitproxy", "run by a connection"),
    ("core", "pager", "run by whatever prints"),
    ("core", "sshcommand", "run by a connection"),
    ("credential", "helper", "asked for passwords"),
    ("diff", "command", "run by a comparison"),
    ("diff", "external", "run by a comparison"),
    ("diff", "textconv", "run by a comparison"),
    ("difftool", "cmd", "run by a comparison"),
    ("difftool", "path", "run by a comparison"),
    ("filter", "clean", "run by adding a file"),
    ("filter", "process", "run by adding and writing files"),
    ("filter", "smudge", "run by writing a file"),
    ("gpg", "defaultkeycommand", "run by signing"),
    ("gpg", "program", "run by signing and verifying"),
    ("guitool", "cmd", "run from a menu"),
    ("hook", "command", "a hook in the settings themselves"),
    ("imap", "tunnel", "run by sending mail"),
    ("interactive", "difffilter", "run by adding a part of a file"),
    ("lfs", "clean", "run by adding a file"),
    ("lfs", "path", "run by moving files"),
    ("lfs", "smudge", "run by writing a file"),
    ("man", "cmd", "opens pages of help"),
    ("man", "path", "opens pages of help"),
    ("merge", "driver", "run by a merge"),
    ("mergetool", "cmd", "run by a merge"),
    ("mergetool", "path", "run by a merge"),
    ("pager", "*", "run by whatever prints"),
    ("remote", "receivepack", "run by a push to a folder"),
    ("remote", "uploadpack", "run by a fetch from a folder"),
    ("sendemail", "*", "commands that find whom to write to, and send"),
    ("sequence", "editor", "run by a rebase"),
    ("submodule", "update", "with `!`, a command"),
    ("tar", "command", "run by making an archive"),
    ("trailer", "cmd", "run by a commit"),
    ("trailer", "command", "run by a commit"),
    ("uploadpack", "packobjectshook", "run by serving a fetch"),
];

/// Everything that a text of settings names.
pub(super) fn names(text: &str) -> Vec<Names> {
    let mut all = Vec::new();
    for (section, key, value) in entries(text).into_iter().filter(|(.., value)| !value.is_empty()) {
        let runs = |row: &(&str, &str, &str)| row.0 == section && (row.1 == "*" || row.1 == key);
        match (section.as_str(), key.as_str()) {
            ("include" | "includeif", "path") => all.push(Names::Settings(value)),
            ("core", "hookspath") => all.push(Names::Hooks(value)),
            // what is in its folder of hooks becomes a new repository's
            ("init", "templatedir") => all.push(Names::Hooks(value)),
            ("core", "worktree") => all.push(Names::Tree(value)),
            _ if RUN.iter().any(runs) => all.push(Names::Command(value)),
            _ => {}
        }
    }
    all
}

/// The words of a command that could be names of files: cut wherever a shell would, and at `=`; then those in quotes
/// that have a blank in them.
pub(super) fn words(command: &str) -> impl Iterator<Item = &str> {
    let cuts = |c: char| c.is_whitespace() || "'\"`;|&()<>=!$\\".contains(c);
    let quoted = ['"', '\'']
        .into_iter()
        .flat_map(|quote| command.split(quote).skip(1).step_by(2))
        .filter(|word| word.contains(char::is_whitespace));
    command.split(cuts).filter(|word| !word.is_empty()).chain(quoted)
}

/// Section, key and value of each setting, section and key in lower case, without the subsection.
fn entries(text: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut chars = text.strip_prefix('\u{feff}').unwrap_or(text).chars().filter(|c| *c != '\r').peekable();
    while let Some(c) = chars.next() {
        match c {
            '[' => {
                // the subsection, quoted or after a dot, may hold anything
                let mut head = String::new();
                let (mut quoted, mut escaped) = (false, false);
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => quoted = !quoted,
                        ']' if !quoted => break,
                        _ => {}
                    }
                    head.push(c);
                }
                let name = head.split(['.', ' ', '\t', '"']).next().unwrap_or_default();
                section = name.to_ascii_lowercase();
            }
            '#' | ';' => while chars.next_if(|c| *c != '\n').is_some() {},
            c if c.is_ascii_alphabetic() => {
                let mut key = c.to_string();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    key.push(c);
                }
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                // a key without a value is true, which names nothing
                if chars.next_if_eq(&'=').is_some() {
                    let value = value(&mut chars);
                    found.push((section.clone(), key.to_ascii_lowercase(), value));
                }
            }
            _ => {}
        }
    }
    found
}

/// The value after `=`, to the end of its line, which a backslash goes on.
fn value(chars: &mut std::iter::Peekable<impl Iterator<Item = char>>) -> String {
    let mut value = String::new();
    // up to here a blank is the value's own, quoted
    let mut kept = 0;
    let mut quoted = false;
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                break;
            }
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some('\n') | None => continue,
                Some(other) => value.push(other),
            },
            ' ' | '\t' if !quoted && value.is_empty() => continue,
            c => value.push(c),
        }
        if quoted || !matches!(c, ' ' | '\t') {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hooks(text: &str) -> Names {
        Names::Hooks(text.to_owned())
    }

    #[test]
    fn reads_a_setting_in_every_spelling_that_git_takes() {
        for text in [
            "[core]\n\thooksPath = tools/hooks\n",
            "[core] hookspath=tools/hooks",
            "[CORE]\r\nHooksPath\t=  \"tools/hooks\" ; a comment\r\n",
            "\u{feff}[core]\nhooksPath = tools/\\\nhooks",
            "# [x]\n[other \"a]\\\"b\"]\nx\n[core]bare\nhooksPath = tools\"/\"hooks   # c",
            "[core]\n=?\nhooksPath = tools/hooks",
            "[core.sub]\nhooksPath = tools/hooks",
        ] {
            assert_eq!(names(text), [hooks("tools/hooks")], "{text:?}");
        }
    }

    #[test]
    fn tells_settings_hooks_trees_and_commands_apart_and_passes_over_the_rest() {
        let text = "[include]path=a\n[includeIf \"gitdir:/x/\"]\npath = \"b c\"\n[core]worktree=../w\n\
                    [filter \"f\"]\nclean = tools/f %f\nrequired\n[alias]x = !sh ./x\n[remote \"o\"]\nurl = ../o\n\
                    [branch \"m\"]\nmerge = refs/heads/m\n[core]\nexcludesFile = x\nhooksPath =\n";
        let named = [
            Names::Settings("a".into()),
            Names::Settings("b c".into()),
            Names::Tree("../w".into()),
            Names::Command("tools/f %f".into()),
            Names::Command("!sh ./x".into()),
        ];
        assert_eq!(names(text), named);
        assert_eq!(
            words("!sh ./x --a=tools/y 'z w'").collect::<Vec<_>>(),
            ["sh", "./x", "--a", "tools/y", "z", "w", "z w"]
        );
    }

    #[test]
    fn knows_commands_of_archives_menus_and_large_files() {
        for setting in [
            "[tar \"tar.xz\"]\ncommand = ./x",
            "[guitool \"t\"]\ncmd = ./x",
            "[lfs \"extension.e\"]\nclean = ./x",
            "[lfs \"extension.e\"]\nsmudge = ./x",
            "[lfs \"customtransfer.t\"]\npath = ./x",
        ] {
            assert_eq!(names(setting), [Names::Command("./x".into())], "{setting}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_whatever_the_text(text in "[\\[\\]\"\\\\=#; \n\tcorehksPath.é]{0,60}") {
            names(&text);
        }
    }
}
