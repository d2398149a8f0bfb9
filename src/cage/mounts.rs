//! Is what is mounted in a cage what was asked for, and nothing else?
//!
//! By init's own look at the kernel's table, before the first program: each folder is the very file that was judged
//! outside, since the engine followed its path again; read-only is read-only; and whatever else is mounted is the
//! kernel's, or one of the three small files an engine writes for every container.

use super::CageError;
use super::engine::EngineError;
use super::lacking::Lacking;
use super::link::Mount;
use super::profile::{HOME, Profile};
use crate::text::Shown;

/// File systems that hold nothing of the host's disks. Source: filesystems(5), and what runc mounts (the OCI runtime
/// specification, `config-linux.md`, "Default Filesystems").
const OF_THE_KERNEL: &[&str] =
    &["cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "proc", "sysfs", "tmpfs"];

/// What every engine mounts: the root itself, and files that it writes for each container.
///
/// The last is Podman's, a file of a few words on the container itself.
const OF_THE_ENGINE: &[&str] =
    &["/", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"];
/// Bytes of the largest page that Linux has on the machines there is an init for.
const PAGE: u64 = 65_536;

/// Holds what is mounted against the profile.
pub(super) fn compare(profile: &Profile, mounts: &[Mount]) -> Result<(), CageError> {
    let weaker = |row: String| Err(CageError::Engine(EngineError::weaker("mounts", row)));
    for bind in profile.binds() {
        let path = || Shown::new(bind.path());
        // the last one is the one that is seen
        let Some(mount) = mounts.iter().rfind(|mount| mount.at == bind.path()) else {
            return weaker(format!("{} is not mounted", bind.path()));
        };
        if mount.read_only == bind.writable() {
            return weaker(format!("{} is not mounted as it was asked for", bind.path()));
        }
        if mount.shared {
            return weaker(format!("{} takes part in what is mounted on the host", bind.path()));
        }
        let Some(root) = mount.root else {
            return Err(CageError::OtherFile { path: path() });
        };
        if (root.device, root.inode) != (bind.identity().device, bind.identity().inode) {
            return Err(CageError::OtherFile { path: path() });
        }
        if root.uid != bind.owner() {
            return Err(CageError::UsersMapped { path: path() });
        }
    }
    if profile.kept().is_some() {
        let user = profile.user();
        let root = mounts.iter().rfind(|mount| mount.at == HOME).and_then(|mount| mount.root);
        if root.is_none_or(|root| root.uid != user.uid()) {
            return weaker(format!("{HOME} is not the kept home of the server's user"));
        }
    }
    let known = |mount: &&Mount| {
        OF_THE_KERNEL.contains(&mount.kind.as_str())
            || OF_THE_ENGINE.contains(&mount.at.as_str())
            || profile.binds().iter().any(|bind| bind.path() == mount.at)
            || (profile.kept().is_some() && mount.at == HOME)
    };
    let mut rows = Vec::new();
    if let Some(mount) = mounts.iter().find(|mount| !known(mount)) {
        rows.push(Lacking::new("mounts", format!("{} is mounted, which was not asked for", mount.at)));
    }
    memory(profile, mounts, &mut rows);
    let root = mounts.iter().rfind(|mount| mount.at == "/");
    if root.is_none_or(|root| root.read_only == profile.writable_root()) {
        rows.push(Lacking::new("root file system", "it is not mounted as it was asked for"));
    }
    Ok(EngineError::unless_none(rows)?)
}

/// What can be written to in memory: what was asked for, as it was, and nothing else.
fn memory(profile: &Profile, mounts: &[Mount], rows: &mut Vec<Lacking>) {
    for scratch in profile.scratch() {
        // in whole pages, which the kernel rounds to
        let most = scratch.bytes.next_multiple_of(PAGE);
        let as_asked = |mount: &Mount| {
            mount.kind == "tmpfs"
                && !mount.read_only
                && mount.plain
                && (scratch.exec || !mount.executed)
                && mount.bytes.is_some_and(|bytes| bytes <= most && bytes > 0)
        };
        if !mounts.iter().rfind(|mount| mount.at == scratch.path).is_some_and(as_asked) {
            rows.push(Lacking::new("writable", format!("{} is not as it was asked for", scratch.path)));
        }
    }
    let of_the_runtime = |at: &str| {
        ["/dev", "/sys/fs/cgroup"].contains(&at)
            || ["/dev/", "/proc/", "/sys/"].iter().any(|under| at.starts_with(under)) && at != "/dev/shm"
    };
    let other = mounts.iter().find(|mount| {
        mount.kind == "tmpfs"
            && !mount.read_only
            // an engine may keep its files in memory, too; they are root's
            && !OF_THE_ENGINE.contains(&mount.at.as_str())
            && !of_the_runtime(&mount.at)
            && profile.scratch().iter().all(|scratch| scratch.path != mount.at)
    });
    if let Some(mount) = other {
        rows.push(Lacking::new("writable", format!("{} can be written to", mount.at)));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use pinfold_init::protocol::Rooted;

    use super::*;
    use crate::cage::folder::{Folders, Grounds};
    use crate::plan::{Access, AllowRoot, Limits};

    struct Given {
        _directory: tempfile::TempDir,
        profile: Profile,
        mounts: Vec<Mount>,
    }

    /// A profile with one folder, and the mounts of a cage that has it.
    fn given(access: Access) -> Given {
        let directory = tempfile::tempdir().unwrap();
        let home = crate::state::Home::at(&directory.path().join("home")).unwrap();
        let path = directory.path().join("work").canonicalize().unwrap_or_else(|_| {
            std::fs::create_dir(directory.path().join("work")).unwrap();
            directory.path().join("work").canonicalize().unwrap()
        });
        let mount = crate::plan::Mount::new(path.to_str().unwrap().parse().unwrap(), access);
        let root = AllowRoot::typed(rustix::process::geteuid().is_root());
        let grounds = Grounds::of_this_machine(&home, Vec::new());
        let folders = Folders::judge(&[mount], &grounds, root.as_ref()).unwrap();
        let found = std::fs::metadata(&path).unwrap();
        let mount = |at: &str, kind: &str, read_only, root| Mount {
            at: at.into(),
            read_only,
            shared: false,
            plain: true,
            executed: false,
            kind: kind.into(),
            bytes: Some(1 << 20),
            root,
        };
        let root = Rooted { device: found.dev(), inode: found.ino(), uid: found.uid(), gid: found.gid() };
        let mounts = vec![
            mount("/", "overlay", true, None),
            mount("/tmp", "tmpfs", false, None),
            mount("/home/cage", "tmpfs", false, None),
            mount("/proc", "proc", false, None),
            mount("/etc/hosts", "ext4", true, None),
            mount(path.to_str().unwrap(), "ext4", access == Access::Read, Some(root)),
        ];
        let profile = Profile::run(Limits::default(), folders.user()).with_folders(&folders);
        Given { _directory: directory, profile, mounts }
    }

    #[test]
    fn accepts_exactly_what_was_asked_for() {
        for access in [Access::Read, Access::Write] {
            let given = given(access);
            compare(&given.profile, &given.mounts).unwrap();
        }
    }

    #[test]
    fn refuses_a_mount_that_differs_in_anything() {
        let given = given(Access::Read);
        let changed = |change: &dyn Fn(&mut Mount)| {
            let mut mounts = given.mounts.clone();
            change(mounts.last_mut().unwrap());
            compare(&given.profile, &mounts).unwrap_err()
        };
        let root =
            |change: fn(&mut Rooted)| changed(&|mount: &mut Mount| change(mount.root.as_mut().unwrap()));
        assert!(matches!(changed(&|mount| mount.read_only = false), CageError::Engine(_)));
        assert!(matches!(changed(&|mount| mount.shared = true), CageError::Engine(_)));
        assert!(matches!(changed(&|mount| mount.at = "/elsewhere".into()), CageError::Engine(_)));
        assert!(matches!(changed(&|mount| mount.root = None), CageError::OtherFile { .. }));
        assert!(matches!(root(|root| root.inode += 1), CageError::OtherFile { .. }));
        assert!(matches!(root(|root| root.device += 1), CageError::OtherFile { .. }));
        assert!(matches!(root(|root| root.uid += 1), CageError::UsersMapped { .. }));
    }

    #[test]
    fn refuses_a_mount_that_nobody_asked_for() {
        let given = given(Access::Read);
        for (at, kind) in [("/srv", "ext4"), ("/mnt", "nfs"), ("/home/cage", "ext4"), ("/etc", "overlay")] {
            let mut mounts = given.mounts.clone();
            mounts.push(Mount { at: at.into(), kind: kind.into(), ..given.mounts[0].clone() });
            assert!(matches!(compare(&given.profile, &mounts), Err(CageError::Engine(_))), "{at}");
        }
    }

    #[test]
    fn refuses_memory_that_can_be_written_to_and_was_not_asked_for() {
        let given = given(Access::Read);
        let added = |at: &str, read_only: bool| {
            let mut mounts = given.mounts.clone();
            let mount = Mount { at: at.into(), kind: "tmpfs".into(), read_only, ..given.mounts[0].clone() };
            mounts.push(mount);
            compare(&given.profile, &mounts)
        };
        for at in ["/run", "/var/tmp", "/dev/shm"] {
            assert!(added(at, false).is_err(), "{at}");
            added(at, true).unwrap();
        }
        for at in ["/dev", "/sys/fs/cgroup", "/proc/kcore"] {
            added(at, false).unwrap();
        }
    }

    #[test]
    fn refuses_scratch_space_and_a_root_that_differ() {
        let given = given(Access::Read);
        let changed = |at: &str, change: &dyn Fn(&mut Mount)| {
            let mut mounts = given.mounts.clone();
            change(mounts.iter_mut().find(|mount| mount.at == at).unwrap());
            compare(&given.profile, &mounts)
        };
        changed("/tmp", &|_| ()).unwrap();
        assert!(changed("/tmp", &|mount| mount.plain = false).is_err());
        assert!(changed("/tmp", &|mount| mount.executed = true).is_err());
        assert!(changed("/tmp", &|mount| mount.bytes = Some(1 << 40)).is_err());
        assert!(changed("/tmp", &|mount| mount.bytes = None).is_err());
        assert!(changed("/home/cage", &|mount| mount.read_only = true).is_err());
        assert!(changed("/", &|mount| mount.read_only = false).is_err());
    }
}
