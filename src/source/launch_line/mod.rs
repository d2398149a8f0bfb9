//! What does a line that people keep in their clients' configuration launch?
//!
//! `npx -y pkg --flag`, `uvx --from a b`, `python -m x`, `node dist/index.js`: each says which package, which program
//! of it and which arguments, in the grammar of the program that it begins with. This room reads that into a
//! [`Launch`], or refuses the line by the name of what it cannot honour. No shell reads it and nothing is expanded;
//! what stands after the package is the server's own, whatever it looks like.
//!
//! Invariants: a flag that is not in a table is refused, never skipped; what is left out is left out by a row with a
//! reason; a package is named by the line itself and never guessed from anything else.

mod engine;
mod flags;
mod node;
mod npm;
mod python;
mod words;

use super::SourceError;
use super::python::{PythonMinor, Requirement};
use super::spec::Spec;
use crate::failure::{Code, Failure};
use crate::text::Shown;
use flags::Line;
use words::Word;
pub use words::WordsRefused;

/// The longest line that is read, in bytes.
const LINE_BYTES: usize = 32 * 1024;

/// What was typed, as far as it says what to launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The package.
    pub spec: Spec,
    /// The program of it; where none is named, it has only one, or one that bears its name.
    pub program: Option<ProgramChoice>,
    /// Python packages installed beside it.
    pub with: Vec<Requirement>,
    /// The Python it asks for.
    pub python: Option<PythonMinor>,
    /// The server's own arguments, through no grammar yet.
    pub arguments: Vec<String>,
    /// Variables for the server, `NAME=VALUE`, through no grammar yet.
    pub env: Vec<String>,
    /// What was understood in another way than it is written, a sentence each, for the card.
    pub notes: Vec<Shown>,
}

/// Which program of a package a line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramChoice {
    /// The one of this name: one of npm's `bin`, or a console script of Python's.
    Named(String),
    /// This file of an npm package, relative to its folder.
    File(String),
    /// This module, by `python -m`.
    Module(String),
}

impl From<Spec> for Launch {
    fn from(spec: Spec) -> Self {
        let (program, python) = (None, None);
        Self { spec, program, with: vec![], python, arguments: vec![], env: vec![], notes: vec![] }
    }
}

/// Why a line is not launched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineRefused {
    /// It is no list of words.
    #[error(transparent)]
    Words(#[from] WordsRefused),
    /// It is longer than 32 KiB.
    #[error("it is longer than {LINE_BYTES} bytes")]
    TooLong,
    /// It begins with a program that is not read.
    #[error("`{program}` is not launched: {why}")]
    Program {
        /// The program.
        program: Shown,
        /// Why not.
        why: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// A flag is refused by its name.
    #[error("the flag {flag} of `{runner}` is refused: {why}")]
    Flag {
        /// The program whose flag it is.
        runner: &'static str,
        /// The flag.
        flag: Shown,
        /// What it does there.
        why: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// A flag is in no table.
    #[error("{flag} is no flag of `{runner}` that Pinfold knows")]
    UnknownFlag {
        /// The program.
        runner: &'static str,
        /// The flag.
        flag: Shown,
    },
    /// The line ends too early.
    #[error("`{runner}` is not told {wanted}")]
    Incomplete {
        /// The program.
        runner: &'static str,
        /// What is missing.
        wanted: Shown,
    },
    /// The package comes from elsewhere than a registry.
    #[error("`{word}` is {what}")]
    Elsewhere {
        /// What was written.
        word: Shown,
        /// What it is.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// Several packages, and nothing says which one has the program.
    #[error("`{runner}` is given several packages: {packages}")]
    Several {
        /// The program.
        runner: &'static str,
        /// The packages.
        packages: Shown,
    },
    /// A Python that is no minor version.
    #[error("`{runner}` is asked for the Python `{asked}`")]
    Python {
        /// The program.
        runner: &'static str,
        /// What was written.
        asked: Shown,
    },
    /// A program's name that is none.
    #[error("`{word}` is no name of a package's program")]
    ProgramName {
        /// What was written.
        word: Shown,
    },
    /// A container image.
    #[error("`{image}` is a container image")]
    Image {
        /// The image.
        image: Shown,
        /// Its flags that mean something here, and what.
        here: Vec<(Shown, &'static str)>,
    },
    /// A file that lies in no npm package.
    #[error("`{file}` cannot be launched: {why}")]
    File {
        /// The file.
        file: Shown,
        /// Why not.
        why: Shown,
        /// What to do.
        instead: &'static str,
    },
    /// A package's name or version is refused.
    #[error(transparent)]
    Package(Box<SourceError>),
}

impl From<LineRefused> for Failure {
    fn from(error: LineRefused) -> Self {
        use LineRefused as E;
        let refused = |why: &dyn std::fmt::Display, hint: &dyn std::fmt::Display| {
            Self::new(Code::LaunchRefused, "the launch line is refused", why, hint)
        };
        match &error {
            E::Words(WordsRefused::Expansion(_)) => refused(
                &error,
                &"write the value itself; in single quotes the characters are taken as they are",
            ),
            E::Words(WordsRefused::Operator(_)) => refused(
                &error,
                &"give the one command that starts the server; in single quotes the characters are taken as they are",
            ),
            E::Words(_) | E::TooLong => {
                refused(&error, &"write it as one line, as in a client's configuration")
            }
            E::Program { instead, .. }
            | E::Flag { instead, .. }
            | E::Elsewhere { instead, .. }
            | E::File { instead, .. } => refused(&error, instead),
            E::UnknownFlag { runner, flag } => Self::new(
                Code::LaunchRefused,
                "the launch line is refused",
                &error,
                format_args!(
                    "flags before the package are `{runner}`'s own: leave {flag} out, or put it after the package if it is the server's"
                ),
            ),
            E::Incomplete { .. } => {
                refused(&error, &"give the whole line, or name the package: `npm:NAME`, `pypi:NAME`")
            }
            E::Several { .. } => refused(
                &error,
                &"name the one that has the server: `npm:NAME`, or `uvx --from NAME --with OTHER PROGRAM`",
            ),
            E::Python { .. } => refused(
                &error,
                &"write a minor version such as 3.13; the runtime image has that Python, of no other place",
            ),
            E::ProgramName { .. } => {
                refused(&error, &"name a program of the package, as its documentation does")
            }
            E::Image { image, here } => {
                let mut hint =
                    "look in its documentation for the server's own package, and mount `npm:NAME` or \
                                `pypi:NAME`"
                        .to_owned();
                for (flag, here) in here {
                    hint.push_str(&format!("; {flag}: {here}"));
                }
                Self::new(
                    Code::Usage,
                    format_args!("`{image}` cannot be mounted"),
                    "it is a container image, which this version does not carry yet",
                    hint,
                )
            }
            E::Package(error) => Self::from((**error).clone()),
        }
    }
}

/// What a runner's own room makes of a line.
struct Read {
    spec: Spec,
    program: Option<ProgramChoice>,
    with: Vec<Requirement>,
    python: Option<PythonMinor>,
    arguments: Vec<String>,
}

impl Read {
    fn new(spec: Spec, arguments: Vec<String>) -> Self {
        Self { spec, program: None, with: Vec::new(), python: None, arguments }
    }
}

/// A program as a line names it.
fn program_name(word: &str) -> Result<ProgramChoice, LineRefused> {
    let good = word.len() <= 214
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    match good {
        true => Ok(ProgramChoice::Named(word.to_owned())),
        false => Err(LineRefused::ProgramName { word: Shown::new(word) }),
    }
}

/// The programs whose lines are read.
const RUNNERS: &[&str] = &[
    "npx", "npm", "bunx", "bun", "pnpx", "pnpm", "yarn", "uvx", "uv", "pipx", "node", "nodejs", "python",
    "python3", "docker", "podman", "env", "cmd",
];

/// Programs that are recognised to be told why they are not read: what they are, and what to do.
const NOT_RUNNERS: &[(&[&str], &str, &str)] = &[
    (
        &["sh", "bash", "zsh", "dash", "fish", "ksh", "powershell", "pwsh"],
        "it is a shell, and what it would run cannot be held to anything",
        "give the line that it would run",
    ),
    (&["sudo", "doas", "su"], "nothing is launched as another user", "give the line without it"),
    (&["deno"], "servers for Deno are not carried yet", "look for the server's npm package: `npm:NAME`"),
    (&["ssh", "wsl"], "it runs the server on another machine", "run Pinfold there"),
    (&["npm-run", "make", "just"], "it runs a script of a project", "mount the project's folder: `path:DIR`"),
    (
        &["pip", "pip3", "conda", "poetry", "hatch", "pdm"],
        "it installs something, or runs what is installed, in a place of its own",
        "mount the server's package: `pypi:NAME`; or a wheel of the project: `path:FILE.whl`",
    ),
    (
        &["java", "go", "cargo", "ruby", "php", "dotnet"],
        "servers in this language are not carried",
        "look for the server's npm or Python package",
    ),
];

impl Launch {
    /// Reads what was typed: a spec, or a launch line if it holds white space or is a runner's bare name.
    ///
    /// # Errors
    /// What [`Spec`]'s grammar refuses, or a [`LineRefused`].
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        if !is_line(text) {
            return text.parse::<Spec>().map(Self::from);
        }
        if text.len() > LINE_BYTES {
            return Err(LineRefused::TooLong.into());
        }
        let words = words::split(text).map_err(LineRefused::from)?;
        Ok(of_words(&words)?)
    }

    /// Whether a word is the program that a launch line begins with.
    pub fn is_runner(word: &str) -> bool {
        RUNNERS.contains(&word) || python::is_python(word)
    }

    /// Reads a launch line that came as words, so that every character of them is meant as it is.
    ///
    /// # Errors
    /// A [`LineRefused`].
    pub fn of_words(words: &[String]) -> Result<Self, SourceError> {
        if words.iter().map(String::len).sum::<usize>() > LINE_BYTES {
            return Err(LineRefused::TooLong.into());
        }
        let words: Vec<Word> = words.iter().map(|word| Word { text: word.clone(), bare: false }).collect();
        Ok(of_words(&words)?)
    }
}

/// Whether a text is a launch line rather than a spec.
fn is_line(text: &str) -> bool {
    let is_spec = super::spec::PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    !is_spec && (text.trim().contains(char::is_whitespace) || RUNNERS.contains(&text.trim()))
}

fn of_words(words: &[Word]) -> Result<Launch, LineRefused> {
    let mut line = Line::new(words);
    let mut env = Vec::new();
    let read = loop {
        let Some(word) = line.word() else {
            let wanted = Shown::new("what to run");
            return Err(LineRefused::Incomplete { runner: "env", wanted });
        };
        if is_assignment(&word.text) {
            env.push(word.text.clone());
            continue;
        }
        let program = called(&word.text, &mut line)?;
        match program.as_str() {
            "env" => assignments_only(&line)?,
            "cmd" => slash_c(&mut line)?,
            "npx" => break npm::npx(&mut line)?,
            "bunx" => break npm::bunx(&mut line)?,
            "pnpx" => break npm::pnpx(&mut line)?,
            "npm" | "bun" | "pnpm" | "yarn" => break npm::manager(&program, &mut line)?,
            "uvx" => break python::uvx(&mut line)?,
            "uv" => break python::uv(&mut line)?,
            "pipx" => break python::pipx(&mut line)?,
            "node" | "nodejs" => break node::node(&mut line)?,
            "docker" | "podman" => return Err(engine::run(&program, &mut line)),
            _ if python::is_python(&program) => break python::python(&program, &mut line)?,
            _ => return Err(not_a_runner(&program)),
        }
    };
    let Read { spec, program, with, python, arguments } = read;
    Ok(Launch { spec, program, with, python, arguments, env, notes: line.notes })
}

/// `NAME=VALUE` before the program.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// A program without its folder and without what Windows adds to its name.
fn called(word: &str, line: &mut Line<'_>) -> Result<String, LineRefused> {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let plain = name.to_ascii_lowercase();
    let plain =
        [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|end| plain.strip_suffix(end)).unwrap_or(name);
    if name == word {
        return Ok(plain.to_owned());
    }
    let absolute =
        word.starts_with('/') || word.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/");
    let known = RUNNERS.contains(&plain) || python::is_python(plain);
    if !absolute || !known {
        return Err(LineRefused::Program {
            program: Shown::new(word),
            why: "it is a program of this disk, and what it is cannot be told from its name",
            instead: "mount the server's package: `npm:NAME`, `pypi:NAME`, or `path:` and its folder or file",
        });
    }
    line.note(format_args!("`{word}` is read as `{plain}`: the runtime image has its own"));
    Ok(plain.to_owned())
}

/// `env` may be followed by assignments and a program; its own flags change what is run.
fn assignments_only(line: &Line<'_>) -> Result<(), LineRefused> {
    match line.peek() {
        Some(word) if word.text.starts_with('-') => Err(LineRefused::Flag {
            runner: "env",
            flag: Shown::new(&word.text),
            why: "it changes what is run, or with what environment",
            instead: "leave it out: a server gets the variables that its plan lists and no other",
        }),
        _ => Ok(()),
    }
}

/// `cmd /c`, which on Windows starts programs that are scripts.
fn slash_c(line: &mut Line<'_>) -> Result<(), LineRefused> {
    while let Some(word) = line.word() {
        match word.text.to_ascii_lowercase().as_str() {
            "/c" => {
                line.note("`cmd /c` is left out: it is how Windows starts the rest of the line");
                return Ok(());
            }
            "/d" | "/s" | "/q" => {}
            _ => break,
        }
    }
    Err(LineRefused::Program {
        program: Shown::new("cmd"),
        why: "it is a shell, and only `cmd /c PROGRAM …` is read",
        instead: "give the line that it would run",
    })
}

fn not_a_runner(program: &str) -> LineRefused {
    let known = NOT_RUNNERS.iter().find(|(names, ..)| names.contains(&program));
    let (why, instead) = known.map_or(
        (
            "Pinfold reads lines of npx, npm exec, bunx, pnpm dlx, yarn dlx, uvx, uv, pipx run, node and python -m",
            "mount the server's package: `npm:NAME`, `pypi:NAME`, or `path:` and its folder or file",
        ),
        |(_, why, instead)| (*why, *instead),
    );
    LineRefused::Program { program: Shown::new(program), why, instead }
}

#[cfg(test)]
mod tests;
