//! What is true of a pin on this machine only?
//!
//! Which image was sealed for it, and when it last ran. Beside the store, not in it, so a store can be committed.
//! Losing it is harmless: the image is found again by its label, or made again.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::plan::LocalName;
use crate::state::{Home, StateError, read_private, remove_private, write_private};

const DIRECTORY: &str = "local";

/// Bytes of such a file.
const LIMIT: u64 = 4 * 1024 * 1024;

/// What is known on this machine about one mounted server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalFacts {
    /// The engine's name for the sealed image. A hint: whoever uses it checks the image's own label.
    pub image: Option<String>,
    /// The tree that image holds.
    pub tree: Option<Digest>,
    /// When it was last started.
    pub last_run: Option<Timestamp>,
    /// Files in its folders that stay read-only and had a second name at the last start, as those it was agreed to
    /// with; none before the first.
    pub second_names: Option<BTreeSet<PathBuf>>,
}

impl LocalFacts {
    fn path(home: &Home, name: &LocalName) -> Result<PathBuf, StateError> {
        Ok(home.state_subdir(DIRECTORY)?.join(format!("{name}.json")))
    }

    /// What is known; nothing, if the file is absent or damaged.
    ///
    /// # Errors
    /// [`StateError::Unsafe`] if somebody else could have written it.
    pub fn load(home: &Home, name: &LocalName) -> Result<Self, StateError> {
        match read_private(&Self::path(home, name)?, LIMIT) {
            Ok(bytes) => Ok(bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default()),
            Err(StateError::Corrupt { .. }) => Ok(Self::default()),
            Err(e) => Err(e),
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub fn save(&self, home: &Home, name: &LocalName) -> Result<(), StateError> {
        let path = Self::path(home, name)?;
        let bytes = serde_json::to_vec(self).map_err(|e| StateError::io("write", &path, e.into()))?;
        write_private(&path, &bytes)
    }

    /// Forgets it.
    ///
    /// # Errors
    /// [`StateError`] if the file cannot be removed.
    pub fn forget(home: &Home, name: &LocalName) -> Result<(), StateError> {
        remove_private(&Self::path(home, name)?).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_or_damaged_is_merely_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let name = "x".parse().unwrap();
        assert_eq!(LocalFacts::load(&home, &name).unwrap(), LocalFacts::default());
        let facts = LocalFacts { image: Some("sha256:1".into()), ..LocalFacts::default() };
        facts.save(&home, &name).unwrap();
        assert_eq!(LocalFacts::load(&home, &name).unwrap(), facts);
        write_private(&LocalFacts::path(&home, &name).unwrap(), b"{\"image\":").unwrap();
        assert_eq!(LocalFacts::load(&home, &name).unwrap(), LocalFacts::default());
        LocalFacts::forget(&home, &name).unwrap();
        LocalFacts::forget(&home, &name).unwrap();
    }
}
