//! Where do packages come from, and who says so?
//!
//! A [`Registry`] is an address that the user's own configuration names, or the one that the package manager of a
//! runtime image has built in; no registry's address is written down in this code. Where it was read is kept, to be
//! told when it does not answer.

use std::fmt;
use std::path::PathBuf;

use super::SourceError;
use crate::net::{OperatorUrl, UrlRefused};
use crate::text::Shown;

/// A registry of npm packages or an index of Python's, and where the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    url: OperatorUrl,
    found: Found,
}

/// Where a registry's address was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Pinfold's own `config.toml`.
    Config,
    /// An environment variable.
    Variable(Shown),
    /// A configuration file of npm, pip or uv.
    File(PathBuf),
    /// Built into the package manager of the runtime image.
    Client,
}

impl Registry {
    pub(super) fn read(text: &str, found: Found) -> Result<Self, SourceError> {
        match OperatorUrl::chosen_by_operator(text.trim()) {
            Ok(url) => Ok(Self { url, found }),
            Err(why) => {
                // What cannot be read may still hold a password, and an error is no place for one.
                let why = match why {
                    UrlRefused::Unreadable(_) => Shown::new("it is no address"),
                    why => Shown::new(&why.to_string()),
                };
                Err(SourceError::Config { place: Shown::new(&found.to_string()), why })
            }
        }
    }

    /// Its base address, ending in `/`.
    pub fn url(&self) -> &OperatorUrl {
        &self.url
    }

    /// Where it was found.
    pub fn found(&self) -> &Found {
        &self.found
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.url, f)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str("config.toml"),
            Self::Variable(name) => fmt::Display::fmt(name, f),
            Self::File(path) => fmt::Display::fmt(&path.display(), f),
            Self::Client => f.write_str("the package manager's own default"),
        }
    }
}
