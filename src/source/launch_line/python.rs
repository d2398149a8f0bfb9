//! Which Python package does `uvx`, or one of its kin, run?
//!
//! What `--from` or `--spec` names, else the first word that is no flag; that word is also the program, as it stands.
//! `python -m MODULE` names no package at all: the module's name is taken for the package's, and the card says so.
//! Sources: uv's own help of `uv tool run` and `uv run`, pipx's of `pipx run`, Python's of its command line.

use super::flags::{Flag, Line, Meaning, Next, Runner, Takes, left_out, means, refused};
use super::{LineRefused, ProgramChoice, Read, program_name};
use crate::source::pypi_spec::PypiSpec;
use crate::source::python::{PypiName, PythonMinor, Requirement};
use crate::source::spec::Spec;
use crate::text::Shown;
use Takes::{Attached, Nothing, Value};

const OWN_INDEX: &str = "set it in your own pip or uv configuration, which Pinfold follows";
const GIVE_VARIABLES: &str = "give each by `--env NAME` or `--env NAME=VALUE`";
/// What to do with a project on this disk.
const BUILD_IT: &str =
    "build a wheel of it (`uv build --wheel` in its folder) and mount that: `path:dist/NAME.whl`";
const LEAVE_OUT: &str = "leave it out";

#[rustfmt::skip]
const UV: &[Flag] = &[
    left_out(&["-q", "--quiet", "-v", "--verbose", "--no-progress"], Nothing, "what uv prints"),
    left_out(&["--color"], Value, "what uv prints"),
    left_out(&["-n", "--no-cache", "--refresh"], Nothing, "when uv asks its cache; a cage has its own"),
    left_out(&["--refresh-package", "--cache-dir"], Value, "when uv asks its cache; a cage has its own"),
    left_out(&["-U", "--upgrade", "--reinstall"], Nothing, "every plan is resolved anew"),
    left_out(&["-P", "--upgrade-package", "--reinstall-package"], Value, "every plan is resolved anew"),
    left_out(&["--isolated", "--no-config", "--no-env-file", "--no-sources", "--no-build"], Nothing, "nothing of a project is read, nothing built"),
    left_out(&["--managed-python", "--no-managed-python", "--no-python-downloads"], Nothing, "the runtime image has its Python"),
    left_out(&["--python-preference"], Value, "the runtime image has its Python"),
    left_out(&["--link-mode"], Value, "how uv copies files"),
    left_out(&["--compile-bytecode"], Nothing, "it is compiled when it is installed"),
    left_out(&["--system-certs", "--native-tls"], Nothing, "cages trust what this machine does"),
    means(&["-w", "--with"], Meaning::With, "a package beside it"),
    means(&["-p", "--python"], Meaning::Python, "the Python to use"),
    refused(&["--index", "--default-index", "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index-strategy"], Value,
        "it moves where packages come from", OWN_INDEX),
    refused(&["--no-index", "--offline"], Nothing, "it moves where packages come from", LEAVE_OUT),
    refused(&["--keyring-provider", "--allow-insecure-host"], Value, "it decides whom uv asks and trusts", OWN_INDEX),
    refused(&["--config-file"], Value, "it reads another configuration", OWN_INDEX),
    refused(&["--with-editable"], Value, "it runs a folder of this disk", BUILD_IT),
    refused(&["--with-requirements", "-c", "--constraints", "-b", "--build-constraints", "--overrides", "--override"], Value,
        "it reads a file of this disk", "name each package by `--with`"),
    refused(&["--env-file"], Value, "it reads a file of variables", GIVE_VARIABLES),
    refused(&["--directory", "--project"], Value, "it is about a project on this disk", BUILD_IT),
    refused(&["--python-platform", "--torch-backend"], Value, "it installs for another machine", LEAVE_OUT),
    refused(&["--resolution", "--prerelease", "--prerelease-package", "--fork-strategy", "--exclude-newer-package"], Value,
        "it changes which versions are chosen", "write versions: `NAME==VERSION`, `--with NAME==VERSION`"),
    refused(&["--exclude-newer"], Value, "it chooses versions by date, which is not carried yet", "write versions: `NAME==VERSION`"),
    refused(&["--no-build-isolation", "--no-binary", "--lfs"], Nothing, "it builds from source", "leave it out; what has no wheel is built with `--allow-build`"),
    refused(&["-C", "--config-setting", "--config-settings", "--no-binary-package", "--no-build-isolation-package"], Value,
        "it builds from source", "leave it out; what has no wheel is built with `--allow-build`"),
    refused(&["-h", "--help", "-V", "--version"], Nothing, "it prints something and starts no server", LEAVE_OUT),
];

#[rustfmt::skip]
const UVX: &[Flag] = &[means(&["--from"], Meaning::Package, "the package that has the program")];

#[rustfmt::skip]
const UV_RUN: &[Flag] = &[
    left_out(&["--no-project"], Nothing, "no project is read anyway"),
    left_out(&["--exact"], Nothing, "nothing else is installed anyway"),
    means(&["-m", "--module"], Meaning::Module, "the module to run"),
    refused(&["-s", "--script", "--gui-script"], Nothing, "it runs a file of this disk", BUILD_IT),
    refused(&["--package", "--extra", "--no-extra", "--group", "--no-group", "--only-group"], Value, "it is about a project on this disk", BUILD_IT),
    refused(&["--all-extras", "--all-groups", "--all-packages", "--no-dev", "--dev", "--only-dev", "--no-default-groups",
        "--active", "--frozen", "--locked", "--no-sync", "--no-editable"], Nothing, "it is about a project on this disk", BUILD_IT),
];

#[rustfmt::skip]
const PIPX: &[Flag] = &[
    left_out(&["-q", "--quiet", "-v", "--verbose", "--no-path-check", "--skip-maintenance"], Nothing, "what pipx prints and looks after"),
    left_out(&["--no-cache", "--refresh"], Nothing, "when pipx asks its cache"),
    left_out(&["--fetch-missing-python"], Nothing, "the runtime image has its Python"),
    left_out(&["--fetch-python", "--backend"], Value, "how pipx installs"),
    means(&["--spec"], Meaning::Package, "the package that has the program"),
    means(&["--with"], Meaning::With, "a package beside it"),
    means(&["--python"], Meaning::Python, "the Python to use"),
    refused(&["-i", "--index-url", "--pip-args"], Value, "it moves where packages come from", OWN_INDEX),
    refused(&["--python-args"], Value, "it steers the Python that runs the server", LEAVE_OUT),
    refused(&["--path", "--pypackages", "-e", "--editable"], Nothing, "it runs what lies on this disk", BUILD_IT),
    refused(&["--system-site-packages", "--global"], Nothing, "it runs what is installed on this machine", LEAVE_OUT),
    refused(&["--cooldown"], Value, "it chooses versions by date, which is not carried yet", "write versions: `NAME==VERSION`"),
    refused(&["-h", "--help"], Nothing, "it prints something and starts no server", LEAVE_OUT),
];

#[rustfmt::skip]
const PYTHON: &[Flag] = &[
    left_out(&["-u"], Nothing, "streams are not buffered in a cage"),
    left_out(&["-B", "-I", "-E", "-s", "-P"], Nothing, "nothing of the environment or the folder is read in a cage"),
    left_out(&["-q", "-b", "-bb"], Nothing, "what Python prints"),
    left_out(&["-W"], Value, "which warnings Python prints"),
    means(&["-m"], Meaning::Module, "the module to run"),
    refused(&["-c"], Value, "it runs a text", "mount the server's package: `pypi:NAME`"),
    refused(&["-i"], Nothing, "it opens a prompt", LEAVE_OUT),
    refused(&["-X"], Value, "it steers the interpreter", LEAVE_OUT),
    refused(&["-O", "-OO", "-S", "-x", "-d", "-R"], Nothing, "it changes how the server's code is run", LEAVE_OUT),
    refused(&["--check-hash-based-pycs"], Value, "it steers the interpreter", LEAVE_OUT),
    refused(&["-h", "--help", "-?", "-V", "--version", "-VV"], Attached, "it prints something and starts no server", LEAVE_OUT),
];

const UVX_RUNNER: Runner = Runner { name: "uvx", tables: &[UVX, UV], clusters: true };
const UV_RUNNER: Runner = Runner { name: "uv", tables: &[UV], clusters: true };
const UV_RUN_RUNNER: Runner = Runner { name: "uv run", tables: &[UV_RUN, UV], clusters: true };
const PIPX_RUNNER: Runner = Runner { name: "pipx run", tables: &[PIPX], clusters: true };
const PYTHON_RUNNER: Runner = Runner { name: "python", tables: &[PYTHON], clusters: true };

#[cfg(test)]
pub(super) const RUNNERS: &[Runner] = &[UVX_RUNNER, UV_RUNNER, UV_RUN_RUNNER, PIPX_RUNNER, PYTHON_RUNNER];

/// What the flags of a line said.
#[derive(Default)]
struct Said {
    package: Option<String>,
    with: Vec<Requirement>,
    python: Option<PythonMinor>,
    module: Option<String>,
}

impl Said {
    /// Reads flags up to the first word, which it gives; `--` only ends the flags.
    fn read<'a>(
        line: &mut Line<'a>,
        runner: &Runner,
        said: &mut Self,
    ) -> Result<Option<&'a str>, LineRefused> {
        loop {
            match line.next(runner)? {
                Next::Means(Meaning::Package, value) if said.package.is_some() => {
                    let packages =
                        Shown::new(&format!("{}, {value}", said.package.take().unwrap_or_default()));
                    return Err(LineRefused::Several { runner: runner.name, packages });
                }
                Next::Means(Meaning::Package, value) => said.package = Some(value),
                Next::Means(Meaning::With, value) => {
                    for one in requirements(&value) {
                        said.with.push(requirement(&one)?);
                    }
                }
                Next::Means(Meaning::Python, value) => said.python = Some(minor(runner, &value)?),
                Next::Means(Meaning::Module, value) => {
                    said.module = Some(value);
                    return Ok(None);
                }
                Next::Means(Meaning::Variable, _) => {}
                Next::Word(word) => return Ok(Some(&word.text)),
                Next::Dashes => return Ok(line.word().map(|word| word.text.as_str())),
                Next::End => return Ok(None),
            }
        }
    }

    fn launch(self, spec: PypiSpec, program: ProgramChoice, line: &mut Line<'_>) -> Read {
        let read = Read::new(Spec::Pypi(spec), line.rest());
        Read { program: Some(program), with: self.with, python: self.python, ..read }
    }
}

/// `uvx` and `uv tool run`.
pub(super) fn uvx(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    uvx_with(line, Said::default())
}

fn uvx_with(line: &mut Line<'_>, mut said: Said) -> Result<Read, LineRefused> {
    let runner = &UVX_RUNNER;
    let Some(word) = Said::read(line, runner, &mut said)? else {
        return Err(incomplete(runner, "a package"));
    };
    if is_python(word) {
        let minor = said.python.or(minor_of(word));
        let module = module_after(line, runner)?;
        let spec = match said.package.take() {
            Some(package) => package_of(&package)?,
            None => chosen_of(&mut said.with, &module, runner)?,
        };
        return Ok(Said { python: minor, ..said }.launch(spec, ProgramChoice::Module(module), line));
    }
    // uv takes such a word for an interpreter to run.
    if word.starts_with("python@") {
        return Err(no_runner(&format!("uvx {word}")));
    }
    let (spec, program) = match said.package.take() {
        Some(package) => (package_of(&package)?, program_name(word)?),
        None => named_alike(word)?,
    };
    Ok(said.launch(spec, program, line))
}

/// A package, and its program of the same name as it is written, before extras and version.
fn named_alike(word: &str) -> Result<(PypiSpec, ProgramChoice), LineRefused> {
    let name = word.split(['[', '=', '@', '<', '>', '~', '!', ' ']).next().unwrap_or(word);
    Ok((package_of(word)?, program_name(name)?))
}

/// `uv tool run` and `uv run`.
pub(super) fn uv(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    let mut said = Said::default();
    let command = Said::read(line, &UV_RUNNER, &mut said)?;
    match command {
        Some("run") => uv_run(line, said),
        Some("tool") => match Said::read(line, &UV_RUNNER, &mut said)? {
            Some("run" | "uvx") => uvx_with(line, said),
            Some(other) => Err(no_runner(&format!("uv tool {other}"))),
            None => Err(incomplete(&UV_RUNNER, "what to do: `run` or `tool run`")),
        },
        Some(other) => Err(no_runner(&format!("uv {other}"))),
        None => Err(incomplete(&UV_RUNNER, "what to do: `run` or `tool run`")),
    }
}

fn uv_run(line: &mut Line<'_>, mut said: Said) -> Result<Read, LineRefused> {
    let runner = &UV_RUN_RUNNER;
    let word = Said::read(line, runner, &mut said)?;
    let module = match (said.module.take(), word) {
        (Some(module), _) => Some(module_name(&module)?),
        (None, Some(word)) if is_python(word) && !said.with.is_empty() => {
            said.python = said.python.or(minor_of(word));
            Some(module_after(line, runner)?)
        }
        (None, Some(_)) => None,
        (None, None) => return Err(incomplete(runner, "a command")),
    };
    if said.with.is_empty() || word.is_some_and(is_a_file) {
        let word = word.or(module.as_deref()).unwrap_or_default();
        return Err(LineRefused::Elsewhere {
            word: Shown::new(&format!("uv run {word}")),
            what: "a program of a project on this disk",
            instead: BUILD_IT,
        });
    }
    if let Some(module) = module {
        let spec = chosen_of(&mut said.with, &module, runner)?;
        return Ok(said.launch(spec, ProgramChoice::Module(module), line));
    }
    let command = word.unwrap_or_default();
    let program = program_name(command)?;
    let spec = chosen_of(&mut said.with, command, runner)?;
    Ok(said.launch(spec, program, line))
}

/// `pipx run`.
pub(super) fn pipx(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    let runner = &PIPX_RUNNER;
    let mut said = Said::default();
    match Said::read(line, runner, &mut said)? {
        Some("run") => {}
        Some(other) => return Err(no_runner(&format!("pipx {other}"))),
        None => return Err(incomplete(runner, "`run`")),
    }
    let Some(word) = Said::read(line, runner, &mut said)? else {
        return Err(incomplete(runner, "a package"));
    };
    let (spec, program) = match said.package.take() {
        Some(package) => (package_of(&package)?, program_name(word)?),
        None if is_a_file(word) => return Err(elsewhere(word, "a file of this disk")),
        None => named_alike(word)?,
    };
    Ok(said.launch(spec, program, line))
}

/// `python -m MODULE`; `program` is how it was called.
pub(super) fn python(program: &str, line: &mut Line<'_>) -> Result<Read, LineRefused> {
    let runner = &PYTHON_RUNNER;
    let mut said = Said { python: minor_of(program), ..Said::default() };
    let word = Said::read(line, runner, &mut said)?;
    let Some(module) = said.module.take() else {
        return Err(match word {
            Some("-") | None => LineRefused::Program {
                program: Shown::new(program),
                why: "it names no module",
                instead: "mount the server's package: `pypi:NAME`",
            },
            Some(file) => elsewhere(file, "a file of this disk"),
        });
    };
    let module = module_name(&module)?;
    let name: PypiName = module.parse().map_err(|_| bad_module(&module))?;
    line.note(format_args!(
        "the module {module} is taken for one of the package {name}; if another package has it, mount that by `pypi:NAME`"
    ));
    let spec = package_of(name.as_str())?;
    Ok(said.launch(spec, ProgramChoice::Module(module), line))
}

/// Whether a word is called as Python is: `python`, `python3`, `python3.11`.
pub(super) fn is_python(word: &str) -> bool {
    word.strip_prefix("python").is_some_and(|version| {
        version.is_empty() || version == "3" || version.strip_prefix("3.").is_some_and(digits)
    })
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn minor_of(python: &str) -> Option<PythonMinor> {
    python.strip_prefix("python")?.parse().ok()
}

/// `-m MODULE`, after a word that is Python.
fn module_after(line: &mut Line<'_>, runner: &Runner) -> Result<String, LineRefused> {
    let mut said = Said::default();
    let word = Said::read(line, &PYTHON_RUNNER, &mut said)?;
    match (said.module, word) {
        (Some(module), _) => module_name(&module),
        (None, Some(file)) => Err(elsewhere(file, "a file of this disk")),
        (None, None) => Err(incomplete(runner, "a module: `-m MODULE`")),
    }
}

fn module_name(text: &str) -> Result<String, LineRefused> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let good = text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(plain);
    if good { Ok(text.to_owned()) } else { Err(bad_module(text)) }
}

fn bad_module(text: &str) -> LineRefused {
    let what = if text.contains('.') { "a module inside a package" } else { "no module's name" };
    LineRefused::Elsewhere {
        word: Shown::new(text),
        what,
        instead: "mount the package it belongs to: `pypi:NAME`, and its program by `--bin`",
    }
}

/// Whether a command is a file rather than a program of a package.
fn is_a_file(word: &str) -> bool {
    let name = word.to_ascii_lowercase();
    word.contains(['/', '\\']) || name.ends_with(".py") || name.ends_with(".pyz") || name.ends_with(".pyw")
}

/// Of several packages the one whose program or module this is: the only one, or the one that bears the name.
fn chosen_of(with: &mut Vec<Requirement>, name: &str, runner: &Runner) -> Result<PypiSpec, LineRefused> {
    let bears = |one: &Requirement| name.parse().is_ok_and(|name: PypiName| name == *one.name());
    let at = match with.as_slice() {
        [] => return Err(incomplete(runner, "a package: `--with NAME`")),
        [_] => 0,
        several => several.iter().position(bears).ok_or_else(|| LineRefused::Several {
            runner: runner.name,
            packages: Shown::new(&several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        })?,
    };
    Ok(PypiSpec::from(with.remove(at)))
}

/// The requirements of one `--with`, which uv lets commas join. A comma before a comparison or inside brackets
/// belongs to the requirement itself.
fn requirements(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split(',') {
        match all.last_mut() {
            Some(last)
                if last.matches('[').count() > last.matches(']').count()
                    || part.trim_start().starts_with(['<', '>', '=', '!', '~']) =>
            {
                last.push(',');
                last.push_str(part);
            }
            _ => all.push(part.to_owned()),
        }
    }
    all
}

fn requirement(text: &str) -> Result<Requirement, LineRefused> {
    // uv takes `name@1.2` here too; a requirement says it by `==`.
    Ok(package_of(text.trim())?.into())
}

/// How words begin that uv and pipx take from elsewhere than an index.
const ELSEWHERE: &[(&str, &str)] = &[
    ("git+", "a git repository"),
    ("git:", "a git repository"),
    ("git@", "a git repository"),
    ("ssh:", "a git repository"),
    ("hg+", "a repository"),
    ("svn+", "a repository"),
    ("bzr+", "a repository"),
    ("https:", "a file or repository at an address"),
    ("http:", "a file or repository at an address"),
    ("file:", "a path of this disk"),
    (".", "a path of this disk"),
    ("/", "a path of this disk"),
    ("~", "a path of this disk"),
    ("-e", "a path of this disk"),
];

/// The package a word stands for.
fn package_of(word: &str) -> Result<PypiSpec, LineRefused> {
    let begins =
        |text: &str| ELSEWHERE.iter().find(|(begins, _)| text.starts_with(begins)).map(|(_, what)| *what);
    // `name @ URL` (PEP 508) installs what is there, whatever the name.
    let source = word.split_once('@').map(|(_, source)| source.trim_start());
    let what = begins(word).or_else(|| source.and_then(begins)).or_else(|| {
        let name = word.to_ascii_lowercase();
        (name.ends_with(".whl") || name.ends_with(".tar.gz") || word.contains('/'))
            .then_some("a path of this disk")
    });
    match what {
        Some(what) => Err(elsewhere(word, what)),
        None => word.parse().map_err(|error| LineRefused::Package(Box::new(error))),
    }
}

fn elsewhere(word: &str, what: &'static str) -> LineRefused {
    let instead = match what {
        "a path of this disk" => {
            "mount a wheel by `path:FILE.whl`; of a folder, build one first: `uv build --wheel`"
        }
        "a file of this disk" => BUILD_IT,
        "a file or repository at an address" => {
            "look whether it is on the index (`pypi:NAME`); or download its wheel, and mount `path:FILE.whl`"
        }
        _ => {
            "look whether it is on the index (`pypi:NAME`); or clone it, build a wheel (`uv build --wheel`), and mount `path:FILE.whl`"
        }
    };
    LineRefused::Elsewhere { word: Shown::new(word), what, instead }
}

/// A minor version out of what uv and pipx take for a Python.
fn minor(runner: &Runner, text: &str) -> Result<PythonMinor, LineRefused> {
    let version = text.strip_prefix("cpython").or(text.strip_prefix("python")).unwrap_or(text);
    let version = version.trim_start_matches(['@', '-']);
    version.parse().map_err(|_| LineRefused::Python { runner: runner.name, asked: Shown::new(text) })
}

fn no_runner(program: &str) -> LineRefused {
    LineRefused::Program {
        program: Shown::new(program),
        why: "it installs or shows something and starts no server",
        instead: "mount the server's package: `pypi:NAME`",
    }
}

fn incomplete(runner: &Runner, wanted: &str) -> LineRefused {
    LineRefused::Incomplete { runner: runner.name, wanted: Shown::new(wanted) }
}
