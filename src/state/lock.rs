//! Who may write a shared file just now?
//!
//! The process that holds `flock(2)` on the lock file beside it. The kernel lets go when that process ends,
//! however it ends, so no lock is ever left behind. Lock files stay: removing one would let two processes hold
//! "the" lock, on two files.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{StateError, private, shown};

/// Pause between two attempts. `flock` has no time-out of its own, and a signal would need a handler.
const PAUSE: Duration = Duration::from_millis(10);

/// A lock held until this is dropped.
#[derive(Debug)]
pub struct FileLock(#[allow(dead_code, reason = "held for its lock")] File);

impl FileLock {
    /// Waits for the lock, at most `patience`.
    ///
    /// # Errors
    /// [`StateError::Busy`] once patience is over.
    pub fn acquire(path: &Path, patience: Duration) -> Result<Self, StateError> {
        let began = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            let waited = began.elapsed();
            if waited >= patience {
                return Err(StateError::Busy { path: shown(path), waited });
            }
            thread::sleep(PAUSE.min(patience - waited));
        }
    }

    /// Takes the lock if nobody has it.
    ///
    /// # Errors
    /// [`StateError::Unsafe`] if the lock file is not ours alone.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, StateError> {
        let file = open(path, OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(e) => Err(StateError::io("lock", path, e.into())),
        }
    }
}

/// Opens a lock file without following a link, 0600 if it is made, and judges it.
pub(super) fn open(path: &Path, how: OFlags) -> Result<File, StateError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | how;
    let file = File::from(
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
            .map_err(|e| StateError::io("open", path, e.into()))?,
    );
    let meta = file.metadata().map_err(|e| StateError::io("inspect", path, e))?;
    private::judge(path, &meta)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_second_holder_and_accepts_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        let waited = FileLock::acquire(&path, Duration::from_millis(30));
        assert!(matches!(waited, Err(StateError::Busy { .. })));
        drop(first);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn a_waiter_gets_the_lock_when_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| FileLock::acquire(&path, Duration::from_secs(60)).is_ok());
            drop(first);
            assert!(waiter.join().unwrap());
        });
    }

    #[test]
    fn refuses_a_lock_file_that_is_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(FileLock::try_acquire(&path).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
