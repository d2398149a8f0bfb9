//! Which folders is no server given, whoever asks?
//!
//! Those that hold what opens other doors: this machine's programs and settings, whole homes, credentials, the engine,
//! Pinfold's own state; and those that would lie over the cage's own. Tables with a reason a row. Reading is enough
//! for most of them: a credential that was read is used elsewhere.
//!
//! Invariant: no I/O here. Whether something is there is asked of whoever asks.

mod home;

use std::path::{Path, PathBuf};

pub use self::home::IN_A_HOME;
use self::home::{KEYRING, KEYS};
use crate::cage::profile::HOME;
use crate::plan::{Access, SERVER_DIR};

/// How far a row reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The place, whatever lies in it, and what holds it.
    Whole,
    /// The place and what holds it; what lies in it may be given.
    Itself,
}

/// A place that no server is given.
pub struct Row {
    /// Where it is.
    pub place: &'static str,
    /// How far that reaches.
    pub reach: Reach,
    /// Whether it is refused to readers, too, or to writers alone.
    pub to: Access,
    /// Why.
    pub why: &'static str,
}

const fn whole(place: &'static str, why: &'static str) -> Row {
    Row { place, reach: Reach::Whole, to: Access::Read, why }
}

const fn itself(place: &'static str, why: &'static str) -> Row {
    Row { place, reach: Reach::Itself, to: Access::Read, why }
}

const PROGRAMS: &str = "it holds this machine's programs, and the cage has its own there";
const KERNEL: &str = "it is the kernel's, and the cage has its own there";
/// Of a socket that an engine listens on.
pub const ENGINE_SOCKET: &str =
    "it is a container engine's socket: whoever reaches it is root on this machine, so no server ever does";
const PACKAGES: &str = "this machine's package manager keeps what it runs as root there";
const SERVICES: &str = "this machine's services keep their own files there";
const ENGINE: &str = "it holds the container engine's own files, those of every other container among them";

/// Places of every machine.
#[rustfmt::skip] // a row a line
pub const SYSTEM: &[Row] = &[
    whole("/bin", PROGRAMS),
    whole("/lib", PROGRAMS),
    whole("/lib32", PROGRAMS),
    whole("/lib64", PROGRAMS),
    whole("/libx32", PROGRAMS),
    whole("/sbin", PROGRAMS),
    whole("/usr", PROGRAMS),
    whole("/etc", "it holds this machine's settings, passwords among them, and the cage has its own there"),
    whole("/boot", "it holds what this machine starts from"),
    whole("/dev", KERNEL),
    whole("/proc", KERNEL),
    whole("/sys", KERNEL),
    whole("/run", "it holds the sockets of this machine's services, the engine's among them"),
    whole("/var/lib/containerd", ENGINE),
    whole("/var/lib/containers", ENGINE),
    whole("/var/lib/docker", ENGINE),
    whole("/var/lib/kubelet", ENGINE),
    whole("/lost+found", "it holds whatever was lost on this disk, whoever's it is"),
    whole("/var/backups", "it holds copies of this machine's settings, passwords among them"),
    whole("/var/cache", SERVICES),
    whole("/var/lib/apt", PACKAGES),
    whole("/var/lib/dpkg", PACKAGES),
    whole("/var/lib/private", SERVICES),
    whole("/var/lib/rpm", PACKAGES),
    whole("/var/lib/systemd", SERVICES),
    whole("/var/mail", "it holds mail"),
    whole("/var/spool/mail", "it holds mail"),
    whole("/var/spool/at", "it holds commands that this machine runs by itself"),
    whole("/var/spool/cron", "it holds commands that this machine runs by itself"),
    itself("/tmp", "it holds every program's temporary files and sockets, and the cage has its own there"),
    itself("/var/tmp", "it holds every program's temporary files"),
    whole("/tmp/pinfold", "the cage keeps files of its own there"),
    whole(SERVER_DIR, "the cage keeps the server itself there"),
    whole(HOME, "it is the home that the server has in its cage"),
];

/// Names that say what a folder is wherever it lies: a copy, or another user's home.
#[rustfmt::skip] // a row a line
pub const ANYWHERE: &[(&str, &str)] = &[
    (".ssh", KEYS),
    (".gnupg", KEYS),
    (".password-store", KEYRING),
];

/// What engines call their sockets, wherever they lie.
pub const SOCKETS: &[&str] =
    &["docker.sock", "podman.sock", "containerd.sock", "crio.sock", "cri-dockerd.sock", "buildkitd.sock"];

/// What this machine has that is nobody's to give.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The homes of its users.
    pub homes: Vec<PathBuf>,
    /// Pinfold's own directories.
    pub own: Vec<PathBuf>,
    /// Sockets on which an engine may listen.
    pub sockets: Vec<PathBuf>,
    /// Where an engine keeps its files, if elsewhere than usual.
    pub engine: Option<PathBuf>,
    /// The launcher itself.
    pub program: Option<PathBuf>,
}

/// Why a folder is not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// The place that it is, lies in, or holds.
    pub place: PathBuf,
    /// Which of these: `is`, `lies in`, `holds`.
    pub how: &'static str,
    /// Why that place is not given.
    pub why: &'static str,
}

/// How a folder lies to a place; none where they have nothing to do with each other.
pub(super) fn how(folder: &Path, place: &Path, reach: Reach) -> Option<&'static str> {
    if folder == place {
        Some("is")
    } else if place.starts_with(folder) {
        Some("holds")
    } else if reach == Reach::Whole && folder.starts_with(place) {
        Some("lies in")
    } else {
        None
    }
}

/// A place that is not given, of this machine.
pub struct Place {
    /// Its path.
    pub path: PathBuf,
    /// How far that reaches.
    pub reach: Reach,
    /// Whether it is refused to readers, too, or to writers alone.
    pub to: Access,
    /// Why.
    pub why: &'static str,
    /// Whether what holds it is refused even if it is not there.
    always: bool,
}

impl Places {
    /// Every place that a server of this access is not given.
    pub fn all(&self, access: Access) -> Vec<Place> {
        let applies = |to| to == Access::Read || access == Access::Write;
        let always = |path: &Path, reach, why| Place {
            path: path.to_owned(),
            reach,
            to: Access::Read,
            why,
            always: true,
        };
        let mut all = Vec::new();
        for own in &self.own {
            all.push(always(own, Reach::Whole, "it is Pinfold's own: pins, and the key that seals them"));
        }
        for row in SYSTEM.iter().filter(|row| applies(row.to)) {
            all.push(always(Path::new(row.place), row.reach, row.why));
        }
        for home in &self.homes {
            let why = "it is a whole home: keys, credentials, and what runs at the next log-in";
            all.push(always(home, Reach::Itself, why));
            // what holds a place that is not there holds nothing
            for row in IN_A_HOME.iter().filter(|row| applies(row.to)) {
                all.extend(row.places.iter().map(|place| Place {
                    path: home.join(place),
                    reach: row.reach,
                    to: row.to,
                    why: row.why,
                    always: false,
                }));
            }
        }
        all.extend(self.engine.iter().map(|engine| always(engine, Reach::Whole, ENGINE)));
        for socket in &self.sockets {
            all.push(always(socket, Reach::Itself, "whoever reaches the engine is root on this machine"));
        }
        if let Some(program) = self.program.as_ref().filter(|_| access == Access::Write) {
            all.push(Place { to: Access::Write, ..always(program, Reach::Itself, "it is Pinfold itself") });
        }
        all
    }

    /// The first reason not to give a folder to a server; `is_there` says whether something exists.
    pub fn forbid(
        &self,
        folder: &Path,
        access: Access,
        is_there: &dyn Fn(&Path) -> bool,
    ) -> Option<Forbidden> {
        // first, or it would be told of the folder that it is in
        let called = |name: &str| folder.file_name().is_some_and(|last| last == name);
        if self.sockets.iter().any(|socket| socket == folder) || SOCKETS.iter().any(|name| called(name)) {
            return Some(Forbidden { place: folder.to_owned(), how: "is", why: ENGINE_SOCKET });
        }
        for Place { path: place, reach, why, always, .. } in self.all(access) {
            if let Some(how) = how(folder, &place, reach)
                && (always || how != "holds" || is_there(&place))
            {
                return Some(Forbidden { place, how, why });
            }
        }
        for (name, why) in ANYWHERE {
            let named = |part: &&Path| part.file_name().is_some_and(|last| last == *name);
            if let Some(place) = folder.ancestors().find(named) {
                let how = if place == folder { "is" } else { "lies in" };
                return Some(Forbidden { place: place.to_owned(), how, why });
            }
            let below = folder.join(name);
            if is_there(&below) {
                return Some(Forbidden { place: below, how: "holds", why });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            homes: vec!["/home/u".into(), "/root".into()],
            own: vec!["/srv/pinfold/state".into()],
            sockets: vec!["/srv/engine/docker.sock".into()],
            engine: None,
            program: Some("/srv/tools/pinfold".into()),
        }
    }

    fn forbidden(folder: &str, access: Access, there: &[&str]) -> Option<String> {
        let is_there = |path: &Path| there.iter().any(|there| Path::new(there) == path);
        let found = places().forbid(Path::new(folder), access, &is_there)?;
        Some(format!("{} {}", found.how, found.place.display()))
    }

    #[test]
    fn every_row_of_this_machine_refuses_its_place_and_accepts_its_neighbour() {
        for row in SYSTEM {
            assert!(forbidden(row.place, Access::Read, &[]).is_some(), "{}", row.place);
            let inside = format!("{}/x", row.place);
            assert_eq!(
                forbidden(&inside, Access::Read, &[]).is_some(),
                row.reach == Reach::Whole,
                "{inside}"
            );
            let neighbour = format!("/srv{}x", row.place);
            assert_eq!(forbidden(&neighbour, Access::Write, &[]), None, "{neighbour}");
        }
    }

    #[test]
    fn every_place_of_a_home_is_refused_and_its_neighbour_accepted() {
        for (row, place) in IN_A_HOME.iter().flat_map(|row| row.places.iter().map(move |place| (row, place)))
        {
            for home in ["/home/u", "/root"] {
                let path = format!("{home}/{place}");
                assert!(forbidden(&path, Access::Write, &[]).is_some(), "{path}");
                assert_eq!(forbidden(&path, Access::Read, &[]).is_some(), row.to == Access::Read, "{path}");
                let neighbour = format!("{home}/projects/{place}x");
                assert_eq!(forbidden(&neighbour, Access::Write, &[]), None, "{neighbour}");
            }
        }
    }

    #[test]
    fn refuses_whatever_holds_a_place_and_homes_with_everything_above_them() {
        for (folder, holds) in [
            ("/home", "holds /home/cage"),
            ("/home/u", "is /home/u"),
            ("/root", "is /root"),
            ("/var", "holds /var/lib/containerd"),
            ("/var/lib", "holds /var/lib/containerd"),
            ("/opt", "holds /opt/server"),
            ("/srv", "holds /srv/pinfold/state"),
            ("/srv/pinfold/state/pins", "lies in /srv/pinfold/state"),
            ("/srv/engine", "holds /srv/engine/docker.sock"),
        ] {
            assert_eq!(forbidden(folder, Access::Read, &[]).as_deref(), Some(holds), "{folder}");
        }
        assert_eq!(forbidden("/srv/tools", Access::Write, &[]).as_deref(), Some("holds /srv/tools/pinfold"));
        assert_eq!(forbidden("/srv/tools", Access::Read, &[]), None);
    }

    #[test]
    fn a_folder_above_a_credential_store_is_refused_where_the_store_is_there() {
        let folder = "/home/u/.local/share/com.vercel.cli";
        assert!(forbidden(folder, Access::Read, &[]).is_some());
        let above = "/home/u/.cargo";
        assert_eq!(forbidden(above, Access::Read, &[]), None);
        let store = ["/home/u/.cargo/credentials.toml"];
        assert_eq!(
            forbidden(above, Access::Read, &store).as_deref(),
            Some("holds /home/u/.cargo/credentials.toml")
        );
    }

    #[test]
    fn an_engines_socket_is_refused_as_that_and_not_for_the_folder_it_lies_in() {
        for path in ["/run/docker.sock", "/srv/engine/docker.sock", "/home/u/x/podman.sock"] {
            let found = places().forbid(Path::new(path), Access::Read, &|_| false).unwrap();
            assert_eq!((found.how, found.why), ("is", ENGINE_SOCKET), "{path}");
        }
        assert_eq!(forbidden("/home/u/docker.socket", Access::Read, &[]), None);
    }

    #[test]
    fn a_folder_of_keys_is_one_wherever_it_lies() {
        for folder in ["/srv/backup/.ssh", "/srv/backup/.ssh/old", "/data/.gnupg"] {
            assert!(forbidden(folder, Access::Read, &[]).is_some(), "{folder}");
        }
        assert_eq!(
            forbidden("/data/u", Access::Read, &["/data/u/.ssh"]).as_deref(),
            Some("holds /data/u/.ssh")
        );
        assert_eq!(forbidden("/data/u", Access::Read, &[]), None);
    }

    #[test]
    fn accepts_what_people_work_in() {
        for folder in [
            "/home/u/notes",
            "/home/u/.config/foo",
            "/home/u/src/pinfold",
            "/tmp/x",
            "/var/tmp/x",
            "/srv/data",
            "/mnt/disk",
            "/var/log",
            "/var/www",
            "/opt/data",
            "/home/u/Documents/usr",
            "/data",
        ] {
            assert_eq!(forbidden(folder, Access::Write, &[]), None, "{folder}");
        }
    }
}
