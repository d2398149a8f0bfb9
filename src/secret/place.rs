//! Where is the value of a server's credential, if not in the environment?
//!
//! In a file that the user named, in the system's keyring, or in a file of Pinfold's own, 0600, in the state directory.
//! Which of them is a fact of this machine and stands beside the pin, not in it: a plan says which credentials a server
//! gets, and is the same wherever they are kept.
//!
//! Invariants: a place belongs to one local name *and* its source, so neither another server nor one that was mounted
//! under the name later gets what it was not given; a value is never in the index, and no index names one of another.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Secret;
use crate::plan::{EnvName, LocalName, Plan};
use crate::state::{FileLock, Home, StateError, open_plain, read_private, remove_private, write_private};

const DIRECTORY: &str = "secrets";

/// Bytes of an index: a path for each variable a plan may name.
const INDEX_LIMIT: u64 = 1024 * 1024;

/// Bytes of a value. Linux takes no longer variable (execve(2): 128 KiB a string).
pub const VALUE_LIMIT: u64 = 64 * 1024;

/// How long another Pinfold may be at it.
const WAIT: Duration = Duration::from_secs(10);

const FORMAT: u32 = 1;

/// Where one value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In a file that the user named, by its absolute path. Read at each start; nothing of it is copied.
    File(PathBuf),
    /// In the system's keyring.
    Keyring,
    /// In a file of Pinfold's own.
    Here,
}

/// Where the values of one server are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    index: Index,
    directory: PathBuf,
    lock: PathBuf,
    name: LocalName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    format: u32,
    source: String,
    places: BTreeMap<EnvName, Place>,
}

impl Places {
    /// Where the values of the plan's server are; those of another source under its name count as none.
    ///
    /// # Errors
    /// [`StateError`] if the index is damaged, or somebody else could have written it.
    pub fn load(home: &Home, plan: &Plan) -> Result<Self, StateError> {
        let (directory, name) = (home.state_subdir(DIRECTORY)?, plan.name().clone());
        let path = directory.join(format!("{name}.json"));
        let empty = Index { format: FORMAT, source: plan.source().to_owned(), places: BTreeMap::new() };
        let index = match read_private(&path, INDEX_LIMIT)? {
            None => empty,
            Some(bytes) => {
                let index: Index = serde_json::from_slice(&bytes)
                    .map_err(|error| StateError::corrupt(&path, error.to_string()))?;
                if index.format != FORMAT {
                    return Err(StateError::corrupt(&path, "it has the form of another version of pinfold"));
                }
                if index.source == plan.source() { index } else { empty }
            }
        };
        Ok(Self { index, directory, lock: home.state_dir().join("secrets.lock"), name })
    }

    /// Where the value of a variable is.
    pub fn of(&self, variable: &EnvName) -> Option<&Place> {
        self.index.places.get(variable)
    }

    /// Every variable that has a place.
    pub fn all(&self) -> impl Iterator<Item = (&EnvName, &Place)> {
        self.index.places.iter()
    }

    /// Notes where a value is: in a file of the user's, or in the keyring, where it has been put.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub fn note(&mut self, variable: &EnvName, place: Place) -> Result<(), StateError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        if place != Place::Here {
            remove_private(&self.value(variable))?;
        }
        self.index.places.insert(variable.clone(), place);
        self.write()
    }

    /// Keeps a value in a file of Pinfold's own.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub fn keep(&mut self, variable: &EnvName, value: &Secret) -> Result<PathBuf, StateError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        let path = self.value(variable);
        write_private(&path, value.reveal())?;
        self.index.places.insert(variable.clone(), Place::Here);
        self.write()?;
        Ok(path)
    }

    /// Forgets where a value is, and the value if it is in a file of Pinfold's own. Gives where it was.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    pub fn forget(&mut self, variable: &EnvName) -> Result<Option<Place>, StateError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        remove_private(&self.value(variable))?;
        let place = self.index.places.remove(variable);
        self.write()?;
        Ok(place)
    }

    /// A value out of a file of Pinfold's own; none if it is gone.
    pub(super) fn read_own(&self, variable: &EnvName) -> Result<Option<Secret>, StateError> {
        Ok(read_private(&self.value(variable), VALUE_LIMIT)?.map(Secret::new))
    }

    /// No name has a dot, so two of them never meet in one file.
    fn value(&self, variable: &EnvName) -> PathBuf {
        self.directory.join(format!("{}.{variable}.value", self.name))
    }

    fn write(&self) -> Result<(), StateError> {
        let path = self.directory.join(format!("{}.json", self.name));
        if self.index.places.is_empty() {
            return remove_private(&path).map(|_| ());
        }
        let bytes =
            serde_json::to_vec(&self.index).map_err(|error| StateError::io("write", &path, error.into()))?;
        write_private(&path, &bytes)
    }
}

/// A value out of a file of the user's: all of it but a line break at its end, which editors put there.
///
/// Links are followed: orchestrators hand secrets out by one (`/run/secrets`).
///
/// # Errors
/// It cannot be read, is no plain file, or is longer than 64 KiB.
pub fn read_named(path: &Path) -> io::Result<Secret> {
    read_value(open_plain(path)?)
}

/// A value out of a stream, without a line break at its end.
///
/// # Errors
/// It breaks, or is longer than 64 KiB.
pub fn read_value(stream: impl Read) -> io::Result<Secret> {
    // never moved while it grows: a copy left behind would not be wiped
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(VALUE_LIMIT as usize + 1));
    stream.take(VALUE_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > VALUE_LIMIT {
        return Err(io::Error::other("it is longer than 64 KiB"));
    }
    let line = bytes.strip_suffix(b"\n").map_or(&bytes[..], |line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(Secret::new(line.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::plan::tests::plan;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        (dir, home)
    }

    fn variable() -> EnvName {
        "TOKEN".parse().unwrap()
    }

    #[test]
    fn refuses_a_file_that_is_a_pipe_and_does_not_wait_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let refused = read_named(&crate::state::pipe(dir.path())).err().unwrap();
        assert!(refused.to_string().contains("a pipe"), "{refused}");
        assert!(read_named(dir.path()).is_err());
    }

    #[test]
    fn a_value_kept_here_is_private_read_back_the_same_and_gone_when_forgotten() {
        let (_dir, home) = home();
        let mut places = Places::load(&home, &plan()).unwrap();
        let path = places.keep(&variable(), &Secret::new(b"hunter2".to_vec())).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let mut again = Places::load(&home, &plan()).unwrap();
        assert_eq!(again.of(&variable()), Some(&Place::Here));
        assert_eq!(again.read_own(&variable()).unwrap().unwrap().reveal(), b"hunter2");
        // the index says where, and nothing else
        let index = std::fs::read_to_string(home.state_dir().join("secrets/spotify.json")).unwrap();
        assert!(index.contains("TOKEN") && !index.contains("hunter2"), "{index}");
        assert_eq!(again.forget(&variable()).unwrap(), Some(Place::Here));
        assert!(!path.exists() && !home.state_dir().join("secrets/spotify.json").exists());
    }

    #[test]
    fn another_place_takes_the_file_away() {
        let (_dir, home) = home();
        let mut places = Places::load(&home, &plan()).unwrap();
        let path = places.keep(&variable(), &Secret::new(b"x".to_vec())).unwrap();
        places.note(&variable(), Place::File("/run/secrets/token".into())).unwrap();
        assert!(!path.exists());
        assert_eq!(
            Places::load(&home, &plan()).unwrap().of(&variable()),
            Some(&Place::File("/run/secrets/token".into()))
        );
    }

    #[test]
    fn another_source_under_the_same_name_gets_nothing() {
        let (_dir, home) = home();
        let mut places = Places::load(&home, &plan()).unwrap();
        places.keep(&variable(), &Secret::new(b"x".to_vec())).unwrap();
        let path = home.state_dir().join("secrets/spotify.json");
        let index = std::fs::read_to_string(&path).unwrap().replace("npm:@acme", "npm:@evil");
        write_private(&path, index.as_bytes()).unwrap();
        assert_eq!(Places::load(&home, &plan()).unwrap().of(&variable()), None);
    }

    #[test]
    fn refuses_an_index_that_is_damaged_or_that_others_could_have_written() {
        let (_dir, home) = home();
        let mut places = Places::load(&home, &plan()).unwrap();
        places.note(&variable(), Place::Keyring).unwrap();
        let path = home.state_dir().join("secrets/spotify.json");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(matches!(Places::load(&home, &plan()), Err(StateError::Unsafe { .. })));
        write_private(&path, b"{}").unwrap();
        assert!(matches!(Places::load(&home, &plan()), Err(StateError::Corrupt { .. })));
    }

    #[test]
    fn a_value_loses_one_line_break_at_its_end_and_nothing_else() {
        for (text, value) in [
            (&b"a"[..], &b"a"[..]),
            (b"a\n", b"a"),
            (b"a\r\n", b"a"),
            (b"a\n\n", b"a\n"),
            (b" a ", b" a "),
            (b"", b""),
        ] {
            assert_eq!(read_value(text).unwrap().reveal(), value);
        }
        let long = vec![b'x'; VALUE_LIMIT as usize + 1];
        assert!(read_value(&long[..]).is_err() && read_value(&long[1..]).is_ok());
        assert!(read_named(Path::new("/")).is_err() && read_named(Path::new("/nowhere")).is_err());
    }
}
