//! Which directories are Pinfold's?

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::ProjectDirs;

use super::{FileLock, SealKey, StateError, ensure_private_dir, read_private, shown, write_private};

/// How long to wait for another process that is writing a small file.
pub(super) const SHORT_WAIT: Duration = Duration::from_secs(10);

/// Pinfold's directories of this user, made and judged.
///
/// `PINFOLD_HOME`, an absolute path, moves all of them under it (`config/`, `data/`, `state/`); else they are where
/// the platform keeps such things (`~/.config/pinfold`, `~/.local/share/pinfold`, `~/.local/state/pinfold`).
#[derive(Debug, Clone)]
pub struct Home {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
}

/// The random name of one state directory, 32 hex digits. Labels what belongs to it in an engine shared with others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HomeId(String);

impl HomeId {
    /// The 32 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Home {
    /// The directories the environment says.
    ///
    /// # Errors
    /// [`StateError::Unsafe`] if one that exists may not be used; [`StateError::NoHome`].
    pub fn open() -> Result<Self, StateError> {
        // An empty value is an unset one, as the XDG Base Directory Specification has it.
        if let Some(root) = std::env::var_os("PINFOLD_HOME").filter(|root| !root.is_empty()) {
            return Self::at(Path::new(&root));
        }
        let dirs = ProjectDirs::from("", "", "pinfold").ok_or(StateError::NoHome)?;
        Self::of(
            dirs.config_dir().to_owned(),
            dirs.data_local_dir().to_owned(),
            // Platforms without a state directory of their own keep it with the data.
            dirs.state_dir().map_or_else(|| dirs.data_local_dir().join("state"), Path::to_owned),
        )
    }

    /// The directories under one root.
    ///
    /// # Errors
    /// As [`Home::open`]; [`StateError::RelativeHome`].
    pub fn at(root: &Path) -> Result<Self, StateError> {
        if !root.is_absolute() {
            return Err(StateError::RelativeHome(shown(root)));
        }
        ensure_private_dir(root)?;
        Self::of(root.join("config"), root.join("data"), root.join("state"))
    }

    fn of(config: PathBuf, data: PathBuf, state: PathBuf) -> Result<Self, StateError> {
        for dir in [&config, &data, &state] {
            ensure_private_dir(dir)?;
        }
        Ok(Self { config, data, state })
    }

    /// Where the user's `config.toml` is, if there is one.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Where things that can be made again are kept.
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// All of them, for refusing to hand any to a cage.
    pub fn directories(&self) -> Vec<PathBuf> {
        vec![self.config.clone(), self.data.clone(), self.state.clone()]
    }

    /// The state directory itself.
    pub fn state_dir(&self) -> &Path {
        &self.state
    }

    /// A directory inside the state directory, made and judged. `name` is one of ours, never from outside.
    ///
    /// # Errors
    /// As [`ensure_private_dir`].
    pub fn state_subdir(&self, name: &'static str) -> Result<PathBuf, StateError> {
        let dir = self.state.join(name);
        ensure_private_dir(&dir)?;
        Ok(dir)
    }

    /// The name of this state directory, made at first use.
    ///
    /// # Errors
    /// [`StateError::Corrupt`] if the file holds anything else.
    pub fn id(&self) -> Result<HomeId, StateError> {
        let path = self.state.join("id");
        let bytes = self.created_once(&path, || hex::encode(rand::random::<[u8; 16]>()).into_bytes())?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(StateError::corrupt(&path, "it is not 32 hex digits"));
        }
        Ok(HomeId(text))
    }

    /// Which directory this is, whatever its name and whatever it is a copy of: `device:inode`. Good from one start of
    /// the machine to the next, when a device may be numbered anew.
    ///
    /// # Errors
    /// [`StateError::Io`] if it cannot be looked at.
    pub fn place(&self) -> Result<String, StateError> {
        ensure_private_dir(&self.state)?;
        let found =
            std::fs::metadata(&self.state).map_err(|error| StateError::io("look at", &self.state, error))?;
        Ok(format!("{}:{}", found.dev(), found.ino()))
    }

    /// The key that seals what this user said yes to, made at first use.
    ///
    /// # Errors
    /// [`StateError::Corrupt`] if the file is no key; [`StateError::Unsafe`] if others could read it.
    pub fn seal_key(&self) -> Result<SealKey, StateError> {
        let path = self.state.join("seal.key");
        let bytes = zeroize::Zeroizing::new(
            self.created_once(&path, || rand::random::<[u8; SealKey::LEN]>().to_vec())?,
        );
        super::seal::judge_secrecy(&path)?;
        SealKey::new(&bytes).ok_or_else(|| StateError::corrupt(&path, "it is not a key of 32 bytes"))
    }

    /// Reads a small file, or writes it first; of two processes at once, both get what the first one wrote.
    fn created_once(&self, path: &Path, content: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, StateError> {
        const LIMIT: u64 = 1024;
        if let Some(bytes) = read_private(path, LIMIT)? {
            return Ok(bytes);
        }
        let _held = FileLock::acquire(&self.state.join("create.lock"), SHORT_WAIT)?;
        if let Some(bytes) = read_private(path, LIMIT)? {
            return Ok(bytes);
        }
        let bytes = content();
        write_private(path, &bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_name_and_the_key_are_made_once_however_many_ask() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let all: Vec<_> = std::thread::scope(|scope| {
            let ask = || (home.id().unwrap(), home.seal_key().unwrap().seal("test", b"x"));
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(Home::at(dir.path()).unwrap().id().unwrap(), all[0].0);
    }

    #[test]
    fn two_state_directories_have_two_names() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_ne!(Home::at(a.path()).unwrap().id().unwrap(), Home::at(b.path()).unwrap().id().unwrap());
    }

    #[test]
    fn refuses_a_relative_root() {
        assert!(matches!(Home::at(Path::new("x")), Err(StateError::RelativeHome(_))));
    }

    #[test]
    fn refuses_a_state_directory_that_is_a_link_or_open_to_others() {
        let dir = tempfile::tempdir().unwrap();
        symlink(dir.path(), dir.path().join("state")).unwrap();
        assert!(matches!(Home::at(dir.path()), Err(StateError::Unsafe { .. })));
        let dir = tempfile::tempdir().unwrap();
        Home::at(dir.path()).unwrap();
        std::fs::set_permissions(dir.path().join("state"), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(Home::at(dir.path()), Err(StateError::Unsafe { .. })));
    }

    #[test]
    fn refuses_a_name_or_key_cut_short() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        write_private(&dir.path().join("state/id"), b"abc").unwrap();
        write_private(&dir.path().join("state/seal.key"), b"").unwrap();
        assert!(matches!(home.id(), Err(StateError::Corrupt { .. })));
        assert!(matches!(home.seal_key(), Err(StateError::Corrupt { .. })));
    }

    #[test]
    fn refuses_a_key_that_others_can_read() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        home.seal_key().unwrap();
        let key = dir.path().join("state/seal.key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(home.seal_key(), Err(StateError::Unsafe { .. })));
    }
}
