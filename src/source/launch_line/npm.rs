//! Which npm package does `npx`, or one of its kin, run?
//!
//! The first word that is no flag, or what `--package` names; then the word is a program of it. Sources: `npm exec`
//! and `npx` of the npm documentation, `bunx` of Bun's, `pnpm dlx` and `yarn dlx` of theirs.

use super::flags::{Flag, Line, Meaning, Next, Runner, Takes, left_out, means, noted, refused};
use super::{LineRefused, Read, program_name};

use crate::source::spec::{NpmSpec, Spec};
use crate::text::Shown;
use Takes::{Attached, Nothing, Value};

const WRITE_IT: &str = "mount the package by itself: `npm:NAME`";
const OWN_NPM: &str = "set it in your own npm configuration, which Pinfold follows";

#[rustfmt::skip]
const NPM: &[Flag] = &[
    left_out(&["-y", "--yes"], Nothing, "it answers npm's question; Pinfold asks its own"),
    left_out(&["-q", "--quiet", "-s", "--silent", "-d", "-dd", "-ddd", "--verbose"], Nothing, "what npm prints"),
    left_out(&["--loglevel"], Value, "what npm prints"),
    left_out(&["--color", "--no-color", "--progress", "--no-progress", "--no-update-notifier", "--update-notifier"],
        Attached, "what npm prints"),
    left_out(&["--prefer-online", "--prefer-offline", "--no-cache"], Nothing, "when npm asks its cache"),
    left_out(&["--cache"], Value, "where npm keeps downloads; a cage has its own"),
    left_out(&["--no-fund", "--fund", "--no-audit", "--audit"], Attached, "what npm says after an install"),
    left_out(&["--ignore-scripts"], Nothing, "install scripts are off anyway"),
    left_out(&["--ignore-existing", "--always-spawn"], Nothing, "npm itself no longer reads it"),
    means(&["-p", "--package"], Meaning::Package, "the package that has the program"),
    refused(&["-c", "--call"], Value, "it runs a line of shell", WRITE_IT),
    refused(&["--shell", "--script-shell", "--shell-auto-fallback"], Value, "it chooses a shell to run things by", WRITE_IT),
    refused(&["--no", "--no-install"], Nothing, "it runs what lies in the current folder", "mount that folder: `path:DIR`"),
    refused(&["--offline"], Nothing, "it runs what an earlier run left behind", "leave it out: what is mounted needs no network later"),
    refused(&["--registry", "--replace-registry-host"], Value, "it moves where packages come from", OWN_NPM),
    refused(&["--userconfig", "--globalconfig", "--prefix", "-C", "--dir"], Value, "it reads another configuration or another folder", OWN_NPM),
    refused(&["--proxy", "--https-proxy", "--noproxy", "--cafile", "--ca", "--strict-ssl", "--no-strict-ssl"], Value,
        "it decides whom npm asks and trusts", OWN_NPM),
    refused(&["--node-options", "--node-arg", "-n"], Value, "it loads code into the server's Node", "leave it out"),
    refused(&["--npm", "--git", "--viewer", "--editor"], Value, "it names a program to run", "leave it out"),
    refused(&["-w", "--workspace"], Value, "it is about a project's workspaces", "mount the workspace's folder: `path:DIR`"),
    refused(&["--workspaces", "--ws", "--include-workspace-root"], Nothing, "it is about a project's workspaces",
        "mount the workspace's folder: `path:DIR`"),
    refused(&["--tag"], Value, "it chooses another version", "write it with the package: `NAME@TAG`"),
    refused(&["--before"], Value, "it chooses versions by date, which is not carried yet", "write the version: `NAME@VERSION`"),
    refused(&["--legacy-peer-deps", "--strict-peer-deps", "-f", "--force", "--no-optional", "--prod", "--production"], Nothing,
        "it changes which packages are installed", "leave it out"),
    refused(&["--omit", "--include", "--install-strategy", "--os", "--cpu", "--libc"], Value,
        "it changes which packages are installed", "leave it out"),
    refused(&["--allow-build", "--allow-scripts"], Value, "it runs install scripts, which are off", "leave it out"),
    refused(&["-g", "--global", "--location"], Nothing, "it installs for the whole machine", "leave it out"),
    refused(&["-h", "--help", "-v", "--version"], Nothing, "it prints something and starts no server", "leave it out"),
];

#[rustfmt::skip]
const BUN: &[Flag] = &[
    noted(&["--bun", "-b"], Nothing, "it runs a Node program with Bun", "the server runs on Node, not on Bun"),
    left_out(&["-y", "--yes"], Nothing, "Bun asks nothing"),
    left_out(&["--silent", "--verbose"], Nothing, "what Bun prints"),
    means(&["-p", "--package"], Meaning::Package, "the package that has the program"),
    refused(&["--no-install"], Nothing, "it runs what lies in the current folder", "mount that folder: `path:DIR`"),
    refused(&["--registry", "--config", "-c", "--cwd"], Value, "it moves where packages come from", OWN_NPM),
    refused(&["--preload", "-r", "--require", "--import", "--inspect", "-e", "--eval"], Value,
        "it loads code into the server", "leave it out"),
    refused(&["--env-file"], Value, "it reads a file of variables", "give each by `--env NAME` or `--env NAME=VALUE`"),
    refused(&["-h", "--help", "-v", "--version", "--revision"], Nothing, "it prints something and starts no server", "leave it out"),
];

#[rustfmt::skip]
const PNPM: &[Flag] = &[
    left_out(&["--reporter"], Value, "what pnpm prints"),
    refused(&["-c", "--shell-mode"], Nothing, "it runs a line of shell", WRITE_IT),
    refused(&["--use-node-version"], Value, "it chooses another Node", "leave it out: the runtime image has one"),
    refused(&["--pnpmfile", "--global-pnpmfile", "--config"], Value, "it loads code or settings into pnpm", "leave it out"),
];

const NPX: Runner = Runner { name: "npx", tables: &[NPM], clusters: false };
const NPM_EXEC: Runner = Runner { name: "npm exec", tables: &[NPM], clusters: false };
const BUNX: Runner = Runner { name: "bunx", tables: &[BUN], clusters: false };
const PNPM_DLX: Runner = Runner { name: "pnpm dlx", tables: &[PNPM, NPM], clusters: false };
const YARN_DLX: Runner = Runner { name: "yarn dlx", tables: &[NPM], clusters: false };

#[cfg(test)]
pub(super) const RUNNERS: &[Runner] = &[NPX, NPM_EXEC, BUNX, PNPM_DLX, YARN_DLX];

/// `npx`.
pub(super) fn npx(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    first_word(line, &NPX, Vec::new())
}

/// `bunx`.
pub(super) fn bunx(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    first_word(line, &BUNX, Vec::new())
}

/// `pnpx`, which is `pnpm dlx`.
pub(super) fn pnpx(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    first_word(line, &PNPM_DLX, Vec::new())
}

/// `npm`, `bun`, `pnpm` or `yarn`, whose first word says what they do.
pub(super) fn manager(name: &str, line: &mut Line<'_>) -> Result<Read, LineRefused> {
    let (runner, words): (_, &[&str]) = match name {
        "npm" => (&NPM_EXEC, &["exec", "x"]),
        "bun" => (&BUNX, &["x"]),
        "pnpm" => (&PNPM_DLX, &["dlx"]),
        _ => (&YARN_DLX, &["dlx"]),
    };
    let mut packages = Vec::new();
    let command = loop {
        match line.next(runner)? {
            Next::Word(word) => break word.text.as_str(),
            Next::Means(_, value) => packages.push(value),
            Next::Dashes | Next::End => return Err(incomplete(runner, "what to do: `exec`, `x` or `dlx`")),
        }
    };
    if !words.contains(&command) {
        return Err(LineRefused::Program {
            program: Shown::new(&format!("{name} {command}")),
            why: "it runs a script or a file of a project, or installs into one",
            instead: "mount the project's folder: `path:DIR`, or the package: `npm:NAME`",
        });
    }
    if name == "npm" { anywhere(line, runner, packages) } else { first_word(line, runner, packages) }
}

/// Flags end at the first word, as with `npx`.
fn first_word(
    line: &mut Line<'_>,
    runner: &'static Runner,
    mut packages: Vec<String>,
) -> Result<Read, LineRefused> {
    let word = loop {
        match line.next(runner)? {
            Next::Means(_, value) => packages.push(value),
            Next::Word(word) => break word.text.clone(),
            // What follows is the package, whatever it looks like; it is no flag by its own grammar.
            Next::Dashes => {
                break line.word().ok_or_else(|| incomplete(runner, "a package"))?.text.clone();
            }
            Next::End => return Err(incomplete(runner, "a package")),
        }
    };
    read(runner, packages, word, line.rest())
}

/// npm reads flags up to `--`, before and after the package; what else there is belongs to the server.
fn anywhere(
    line: &mut Line<'_>,
    runner: &'static Runner,
    mut packages: Vec<String>,
) -> Result<Read, LineRefused> {
    let mut words = Vec::new();
    loop {
        match line.next(runner)? {
            Next::Means(_, value) => packages.push(value),
            Next::Word(word) => words.push(word.text.clone()),
            Next::Dashes => {
                words.extend(line.rest());
                break;
            }
            Next::End => break,
        }
    }
    if words.is_empty() {
        return Err(incomplete(runner, "a package"));
    }
    let arguments = words.split_off(1);
    let word = words.pop().unwrap_or_default();
    read(runner, packages, word, arguments)
}

fn incomplete(runner: &Runner, wanted: &str) -> LineRefused {
    LineRefused::Incomplete { runner: runner.name, wanted: Shown::new(wanted) }
}

fn read(
    runner: &'static Runner,
    packages: Vec<String>,
    word: String,
    arguments: Vec<String>,
) -> Result<Read, LineRefused> {
    let (spec, program) = match packages.as_slice() {
        [] => (package(&word)?, None),
        [one] => (package(one)?, Some(program_name(&word)?)),
        _ => {
            let packages = Shown::new(&packages.join(", "));
            return Err(LineRefused::Several { runner: runner.name, packages });
        }
    };
    Ok(Read { program, ..Read::new(Spec::Npm(spec), arguments) })
}

/// How words begin that npm takes from elsewhere than a registry.
const ELSEWHERE: &[(&str, &str)] = &[
    ("github:", "a git repository"),
    ("gitlab:", "a git repository"),
    ("bitbucket:", "a git repository"),
    ("gist:", "a git repository"),
    ("git+", "a git repository"),
    ("git:", "a git repository"),
    ("git@", "a git repository"),
    ("ssh:", "a git repository"),
    ("https:", "a tarball or git repository at an address"),
    ("http:", "a tarball or git repository at an address"),
    ("file:", "a path of this disk"),
    ("link:", "a path of this disk"),
    ("workspace:", "a path of this disk"),
    (".", "a path of this disk"),
    ("/", "a path of this disk"),
    ("~", "a path of this disk"),
];

/// The package a word stands for. Source: `npm-package-arg`, which decides what a word is by its beginning.
fn package(word: &str) -> Result<NpmSpec, LineRefused> {
    // `name@github:x/y` and `alias@npm:name` install another package than they name.
    let at = word.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, source) = match at {
        Some(at) if !word.contains("://") || word.find("://") > Some(at) => (&word[..at], &word[at + 1..]),
        _ => (word, word),
    };
    let elsewhere = |text: &str| ELSEWHERE.iter().find(|(begins, _)| text.starts_with(begins));
    let what = match elsewhere(source).or_else(|| elsewhere(word)) {
        Some((_, what)) => Some(*what),
        None if source.starts_with("npm:") => Some("an alias, which installs another package than it names"),
        // npm takes `user/repository` from GitHub, and a name that ends so for a file.
        None if !name.starts_with('@') && name.contains('/') => Some("a git repository on GitHub"),
        None if name.ends_with(".tgz") || name.ends_with(".tar.gz") => Some("a path of this disk"),
        None => None,
    };
    if let Some(what) = what {
        let instead = match what {
            "a path of this disk" => "mount it by `path:FILE.tgz` or `path:DIR`",
            "an alias, which installs another package than it names" => {
                "write the package that is meant: `npm:NAME`"
            }
            "a tarball or git repository at an address" => {
                "look whether it is on npm (`npm:NAME`); or download it, and mount `path:FILE.tgz` or `path:DIR`"
            }
            _ => {
                "look whether it is on npm (`npm:NAME`); or clone it, build it as it says, and mount `path:DIR`"
            }
        };
        return Err(LineRefused::Elsewhere { word: Shown::new(word), what, instead });
    }
    match format!("npm:{word}").parse() {
        Ok(Spec::Npm(spec)) => Ok(spec),
        Ok(_) => {
            Err(LineRefused::Elsewhere { word: Shown::new(word), what: "no npm package", instead: WRITE_IT })
        }
        Err(error) => Err(LineRefused::Package(Box::new(error))),
    }
}
