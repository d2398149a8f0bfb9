//! Which npm registry is the user's?
//!
//! The one their own npm is set to, so that look-up, install and a mirror behind a firewall agree. Read at user and
//! system level only (`config.toml`, `npm_config_*` variables, `~/.npmrc`, npm's global `npmrc`): a file of the
//! current directory is never read, since a hostile repository could plant one. Where the user set none, the npm of
//! the runtime image knows its own; no registry's address is written down in this code.
//!
//! Precedence is npm's: variables, then the user's file, then the global one; `config.toml` is Pinfold's own word
//! and replaces all of it, scopes included. What is set and cannot be read refuses, or look-up and the user's npm
//! would silently part ways.
//!
//! Credentials in these files are not carried. Only for which hosts there are any is remembered, so that a registry
//! that asks for one can be explained; the values are dropped as they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::SourceError;
use super::name::{NpmName, is_scope};
use super::registry::{Found, Registry};
use crate::state::read_plain;
use crate::text::Shown;

/// The largest configuration file that is read.
const FILE_BYTES: u64 = 1 << 20;

/// What is known of the user and their machine; gathered by [`Surroundings::of_process`], made up in tests.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `[npm] registry` of `config.toml`.
    pub config: Option<String>,
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory npm is installed under (`/usr` for `/usr/bin/node`).
    pub prefix: Option<PathBuf>,
    /// System-wide configuration files besides the prefix's own.
    pub system: Vec<PathBuf>,
}

impl Surroundings {
    /// Those of this process; `config` is `[npm] registry` of `config.toml`.
    pub fn of_process(config: Option<String>) -> Self {
        Self {
            config,
            variables: variables_of_process(),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            prefix: prefix_of_node(),
            system: vec![PathBuf::from("/etc/npmrc")],
        }
    }
}

/// The variables of this process that are text.
pub(super) fn variables_of_process() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// npm's default prefix: two levels above the real `node`.
fn prefix_of_node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let node = std::env::split_paths(&path)
        // A relative entry of PATH would be a file of the current directory.
        .filter(|dir| dir.is_absolute())
        .find_map(|dir| dir.join("node").canonicalize().ok())?;
    Some(node.parent()?.parent()?.to_owned())
}

/// The user's npm configuration, as far as it says where packages come from.
#[derive(Debug, Clone)]
pub struct NpmConfig {
    registry: Option<Registry>,
    scopes: BTreeMap<String, Registry>,
    credentials: BTreeSet<String>,
}

impl NpmConfig {
    /// Reads the user's configuration.
    ///
    /// # Errors
    /// A file that exists cannot be read, is larger than 1 MiB, or names a registry that is no `https` or `http`
    /// address.
    pub fn read(around: &Surroundings) -> Result<Self, SourceError> {
        let variables = npm_variables(&around.variables);
        let variable = |name: &str| variables.get(name).map(|(_, value)| value.as_str());

        let user_file = match variable("userconfig") {
            Some(path) => Some(absolute(path, "npm_config_userconfig")?),
            None => around.home.as_ref().map(|home| home.join(".npmrc")),
        };
        let user = user_file.map(|path| Layer::file(path, &around.variables)).transpose()?.flatten();

        let prefix = variable("prefix")
            .or(user.as_ref().and_then(|layer| layer.get("prefix")))
            .or(around.variables.get("PREFIX").map(String::as_str))
            .map(|path| absolute(path, "npm's prefix"))
            .transpose()?
            .or(around.prefix.clone());
        let global_file = match variable("globalconfig") {
            Some(path) => Some(absolute(path, "npm_config_globalconfig")?),
            None => prefix.map(|prefix| prefix.join("etc/npmrc")),
        };

        let mut layers: Vec<Layer> = variables.into_values().map(|(name, value)| name.layer(value)).collect();
        layers.extend(user);
        for path in global_file.into_iter().chain(around.system.iter().cloned()) {
            layers.extend(Layer::file(path, &around.variables)?);
        }

        let mut read = Self { registry: None, scopes: BTreeMap::new(), credentials: BTreeSet::new() };
        for layer in &layers {
            for (key, value) in &layer.values {
                read.note(key, value, &layer.found)?;
            }
        }
        if let Some(config) = &around.config {
            read.registry = Some(Registry::read(config, Found::Config)?);
            read.scopes.clear();
        }
        Ok(read)
    }

    /// Whether the runtime image's npm has to be asked for its own default.
    pub fn needs_client_default(&self) -> bool {
        self.registry.is_none()
    }

    /// The registries to use; `client_default` is the address built into the runtime image's npm, used where the
    /// user set none.
    ///
    /// # Errors
    /// The address is needed and is not an `https` or `http` one.
    pub fn registries(self, client_default: Option<&str>) -> Result<Registries, SourceError> {
        let main = match (self.registry, client_default) {
            (Some(registry), _) => registry,
            (None, Some(text)) => Registry::read(text, Found::Client)?,
            (None, None) => {
                let why = Shown::new("no registry is set, and the runtime image does not tell npm's own");
                return Err(SourceError::Config { place: Shown::new("npm's configuration"), why });
            }
        };
        Ok(Registries { main, scopes: self.scopes, credentials: self.credentials })
    }

    /// Layers come in order of precedence, so the first word on a matter stands.
    fn note(&mut self, key: &str, value: &str, found: &Found) -> Result<(), SourceError> {
        if key == "registry" {
            if self.registry.is_none() {
                self.registry = Some(Registry::read(value, found.clone())?);
            }
        } else if let Some(scope) = key.strip_suffix(":registry") {
            if is_scope(scope) && !self.scopes.contains_key(scope) {
                self.scopes.insert(scope.to_owned(), Registry::read(value, found.clone())?);
            }
        } else if let Some((place, _)) = key
            .rsplit_once(':')
            .filter(|(_, what)| matches!(*what, "_authToken" | "_auth" | "_password" | "certfile"))
        {
            self.credentials.insert(place.to_owned());
        }
        Ok(())
    }
}

/// The registries packages come from: one, and others for some scopes.
#[derive(Debug, Clone)]
pub struct Registries {
    main: Registry,
    scopes: BTreeMap<String, Registry>,
    credentials: BTreeSet<String>,
}

impl Registries {
    /// The registry a package comes from.
    pub fn of(&self, name: &NpmName) -> &Registry {
        name.scope().and_then(|scope| self.scopes.get(scope)).unwrap_or(&self.main)
    }

    /// The registry of packages whose scope has none of its own.
    pub fn main(&self) -> &Registry {
        &self.main
    }

    /// The scopes that have a registry of their own, `@` included.
    pub fn scopes(&self) -> impl Iterator<Item = (&str, &Registry)> {
        self.scopes.iter().map(|(scope, registry)| (scope.as_str(), registry))
    }

    /// Every registry, the main one first: what a resolve or install cage may reach.
    pub fn all(&self) -> Vec<&Registry> {
        let mut all: Vec<&Registry> = vec![&self.main];
        for registry in self.scopes.values() {
            if !all.iter().any(|known| known.url() == registry.url()) {
                all.push(registry);
            }
        }
        all
    }

    /// An `.npmrc` that sets an npm in a cage to the same registries, without any credential.
    pub fn npmrc(&self) -> String {
        let mut lines = format!("registry={}\n", self.main.url());
        for (scope, registry) in &self.scopes {
            lines.push_str(&format!("{scope}:registry={}\n", registry.url()));
        }
        lines
    }

    /// Whether the user's npm holds a credential for this registry, which is not carried.
    pub fn has_credential(&self, registry: &Registry) -> bool {
        let place = registry.url().as_str().split_once(':').map_or("", |(_, place)| place);
        self.credentials.iter().any(|held| place.starts_with(held.as_str()))
    }
}

/// A variable's own spelling, which a person may have to look for.
struct Spelling(String);

impl Spelling {
    fn layer(self, value: String) -> Layer {
        let key = npm_key(&self.0).unwrap_or_default();
        Layer { found: Found::Variable(Shown::new(&self.0)), values: vec![(key, value)] }
    }
}

/// npm's reading of a variable's name: any case, `_` for `-`, empty values ignored.
fn npm_variables(variables: &BTreeMap<String, String>) -> BTreeMap<String, (Spelling, String)> {
    let mut read = BTreeMap::new();
    for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
        if let Some(key) = npm_key(name) {
            read.insert(key, (Spelling(name.clone()), value.clone()));
        }
    }
    read
}

fn npm_key(name: &str) -> Option<String> {
    let prefix = name.get(.."npm_config_".len())?;
    if !prefix.eq_ignore_ascii_case("npm_config_") {
        return None;
    }
    let key = &name[prefix.len()..];
    if key.starts_with("//") {
        return Some(key.to_owned());
    }
    // A leading underscore stays, as in `_auth`.
    let mut chars = key.chars();
    let first = chars.next()?;
    let rest = chars.map(|c| if c == '_' { '-' } else { c });
    Some(std::iter::once(first).chain(rest).collect::<String>().to_lowercase())
}

fn absolute(path: &str, place: &str) -> Result<PathBuf, SourceError> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return Ok(path);
    }
    let why = "a relative path would be read from the current directory; write it in full";
    Err(SourceError::Config { place: Shown::new(place), why: Shown::new(why) })
}

/// One place settings are read from, its values in order of precedence.
struct Layer {
    found: Found,
    values: Vec<(String, String)>,
}

impl Layer {
    /// A file's settings; none where there is no file.
    fn file(path: PathBuf, variables: &BTreeMap<String, String>) -> Result<Option<Self>, SourceError> {
        let unread = |why: &str| SourceError::Config {
            place: Shown::new(&path.display().to_string()),
            why: Shown::new(why),
        };
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(unread(&error.to_string())),
        };
        let mut values = settings(&text, variables);
        // Within one file the last word counts, so it comes first.
        values.reverse();
        Ok(Some(Self { found: Found::File(path), values }))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// A file's text, or why there is none; at most 1 MiB of it. `/dev/null` is how one says that there are no settings.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<String> {
    if path == Path::new("/dev/null") {
        return Ok(String::new());
    }
    let bytes = read_plain(path, FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is no UTF-8 text"))
}

/// The settings of an `npmrc` outside any `[section]`, in the dialect of npm's own `ini` package.
fn settings(text: &str, variables: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with([';', '#'])) {
        if line.starts_with('[') && line.ends_with(']') {
            // What follows is nested under the section's name, and no setting npm reads.
            break;
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((expanded(&plain(key), variables), expanded(&plain(value), variables)));
        }
    }
    found
}

/// A value without its quotes, escapes and trailing comment.
fn plain(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote) {
            let inner = &text[1..text.len() - 1];
            return serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_else(|_| inner.to_owned());
        }
    }
    let mut value = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|next| "\\;#".contains(*next)) => value.extend(chars.next()),
            ';' | '#' => break,
            c => value.push(c),
        }
    }
    value.trim().to_owned()
}

/// `${NAME}` replaced by the user's own variable; one that is not set stays as written, `${NAME?}` becomes empty.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut value = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        let (whole, name) = (&rest[start..=start + length], &rest[start + 2..start + length]);
        value.push_str(&rest[..start]);
        match (variables.get(name.trim_end_matches('?')), name.ends_with('?')) {
            (Some(set), _) => value.push_str(set),
            (None, true) => {}
            (None, false) => value.push_str(whole),
        }
        rest = &rest[start + length + 1..];
    }
    value.push_str(rest);
    value
}

#[cfg(test)]
mod tests;
