//! How is a file read that the user named, or that lies where others may write?
//!
//! Whatever its name leads to, links included, is opened without waiting, and judged by what was opened: a pipe that
//! nobody writes to would keep a program for ever, a device may never end, and a name can be another file by the time it
//! is opened. What is no plain file is an error that says so.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// Opens a plain file for reading; links are followed.
///
/// # Errors
/// It cannot be opened, or is no plain file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    // NONBLOCK does nothing to a plain file; NOCTTY keeps a terminal from becoming this process's own
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let not = |what: &str| io::Error::other(format!("it is {what}, not a plain file"));
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        // open(2): the answer for a socket
        Err(rustix::io::Errno::NXIO) => return Err(not("a socket or a device")),
        Err(error) => return Err(error.into()),
    };
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        FileType::Directory => Err(not("a folder")),
        FileType::Fifo => Err(not("a pipe")),
        _ => Err(not("a device")),
    }
}

/// All of a plain file of at most `limit` bytes; links are followed.
///
/// # Errors
/// As [`open_plain`], and for a file that is longer.
pub fn read_plain(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let limit = match limit {
            large if large % (1 << 20) == 0 => format!("{} MiB", large >> 20),
            small => format!("{small} bytes"),
        };
        return Err(io::Error::other(format!("it is larger than {limit}")));
    }
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A pipe that nobody writes to.
    pub(crate) fn pipe(directory: &Path) -> std::path::PathBuf {
        let path = directory.join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    }

    #[test]
    fn refuses_a_pipe_without_waiting_and_whatever_else_is_no_file_by_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (pipe(dir.path()), "a pipe"),
            (dir.path().to_owned(), "a folder"),
            (socket, "a socket"),
            ("/dev/zero".into(), "a device"),
        ] {
            let error = read_plain(&path, 10).unwrap_err().to_string();
            assert!(error.contains(kind) && error.contains("not a plain file"), "{error}");
        }
    }

    #[test]
    fn reads_a_file_by_a_link_to_it_and_no_more_than_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "0123456789").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(read_plain(&link, 10).unwrap(), b"0123456789");
        assert!(read_plain(&link, 9).unwrap_err().to_string().contains("larger than 9 bytes"));
        assert_eq!(open_plain(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
