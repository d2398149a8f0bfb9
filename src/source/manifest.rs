//! What does a package say of itself?
//!
//! A `package.json`, or the copy of it in a registry's document, written by whoever published the package. Facts
//! are read leniently, since a number where a text belongs is no reason to refuse a server; the programs it offers
//! are read strictly, since one of them is what will be started.

use serde_json::Value;

use super::SourceError;
use super::name::{NpmName, NpmVersion};
use super::release::{Bin, Facts, Manifest};
use crate::text::Shown;

/// The most programs a package may offer.
const BINS: usize = 256;
/// The longest name of a program and the longest path to it.
const BIN_NAME_BYTES: usize = 214;
const BIN_FILE_BYTES: usize = 1_024;
/// The longest text that is kept of a fact; the screen and the card have limits of their own.
const FACT_CHARS: usize = 64_000;
/// The scripts npm runs when it installs a package from a registry.
const INSTALL_SCRIPTS: [&str; 3] = ["preinstall", "install", "postinstall"];

impl Manifest {
    /// Reads a manifest of the package `name`.
    pub(super) fn read(name: &NpmName, version: &NpmVersion, json: &Value) -> Result<Self, SourceError> {
        let bins = bins(name, json.get("bin"))
            .map_err(|why| SourceError::Bin { package: Shown::new(&format!("{name}@{version}")), why })?;
        let facts = Facts {
            description: text(json.get("description")),
            license: text(json.get("license")).or(text(json.pointer("/license/type"))),
            repository: text(json.pointer("/repository/url")).or(text(json.get("repository"))),
            mcp_name: text(json.get("mcpName")),
            engines_node: text(json.pointer("/engines/node")),
            install_scripts: install_scripts(json),
            ..Facts::default()
        };
        Ok(Self { bins, facts })
    }
}

/// A text made safe to draw; nothing where there is none.
pub(super) fn text(value: Option<&Value>) -> Option<Shown> {
    let text = value?.as_str().filter(|text| !text.trim().is_empty())?;
    Some(Shown::new(&text.chars().take(FACT_CHARS).collect::<String>()))
}

fn install_scripts(json: &Value) -> Vec<(&'static str, Shown)> {
    let command = |name: &'static str| Some((name, text(json.get("scripts")?.get(name))?));
    let mut scripts: Vec<_> = INSTALL_SCRIPTS.into_iter().filter_map(command).collect();
    // npm builds a package with a `binding.gyp` unless it has a script of its own for that.
    if json.get("gypfile") == Some(&Value::Bool(true))
        && !scripts.iter().any(|(name, _)| *name != "postinstall")
    {
        scripts.push(("install", Shown::new("node-gyp rebuild")));
    }
    scripts
}

fn bins(package: &NpmName, bin: Option<&Value>) -> Result<Vec<Bin>, Shown> {
    let entries: Vec<(&str, &str)> = match bin {
        // A lone path is a program that bears the package's name.
        Some(Value::String(file)) => vec![(package.unscoped(), file)],
        // npm drops what is not a text.
        Some(Value::Object(map)) => {
            map.iter().filter_map(|(name, file)| Some((name.as_str(), file.as_str()?))).collect()
        }
        _ => Vec::new(),
    };
    if entries.len() > BINS {
        return Err(Shown::new(&format!("it offers more than {BINS} programs")));
    }
    let mut bins = Vec::with_capacity(entries.len());
    for (name, file) in entries.into_iter().filter(|(_, file)| !file.is_empty()) {
        let name = bin_name(name).ok_or_else(|| Shown::new(&format!("`{name}` is no name for a program")))?;
        let file = bin_file(file)
            .ok_or_else(|| Shown::new(&format!("`{file}` is no path inside the package's folder")))?;
        if bins.iter().any(|known: &Bin| known.name == name) {
            return Err(Shown::new(&format!("two of its programs are called `{name}`")));
        }
        bins.push(Bin { name: name.to_owned(), file });
    }
    bins.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(bins)
}

/// npm keeps the last part of a name such as `@scope/tool`.
fn bin_name(text: &str) -> Option<&str> {
    let name = match text.split_once('/') {
        Some((scope, name)) if super::name::is_scope(scope) => name,
        Some(_) => return None,
        None => text,
    };
    let good = name.len() <= BIN_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    good.then_some(name)
}

fn bin_file(text: &str) -> Option<String> {
    if text.len() > BIN_FILE_BYTES
        || text.starts_with('/')
        || text.contains(['\\', ':'])
        || text.contains(char::is_control)
    {
        return None;
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() || parts.contains(&"..") {
        return None;
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: Value) -> Result<Manifest, SourceError> {
        Manifest::read(&"@s/a".parse().unwrap(), &"1.0.0".parse().unwrap(), &json)
    }

    fn offered(bin: Value) -> Vec<(String, String)> {
        let manifest = read(json!({ "bin": bin })).unwrap();
        manifest.bins.into_iter().map(|bin| (bin.name, bin.file)).collect()
    }

    #[test]
    fn accepts_the_ways_programs_are_written() {
        let one = |name: &str, file: &str| vec![(name.to_owned(), file.to_owned())];
        assert_eq!(offered(json!("./cli.js")), one("a", "cli.js"));
        assert_eq!(offered(json!({ "tool": "dist//./cli.js" })), one("tool", "dist/cli.js"));
        assert_eq!(offered(json!({ "@s/tool": "cli" })), one("tool", "cli"));
        assert_eq!(offered(json!({ "tool": 1, "other": "" })), []);
        assert_eq!(offered(json!(["cli.js"])), []);
        assert_eq!(offered(Value::Null), []);
    }

    #[test]
    fn refuses_a_program_outside_its_package() {
        for file in ["../x", "a/../../x", "/bin/sh", "..", ".", "a\\b", "C:x", "a\0b", "a\nb", "\u{9b}x"] {
            assert!(matches!(read(json!({ "bin": file })), Err(SourceError::Bin { .. })), "{file:?}");
        }
    }

    #[test]
    fn refuses_a_program_whose_name_means_something_elsewhere() {
        for name in ["../x", "a/b", "@s/../x", "-x", ".x", "", "a b", "a;b", "a\nb", "é", "@s/"] {
            assert!(
                matches!(read(json!({ "bin": { name: "x.js" } })), Err(SourceError::Bin { .. })),
                "{name:?}"
            );
        }
        assert!(matches!(
            read(json!({ "bin": { "@s/x": "a.js", "x": "b.js" } })),
            Err(SourceError::Bin { .. })
        ));
    }

    #[test]
    fn facts_of_the_wrong_shape_are_left_out() {
        let manifest = read(json!({
            "description": 7, "license": ["MIT"], "repository": true, "engines": "node", "scripts": ["install"],
            "mcpName": {},
        }))
        .unwrap();
        assert_eq!(manifest.facts, Facts::default());
    }

    #[test]
    fn names_the_scripts_that_are_not_run() {
        let scripts = |json: Value| -> Vec<_> {
            read(json)
                .unwrap()
                .facts
                .install_scripts
                .into_iter()
                .map(|(name, cmd)| format!("{name}: {cmd}"))
                .collect()
        };
        let json = json!({ "scripts": { "postinstall": "node x", "test": "t", "preinstall": "\u{1b}[2Jx" } });
        assert_eq!(scripts(json), ["preinstall:  [2Jx", "postinstall: node x"]);
        assert_eq!(scripts(json!({ "gypfile": true })), ["install: node-gyp rebuild"]);
        assert_eq!(scripts(json!({ "gypfile": true, "scripts": { "install": "x" } })), ["install: x"]);
        assert!(scripts(json!({ "scripts": { "prepare": "x" } })).is_empty());
    }
}
