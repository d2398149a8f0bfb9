//! What is mounted in this cage, and is it still?
//!
//! Engines put a folder of the host's where a path leads at the moment of the start, and a path can lead elsewhere
//! by then: so init says which file each mount is, for the launcher to compare with the one it judged. And mounts end
//! silently: where a program of the host replaces a file that is mounted over in here, the kernel takes that mount
//! away (`d_invalidate` and `detach_mounts`, since Linux 4.1), and what was read-only is not. A cage whose mounts are
//! no longer those it began with is ended.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use pinfold_init::message;
use pinfold_init::protocol::{Mount, Mounted, Rooted};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWrite, AsyncWriteExt as _, Interest};

/// The mounts of this process's namespace; proc_pid_mountinfo(5).
const TABLE: &str = "/proc/self/mountinfo";
/// Longest table that is read, in bytes: paths are bounded, and so is how many a plan can name.
const TABLE_LIMIT: u64 = 8 * 1024 * 1024;

/// Says what is mounted, a message a mount, in the order they were made.
pub async fn tell<S: AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    for line in read(&mut File::open(TABLE)?)?.split(|byte| *byte == b'\n') {
        // a line of another form is left out, and the launcher misses it
        if let Some(mount) = parse(line) {
            message::write(stream, &Mounted::At(mount)).await?;
        }
    }
    message::write(stream, &Mounted::Done).await?;
    stream.shutdown().await
}

fn read(table: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    table.rewind()?;
    table.take(TABLE_LIMIT).read_to_end(&mut text)?;
    Ok(text)
}

/// A line of the table: `ID PARENT MAJOR:MINOR ROOT AT OPTIONS [TAG…] - TYPE SOURCE SUPER`.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let mut word = || words.next();
    let (at, options) = {
        let _root = word().and_then(|_| word()).and_then(|_| word()).and_then(|_| word())?;
        (unescaped(word()?), text(word()?))
    };
    let rest: Vec<String> = words.map(text).collect();
    let dash = rest.iter().position(|word| word == "-")?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(at));
    let has = |wanted: &str| options.split(',').any(|option| option == wanted);
    Some(Mount {
        at: path.to_str()?.to_owned(),
        read_only: has("ro"),
        plain: has("nosuid") && has("nodev"),
        executed: !has("noexec"),
        bytes: rustix::fs::statvfs(&path).ok().map(|room| room.f_blocks.saturating_mul(room.f_frsize)),
        // proc_pid_mountinfo(5): `shared:`, `master:`, `propagate_from:`, `unbindable`; none: private
        shared: rest[..dash].iter().any(|tag| tag.starts_with("shared:") || tag.starts_with("master:")),
        kind: rest.get(dash + 1)?.clone(),
        root: rooted(&path),
    })
}

/// What is at the root of a mount, where this user may know.
fn rooted(path: &std::path::Path) -> Option<Rooted> {
    let found = rustix::fs::lstat(path).ok()?;
    Some(Rooted { device: found.st_dev, inode: found.st_ino, uid: found.st_uid, gid: found.st_gid })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Space, tab, line feed and backslash are written as three octal digits: proc_pid_mountinfo(5).
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let octal = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if *first == b'\\' => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        if let Some(byte) = octal {
            plain.push(byte);
            rest = &tail[3..];
        } else {
            plain.push(*first);
        }
    }
    plain
}

/// The open table of mounts.
enum Table {
    /// The kernel says when it changed.
    Telling(AsyncFd<File>),
    /// It does not say so, as gVisor's, and is read again and again.
    Silent(File),
}

/// How long until a table that does not say when it changed is read again.
const AGAIN: Duration = Duration::from_millis(250);

/// Mounts as they were, to notice when one is gone.
pub struct Watch {
    table: Table,
    first: BTreeSet<Vec<u8>>,
}

impl Watch {
    /// Notes what is mounted now.
    #[expect(
        deprecated,
        reason = "sound for an owned descriptor; what replaces it is unsafe, which is for `sys` alone"
    )]
    pub fn begin() -> io::Result<Self> {
        let mut table = File::open(TABLE)?;
        let first = numbers(&read(&mut table)?);
        // the kernel says on the open table that it changed, as data with priority: proc_pid_mountinfo(5)
        let table = match AsyncFd::with_interest(table.try_clone()?, Interest::PRIORITY) {
            Ok(telling) => Table::Telling(telling),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Table::Silent(table),
            Err(error) => return Err(error),
        };
        Ok(Self { table, first })
    }

    /// Waits until one of the mounts there were is gone; it never comes back otherwise, but for an error.
    pub async fn lost(mut self) -> io::Error {
        loop {
            let file = match &mut self.table {
                Table::Telling(table) => {
                    match table.ready_mut(Interest::PRIORITY).await {
                        Ok(mut ready) => ready.clear_ready(),
                        Err(error) => return error,
                    }
                    table.get_mut()
                }
                Table::Silent(file) => {
                    tokio::time::sleep(AGAIN).await;
                    file
                }
            };
            let now = match read(file) {
                Ok(now) => numbers(&now),
                Err(error) => return error,
            };
            if !self.first.is_subset(&now) {
                return io::Error::other("a mount of this cage was taken away");
            }
        }
    }
}

/// What tells mounts apart: their numbers, and where they are.
fn numbers(table: &[u8]) -> BTreeSet<Vec<u8>> {
    let lines = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| line.split(|byte| *byte == b' ').next().unwrap_or_default().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_as_the_kernel_writes_it() {
        let line =
            br"94 90 254:0 /w\040x /w\040x\134 ro,relatime shared:1 master:2 - ext4 /dev/vda rw,discard";
        let mount = parse(line).unwrap();
        assert_eq!((mount.at.as_str(), mount.kind.as_str()), (r"/w x\", "ext4"));
        assert!(mount.read_only && mount.shared);
        let mount = parse(b"1 0 0:1 / / rw - overlay overlay ro").unwrap();
        assert!(!mount.read_only && !mount.shared);
        let here = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata("/").unwrap());
        assert_eq!(mount.root.map(|root| root.inode), Some(here));
    }

    #[test]
    fn leaves_out_what_is_no_line_of_the_table() {
        for line in ["", "1 0 0:1 / /", "1 0 0:1 / / rw - ", "1 0 0:1 / / rw shared:1"] {
            assert!(parse(line.as_bytes()).is_none_or(|mount| mount.kind.is_empty()), "{line}");
        }
        assert!(parse(b"1 0 0:1 / /\xff rw - ext4 x rw").is_none());
    }

    #[test]
    fn tells_mounts_apart_by_their_numbers() {
        let table = b"1 0 0:1 / / rw - a b c\n22 1 0:1 / /x rw - a b c\n";
        assert_eq!(numbers(table), BTreeSet::from([b"1".to_vec(), b"22".to_vec()]));
    }
}
