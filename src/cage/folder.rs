//! May a server be given this folder, and is it still the one that was agreed to?
//!
//! Judged twice, by the same function: when the plan is drawn, and again at every start just before the engine is
//! asked, since a path can lead elsewhere by then. Between that look and the engine's own there is still a moment; so
//! each folder is remembered by its device and inode, and init says which file each mount turned out to be
//! ([`super::Cage::open`] compares).
//!
//! Invariants: nothing is created on this machine; a [`Bind`] is made here alone, of what was judged; a folder is not
//! given where its owner is somebody whose rights the user of Pinfold does not have.

mod aliases;
pub mod forbidden;
pub mod held;
mod leads;
mod refused;
mod repository;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Access as Right, AtFlags, CWD, Mode, OFlags, accessat, fstat, lstat, open};
use rustix::io::Errno;

use self::aliases::Alias;
use self::forbidden::{Forbidden, Places, Reach};
use self::held::Found;
pub use self::refused::FolderRefused;
use crate::plan::{Access, AllowRoot, FolderPath, Mount, MountAsked, User};
use crate::state::{Home, read_plain};
use crate::text::Shown;

/// Which file something is: stat(2). The same inside a cage as outside, since both see one kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// A place of this machine that is mounted in a cage, at the same path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    path: String,
    writable: bool,
    identity: Identity,
    owner: u32,
}

impl Bind {
    /// Where it is, outside and inside.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the cage may write through it.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Its owner's number.
    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }
}

/// What a folder is judged by: this machine, and who asks.
#[derive(Debug, Clone)]
pub struct Grounds {
    places: Places,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

impl Grounds {
    /// Those of this process. `sockets` are where an engine may listen.
    pub fn of_this_machine(home: &Home, sockets: Vec<PathBuf>) -> Self {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let places = Places {
            homes: homes().into_iter().map(real).collect(),
            own: home.directories().into_iter().map(real).collect(),
            sockets: sockets.into_iter().map(real).collect(),
            program: std::env::current_exe().ok().map(real),
            engine: engine_root().map(real),
        };
        Self { places, ..Self::of_this_process() }
    }

    /// Whether a path may be given at all, whatever is there.
    ///
    /// # Errors
    /// [`FolderRefused::Forbidden`]
    fn permit(&self, path: &Path, access: Access, real: &[Real]) -> Result<(), FolderRefused> {
        match forbid(path, access, self, real) {
            Some(forbidden) => {
                Err(FolderRefused::Forbidden { path: Shown::new(&path.to_string_lossy()), forbidden })
            }
            None => Ok(()),
        }
    }

    /// Who asks, with no place forbidden yet.
    fn of_this_process() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // a process without further groups is in its own
        let mut groups: Vec<u32> = rustix::process::getgroups()
            .unwrap_or_default()
            .into_iter()
            .map(|group| group.as_raw())
            .collect();
        groups.push(gid);
        Self { places: Places::default(), uid, gid, groups }
    }
}

/// Where Docker was told to keep its files, if elsewhere than usual. Source: dockerd(8), "daemon configuration file".
fn engine_root() -> Option<PathBuf> {
    let text = read_plain(Path::new("/etc/docker/daemon.json"), 1024 * 1024).ok()?;
    engine_root_in(&text)
}

fn engine_root_in(settings: &[u8]) -> Option<PathBuf> {
    let settings: serde_json::Value = serde_json::from_slice(settings).ok()?;
    let root = settings.get("data-root").or_else(|| settings.get("graph"))?;
    Some(PathBuf::from(root.as_str()?)).filter(|root| root.is_absolute() && root.parent().is_some())
}

/// The homes of this machine's people: the user's own, and those that passwd(5) has for root and ordinary accounts.
fn homes() -> Vec<PathBuf> {
    let mut homes: BTreeSet<PathBuf> = BTreeSet::new();
    homes.extend(std::env::var_os("HOME").map(PathBuf::from));
    homes.extend(directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()));
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    for line in passwd.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, uid, _, _, home, ..] = fields[..] else { continue };
        // accounts of services have homes such as /var/www; source: Debian policy 9.2.2, and login.defs(5) UID_MIN
        let person = uid.parse().is_ok_and(|uid: u32| uid == 0 || (1_000..65_534).contains(&uid));
        if person {
            homes.insert(home.into());
        }
    }
    homes.into_iter().filter(|home| home.is_absolute() && home.parent().is_some()).collect()
}

/// What a `~` at the beginning of a path stands for, `~NAME` included; none where there is none, or nobody of that name.
pub fn expanded(typed: &str) -> Option<PathBuf> {
    let rest = typed.strip_prefix('~')?;
    let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let home = match name {
        "" => PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?),
        name => {
            let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
            let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
            fields.into_iter().find(|fields| fields[0] == name)?.get(5)?.into()
        }
    };
    Some(if rest.is_empty() { home } else { home.join(rest.trim_start_matches('/')) })
}

/// The folder that was meant by what was typed: absolute, `~` and every link resolved.
///
/// # Errors
/// [`FolderRefused::Missing`] where nothing is there, and whatever else keeps a path from being one folder.
pub fn resolve(asked: &MountAsked, grounds: &Grounds) -> Result<Mount, FolderRefused> {
    let expanded = expanded(&asked.path);
    let typed = expanded.is_some().then(|| Shown::new(&asked.path));
    let path = expanded.unwrap_or_else(|| PathBuf::from(&asked.path));
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => {
            // what no server is given is refused as that, there or not: to make it would help nobody
            grounds.permit(&as_far_as_there(&path), asked.access, &really(&grounds.places))?;
            return Err(match FolderRefused::of(&error, &path) {
                FolderRefused::Missing { path, .. } => {
                    FolderRefused::Missing { path, typed, access: asked.access }
                }
                other => other,
            });
        }
    };
    let text =
        real.to_str().ok_or_else(|| FolderRefused::NotText { path: Shown::new(&real.to_string_lossy()) })?;
    let path: FolderPath = match text {
        // has a reason of its own in the table, and no spelling as a part of a plan
        "/" => return Err(FolderRefused::everything()),
        text => text.parse().map_err(FolderRefused::Path)?,
    };
    Ok(Mount::new(path, asked.access))
}

/// A path of which a part may not be there: absolute, the links in what is there resolved.
fn as_far_as_there(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = absolute.ancestors().find_map(|part| {
        let rest = absolute.strip_prefix(part).ok()?;
        // joining nothing would leave a slash at the end
        part.canonicalize().ok().map(|real| if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    real.unwrap_or(absolute)
}

/// One folder, judged.
#[derive(Debug, Clone)]
struct Folder {
    mount: Mount,
    identity: Identity,
    owner: (u32, u32),
    found: Found,
}

/// Every folder of a plan, judged together.
#[derive(Debug, Clone)]
pub struct Folders {
    all: Vec<Folder>,
    user: User,
    binds: Vec<Bind>,
    /// Every folder's path, where a look through one does not follow.
    paths: BTreeSet<PathBuf>,
    /// What was seen to be there while a server ran, and was not before.
    noticed: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// What a person is told about one folder when the plan is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The folder.
    pub path: Shown,
    /// Names in it that stay read-only.
    pub held: Vec<Shown>,
    /// Names in it that should, and cannot.
    pub loose: Vec<Shown>,
    /// Those of read-only files that have a second name, by which they can be written to.
    pub twice: Vec<Shown>,
    /// Whether it belongs to root, and the server will be nobody to it.
    pub roots: bool,
}

/// What changed in folders that a server could write to, of what should not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Names of the table that have come to be: one of each name, with how many there are, what git runs first.
    pub appeared: Vec<Shown>,
    /// What was there for a while and is gone again.
    pub passed: Vec<Shown>,
    /// Held places that are another file now.
    pub replaced: Vec<Shown>,
    /// Held files that have a second name now, by which they can be written to.
    pub doubled: Vec<Shown>,
    /// Folders that can no longer be looked through, each with the reason: no start will give them.
    pub closed: Vec<Shown>,
}

impl Folders {
    /// Judges the folders of a plan that is being drawn.
    ///
    /// # Errors
    /// [`FolderRefused`], for the first folder that is not given, or for owners that cannot be served together.
    pub fn judge(
        mounts: &[Mount],
        grounds: &Grounds,
        root: Option<&AllowRoot>,
    ) -> Result<Self, FolderRefused> {
        let all = each(mounts, grounds)?;
        let user = whose(&all, grounds, root.map(User::root))?;
        if root.is_some() && !user.is_root() {
            return Err(FolderRefused::RootForNothing);
        }
        Self::of(all, user)
    }

    /// Judges the folders of a plan again, at a start.
    ///
    /// # Errors
    /// [`FolderRefused`] as when it was drawn; [`FolderRefused::OtherOwner`].
    pub fn judge_again(mounts: &[Mount], user: User, grounds: &Grounds) -> Result<Self, FolderRefused> {
        let all = each(mounts, grounds)?;
        let now = whose(&all, grounds, user.is_root().then_some(user))?;
        if now != user && !mounts.is_empty() {
            return Err(FolderRefused::OtherOwner { was: user, is: now });
        }
        Self::of(all, user)
    }

    /// Whom the server runs as.
    pub fn user(&self) -> User {
        self.user
    }

    /// What is mounted in the cage, outer places before what lies in them.
    pub fn binds(&self) -> &[Bind] {
        &self.binds
    }

    /// What to tell about each folder.
    pub fn told(&self) -> Vec<Told> {
        let of = |folder: &Folder| {
            let texts = |all: &BTreeSet<PathBuf>| {
                folder.found.told(all).iter().map(|name| Shown::new(name)).collect()
            };
            Told {
                path: Shown::new(folder.mount.path().as_str()),
                held: texts(&folder.found.held),
                loose: texts(&folder.found.links),
                twice: texts(&folder.found.twice),
                roots: folder.owner.0 == 0 && !self.user.is_root(),
            }
        };
        self.all.iter().map(of).collect()
    }

    /// Held files that have a second name, a hard link. There is no telling where that is, and whoever writes to it
    /// writes to the held file.
    pub fn second_names(&self) -> impl Iterator<Item = &PathBuf> {
        self.all.iter().flat_map(|folder| &folder.found.twice)
    }

    /// That no held file has a second name but those that had one before.
    ///
    /// # Errors
    /// [`FolderRefused::SecondName`]
    pub fn no_new_second_name(&self, before: &BTreeSet<PathBuf>) -> Result<(), FolderRefused> {
        let new = |folder: &&Folder| folder.found.twice.iter().find(|path| !before.contains(*path)).cloned();
        match self.all.iter().find_map(|folder| Some((folder, new(&folder)?))) {
            Some((folder, file)) => Err(FolderRefused::SecondName {
                path: Shown::new(folder.mount.path().as_str()),
                file: Shown::new(&file.to_string_lossy()),
            }),
            None => Ok(()),
        }
    }

    /// Looks whether something is there that was not when they were judged, and that this machine would run or obey
    /// meanwhile: in the repositories that are known, and at the top of each folder. What a server takes away again
    /// before its end is told as well ([`Self::changes`]), if it was there at one of these looks. A few hundred calls.
    pub fn glance(&self) {
        for folder in self.all.iter().filter(|folder| folder.mount.access() == Access::Write) {
            let before: BTreeSet<&PathBuf> = folder.found.there().collect();
            let new = folder.found.might_come(folder.mount.path().as_path());
            let new = new.filter(|path| !before.contains(path) && lstat(path).is_ok());
            self.noticed.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
        }
    }

    /// What changed since they were judged, of what a server should not have changed.
    pub fn changes(&self) -> Changes {
        let shown = |path: &Path| Shown::new(&path.to_string_lossy());
        let mut changes = Changes::default();
        let mut appeared = held::Groups::default();
        for folder in self.all.iter().filter(|folder| folder.mount.access() == Access::Write) {
            // as the next start will look
            match held::look(folder.mount.path().as_path(), &self.paths) {
                Ok(now) => {
                    let before: BTreeSet<&PathBuf> = folder.found.there().collect();
                    now.there()
                        .filter(|path| !before.contains(path))
                        .for_each(|path| appeared.add(&now, path));
                    let doubled = now.twice.iter().filter(|path| !folder.found.twice.contains(*path));
                    changes.doubled.extend(doubled.map(|path| shown(path)));
                }
                Err(why) => {
                    let why: Shown = why.into();
                    changes.closed.push(Shown::new(&format!("{}: {why}", folder.mount.path().as_str())));
                }
            }
        }
        changes.appeared = appeared.told();
        let noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        changes.passed =
            noticed.iter().filter(|path| lstat(*path).is_err()).map(|path| shown(path)).collect();
        let held = self.all.iter().flat_map(|folder| &folder.found.held);
        for path in held {
            let was = self.binds.iter().find(|bind| Path::new(bind.path()) == path).map(Bind::identity);
            if was.is_some() && identity(path).map(|(identity, _)| identity) != was {
                changes.replaced.push(shown(path));
            }
        }
        changes
    }

    fn of(all: Vec<Folder>, user: User) -> Result<Self, FolderRefused> {
        let paths = all.iter().map(|folder| folder.mount.path().as_path().to_owned()).collect();
        let binds = binds(&all)?;
        Ok(Self { all, user, binds, paths, noticed: Arc::default() })
    }
}

fn each(mounts: &[Mount], grounds: &Grounds) -> Result<Vec<Folder>, FolderRefused> {
    let paths: BTreeSet<PathBuf> = mounts.iter().map(|mount| mount.path().as_path().to_owned()).collect();
    let real = if mounts.is_empty() { Vec::new() } else { really(&grounds.places) };
    mounts.iter().map(|mount| one(mount, &paths, grounds, &real)).collect()
}

/// Judges one folder. A straight line: what it is, whether it may be given, what the user may do there.
fn one(
    mount: &Mount,
    paths: &BTreeSet<PathBuf>,
    grounds: &Grounds,
    real: &[Real],
) -> Result<Folder, FolderRefused> {
    let path = mount.path().as_path();
    let shown = || Shown::new(mount.path().as_str());
    // without a right to read it, and without waiting: it may be a pipe
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty()).map_err(|error| FolderRefused::of(&error.into(), path))?;
    // the kernel's own word for what was opened: no link on the way, and not gone since
    let leads = leads_to(&opened).map_err(|error| FolderRefused::of(&error, path))?;
    if leads != path {
        return Err(FolderRefused::Leads { path: shown(), to: Shown::new(&leads.to_string_lossy()) });
    }
    let found = fstat(&opened).map_err(|error| FolderRefused::of(&error.into(), path))?;
    let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
    if kind == rustix::fs::FileType::Symlink {
        let to = path.canonicalize().unwrap_or_default();
        return Err(FolderRefused::Leads { path: shown(), to: Shown::new(&to.to_string_lossy()) });
    }
    // before what it is: the folder that a forbidden file is in would not be given either
    grounds.permit(path, mount.access(), real)?;
    if kind != rustix::fs::FileType::Directory {
        let folder = path.parent().filter(|folder| grounds.permit(folder, mount.access(), real).is_ok());
        let folder = folder.map(|folder| Shown::new(&folder.to_string_lossy()));
        return Err(FolderRefused::NotAFolder { path: shown(), folder });
    }
    let identity = Identity { device: found.st_dev, inode: found.st_ino };
    let others = aliases::aliases(&opened, path).map_err(|error| FolderRefused::of(&error, path))?;
    // those that are seen there: another mount may lie on top; what cannot be looked at may be
    let seen = |other: &Alias| match (identity_of(&other.here), identity_of(&other.there)) {
        (Ok(here), Ok(there)) => here == there,
        (here, there) => here.is_err_and(|e| e == Errno::ACCESS) || there.is_err_and(|e| e == Errno::ACCESS),
    };
    for other in others.iter().filter(|other| seen(other)) {
        if let Some(mut forbidden) = forbid(&other.there, mount.access(), grounds, real) {
            if other.here != path {
                forbidden.how = "holds";
            }
            return Err(FolderRefused::Forbidden { path: shown(), forbidden });
        }
    }
    // with the rights that this process uses its files with: who may ask the engine could reach any folder through it
    let mut wanted = Right::READ_OK | Right::EXEC_OK;
    if mount.access() == Access::Write {
        wanted |= Right::WRITE_OK;
    }
    match accessat(CWD, path, wanted, AtFlags::EACCESS) {
        Ok(()) => {}
        Err(error) => return Err(FolderRefused::NotYours { path: shown(), access: mount.access(), error }),
    }
    let found_in = match mount.access() {
        Access::Read => Found::default(),
        Access::Write => held::look(path, paths).map_err(|why| FolderRefused::TooMuch {
            path: shown(),
            cause: Shown::new(&why.cause().to_string_lossy()),
            why: why.into(),
        })?,
    };
    Ok(Folder { mount: mount.clone(), identity, owner: (found.st_uid, found.st_gid), found: found_in })
}

/// Why a folder at this path is not given.
fn forbid(path: &Path, access: Access, grounds: &Grounds, real: &[Real]) -> Option<Forbidden> {
    let is_there = |place: &Path| std::fs::symlink_metadata(place).is_ok();
    grounds
        .places
        .forbid(path, access, &is_there)
        .or_else(|| forbid_behind_links(path, access, real))
        .or_else(|| held::is_held(path).filter(|_| access == Access::Write))
}

/// A place that is not given, where it really is: a link may put it elsewhere (`~/.ssh` on another disk).
#[derive(Debug)]
struct Real {
    path: PathBuf,
    identity: Option<Identity>,
    reach: Reach,
    to: Access,
    why: &'static str,
}

/// Those places that are there.
fn really(places: &Places) -> Vec<Real> {
    let real = |place: forbidden::Place| {
        lstat(&place.path).ok()?;
        let path = place.path.canonicalize().ok()?;
        let identity = identity_of(&path).ok();
        Some(Real { path, identity, reach: place.reach, to: place.to, why: place.why })
    };
    places.all(Access::Write).into_iter().filter_map(real).collect()
}

/// The reason not to give a folder that is, holds, or lies in such a place: by where that is and, as a mount has a
/// name of its own for it, by which file it is.
fn forbid_behind_links(path: &Path, access: Access, real: &[Real]) -> Option<Forbidden> {
    let above: Vec<(&Path, Option<Identity>)> =
        path.ancestors().map(|above| (above, identity_of(above).ok())).collect();
    for place in real.iter().filter(|place| place.to == Access::Read || access == Access::Write) {
        let same = above.iter().find(|(_, identity)| identity.is_some() && *identity == place.identity);
        let how = match same {
            Some((above, _)) if *above == path => Some("is"),
            Some(_) if place.reach == Reach::Whole => Some("lies in"),
            _ => forbidden::how(path, &place.path, place.reach),
        };
        if let Some(how) = how {
            return Some(Forbidden { place: place.path.clone(), how, why: place.why });
        }
    }
    None
}

fn leads_to(opened: &OwnedFd) -> std::io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// As whom a server with these folders runs.
///
/// As the owner of them all: a folder that nobody else may read is unreadable to any other. Root's folders are read
/// with what everybody may read there, unless root was asked for.
fn whose(all: &[Folder], grounds: &Grounds, root: Option<User>) -> Result<User, FolderRefused> {
    let mut first: Option<(User, &Folder)> = None;
    for folder in all {
        let (uid, gid) = folder.owner;
        let owner = match User::owner(uid, gid) {
            // somebody else's, which this user may read or write too: with this user's own rights, not the owner's
            Some(_) if grounds.uid != 0 && uid != grounds.uid => User::owner(grounds.uid, grounds.gid),
            // nor with those of a group that this user is not in
            Some(_) if grounds.uid != 0 && !grounds.groups.contains(&gid) => User::owner(uid, grounds.gid),
            Some(owner) => Some(owner),
            None => root,
        };
        let Some(owner) = owner else {
            if folder.mount.access() == Access::Write {
                return Err(FolderRefused::Roots { path: Shown::new(folder.mount.path().as_str()) });
            }
            continue;
        };
        // the first decides the group; another group of the same owner's is theirs as well
        let (user, of) = *first.get_or_insert((owner, folder));
        if user.uid() != owner.uid() {
            return Err(FolderRefused::TwoOwners {
                one: Shown::new(of.mount.path().as_str()),
                other: Shown::new(folder.mount.path().as_str()),
                owners: (user, owner),
            });
        }
    }
    Ok(first.map_or(User::NOBODY, |(user, _)| user))
}

fn identity(path: &Path) -> Option<(Identity, u32)> {
    let found = lstat(path).ok()?;
    Some((Identity { device: found.st_dev, inode: found.st_ino }, found.st_uid))
}

fn identity_of(path: &Path) -> Result<Identity, Errno> {
    lstat(path).map(|found| Identity { device: found.st_dev, inode: found.st_ino })
}

/// The mounts of a cage: each folder; what is held in it, to be read; and the folders on the way there as they are, so
/// that none can be moved aside.
fn binds(all: &[Folder]) -> Result<Vec<Bind>, FolderRefused> {
    let mut binds: BTreeMap<PathBuf, Bind> = BTreeMap::new();
    let mut add = |path: &Path, writable: bool| {
        let gone = || FolderRefused::Missing {
            path: Shown::new(&path.to_string_lossy()),
            typed: None,
            access: Access::Read,
        };
        // a name that is no text cannot be said to an engine
        let text = path
            .to_str()
            .ok_or_else(|| FolderRefused::NotText { path: Shown::new(&path.to_string_lossy()) })?;
        let (identity, owner) = identity(path).ok_or_else(gone)?;
        let bind = Bind { path: text.to_owned(), writable, identity, owner };
        binds.entry(path.to_owned()).or_insert(bind);
        Ok(())
    };
    for folder in all {
        add(folder.mount.path().as_path(), folder.mount.access() == Access::Write)?;
    }
    // whatever lies in a folder that can be written to: held places, and other mounts
    for outer in all.iter().filter(|folder| folder.mount.access() == Access::Write) {
        let root = outer.mount.path().as_path();
        for path in &outer.found.held {
            add(path, false)?;
        }
        let others = all.iter().map(|folder| folder.mount.path().as_path());
        let inner = others.filter(|path| path.starts_with(root) && *path != root);
        for path in outer.found.held.iter().map(PathBuf::as_path).chain(inner) {
            for on_the_way in path.ancestors().skip(1).take_while(|above| *above != root) {
                // in another mount, which has its own
                if all.iter().any(|folder| folder.mount.path().as_path() == on_the_way) {
                    break;
                }
                // below a held place, where nothing can be moved anyway
                if outer.found.held.iter().any(|held| on_the_way.starts_with(held)) {
                    continue;
                }
                add(on_the_way, true)?;
            }
        }
    }
    for folder in all {
        // what was judged is what is asked for, even if the path was turned in between
        if let Some(bind) = binds.get_mut(folder.mount.path().as_path()) {
            (bind.identity, bind.owner) = (folder.identity, folder.owner.0);
        }
    }
    Ok(binds.into_values().collect())
}

impl From<held::TooMuch> for Shown {
    fn from(why: held::TooMuch) -> Self {
        Shown::new(&match why {
            held::TooMuch::Entries(crowd) => format!(
                "it holds more than 100,000 files in its upper levels, most of them in {}",
                crowd.most.display()
            ),
            held::TooMuch::Places(crowd) => format!(
                "it holds more than 512 places that must stay read-only, {} of them in {}",
                crowd.count,
                crowd.most.display()
            ),
            held::TooMuch::Repositories(path) => {
                format!("{} holds repositories of submodules deeper than is looked", path.display())
            }
            held::TooMuch::Unreadable(path, error) => {
                format!("{} cannot be read, and the server could change that: {error}", path.display())
            }
            held::TooMuch::Unnameable(path) => {
                format!("the name of {} is no UTF-8, and what is in it cannot be held", path.display())
            }
            held::TooMuch::Settings(path) => {
                format!(
                    "{} holds more settings of git's than are read, and may name more to hold",
                    path.display()
                )
            }
            held::TooMuch::Hooks(by) => {
                format!("git runs what is in it: {} has hooks taken from there", by.display())
            }
        })
    }
}

/// Whether a failure to reach a file means that there is none.
fn is_missing(errno: Option<i32>) -> bool {
    [Errno::NOENT, Errno::NOTDIR].iter().any(|missing| errno == Some(missing.raw_os_error()))
}

#[cfg(test)]
mod tests;
