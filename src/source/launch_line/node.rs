//! Which package does `node FILE` run?
//!
//! The one whose folder the file lies in: the nearest folder above it with a `package.json`. It is packed and
//! installed like any other folder (`path:DIR`), and the file is its program. Source: the Node.js documentation,
//! "Command-line API" and "Packages".

use std::path::{Component, Path, PathBuf};

use super::flags::{Flag, Line, Next, Runner, Takes, left_out, noted, refused};
use super::{LineRefused, ProgramChoice, Read};
use crate::source::spec::{PathSpec, Spec};
use crate::text::Shown;
use Takes::{Attached, Nothing, Value};

const LOADS: &str = "it loads code into the server";
const LEAVE_OUT: &str = "leave it out";

#[rustfmt::skip]
const NODE: &[Flag] = &[
    left_out(&["--no-warnings", "--no-deprecation", "--trace-warnings", "--trace-deprecation", "--trace-uncaught", "--pending-deprecation"],
        Nothing, "what Node prints"),
    left_out(&["--disable-warning"], Value, "what Node prints"),
    noted(&["--enable-source-maps"], Nothing, "how Node writes stack traces", "it changes only how errors are printed"),
    noted(&["--max-old-space-size", "--max_old_space_size", "--max-semi-space-size", "--stack-size"], Attached, "Node's share of memory",
        "memory is the plan's, by `--memory`"),
    refused(&["-r", "--require", "--import", "--loader", "--experimental-loader"], Value, LOADS,
        "leave it out, or let the file itself load what it needs"),
    refused(&["-e", "--eval", "-p", "--print", "-pe"], Value, "it runs a text", "put the text into a file of a package"),
    refused(&["-i", "--interactive", "-c", "--check", "--test", "--watch"], Nothing, "it starts no server", LEAVE_OUT),
    refused(&["--watch-path"], Value, "it runs the server again and again", LEAVE_OUT),
    refused(&["--run"], Value, "it runs a script of a project", "mount the project's folder: `path:DIR`"),
    refused(&["--inspect", "--inspect-brk", "--inspect-wait", "--inspect-port", "--debug-port", "--inspect-publish-uid"], Attached,
        "it opens the server to a debugger", LEAVE_OUT),
    refused(&["--env-file", "--env-file-if-exists"], Value, "it reads a file of variables", "give each by `--env NAME` or `--env NAME=VALUE`"),
    refused(&["-C", "--conditions", "--input-type", "--experimental-default-type", "--experimental-config-file", "--experimental-default-config-file"],
        Value, "it changes which code is loaded", LEAVE_OUT),
    refused(&["--preserve-symlinks", "--preserve-symlinks-main", "--experimental-strip-types", "--experimental-transform-types"],
        Nothing, "it changes which code is loaded", "leave it out; a server in TypeScript is built first"),
    refused(&["--permission", "--experimental-permission", "--allow-fs-read", "--allow-fs-write", "--allow-child-process",
        "--allow-worker", "--allow-addons", "--allow-wasi"], Attached, "Node's own permissions, which are no boundary against a server",
        "leave it out: the cage is the boundary"),
    refused(&["--use-openssl-ca", "--use-bundled-ca", "--use-system-ca", "--openssl-config", "--tls-keylog", "--openssl-legacy-provider"],
        Attached, "it decides whom the server trusts", "leave it out: a cage trusts what this machine does"),
    refused(&["-v", "--version", "-h", "--help", "--v8-options"], Nothing, "it prints something and starts no server", LEAVE_OUT),
];

const RUNNER: Runner = Runner { name: "node", tables: &[NODE], clusters: false };

#[cfg(test)]
pub(super) const RUNNERS: &[Runner] = &[RUNNER];

pub(super) fn node(line: &mut Line<'_>) -> Result<Read, LineRefused> {
    let file = match line.next(&RUNNER)? {
        Next::Word(word) if word.text != "-" => word.text.clone(),
        Next::Dashes => line.word().map(|word| word.text.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    if file.is_empty() {
        return Err(LineRefused::Incomplete { runner: "node", wanted: Shown::new("a file") });
    }
    let (folder, inside) = package_of(&file)?;
    let spec = Spec::Path(PathSpec::from(folder));
    Ok(Read { program: Some(ProgramChoice::File(inside)), ..Read::new(spec, line.rest()) })
}

const BUILD_IT: &str = "build it first, and give the JavaScript that comes of it";

/// The folder of the package a file belongs to, and the file's path inside it.
fn package_of(file: &str) -> Result<(PathBuf, String), LineRefused> {
    let refused =
        |why: &str, instead| LineRefused::File { file: Shown::new(file), why: Shown::new(why), instead };
    if file.contains(char::is_control) {
        return Err(refused("its name holds a control character", LEAVE_OUT));
    }
    let lower = file.to_ascii_lowercase();
    if [".ts", ".mts", ".cts", ".tsx"].iter().any(|end| lower.ends_with(end)) {
        return Err(refused(
            "it is TypeScript, which Node does not run out of an installed package",
            BUILD_IT,
        ));
    }
    let path = std::path::absolute(file).map_err(|error| refused(&error.to_string(), LEAVE_OUT))?;
    let metadata = std::fs::metadata(&path).map_err(|error| {
        refused(&error.to_string(), "check the path; a server that is built from source is built first")
    })?;
    if metadata.is_dir() {
        return Err(refused("it is a folder", "mount it: `path:DIR`"));
    }
    // `..` is taken out by reading the disk, since a folder above a link is another one than the text says.
    let path = match path.components().any(|part| part == Component::ParentDir) {
        true => path.canonicalize().map_err(|error| refused(&error.to_string(), LEAVE_OUT))?,
        false => path,
    };
    let folder =
        path.ancestors().skip(1).find(|folder| folder.join("package.json").is_file()).ok_or_else(|| {
            refused(
                "no folder above it holds a package.json, so it is no part of a package",
                "write a package.json beside it (`npm init -y`), with what it needs as dependencies",
            )
        })?;
    let inside = path
        .strip_prefix(folder)
        .ok()
        .and_then(Path::to_str)
        .ok_or_else(|| refused("its name is no UTF-8", "give it another name"))?;
    if Path::new(inside).components().any(|part| part.as_os_str() == "node_modules") {
        return Err(refused(
            "it belongs to a package that is installed there",
            "mount that package: `npm:NAME`",
        ));
    }
    Ok((folder.to_owned(), inside.to_owned()))
}
