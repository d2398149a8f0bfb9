//! Do the rules of the house hold where a machine can see it?
//!
//! The cheap ones: who may print, what must not be written down, whether the documents point at something. What
//! needs judgement is not here.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every text file of the repository, with its path; what is built or fetched is not part of it.
fn files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut waiting, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && ![".git", "target", "node_modules"].contains(&name) {
                waiting.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                files.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let in_a_room = |path: &Path| path.starts_with("src") || path.starts_with("images/init/src");
    files()
        .into_iter()
        .filter(move |(path, _)| in_a_room(path) && path.extension().is_some_and(|e| e == "rs"))
}

fn documents() -> impl Iterator<Item = (PathBuf, String)> {
    let ours =
        |path: &Path| path.parent().is_some_and(|dir| dir == Path::new("") || dir == Path::new("docs"));
    files().into_iter().filter(move |(path, _)| ours(path) && path.extension().is_some_and(|e| e == "md"))
}

/// Tests lie beside what they test, and its head speaks for both.
fn is_tests(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

#[test]
fn only_the_one_way_out_prints() {
    for (path, text) in sources().filter(|(path, _)| path != Path::new("src/cli/out.rs")) {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let prints = ["println!", "print!", "eprint!", "dbg!"].iter().any(|word| line.contains(word));
            assert!(!prints, "{}: {line}", path.display());
        }
    }
}

#[test]
fn every_module_opens_with_the_question_it_answers() {
    for (path, text) in sources().filter(|(path, _)| !is_tests(path)) {
        assert!(text.starts_with("//! "), "{}", path.display());
    }
}

#[test]
fn no_package_registry_is_written_down() {
    // Put together here, or this file would break its own rule.
    let hosts = ["npmjs", "pypi", "pythonhosted", "crates", "debian"]
        .map(|name| ["org", "com", "io"].map(|top| format!("{name}.{top}")));
    for (path, text) in files().into_iter().filter(|(path, _)| !path.ends_with("Cargo.lock")) {
        for host in hosts.as_flattened() {
            assert!(!text.contains(host.as_str()), "{} names {host}", path.display());
        }
    }
}

/// A heading as the last part of an address: lower case, blanks to `-`, other signs left out.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root.join(&path),
                file => root.join(&path).parent().unwrap().join(file),
            };
            let found =
                fs::read_to_string(&target).unwrap_or_else(|e| panic!("{}: {link}: {e}", path.display()));
            let headings: BTreeSet<_> =
                found.lines().filter(|line| line.starts_with('#')).map(anchor).collect();
            assert!(
                part.is_empty() || headings.contains(part),
                "{}: {link} has no such heading",
                path.display()
            );
        }
    }
}

fn help(command: &[&str]) -> String {
    let mut pinfold = Command::new(env!("CARGO_BIN_EXE_pinfold"));
    let output = pinfold.args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "pinfold {command:?} --help");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help text lists.
fn commands(help: &str) -> BTreeSet<String> {
    let (_, list) = help.split_once("Commands:\n").unwrap_or_default();
    list.lines().map_while(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned)).collect()
}

/// Every command line of Pinfold's in a document's code, up to the server's own arguments.
fn command_lines(document: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (n, part) in document.replace("\\\n", " ").split("```").enumerate() {
        // Fenced code is every second part; in the others code is between single backticks.
        let code: Vec<&str> =
            if n % 2 == 1 { part.lines().collect() } else { part.split('`').skip(1).step_by(2).collect() };
        for line in code.iter().filter_map(|code| code.trim().strip_prefix("pinfold ")) {
            // A launch line in quotes is one word, whose options are another program's.
            let unquoted: String = line.split('"').step_by(2).collect::<Vec<_>>().join("LINE");
            let words = unquoted.split_whitespace().take_while(|word| !["#", "--", "|"].contains(word));
            lines.push(words.map(str::to_owned).collect());
        }
    }
    lines
}

#[test]
fn the_documents_speak_only_of_commands_and_options_that_exist() {
    let known = commands(&help(&[]));
    let mut seen = 0;
    for (path, text) in documents() {
        for words in command_lines(&text) {
            let Some(command) = words.first().filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
            else {
                continue;
            };
            assert!(known.contains(command), "{}: pinfold {command}", path.display());
            let mut asked = vec![command.as_str()];
            let below = commands(&help(&asked));
            if let Some(word) = words.get(1).filter(|word| !below.is_empty() && !word.starts_with('-')) {
                assert!(below.contains(word), "{}: pinfold {command} {word}", path.display());
                asked.push(word);
            }
            let help = help(&asked);
            for option in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(option.as_str()), "{}: pinfold {command} {option}", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 30, "only {seen} command lines were found: are they still read as they are written?");
}

#[test]
fn the_readme_speaks_of_every_command() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for command in commands(&help(&[])).iter().filter(|command| *command != "help") {
        assert!(readme.contains(&format!("pinfold {command}")), "pinfold {command}");
    }
}
