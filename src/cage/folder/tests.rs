use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::*;
use crate::failure::{Code, Failure};

/// A folder to judge, and grounds that forbid nothing near it.
struct Here {
    directory: tempfile::TempDir,
    grounds: Grounds,
}

impl Here {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), grounds: Grounds::of_this_process() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn mount(&self, name: &str, access: Access) -> Mount {
        Mount::new(self.path(name).to_str().unwrap().parse().unwrap(), access)
    }

    /// Judges as the owner of what these tests make, whoever runs them.
    fn judge(&self, mounts: &[Mount]) -> Result<Folders, FolderRefused> {
        let root = AllowRoot::typed(self.grounds.uid == 0);
        Folders::judge(mounts, &self.grounds, root.as_ref())
    }
}

fn folder(owner: (u32, u32), access: Access) -> Folder {
    let mount = Mount::new(format!("/srv/{}", owner.0).parse().unwrap(), access);
    Folder { mount, identity: Identity { device: 1, inode: 1 }, owner, found: Found::default() }
}

fn grounds(uid: u32) -> Grounds {
    Grounds { places: Places::default(), uid, gid: uid, groups: vec![uid, 100] }
}

#[test]
fn resolves_a_link_and_a_relative_path_to_the_folder_they_mean() {
    let here = Here::new();
    let real = here.folder("real");
    symlink(&real, here.path("link")).unwrap();
    for typed in [here.path("link"), here.path("real/../link"), here.path("link/")] {
        let asked = MountAsked { path: typed.display().to_string(), access: Access::Write };
        let mount = resolve(&asked, &here.grounds).unwrap();
        assert_eq!((mount.path().as_path(), mount.access()), (real.as_path(), Access::Write));
    }
    let asked = MountAsked { path: ".".into(), access: Access::Read };
    assert_eq!(resolve(&asked, &here.grounds).unwrap().path().as_path(), std::env::current_dir().unwrap());
}

#[test]
fn refuses_what_is_not_there_and_what_is_everything() {
    let of = |path: &str| {
        resolve(&MountAsked { path: path.into(), access: Access::Read }, &grounds(1_000)).unwrap_err()
    };
    assert!(matches!(of("/nowhere/at/all"), FolderRefused::Missing { .. }));
    let failure = Failure::from(of("~/nowhere/at/all"));
    assert!(failure.why().to_string().contains("no shell expanded `~/nowhere/at/all`"), "{failure}");
    assert!(failure.hint().to_string().ends_with("/nowhere/at/all'`"), "{}", failure.hint());
    assert!(!failure.hint().to_string().contains('~'), "{}", failure.hint());
    assert!(matches!(of("/"), FolderRefused::Forbidden { .. }));
    let failure = Failure::from(of("/srv:/data"));
    assert!(failure.hint().to_string().contains("the same path inside"));
}

#[test]
fn refuses_a_file_and_a_path_that_became_a_link() {
    let here = Here::new();
    fs::write(here.path("file"), "x").unwrap();
    let judged = here.judge(&[here.mount("file", Access::Read)]);
    assert!(matches!(judged, Err(FolderRefused::NotAFolder { .. })));

    let real = here.folder("real/inner");
    assert!(here.judge(&[here.mount("real/inner", Access::Read)]).is_ok());
    // the folder itself, and one on the way
    fs::rename(here.path("real"), here.path("moved")).unwrap();
    symlink(here.path("moved"), here.path("real")).unwrap();
    let judged = here.judge(&[here.mount("real/inner", Access::Read)]);
    assert!(matches!(judged, Err(FolderRefused::Leads { .. })), "{}", real.display());
    symlink(here.path("moved"), here.path("link")).unwrap();
    let judged = here.judge(&[here.mount("link", Access::Read)]);
    assert!(matches!(judged, Err(FolderRefused::Leads { .. })));
}

#[test]
fn what_a_link_puts_elsewhere_is_not_given_there_either() {
    let mut here = Here::new();
    for name in ["home/.config", "disk/keys/old", "disk/other", "dotfiles/nvim/lua", "dotfiles/other"] {
        here.folder(name);
    }
    symlink(here.path("disk/keys"), here.path("home/.kube")).unwrap();
    symlink(here.path("dotfiles/nvim"), here.path("home/.config/nvim")).unwrap();
    here.grounds.places.homes = vec![here.path("home")];
    let refused = |name: &str, access| match here.judge(&[here.mount(name, access)]) {
        Err(FolderRefused::Forbidden { forbidden, .. }) => Some(forbidden.how),
        other => other.map(|_| None).unwrap(),
    };
    for (name, read, write) in [
        ("disk/keys", Some("is"), Some("is")),
        ("disk/keys/old", Some("lies in"), Some("lies in")),
        ("disk", Some("holds"), Some("holds")),
        ("disk/other", None, None),
        ("dotfiles", None, Some("holds")),
        ("dotfiles/nvim/lua", None, Some("lies in")),
        ("dotfiles/other", None, None),
    ] {
        assert_eq!(refused(name, Access::Read), read, "{name}");
        assert_eq!(refused(name, Access::Write), write, "{name}:rw");
    }
}

#[test]
fn gives_a_folder_with_what_is_held_in_it_and_the_way_there() {
    let here = Here::new();
    for name in ["w/.vscode", "w/a/b/.git/hooks", "w/plain"] {
        here.folder(name);
    }
    let told = |folders: &Folders| {
        let root = here.path("w");
        let of = |bind: &Bind| {
            let inside = Path::new(bind.path()).strip_prefix(&root).unwrap().display().to_string();
            format!("{inside} {}", if bind.writable() { "rw" } else { "ro" })
        };
        folders.binds().iter().map(of).collect::<Vec<_>>()
    };
    let folders = here.judge(&[here.mount("w", Access::Write)]).unwrap();
    assert_eq!(told(&folders), [" rw", ".vscode ro", "a rw", "a/b rw", "a/b/.git rw", "a/b/.git/hooks ro"]);
    assert_eq!(told(&here.judge(&[here.mount("w", Access::Read)]).unwrap()), [" ro"]);
    // a mount in a mount, each with its own
    let both = [here.mount("w", Access::Write), here.mount("w/a", Access::Read)];
    assert_eq!(told(&here.judge(&both).unwrap()), [" rw", ".vscode ro", "a ro"]);
    let both = [here.mount("w", Access::Read), here.mount("w/a/b", Access::Write)];
    assert_eq!(told(&here.judge(&both).unwrap()), [" ro", "a/b rw", "a/b/.git rw", "a/b/.git/hooks ro"]);
    // and one below what is held: the way there stays as it is
    here.folder("w/.claude/worktrees/x/.git");
    let both = [here.mount("w", Access::Write), here.mount("w/.claude/worktrees/x", Access::Write)];
    let told_of = told(&here.judge(&both).unwrap());
    let below: Vec<&String> = told_of.iter().filter(|bind| bind.starts_with(".claude")).collect();
    assert_eq!(below, [".claude ro", ".claude/worktrees/x rw"]);
    let refused = here.judge(&[here.mount("w/.vscode", Access::Write)]);
    assert!(matches!(refused, Err(FolderRefused::Forbidden { .. })));
    for bind in folders.binds() {
        let found = fs::metadata(bind.path()).unwrap();
        assert_eq!(bind.identity(), Identity { device: found.dev(), inode: found.ino() });
    }
}

#[test]
fn tells_what_came_to_be_and_what_was_replaced() {
    let here = Here::new();
    here.folder("w/.git");
    fs::write(here.path("w/.git/config"), "x").unwrap();
    let folders = here.judge(&[here.mount("w", Access::Write)]).unwrap();
    assert_eq!(folders.changes(), Changes::default());
    fs::write(here.path("w/.git/config"), "edited in place").unwrap();
    fs::write(here.path("w/other"), "x").unwrap();
    assert_eq!(folders.changes(), Changes::default());

    fs::write(here.path("w/.git/new"), "x").unwrap();
    fs::rename(here.path("w/.git/new"), here.path("w/.git/config")).unwrap();
    fs::write(here.path("w/.git/commondir"), "../evil").unwrap();
    let shown = |name: &str| Shown::new(here.path(name).to_str().unwrap());
    let changes = folders.changes();
    assert_eq!(changes.replaced, [shown("w/.git/config")]);
    assert_eq!(changes.appeared, [shown("w/.git/commondir")]);
}

#[test]
fn tells_what_was_there_for_a_while_and_is_gone() {
    let here = Here::new();
    here.folder("w/.git/objects");
    fs::write(here.path("w/.envrc"), "x").unwrap();
    let folders = here.judge(&[here.mount("w", Access::Write)]).unwrap();
    folders.glance();
    let passing = ["w/.git/commondir", "w/.mcp.json"].map(|name| here.path(name));
    passing.iter().for_each(|path| fs::write(path, "x").unwrap());
    folders.glance();
    assert_eq!(folders.changes().passed, []);
    passing.iter().for_each(|path| fs::remove_file(path).unwrap());
    let told = passing.map(|path| Shown::new(path.to_str().unwrap()));
    assert_eq!(folders.changes().passed, told);
    assert_eq!(folders.changes().appeared, []);
}

#[test]
fn one_name_that_appears_many_times_hides_no_other() {
    let here = Here::new();
    here.folder("w/.git/objects");
    let folders = here.judge(&[here.mount("w", Access::Write)]).unwrap();
    for n in 0..30 {
        here.folder(&format!("w/src/{n}"));
        fs::write(here.path(&format!("w/src/{n}/.npmrc")), "x").unwrap();
    }
    here.folder("w/zz/.vscode");
    fs::write(here.path("w/.git/commondir"), "x").unwrap();
    let shown = |name: &str| here.path(name).display().to_string();
    let appeared: Vec<String> = folders.changes().appeared.iter().map(ToString::to_string).collect();
    let npmrc = format!("{} (and 29 more of its name)", shown("w/src/0/.npmrc"));
    assert_eq!(appeared, [shown("w/.git/commondir"), shown("w/zz/.vscode"), npmrc]);
}

#[test]
fn knows_where_an_engine_was_told_to_keep_its_files() {
    let of = |text: &str| engine_root_in(text.as_bytes());
    assert_eq!(of(r#"{"data-root": "/srv/docker"}"#), Some("/srv/docker".into()));
    assert_eq!(of(r#"{"graph": "/srv/old"}"#), Some("/srv/old".into()));
    for text in ["", "{}", r#"{"data-root": "relative"}"#, r#"{"data-root": "/"}"#, r#"{"data-root": 1}"#] {
        assert_eq!(of(text), None, "{text}");
    }
    let places = Places { engine: Some("/srv/docker".into()), ..Places::default() };
    for (folder, refused) in [("/srv/docker/volumes", true), ("/srv", true), ("/srv/other", false)] {
        assert_eq!(places.forbid(Path::new(folder), Access::Read, &|_| false).is_some(), refused, "{folder}");
    }
}

#[test]
fn tells_a_second_name_that_a_held_file_came_by_and_refuses_a_start_with_it() {
    let here = Here::new();
    here.folder("w/.git/hooks");
    for file in ["w/.git/config", "w/.git/hooks/pre-commit"] {
        fs::write(here.path(file), "x").unwrap();
    }
    let write = here.mount("w", Access::Write);
    fs::hard_link(here.path("w/.git/hooks/pre-commit"), here.path("w/mine")).unwrap();
    let folders = here.judge(std::slice::from_ref(&write)).unwrap();
    assert_eq!(folders.told()[0].twice, [Shown::new(".git/hooks/…")]);
    let before: BTreeSet<PathBuf> = folders.second_names().cloned().collect();
    assert_eq!(folders.no_new_second_name(&before), Ok(()));
    assert_eq!(folders.changes(), Changes::default());

    fs::hard_link(here.path("w/.git/config"), here.path("w/.git/x-c")).unwrap();
    let shown = Shown::new(here.path("w/.git/config").to_str().unwrap());
    assert_eq!(folders.changes().doubled, std::slice::from_ref(&shown));
    let refused = here.judge(&[write]).unwrap().no_new_second_name(&before).unwrap_err();
    assert!(matches!(&refused, FolderRefused::SecondName { file, .. } if *file == shown), "{refused}");
    let failure = refused.at_a_start();
    assert_eq!(failure.code(), Code::MountChanged);
    assert!(failure.hint().to_string().contains("-samefile"), "{}", failure.hint());
}

#[test]
fn runs_as_the_owner_and_as_nobody_for_what_is_roots() {
    let (read, write) = (Access::Read, Access::Write);
    let user = |all: &[Folder], me| whose(all, &grounds(me), None).map(|user| user.to_string());
    assert_eq!(user(&[], 0).unwrap(), "65532:65532");
    assert_eq!(user(&[folder((1000, 100), read)], 0).unwrap(), "1000:100");
    assert_eq!(user(&[folder((1000, 100), write)], 1000).unwrap(), "1000:100");
    assert_eq!(user(&[folder((0, 0), read)], 1000).unwrap(), "65532:65532");
    assert_eq!(user(&[folder((0, 0), read), folder((1000, 1), write)], 0).unwrap(), "1000:1");
    // nobody gives a right that they do not have: another's folder that I may read, a group that I am not in
    assert_eq!(user(&[folder((1000, 4), write)], 1000).unwrap(), "1000:1000");
    assert_eq!(user(&[folder((1001, 1001), read)], 1000).unwrap(), "1000:1000");
    assert!(matches!(user(&[folder((0, 0), write)], 0), Err(FolderRefused::Roots { .. })));
    let two = [folder((1000, 1), read), folder((1001, 1), read)];
    assert!(matches!(user(&two, 0), Err(FolderRefused::TwoOwners { .. })));
}

#[test]
fn runs_as_root_only_for_a_folder_of_roots_and_only_where_it_was_asked_for() {
    let root = User::root(&AllowRoot::typed(true).unwrap());
    let user = |all: &[Folder]| whose(all, &grounds(0), Some(root));
    assert_eq!(user(&[folder((0, 0), Access::Write)]), Ok(root));
    assert_eq!(user(&[folder((1000, 1), Access::Write)]).unwrap().to_string(), "1000:1");
    let two = [folder((0, 0), Access::Read), folder((1000, 1), Access::Write)];
    assert!(matches!(user(&two), Err(FolderRefused::TwoOwners { .. })));
    let asked = AllowRoot::typed(true).unwrap();
    assert!(matches!(Folders::judge(&[], &grounds(0), Some(&asked)), Err(FolderRefused::RootForNothing)));
}

#[test]
fn refuses_at_a_start_what_has_another_owner_by_then() {
    let here = Here::new();
    here.folder("w");
    let mount = here.mount("w", Access::Read);
    let user = here.judge(std::slice::from_ref(&mount)).unwrap().user();
    assert!(Folders::judge_again(std::slice::from_ref(&mount), user, &here.grounds).is_ok());
    let other = User::owner(4_242, 4_242).unwrap();
    let again = Folders::judge_again(&[mount], other, &here.grounds);
    let refused = again.unwrap_err();
    assert!(matches!(refused, FolderRefused::OtherOwner { .. }));
    assert_eq!(refused.at_a_start().code(), Code::MountChanged);
}

#[test]
fn refuses_a_forbidden_place_as_that_whether_or_not_it_is_there() {
    let here = Here::new();
    here.folder("home/.aws");
    let places = Places { homes: vec![here.path("home")], ..Places::default() };
    let grounds = Grounds { places, ..here.grounds.clone() };
    for name in ["home/.aws", "home/.ssh", "home/.gnupg/x", "anywhere/.ssh"] {
        let asked = MountAsked { path: here.path(name).display().to_string(), access: Access::Read };
        let refused = resolve(&asked, &grounds)
            .and_then(|mount| Folders::judge(&[mount], &grounds, None).map(|_| ()))
            .unwrap_err();
        assert!(matches!(refused, FolderRefused::Forbidden { .. }), "{name}: {refused}");
        assert!(!Failure::from(refused).hint().to_string().contains("mkdir"), "{name}");
    }
    for path in ["/dev/null/x", "/run/nowhere/docker.sock"] {
        let refused = resolve(&MountAsked { path: path.into(), access: Access::Read }, &grounds).unwrap_err();
        assert!(matches!(refused, FolderRefused::Forbidden { .. }), "{path}");
    }
}

#[test]
fn an_engines_socket_is_told_to_be_root_and_no_other_way_to_it_is_named() {
    let here = Here::new();
    let _listening = std::os::unix::net::UnixListener::bind(here.path("docker.sock")).unwrap();
    let failure = Failure::from(here.judge(&[here.mount("docker.sock", Access::Read)]).unwrap_err());
    assert!(failure.why().to_string().contains("root on this machine"), "{failure}");
    assert!(failure.hint().to_string().starts_with("leave it out"), "{}", failure.hint());
}

#[test]
fn a_file_is_told_the_folder_to_mount_where_that_may_be_given() {
    let here = Here::new();
    fs::create_dir_all(here.path("home/data")).unwrap();
    let places = Places { homes: vec![here.path("home")], ..Places::default() };
    let grounds = Grounds { places, ..here.grounds.clone() };
    for (file, hint) in [("home/data/x.db", "home/data"), ("home/x.db", "a folder of its own")] {
        fs::write(here.path(file), "x").unwrap();
        let refused = Folders::judge(&[here.mount(file, Access::Read)], &grounds, None).unwrap_err();
        assert!(Failure::from(refused).hint().to_string().contains(hint), "{file}");
    }
}
