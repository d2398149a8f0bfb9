//! By which other paths does this machine know a folder?
//!
//! A mount can show one folder in two places (`mount --bind`), and what is not given at one path is not given at the
//! other. The kernel's table says of every mount which part of which disk it shows; so a folder has a path in each mount
//! that shows its part of its disk. A link is another matter: it is resolved, and what it leads to is what is judged.
//!
//! Not seen: copies, and file systems that show another's files as their own (overlays, FUSE).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount. Source: proc_pid_mountinfo(5).
#[derive(Debug)]
struct Mounted {
    id: u64,
    /// The disk's number.
    device: String,
    /// Which part of the disk it shows.
    root: PathBuf,
    /// Where.
    at: PathBuf,
}

/// Another path of a folder, or of one that lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alias {
    /// By the path at hand.
    pub(super) here: PathBuf,
    /// By the other mount.
    pub(super) there: PathBuf,
}

/// The other paths of an open folder and of what lies in it; `path` is the one it was opened by.
pub(super) fn aliases(opened: &OwnedFd, path: &Path) -> io::Result<Vec<Alias>> {
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", opened.as_raw_fd()))?;
    let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    let mount = mount.ok_or_else(|| io::Error::other("the kernel does not say which mount it is in"))?;
    Ok(among(&read(&fs::read("/proc/self/mountinfo")?), mount, path))
}

fn among(mounts: &[Mounted], mount: u64, path: &Path) -> Vec<Alias> {
    let Some(own) = mounts.iter().find(|one| one.id == mount) else { return Vec::new() };
    let Ok(below) = path.strip_prefix(&own.at) else { return Vec::new() };
    let on_disk = own.root.join(below);
    let alias = |one: &Mounted| {
        let (here, there) = match on_disk.strip_prefix(&one.root) {
            // it lies in what the mount shows, or is that
            Ok(below) => (path.to_owned(), one.at.join(below)),
            Err(_) => (path.join(one.root.strip_prefix(&on_disk).ok()?), one.at.clone()),
        };
        // joining nothing leaves a slash at the end
        Some(Alias { here: here.components().collect(), there: there.components().collect() })
    };
    let same = mounts.iter().filter(|one| one.device == own.device);
    same.filter_map(alias).filter(|alias| alias.here != alias.there).collect()
}

fn read(table: &[u8]) -> Vec<Mounted> {
    let line = |line: &[u8]| {
        let mut fields = line.split(|b| *b == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = String::from_utf8(fields.nth(1)?.to_vec()).ok()?;
        Some(Mounted { id, device, root: unescaped(fields.next()?), at: unescaped(fields.next()?) })
    };
    table.split(|b| *b == b'\n').filter_map(line).collect()
}

/// A field in which blanks and backslashes are three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let octal = |digits: &[u8]| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        };
        match after.get(..3).filter(|_| *first == b'\\').and_then(octal) {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(plain).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        21 20 8:2 / /home rw,relatime shared:1 - ext4 /dev/sda2 rw\n\
        30 20 8:2 /u/.ssh /srv/x rw - ext4 /dev/sda2 rw\n\
        31 20 8:2 /u/my\\040own /srv/with\\040a\\040space rw - ext4 /dev/sda2 rw\n\
        40 20 0:41 / /proc rw - proc proc rw\n";

    #[test]
    fn finds_the_paths_of_a_folder_in_every_mount_that_shows_it() {
        let of = |mount, path: &str| -> Vec<String> {
            let found = among(&read(TABLE), mount, Path::new(path));
            found.iter().map(|at| format!("{} {}", at.here.display(), at.there.display())).collect()
        };
        assert_eq!(of(30, "/srv/x"), ["/srv/x /home/u/.ssh"]);
        assert_eq!(of(30, "/srv/x/old"), ["/srv/x/old /home/u/.ssh/old"]);
        assert_eq!(of(21, "/home/u/.ssh"), ["/home/u/.ssh /srv/x"]);
        assert_eq!(of(31, "/srv/with a space/z"), ["/srv/with a space/z /home/u/my own/z"]);
        // what lies in it is seen elsewhere
        assert_eq!(of(21, "/home/u"), ["/home/u/.ssh /srv/x", "/home/u/my own /srv/with a space"]);
        for (mount, path) in [(21, "/home/u/src"), (20, "/srv/data"), (40, "/proc/1"), (99, "/srv/x")] {
            assert_eq!(of(mount, path), [] as [&str; 0], "{path}");
        }
    }

    #[test]
    fn knows_the_mount_of_a_folder_of_this_machine() {
        let here = fs::File::open("/").unwrap().into();
        assert!(aliases(&here, Path::new("/")).is_ok());
    }
}
