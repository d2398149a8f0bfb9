//! How are files read and written that only this user may have touched?
//!
//! Reading opens without following a link and judges the open file, not its name, so nothing can be swapped in
//! between. Writing goes to a temporary file beside the target, to the disk, and over the target in one rename,
//! so a reader sees the old content or the new, also after a power cut.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::{StateError, shown};

/// Mode bits that let somebody else write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Name prefix of temporary files; a crash can leave one behind, which means nothing.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// Reads a whole file of at most `limit` bytes; `None` if there is none.
///
/// # Errors
/// [`StateError::Unsafe`] for a symbolic link, anything that is not a plain file, another owner, or a mode with
/// group or other write; [`StateError::Corrupt`] past `limit`.
pub fn read_private(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, StateError> {
    let Some(file) = open_private(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|e| StateError::io("read", path, e))?;
    if bytes.len() as u64 > limit {
        return Err(StateError::corrupt(path, format!("it is longer than {limit} bytes")));
    }
    Ok(Some(bytes))
}

fn open_private(path: &Path) -> Result<Option<File>, StateError> {
    // NONBLOCK: opening a FIFO somebody left there must not hang.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(link(path)),
        Err(e) => return Err(StateError::io("open", path, e.into())),
    };
    let meta = file.metadata().map_err(|e| StateError::io("inspect", path, e))?;
    if !meta.is_file() {
        return Err(not_a(path, "is not a plain file"));
    }
    judge(path, &meta)?;
    Ok(Some(file))
}

/// Writes the file as a whole, 0600, replacing what was there.
///
/// # Errors
/// [`StateError::Io`]; the old content is then untouched.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let dir =
        path.parent().ok_or_else(|| StateError::io("write", path, io::ErrorKind::InvalidInput.into()))?;
    let failed = |e| StateError::io("write", path, e);
    // `tempfile` creates with O_EXCL and 0600, whatever the umask.
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(dir).map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(path).map_err(|e| failed(e.error))?;
    sync_dir(dir)
}

/// Removes the file; true if there was one.
///
/// # Errors
/// [`StateError::Io`].
pub fn remove_private(path: &Path) -> Result<bool, StateError> {
    match fs::remove_file(path) {
        Ok(()) => {
            if let Some(dir) = path.parent() {
                sync_dir(dir)?;
            }
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(StateError::io("remove", path, e)),
    }
}

/// The names in a directory, sorted; `None` if there is none. The directory itself is judged first.
///
/// # Errors
/// As [`read_private`], for the directory.
pub fn list_private(dir: &Path) -> Result<Option<Vec<std::ffi::OsString>>, StateError> {
    if !judge_dir(dir)? {
        return Ok(None);
    }
    let failed = |e| StateError::io("list", dir, e);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    Ok(Some(names))
}

/// Makes the directory, 0700, with those above it, or judges the one that is there.
///
/// # Errors
/// [`StateError::Unsafe`] if it is a symbolic link, not a directory, somebody else's, or writable by others.
pub fn ensure_private_dir(dir: &Path) -> Result<(), StateError> {
    if judge_dir(dir)? {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| StateError::io("create", dir, e))?;
    // Judged again: another process may have been quicker, with something else.
    judge_dir(dir).map(|_| ())
}

/// False if there is none.
fn judge_dir(dir: &Path) -> Result<bool, StateError> {
    let meta = match fs::symlink_metadata(dir) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(StateError::io("inspect", dir, e)),
    };
    if meta.is_symlink() {
        return Err(link(dir));
    }
    if !meta.is_dir() {
        return Err(not_a(dir, "is not a directory"));
    }
    judge(dir, &meta)?;
    Ok(true)
}

pub(super) fn judge(path: &Path, meta: &Metadata) -> Result<(), StateError> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(StateError::Unsafe {
            path: shown(path),
            why: "belongs to another user",
            remedy: format!("if it is yours, `chown $(id -u) {}`", shown(path)),
        });
    }
    if meta.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(StateError::Unsafe {
            path: shown(path),
            why: "can be written by others",
            remedy: format!("look at what it holds, then `chmod go-w {}`", shown(path)),
        });
    }
    Ok(())
}

fn link(path: &Path) -> StateError {
    not_a(path, "is a symbolic link")
}

fn not_a(path: &Path, why: &'static str) -> StateError {
    StateError::Unsafe {
        path: shown(path),
        why,
        remedy: format!("look at where it came from, then move {} away", shown(path)),
    }
}

fn sync_dir(dir: &Path) -> Result<(), StateError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| StateError::io("write", dir, e))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn is_unsafe<T: std::fmt::Debug>(result: Result<T, StateError>) {
        assert!(matches!(result, Err(StateError::Unsafe { .. })), "{result:?}");
    }

    #[test]
    fn accepts_what_it_wrote_itself_and_keeps_it_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(read_private(&path, 3).unwrap().unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(list_private(dir.path()).unwrap().unwrap(), ["f"], "no temporary file stays");
    }

    #[test]
    fn absence_is_not_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read_private(&dir.path().join("f"), 9).unwrap().is_none());
        assert!(list_private(&dir.path().join("d")).unwrap().is_none());
        assert!(!remove_private(&dir.path().join("f")).unwrap());
    }

    #[test]
    fn refuses_a_link_even_to_a_file_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let (target, path) = (dir.path().join("t"), dir.path().join("f"));
        write_private(&target, b"x").unwrap();
        symlink(&target, &path).unwrap();
        is_unsafe(read_private(&path, 9));
        let link = dir.path().join("d");
        symlink(dir.path(), &link).unwrap();
        is_unsafe(list_private(&link));
        is_unsafe(ensure_private_dir(&link));
    }

    #[test]
    fn writing_replaces_a_link_and_leaves_its_target_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (target, path) = (dir.path().join("t"), dir.path().join("f"));
        write_private(&target, b"theirs").unwrap();
        symlink(&target, &path).unwrap();
        write_private(&path, b"ours").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
        assert_eq!(read_private(&path, 9).unwrap().unwrap(), b"ours");
    }

    #[test]
    fn refuses_a_file_that_others_can_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write_private(&path, b"x").unwrap();
        for bad in [0o620, 0o602, 0o666] {
            mode(&path, bad);
            is_unsafe(read_private(&path, 9));
        }
    }

    #[test]
    fn accepts_a_file_that_others_can_only_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write_private(&path, b"x").unwrap();
        mode(&path, 0o644);
        assert!(read_private(&path, 9).unwrap().is_some());
    }

    #[test]
    fn refuses_a_directory_or_a_pipe_where_a_file_should_be() {
        let dir = tempfile::tempdir().unwrap();
        is_unsafe(read_private(dir.path(), 9));
        let pipe = dir.path().join("p");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        is_unsafe(read_private(&pipe, 9));
    }

    #[test]
    fn refuses_one_byte_too_many() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        write_private(&path, b"four").unwrap();
        assert!(matches!(read_private(&path, 3), Err(StateError::Corrupt { .. })));
        assert!(read_private(&path, 4).unwrap().is_some());
    }

    #[test]
    fn refuses_a_directory_that_others_can_write() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        ensure_private_dir(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        mode(&path, 0o770);
        is_unsafe(ensure_private_dir(&path));
        is_unsafe(list_private(&path));
    }
}
