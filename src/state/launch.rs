//! Is the launcher that made this cage still there?
//!
//! Each launch holds `flock(2)` on a file of its own for as long as it lives. The kernel lets go when the process
//! ends, by whatever signal, and process ids that come round again cannot confuse it. The file is locked before
//! its name is used as a label, so a cage whose launch has no locked file has no launcher.
//!
//! A launch that clears away all it made takes its file with it. So a file that nobody holds says that something may be
//! left in the engine, and a command that needs no engine asks one only then. It stays until what was left is known to be
//! gone.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::{Home, StateError, list_private, lock};

const DIRECTORY: &str = "launches";

/// The random name of one launch, 32 lower-case hex digits; the `launch` label of its cages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaunchId(String);

/// The text is not the name of a launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a launch is named by 32 lower-case hex digits")]
pub struct NotALaunchId;

impl LaunchId {
    /// The 32 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LaunchId {
    type Err = NotALaunchId;

    /// Strict, because the text comes from an engine's labels and becomes a file name.
    fn from_str(text: &str) -> Result<Self, NotALaunchId> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() != 32 || !hex {
            return Err(NotALaunchId);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for LaunchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// This process, as the launcher of cages. Kept until the last of its cages is gone.
#[derive(Debug)]
pub struct Launch {
    id: LaunchId,
    path: PathBuf,
    _held: File,
    left: AtomicBool,
}

impl Launch {
    /// Announces a launch. From here on [`Launch::alive`] says yes, in every process, until this is dropped.
    ///
    /// # Errors
    /// [`StateError`] if the file cannot be made or locked.
    pub fn begin(home: &Home) -> Result<Self, StateError> {
        let dir = home.state_subdir(DIRECTORY)?;
        loop {
            let id = LaunchId(hex::encode(rand::random::<[u8; 16]>()));
            let path = dir.join(id.as_str());
            let file = lock::open(&path, OFlags::CREATE | OFlags::EXCL)?;
            // Blocking, and short: only a sweep that saw the file before it was locked can hold it.
            loop {
                match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
                    Ok(()) => break,
                    Err(Errno::INTR) => {}
                    Err(e) => return Err(StateError::io("lock", &path, e.into())),
                }
            }
            let links = file.metadata().map_err(|e| StateError::io("inspect", &path, e))?.nlink();
            // That sweep may also have removed it; the name was not used yet, so another one does as well.
            if links > 0 {
                return Ok(Self { id, path, _held: file, left: AtomicBool::new(false) });
            }
        }
    }

    /// The name to label cages with.
    pub fn id(&self) -> &LaunchId {
        &self.id
    }

    /// Whether that launch still runs. An error means unknown: leave its cages alone.
    ///
    /// # Errors
    /// [`StateError`] if the file is there and cannot be asked.
    pub fn alive(home: &Home, id: &LaunchId) -> Result<bool, StateError> {
        let path = home.state_subdir(DIRECTORY)?.join(id.as_str());
        let file = match lock::open(&path, OFlags::empty()) {
            Ok(file) => file,
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(false);
            }
            Err(e) => return Err(e),
        };
        // Shared, so that two who ask at once do not take each other for the launcher.
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(e) => Err(StateError::io("ask for the lock of", &path, e.into())),
        }
    }

    /// Something of it may be left in the engine: its file stays at its end, for the next command to see to it.
    pub fn leave_behind(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// It is over, but for the end of this process.
    pub fn end(&self) {
        if !self.left.load(Ordering::Relaxed) {
            // Removed while still locked: to everyone else it is either alive or gone. If it cannot be removed, the lock
            // goes with the process, and the next sweep takes the file.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// The launches that ended and left their files: something of theirs may be left in the engine.
    ///
    /// # Errors
    /// [`StateError`] if the directory cannot be read.
    pub fn left(home: &Home) -> Result<Vec<LaunchId>, StateError> {
        let dir = home.state_subdir(DIRECTORY)?;
        let names = list_private(&dir)?.unwrap_or_default();
        let launches = names.iter().filter_map(|name| name.to_str()?.parse::<LaunchId>().ok());
        // one that cannot be asked is not known to have ended
        Ok(launches.filter(|id| matches!(Self::alive(home, id), Ok(false))).collect())
    }

    /// Removes the files of these launches, now that nothing of theirs is left; how many.
    ///
    /// # Errors
    /// [`StateError`] if the directory cannot be read.
    pub fn forget(home: &Home, launches: &[LaunchId]) -> Result<usize, StateError> {
        let dir = home.state_subdir(DIRECTORY)?;
        let mut removed = 0;
        for id in launches {
            let path = dir.join(id.as_str());
            let Ok(file) = lock::open(&path, OFlags::empty()) else { continue };
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
                && fs::remove_file(&path).is_ok()
            {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        (dir, home)
    }

    #[test]
    fn a_launch_is_alive_until_it_ends() {
        let (_dir, home) = home();
        let launch = Launch::begin(&home).unwrap();
        let id = launch.id().clone();
        assert!(Launch::alive(&home, &id).unwrap());
        drop(launch);
        assert!(!Launch::alive(&home, &id).unwrap());
        assert!(list_private(&home.state_subdir(DIRECTORY).unwrap()).unwrap().unwrap().is_empty());
    }

    fn sweep(home: &Home) -> usize {
        Launch::forget(home, &Launch::left(home).unwrap()).unwrap()
    }

    #[test]
    fn a_launch_that_leaves_something_behind_is_over_and_known_until_it_is_forgotten() {
        let (_dir, home) = home();
        let launch = Launch::begin(&home).unwrap();
        let id = launch.id().clone();
        launch.leave_behind();
        assert!(Launch::alive(&home, &id).unwrap());
        assert_eq!(Launch::left(&home).unwrap(), []);
        drop(launch);
        assert!(!Launch::alive(&home, &id).unwrap());
        assert_eq!(Launch::left(&home).unwrap(), [id]);
        assert_eq!(sweep(&home), 1);
        assert_eq!(Launch::left(&home).unwrap(), []);
    }

    #[test]
    fn a_launch_is_over_when_its_process_is_though_a_child_of_it_goes_on() {
        let (_dir, home) = home();
        let launch = Launch::begin(&home).unwrap();
        let id = launch.id().clone();
        launch.leave_behind();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        drop(launch);
        let alive = Launch::alive(&home, &id);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!alive.unwrap());
    }

    #[test]
    fn a_launch_is_alive_only_by_its_own_lock_not_by_any_process_or_file() {
        let (_dir, home) = home();
        // a living process of any number, named in the file or not, holds nothing
        let id: LaunchId = "0123456789abcdef0123456789abcdef".parse().unwrap();
        let path = home.state_subdir(DIRECTORY).unwrap().join(id.as_str());
        fs::write(&path, std::process::id().to_string()).unwrap();
        let other = Launch::begin(&home).unwrap();
        assert!(!Launch::alive(&home, &id).unwrap());
        assert!(Launch::alive(&home, other.id()).unwrap());
    }

    #[test]
    fn a_copy_of_a_state_directory_holds_no_launch_of_the_first() {
        let (_dir, first) = home();
        let (_other, copy) = home();
        let launch = Launch::begin(&first).unwrap();
        let copied = copy.state_subdir(DIRECTORY).unwrap().join(launch.id().as_str());
        fs::copy(first.state_subdir(DIRECTORY).unwrap().join(launch.id().as_str()), copied).unwrap();
        // why a cage's label has to name the place too: here the copy would take the launch for over
        assert!(!Launch::alive(&copy, launch.id()).unwrap());
        assert_eq!(sweep(&copy), 1);
        assert!(Launch::alive(&first, launch.id()).unwrap());
    }

    #[test]
    fn a_launch_whose_file_is_not_locked_is_not_alive_and_is_swept() {
        let (_dir, home) = home();
        let id: LaunchId = "0123456789abcdef0123456789abcdef".parse().unwrap();
        fs::write(home.state_subdir(DIRECTORY).unwrap().join(id.as_str()), b"").unwrap();
        assert!(!Launch::alive(&home, &id).unwrap());
        let alive = Launch::begin(&home).unwrap();
        assert_eq!(sweep(&home), 1);
        assert!(Launch::alive(&home, alive.id()).unwrap());
    }

    #[test]
    fn a_launch_that_never_was_is_not_alive() {
        let (_dir, home) = home();
        assert!(!Launch::alive(&home, &"f".repeat(32).parse().unwrap()).unwrap());
    }

    #[test]
    fn asking_and_sweeping_meanwhile_never_kills_a_launch() {
        let (_dir, home) = home();
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    sweep(&home);
                }
            });
            for _ in 0..300 {
                let launch = Launch::begin(&home).unwrap();
                assert!(Launch::alive(&home, launch.id()).unwrap());
            }
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn refuses_a_label_that_would_be_another_path() {
        for bad in ["", "..", "../id", &"F".repeat(32), &"a".repeat(33), "0123456789abcdef0123456789abcde/"] {
            assert!(bad.parse::<LaunchId>().is_err(), "{bad}");
        }
    }
}
