//! What has the user set once, for every command?
//!
//! `config.toml`, small and strict: an unknown key is an error, since a setting that is misspelt and ignored is a
//! control that its owner believes in.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Home, StateError, read_private, shown};
use crate::plan::LimitsAsked;

/// Bytes a configuration file may have.
const LIMIT: u64 = 64 * 1024;

/// Which ways of saying yes are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsentBy {
    /// A person at a terminal, or the digest of a plan that was shown.
    #[default]
    Any,
    /// A person at a terminal only: a digest on a command line is no answer.
    Terminal,
}

/// The user's settings.
///
/// ```toml
/// consent = "terminal"        # or "any", the default
/// extra_ca = "/etc/corp/ca.pem"   # certificates to trust besides the system's, as PEM
///
/// [npm]
/// registry = "https://registry.example/"
///
/// [pypi]
/// index = "https://index.example/simple/"
///
/// [limits]                    # for servers mounted from now on
/// memory = "1g"
/// pids = 256
/// cpus = 2.0
/// nofile = 1024
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    consent: ConsentBy,
    extra_ca: Option<PathBuf>,
    npm_registry: Option<url::Url>,
    pypi_index: Option<url::Url>,
    limits: LimitsAsked,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    consent: ConsentBy,
    extra_ca: Option<PathBuf>,
    npm: Option<NpmSection>,
    pypi: Option<PypiSection>,
    #[serde(default)]
    limits: LimitsAsked,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NpmSection {
    registry: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PypiSection {
    index: Option<String>,
}

/// The address under a key of the file.
fn address(key: &str, text: &str) -> Result<url::Url, String> {
    let url: url::Url = text.parse().map_err(|e| format!("{key} is no address: {e}"))?;
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
        return Err(format!("{key} is written https://HOST/"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{key} holds a credential; a file of settings is no place for one"));
    }
    Ok(url)
}

impl Config {
    /// Reads the file; the defaults if there is none.
    ///
    /// # Errors
    /// [`StateError::Config`] names the line; [`StateError::Unsafe`] if others could have written it.
    pub fn load(home: &Home) -> Result<Self, StateError> {
        let path = home.config_file();
        let Some(bytes) = read_private(&path, LIMIT)? else { return Ok(Self::default()) };
        let refuse = |why: String| StateError::Config { path: shown(&path), why };
        let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
        Self::parse(&text).map_err(refuse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: ConfigFile = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
        let npm_registry =
            file.npm.and_then(|npm| npm.registry).map(|text| address("npm.registry", &text)).transpose()?;
        let pypi_index =
            file.pypi.and_then(|pypi| pypi.index).map(|text| address("pypi.index", &text)).transpose()?;
        if file.extra_ca.as_ref().is_some_and(|path| !path.is_absolute()) {
            return Err(
                "extra_ca is an absolute path: a relative one is another file in every directory".to_owned()
            );
        }
        Ok(Self {
            consent: file.consent,
            extra_ca: file.extra_ca,
            npm_registry,
            pypi_index,
            limits: file.limits,
        })
    }

    /// Which ways of saying yes are open.
    pub fn consent(&self) -> ConsentBy {
        self.consent
    }

    /// A file of certificates to trust besides the system's. An absolute path; whether it can be read is found out when
    /// it is needed.
    pub fn extra_ca(&self) -> Option<&Path> {
        self.extra_ca.as_deref()
    }

    /// The npm registry that wins over what npm itself is set to. Which schemes are spoken is `net`'s to say.
    pub fn npm_registry(&self) -> Option<&url::Url> {
        self.npm_registry.as_ref()
    }

    /// The index of Python packages that wins over what uv and pip are set to.
    pub fn pypi_index(&self) -> Option<&url::Url> {
        self.pypi_index.as_ref()
    }

    /// Limits to use where a command line gives none.
    pub fn limits(&self) -> &LimitsAsked {
        &self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_every_documented_setting() {
        let text = "consent = \"terminal\"\nextra_ca = \"/etc/ca.pem\"\n[npm]\nregistry = \"https://registry.example/\"\n[pypi]\nindex = \"https://index.example/simple\"\n[limits]\nmemory = \"1g\"\npids = 99\ncpus = 1.5\nnofile = 2048\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.consent(), ConsentBy::Terminal);
        assert_eq!(config.extra_ca(), Some(Path::new("/etc/ca.pem")));
        assert_eq!(config.npm_registry().unwrap().as_str(), "https://registry.example/");
        assert_eq!(config.pypi_index().unwrap().as_str(), "https://index.example/simple");
        assert_ne!(config.limits(), &LimitsAsked::default());
    }

    #[test]
    fn no_file_and_an_empty_file_are_the_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        assert_eq!(Config::load(&home).unwrap(), Config::default());
        super::super::write_private(&home.config_file(), b"").unwrap();
        assert_eq!(Config::load(&home).unwrap(), Config::default());
        assert_eq!(Config::default().consent(), ConsentBy::Any);
    }

    #[test]
    fn refuses_what_it_does_not_know_and_says_where() {
        for (text, said) in [
            ("consnet = \"terminal\"", "consnet"),
            ("consent = \"yes\"", "yes"),
            ("extra_ca = \"ca.pem\"", "absolute"),
            ("[npm]\nregistri = \"x\"", "line 2"),
            ("[npm]\nregistry = \"registry.example\"", "npm.registry"),
            ("[npm]\nregistry = \"file:///etc\"", "npm.registry"),
            ("[npm]\nregistry = \"https://u:p@registry.example\"", "credential"),
            ("[pypi]\nregistry = \"x\"", "line 2"),
            ("[pypi]\nindex = \"index.example\"", "pypi.index"),
            ("[pypi]\nindex = \"https://u@index.example\"", "credential"),
            ("[limits]\nmemory = \"lots\"", "memory"),
            ("[limits]\ncpus = -1", "cpus"),
            ("consent", "line 1"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
