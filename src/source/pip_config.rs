//! Which index of Python packages is the user's?
//!
//! The one their own uv or pip is set to, so that look-up, install and a mirror behind a firewall agree. Read at user
//! and system level only: `[pypi] index` of `config.toml`, which replaces all the rest; then variables, the user's
//! files, the system's; at each level uv's word before pip's. A file of the current directory, a project's
//! `pyproject.toml` or a virtual environment's `pip.conf` is never read, since a hostile repository could plant one.
//! Where the user set none, the pip of the runtime image knows its own. What is set and cannot be read refuses.
//!
//! There is one index. Further ones (`PIP_EXTRA_INDEX_URL`, `UV_INDEX`, `extra-index-url`, `find-links`) are not
//! asked: with two, whoever publishes a private package's name on the public one decides what is installed, and which
//! of them had it would not be the same tomorrow. They are named in [`Index::notes`] instead of refusing, because
//! many have them for packages that no server needs; a package that only they have is not found.
//!
//! Sources: the uv documentation, "Configuration files" and "Package indexes"; the pip documentation, "Configuration".

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::SourceError;
use super::npm_config::{read_bounded, variables_of_process};
use super::registry::{Found, Registry};
use crate::text::Shown;

/// What is known of the user and their machine; gathered by [`PipSurroundings::of_process`], made up in tests.
#[derive(Debug, Clone, Default)]
pub struct PipSurroundings {
    /// `[pypi] index` of `config.toml`.
    pub config: Option<String>,
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The root of the system's configuration: `/etc`.
    pub system: Option<PathBuf>,
}

impl PipSurroundings {
    /// Those of this process; `config` is `[pypi] index` of `config.toml`.
    pub fn of_process(config: Option<String>) -> Self {
        Self {
            config,
            variables: variables_of_process(),
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            system: Some(PathBuf::from("/etc")),
        }
    }

    /// A variable that is set to something.
    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// A path out of a variable.
    fn path(&self, name: &str) -> Result<Option<PathBuf>, SourceError> {
        let Some(text) = self.variable(name) else { return Ok(None) };
        let path = PathBuf::from(text);
        if path.is_absolute() {
            return Ok(Some(path));
        }
        let why = "a relative path would be read from the current directory; write it in full";
        Err(SourceError::Config { place: Shown::new(name), why: Shown::new(why) })
    }

    /// Where the user's own configuration is: `XDG_CONFIG_HOME`, or `.config` of the home directory.
    fn user(&self) -> Option<PathBuf> {
        // A relative one is to be ignored. Source: XDG Base Directory Specification.
        let set = self.variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        set.or_else(|| self.home.as_ref().map(|home| home.join(".config")))
    }

    /// Where the system's configuration is, the first the most important.
    fn system_dirs(&self) -> Vec<PathBuf> {
        let set: Vec<PathBuf> = self
            .variable("XDG_CONFIG_DIRS")
            .map(|dirs| dirs.split(':').map(PathBuf::from).filter(|path| path.is_absolute()).collect())
            .unwrap_or_default();
        match (set.is_empty(), &self.system) {
            (true, Some(system)) => vec![system.join("xdg")],
            _ => set,
        }
    }
}

/// The user's uv and pip configuration, as far as it says where packages come from.
#[derive(Debug, Clone)]
pub struct PipConfig {
    index: Option<Registry>,
    notes: Vec<Shown>,
}

/// The index that packages come from.
#[derive(Debug, Clone)]
pub struct Index {
    registry: Registry,
    notes: Vec<Shown>,
}

impl PipConfig {
    /// Reads the user's configuration.
    ///
    /// # Errors
    /// A file that exists cannot be read, is larger than 1 MiB or none of its kind, or names an index that is no
    /// `https` or `http` address or holds a user name.
    pub fn read(around: &PipSurroundings) -> Result<Self, SourceError> {
        let mut read = Self { index: None, notes: Vec::new() };
        if let Some(config) = &around.config {
            read.index = Some(Registry::read(config, Found::Config)?);
            return Ok(read);
        }
        for name in ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"] {
            if let Some(value) = around.variable(name) {
                let value = if name == "UV_DEFAULT_INDEX" { unnamed(value) } else { value };
                read.take(value, Found::Variable(Shown::new(name)))?;
            }
        }
        for name in
            ["UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"]
        {
            if around.variable(name).is_some() {
                read.not_asked(name);
            }
        }
        for name in ["PIP_NO_INDEX", "UV_NO_INDEX"] {
            if around.variable(name).is_some_and(is_true) {
                return Err(no_index(Shown::new(name)));
            }
        }
        for file in files(around)? {
            match file {
                File::Uv(path) => read.uv_toml(&path)?,
                File::Pip(path) => read.pip_conf(&path)?,
            }
        }
        Ok(read)
    }

    /// Whether the runtime image's pip has to be asked for its own default.
    pub fn needs_client_default(&self) -> bool {
        self.index.is_none()
    }

    /// The index to use; `client_default` is the address built into the runtime image's pip, used where the user set
    /// none.
    ///
    /// # Errors
    /// The address is needed and is not an `https` or `http` one.
    pub fn index(self, client_default: Option<&str>) -> Result<Index, SourceError> {
        let registry = match (self.index, client_default) {
            (Some(registry), _) => registry,
            (None, Some(text)) => Registry::read(text, Found::Client)?,
            (None, None) => {
                let why = Shown::new("no index is set, and the runtime image does not tell pip's own");
                return Err(SourceError::Config {
                    place: Shown::new("the configuration of uv and pip"),
                    why,
                });
            }
        };
        Ok(Index { registry, notes: self.notes })
    }

    /// Places come in order of precedence, so the first word stands. A later one that differs is worth a note where
    /// it is the other client's: its user may expect that one.
    fn take(&mut self, text: &str, found: Found) -> Result<(), SourceError> {
        let next = Registry::read(text, found)?;
        match &self.index {
            None => self.index = Some(next),
            Some(first) if first.url() != next.url() => {
                let note =
                    format!("{} names another index than {}, which counts", next.found(), first.found());
                self.notes.push(Shown::new(&note));
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn not_asked(&mut self, place: &str) {
        let note = format!("{place} is not followed: packages come from one index");
        self.notes.push(Shown::new(&note));
    }

    /// `uv.toml`. Source: the uv documentation, "Settings".
    fn uv_toml(&mut self, path: &Path) -> Result<(), SourceError> {
        let Some(text) = text_of(path)? else { return Ok(()) };
        // An error would quote the line, which may hold a password.
        let unreadable = |_| config(path, "it is no TOML");
        let file: toml::Table = toml::from_str(&text).map_err(unreadable)?;
        if file.get("no-index") == Some(&toml::Value::Boolean(true)) {
            return Err(no_index(Shown::new(&path.display().to_string())));
        }
        let found = || Found::File(path.to_owned());
        let indexes =
            file.get("index").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_default =
            |index: &&toml::Value| index.get("default").and_then(toml::Value::as_bool) == Some(true);
        // uv takes the table's word before the older setting's.
        if let Some(default) = indexes.iter().find(is_default) {
            let url = default.get("url").and_then(toml::Value::as_str);
            self.take(url.ok_or_else(|| config(path, "its default index has no url"))?, found())?;
        } else if let Some(url) = file.get("index-url") {
            self.take(url.as_str().ok_or_else(|| config(path, "index-url is no text"))?, found())?;
        }
        let further = ["extra-index-url", "find-links"].iter().any(|key| file.contains_key(*key));
        if further || indexes.iter().any(|index| !is_default(&index)) {
            self.not_asked(&format!("a further index in {}", path.display()));
        }
        Ok(())
    }

    /// `pip.conf`.
    fn pip_conf(&mut self, path: &Path) -> Result<(), SourceError> {
        let Some(text) = text_of(path)? else { return Ok(()) };
        let settings = settings(&text).map_err(|line| config(path, &format!("line {line} is no setting")))?;
        // What a command's own section says counts before what is said for all of them.
        let get = |key: &str| {
            ["install", "global"].iter().find_map(|section| {
                settings
                    .iter()
                    .rev()
                    .find(|one| one.section == *section && one.key == key)
                    .map(|one| &one.value)
            })
        };
        if get("no-index").is_some_and(|value| is_true(value)) {
            return Err(no_index(Shown::new(&path.display().to_string())));
        }
        if let Some(url) = get("index-url") {
            self.take(url, Found::File(path.to_owned()))?;
        }
        if ["extra-index-url", "find-links"].iter().any(|key| get(key).is_some()) {
            self.not_asked(&format!("a further index in {}", path.display()));
        }
        Ok(())
    }
}

impl Index {
    /// The index.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What of the user's configuration is not followed, a sentence each.
    pub fn notes(&self) -> &[Shown] {
        &self.notes
    }
}

/// A configuration file.
enum File {
    Uv(PathBuf),
    Pip(PathBuf),
}

/// The files to read, the first the most important.
fn files(around: &PipSurroundings) -> Result<Vec<File>, SourceError> {
    let mut files = Vec::new();
    let uv = !around.variable("UV_NO_CONFIG").is_some_and(is_true);
    // pip's documented way to have none.
    let pip_file = around.path("PIP_CONFIG_FILE")?;
    let pip = pip_file.as_deref() != Some(Path::new("/dev/null"));
    let uv_file = around.path("UV_CONFIG_FILE")?;
    if let Some(path) = &uv_file {
        files.push(File::Uv(path.clone()));
    }
    if let Some(path) = pip_file.filter(|_| pip) {
        files.push(File::Pip(path));
    }
    if let Some(user) = around.user() {
        // With a file of its own, uv reads no other.
        if uv && uv_file.is_none() {
            files.push(File::Uv(user.join("uv/uv.toml")));
        }
        if pip {
            files.push(File::Pip(user.join("pip/pip.conf")));
        }
    }
    if let Some(home) = around.home.as_ref().filter(|_| pip) {
        files.push(File::Pip(home.join(".pip/pip.conf")));
    }
    let mut uv_system: Vec<PathBuf> = around.system_dirs().iter().map(|dir| dir.join("uv/uv.toml")).collect();
    let mut pip_system: Vec<PathBuf> =
        around.system_dirs().iter().map(|dir| dir.join("pip/pip.conf")).collect();
    if let Some(system) = &around.system {
        uv_system.push(system.join("uv/uv.toml"));
        // pip's last word among the system's files is /etc/pip.conf.
        pip_system.insert(0, system.join("pip.conf"));
    }
    if uv && uv_file.is_none() {
        files.extend(uv_system.into_iter().map(File::Uv));
    }
    if pip {
        files.extend(pip_system.into_iter().map(File::Pip));
    }
    Ok(files)
}

/// A file's text; none where there is no file.
fn text_of(path: &Path) -> Result<Option<String>, SourceError> {
    match read_bounded(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(config(path, &error.to_string())),
    }
}

fn config(path: &Path, why: &str) -> SourceError {
    SourceError::Config { place: Shown::new(&path.display().to_string()), why: Shown::new(why) }
}

fn no_index(place: Shown) -> SourceError {
    let why = "it says that no index may be asked, and packages are looked up in one";
    SourceError::Config { place, why: Shown::new(why) }
}

/// uv lets a name and `=` stand before an index's address.
fn unnamed(value: &str) -> &str {
    match value.split_once('=') {
        Some((name, url)) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) => url,
        _ => value,
    }
}

fn is_true(value: &str) -> bool {
    ["1", "true", "yes", "on", "y", "t"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// A line of a `pip.conf`.
struct Setting {
    section: String,
    key: String,
    value: String,
}

/// The settings of a `pip.conf`, in the dialect of Python's `RawConfigParser`, or the number of the first line that
/// is none: a line that begins with a blank goes on with the one before; no comment begins within a line.
fn settings(text: &str) -> Result<Vec<Setting>, usize> {
    let mut section = String::new();
    let mut found: Vec<Setting> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some(last) = found.last_mut().filter(|last| last.section == section)
        {
            last.value.push(' ');
            last.value.push_str(trimmed);
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
            continue;
        }
        let at = trimmed.find(['=', ':']).ok_or(number + 1)?;
        // pip reads a key in any case, with `_` for `-`, and with the dashes of an option before it.
        let key = trimmed[..at].trim().to_ascii_lowercase().replace('_', "-");
        let key = key.trim_start_matches("--").to_owned();
        found.push(Setting { section: section.clone(), key, value: trimmed[at + 1..].trim().to_owned() });
    }
    found.retain(|one| !one.value.trim().is_empty());
    Ok(found)
}

#[cfg(test)]
mod tests;
