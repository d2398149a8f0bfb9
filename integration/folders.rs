//! What does a server see of this machine's disk, and what can it do there?
//!
//! Its folders and nothing else, as their owner, in the way that was agreed to; and what this machine would run later
//! is not there to be written, whatever the server tries. Looked at from inside, from outside, and in the engine.
//!
//! Folders belong to an ordinary user where these tests are run by root, as servers that root starts are the harder
//! case; else to whoever runs them.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use pinfold::cage::profile::HOME;
use pinfold::cage::seccomp::{SOCKETS, SocketFiles};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mounted::{self, Server};
use crate::patience::seconds;
use crate::pinfold::{Home, run};
use crate::session::Session;
use crate::{engine, tests};

tests![
    a_folder_is_read_and_nothing_in_it_changed,
    a_folder_is_written_and_what_would_run_later_is_not,
    no_way_around_what_stays_read_only,
    git_works_in_a_folder_and_its_settings_stay,
    what_gits_settings_name_stays_too,
    what_comes_to_be_is_told,
    nothing_gets_a_set_id_bit,
    what_comes_to_be_anywhere_is_told,
    a_held_file_that_came_by_a_second_name_is_not_given_again,
    a_folder_that_the_server_closed_is_not_given_again,
    a_folder_that_the_server_filled_is_refused_with_what_to_look_at,
    a_held_file_that_is_replaced_ends_the_session,
    a_folder_that_is_no_longer_the_same_is_not_given,
    a_folder_that_is_turned_under_the_engines_hands_is_noticed_inside,
    folders_that_no_server_is_given_are_refused_by_name,
    a_folder_that_a_mount_shows_elsewhere_is_refused_there_too,
    a_user_gives_no_right_that_they_do_not_have,
    sockets_in_a_folder_lead_nowhere,
    what_is_mounted_in_a_folder_does_not_come_along,
    one_folder_in_another_keeps_its_own_access,
    a_folder_of_roots_is_read_as_nobody_and_written_as_root_alone,
    a_folder_under_every_kind_of_path_works,
];

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder of a user's, gone at its end.
pub struct Folder {
    directory: TempDir,
    owner: u32,
}

impl Folder {
    /// An empty one that only its owner may enter.
    pub fn new() -> Self {
        Self::in_place(Path::new("/tmp"))
    }

    fn in_place(parent: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-folder-").tempdir_in(parent).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let owner = if root() { 1_234 } else { rustix::process::geteuid().as_raw() };
        let folder = Self { directory, owner };
        folder.give(folder.path());
        folder
    }

    /// One of root's.
    fn of_root() -> Self {
        let directory = tempfile::Builder::new().prefix("pinfold-folder-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { directory, owner: 0 }
    }

    fn give(&self, path: &Path) {
        if root() {
            chown(path, Some(self.owner), Some(self.owner)).unwrap();
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The number of its owner.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// A path in it.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Writes a file, and makes the folders on the way; all the owner's.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        for made in path.ancestors().take_while(|made| *made != self.path()) {
            self.give(made);
        }
        path.display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// As one types it.
    pub fn option(&self, access: &str) -> String {
        format!("{}{access}", self.path().display())
    }
}

/// The probe with options.
fn probe(name: &str, options: &[&str]) -> Server {
    mounted::probe_with(name, options, &[])
}

/// What came of one thing done to a file: `done`, data, or an error's name.
fn disk(session: &mut Session, what: &str, path: &str, more: Value) -> Value {
    let mut asked = json!({"what": what, "path": path, "text": "x"});
    asked.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let mut came = session.data("disk", asked);
    if came.get("ok").is_some() { came["ok"].take() } else { came["error"].take() }
}

#[track_caller]
fn does(session: &mut Session, what: &str, path: &str) {
    assert_eq!(disk(session, what, path, json!({})), "done", "{what} {path}");
}

#[track_caller]
fn fails(session: &mut Session, what: &str, path: &str, more: Value, with: &[&str]) {
    let came = disk(session, what, path, more);
    assert!(with.iter().any(|error| came == *error), "{what} {path}: {came}");
}

fn a_folder_is_read_and_nothing_in_it_changed() {
    let folder = Folder::new();
    let note = folder.write("sub/note", "hello");
    let others = folder.write("others", "secret");
    if root() {
        chown(&others, Some(4_321), Some(4_321)).unwrap();
        fs::set_permissions(&others, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let server = probe("probe-reads", &["--mount", &folder.option("")]);
    let mut session = server.session();

    assert_eq!(disk(&mut session, "read", &note, json!({})), "hello");
    assert_eq!(disk(&mut session, "list", &folder.file(""), json!({})), json!(["others", "sub"]));
    let read_only = &["EROFS"];
    for what in ["write", "append", "truncate", "chmod", "remove"] {
        fails(&mut session, what, &note, json!({}), read_only);
    }
    fails(&mut session, "write", &folder.file("new"), json!({}), read_only);
    fails(&mut session, "mkdir", &folder.file("new"), json!({}), read_only);
    fails(&mut session, "symlink", &folder.file("new"), json!({"to": "/etc"}), read_only);
    fails(&mut session, "rename", &note, json!({"to": folder.file("moved")}), read_only);
    if root() {
        fails(&mut session, "read", &others, json!({}), &["EACCES"]);
    }
    // what lies beside it is not there, what leads to it is empty
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(disk(&mut session, "list", "/tmp", json!({})), json!([name]));
    fails(&mut session, "list", &server.home().path().display().to_string(), json!({}), &["ENOENT"]);

    let report = session.data("report", json!({}));
    let owner = folder.owner().to_string();
    assert_eq!(report["ids"]["uid"], json!([owner, owner, owner, owner]));
    assert_eq!((&report["node"]["user"], &report["node"]["home"]), (&json!("cage"), &json!(HOME)));
    assert_eq!(report["writable_directories"], json!([HOME, "/tmp"]));
    assert_eq!(report["writable_files"], json!([]));
    let mounts = report["mounts"].as_array().unwrap();
    let mount = mounts.iter().find(|mount| mount["at"] == json!(folder.path())).unwrap();
    assert!(mount["options"].as_array().unwrap().contains(&json!("ro")), "{mount}");
    let promised: Vec<&str> =
        SOCKETS.iter().filter(|socket| SocketFiles::Shut.allow(socket)).map(|socket| socket.name).collect();
    let opened = report["sockets"].as_object().unwrap().iter().filter(|(_, came)| *came == "open");
    let mut opened: Vec<&str> = opened.map(|(name, _)| name.as_str()).collect();
    opened.sort_by_key(|name| promised.iter().position(|promised| promised == name));
    assert_eq!(opened, promised);

    // the same, in the engine's words
    let launch = server.home().launch_of(session.id()).unwrap();
    let cage = engine::of_launch(&server.home().state().unwrap(), &launch).remove(0);
    let seen = engine::inspect(&cage.id).unwrap();
    assert_eq!(seen["Mounts"].as_array().map(Vec::len), Some(1), "{}", seen["Mounts"]);
    let mount = &seen["Mounts"][0];
    assert_eq!((&mount["Source"], &mount["RW"]), (&json!(folder.path()), &json!(false)), "{mount}");
    assert_eq!(seen["HostConfig"]["Mounts"][0]["BindOptions"]["NonRecursive"], true);
    assert_eq!(folder.read("sub/note"), "hello");
}

/// What is held in the folder of the next test.
const HELD: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    ".vscode/settings.json",
    ".envrc",
    ".mcp.json",
    "AGENTS.md",
    ".github/workflows/ci.yml",
    "nested/project/.git/config",
    "nested/project/.cursor/mcp.json",
    "mine.code-workspace",
    "worktree/.git",
];

fn a_folder_is_written_and_what_would_run_later_is_not() {
    let folder = Folder::new();
    for name in
        HELD.iter().chain(&[".git/index", ".git/objects/aa/bb", "README.md", "package.json", "nested/x"])
    {
        folder.write(name, "before");
    }
    let server = probe("probe-writes", &["--mount", &folder.option(":rw")]);
    let shown = server.home().run(["--json", "pins", "show", &server.name]).ended(0).json();
    assert_eq!(shown["plan"]["mounts"], json!([{"path": folder.path(), "access": "rw"}]));
    assert_eq!(shown["plan"]["user"], format!("{0}:{0}", folder.owner()));

    let mut session = server.session();
    // what a server is there for, and git with it
    for name in
        ["README.md", "package.json", "nested/x", "new", "nested/project/new", ".git/index", ".git/HEAD.lock"]
    {
        does(&mut session, "write", &folder.file(name));
        assert_eq!(folder.read(name), "x");
        assert_eq!(fs::metadata(folder.path().join(name)).unwrap().uid(), folder.owner(), "{name}");
    }
    does(&mut session, "mkdir", &folder.file(".git/objects/cc"));
    assert_eq!(
        disk(&mut session, "rename", &folder.file("new"), json!({"to": folder.file("newer")})),
        "done"
    );
    does(&mut session, "remove", &folder.file("newer"));

    let shut = &["EROFS", "EBUSY", "EXDEV"];
    for name in HELD {
        let path = folder.file(name);
        assert_eq!(disk(&mut session, "read", &path, json!({})), "before", "{name}");
        for what in ["write", "append", "truncate", "chmod", "remove"] {
            fails(&mut session, what, &path, json!({}), shut);
        }
        fails(&mut session, "rename", &path, json!({"to": folder.file("moved")}), shut);
        assert_eq!(folder.read(name), "before", "{name}");
    }
    fails(&mut session, "write", &folder.file(".git/hooks/post-commit"), json!({}), shut);
    fails(&mut session, "write", &folder.file(".vscode/tasks.json"), json!({}), shut);
    drop(session);
    // nothing was made on this machine for the mounts to lie on
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let there = [
        ".envrc",
        ".git",
        ".github",
        ".mcp.json",
        ".vscode",
        "AGENTS.md",
        "README.md",
        "mine.code-workspace",
        "nested",
        "package.json",
        "worktree",
    ];
    assert_eq!(names, there);
}

fn no_way_around_what_stays_read_only() {
    let folder = Folder::new();
    folder.write(".git/config", "before");
    folder.write("a/b/.git/hooks/pre-commit", "before");
    folder.write(".github/workflows/ci.yml", "before");
    folder.write("elsewhere/x", "x");
    let server = probe("probe-around", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    let shut = &["EBUSY", "EXDEV", "EROFS", "EEXIST", "ENOTEMPTY"];
    // whatever lies on the way to it cannot be moved aside, be removed, or have another put over it
    for name in [".git", "a", "a/b", "a/b/.git", "a/b/.git/hooks", ".github", ".github/workflows"] {
        let path = folder.file(name);
        fails(&mut session, "rename", &path, json!({"to": folder.file("aside")}), shut);
        fails(&mut session, "remove", &path, json!({}), shut);
        fails(&mut session, "rename", &folder.file("elsewhere"), json!({"to": path}), shut);
    }
    // another name for the same file is another way to write to it
    fails(
        &mut session,
        "link",
        &folder.file(".git/config"),
        json!({"to": folder.file("config")}),
        &["EXDEV"],
    );
    fails(
        &mut session,
        "link",
        &folder.file(".git/config"),
        json!({"to": folder.file(".git/c")}),
        &["EXDEV"],
    );
    // nor through what the kernel shows of a process
    let own = format!("/proc/self/root{}", folder.file(".git/config"));
    fails(&mut session, "write", &own, json!({}), &["EROFS"]);
    does_not_leave(&mut session, &folder);
    assert_eq!(folder.read(".git/config"), "before");
    assert_eq!(folder.read("a/b/.git/hooks/pre-commit"), "before");
}

/// A link in a folder leads to what is in the cage, not to what is on the host.
fn does_not_leave(session: &mut Session, folder: &Folder) {
    let link = folder.file("link");
    assert_eq!(disk(session, "symlink", &link, json!({"to": "/etc/hostname"})), "done");
    assert_eq!(disk(session, "read", &link, json!({})), "cage\n");
}

fn git(session: &mut Session, directory: &Path, words: &[&str]) -> Value {
    session.data("git", json!({"words": words, "directory": directory}))
}

fn git_works_in_a_folder_and_its_settings_stay() {
    let folder = Folder::new();
    folder.write("file", "one");
    let mut init = Command::new("git");
    init.args(["init", "--quiet", "--initial-branch=main"]).arg(folder.path()).env("HOME", "/");
    assert!(init.uid(folder.owner()).gid(folder.owner()).status().unwrap().success());
    let settings = folder.read(".git/config");
    let server = probe("probe-git", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    let at = folder.path();
    for words in [
        &["add", "."][..],
        &["commit", "-m", "first"],
        &["switch", "-c", "other"],
        &["commit", "--allow-empty", "-m", "second"],
        &["switch", "main"],
        &["merge", "other"],
        &["tag", "v1"],
        &["stash", "list"],
        &["gc"],
    ] {
        let ran = git(&mut session, at, words);
        assert_eq!(ran["code"], 0, "{words:?}: {ran}");
    }
    assert!(
        git(&mut session, at, &["log", "--format=%s"])["stdout"]
            .as_str()
            .unwrap()
            .starts_with("second\nfirst")
    );
    let ran = git(&mut session, at, &["config", "core.fsmonitor", "/tmp/evil"]);
    assert_ne!(ran["code"], 0, "{ran}");
    fails(&mut session, "write", &folder.file(".git/hooks/post-checkout"), json!({}), &["EROFS"]);
    drop(session);
    assert_eq!(folder.read(".git/config"), settings);
    // on the host it is a repository as any other
    let mut log = Command::new("git");
    log.args(["log", "--format=%s"]).current_dir(at).env("HOME", "/");
    let log = log.uid(folder.owner()).gid(folder.owner()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&log.stdout), "second\nfirst\n");

    // one that is somebody else's is looked at all the same
    if root() {
        let theirs = Folder::of_root();
        let done = Command::new("git").args(["init", "--quiet"]).arg(theirs.path()).status().unwrap();
        assert!(done.success());
        let server = probe("probe-git-root", &["--mount", &theirs.option("")]);
        let ran = git(&mut server.session(), theirs.path(), &["status", "--short"]);
        assert_eq!(ran["code"], 0, "{ran}");
    }
}

fn what_gits_settings_name_stays_too() {
    let folder = Folder::new();
    folder.write(".git/HEAD", "ref: refs/heads/main");
    folder.write(".git/config", "[core]\nhooksPath = tools/checks\n[include]\npath = ../tools/settings\n");
    folder.write(".git/rebase-merge/git-rebase-todo", "exec true");
    let named = ["tools/checks/pre-commit", "tools/settings", ".git/rebase-merge/git-rebase-todo"];
    folder.write(named[0], "before");
    folder.write(named[1], "before");
    let server = probe("probe-named", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    for name in named {
        for what in ["write", "remove"] {
            fails(&mut session, what, &folder.file(name), json!({}), &["EROFS", "EBUSY"]);
        }
    }
    fails(&mut session, "write", &folder.file("tools/checks/post-commit"), json!({}), &["EROFS"]);
    does(&mut session, "write", &folder.file("tools/other"));
    drop(session);
    assert_eq!(folder.read(named[0]), "before");

    // nor by a mount of its own, whatever it is called
    let refused = |name: &str| {
        let option = format!("{}:rw", folder.file(name));
        let ran = server.home().run(["--json", "show", "npm:anything", "--mount", &option]);
        let said = ran.failed(11, "mount-refused").error();
        said["why"].as_str().unwrap().to_owned()
    };
    folder.write(".git/modules/x/HEAD", "ref");
    folder.write(".git/modules/x/hooks/pre-commit", "before");
    for name in [".git/rebase-merge", ".git/modules/x/hooks", ".git/modules"] {
        assert!(refused(name).contains("git "), "{name}");
    }
    assert!(refused("tools/checks").contains("git runs what is in it"), "{}", refused("tools/checks"));
}

fn what_comes_to_be_is_told() {
    let folder = Folder::new();
    folder.write(".git/HEAD", "ref");
    let server = probe("probe-makes", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    does(&mut session, "mkdir", &folder.file(".vscode"));
    does(&mut session, "write", &folder.file(".git/commondir"));
    does(&mut session, "write", &folder.file("harmless"));
    // and what is taken away again
    does(&mut session, "write", &folder.file(".git/config.worktree"));
    thread::sleep(seconds(5));
    does(&mut session, "remove", &folder.file(".git/config.worktree"));
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0));
    let passing = folder.file(".git/config.worktree");
    assert!(stderr.contains(&format!("{passing} was there for a while")), "{stderr}");
    for name in [".vscode", ".git/commondir"] {
        assert!(stderr.contains(&format!("{} appeared while it ran", folder.file(name))), "{stderr}");
    }
    assert!(!stderr.contains("harmless"), "{stderr}");
    // from the next start on it stays as it is
    let mut session = server.session();
    fails(&mut session, "write", &folder.file(".vscode/tasks.json"), json!({}), &["EROFS"]);
    let (_, stderr) = session.finish();
    assert!(!stderr.contains("appeared"), "{stderr}");
}

/// No-new-privileges holds in the cage; a program with such a bit would have its power outside.
fn nothing_gets_a_set_id_bit() {
    let folder = Folder::new();
    folder.write("program", "#!/bin/sh");
    let server = probe("probe-set-id", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    for what in ["set-id", "set-group-id"] {
        fails(&mut session, what, &folder.file("program"), json!({}), &["EPERM"]);
    }
    fails(&mut session, "write set-id", &folder.file("born"), json!({}), &["EPERM"]);
    does(&mut session, "chmod", &folder.file("program"));
    does(&mut session, "write", &folder.file("plain"));
    session.finish();
    for name in ["program", "plain"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().mode();
        assert_eq!(mode & 0o6000, 0, "{name}: {mode:o}");
    }
    assert!(!folder.path().join("born").exists());
}

/// Told wherever it is, as the next start will look; and a second name of a held file is a way to it.
fn what_comes_to_be_anywhere_is_told() {
    let folder = Folder::new();
    folder.write("tools/x", "x");
    let server = probe("probe-makes-deep", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    does(&mut session, "write", &folder.file("tools/.envrc"));
    does(&mut session, "write", &folder.file("x.code-workspace"));
    does(&mut session, "write", &folder.file(".mcp.json"));
    let other = json!({"to": folder.file("innocent")});
    assert_eq!(disk(&mut session, "link", &folder.file(".mcp.json"), other), "done");
    let (_, stderr) = session.finish();
    for name in ["tools/.envrc", "x.code-workspace", ".mcp.json"] {
        assert!(stderr.contains(&format!("{} appeared while it ran", folder.file(name))), "{stderr}");
    }
}

/// The server cannot make it while the file is mounted on, but can in the moment in which the host replaces it.
fn a_held_file_that_came_by_a_second_name_is_not_given_again() {
    let folder = Folder::new();
    let settings = folder.write(".git/config", "before");
    let server = probe("probe-second-name", &["--mount", &folder.option(":rw")]);
    let call = || {
        let words = format!(r#"{{"what":"list","path":"{}"}}"#, folder.path().display());
        server.home().run(["--json", "call", &server.name, "disk", &words])
    };
    call().ended(0);
    let mut session = server.session();
    fs::hard_link(&settings, folder.path().join(".git/x")).unwrap();
    does(&mut session, "write", &folder.file("y"));
    let (_, stderr) = session.finish();
    assert!(stderr.contains(&format!("{settings} has a second name")), "{stderr}");
    let ran = call().failed(13, "mount-changed");
    assert!(ran.error()["hint"].as_str().unwrap().contains("-samefile"), "{ran}");
    server.home().run(["--json", "tools", &server.name]).failed(13, "mount-changed");
    fs::remove_file(folder.path().join(".git/x")).unwrap();
    call().ended(0);
}

/// Whoever closes a folder can open it again, so what is in it is not given up for somebody else's.
fn a_folder_that_the_server_closed_is_not_given_again() {
    let folder = Folder::new();
    folder.write("sub/.envrc", "before");
    let server = probe("probe-closes", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    does(&mut session, "close", &folder.file("sub"));
    session.finish();
    // whether it cannot be looked into, or is another thing outside than inside
    server.home().run(["--json", "tools", &server.name]).failed(13, "mount-changed");
    fs::set_permissions(folder.path().join("sub"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(folder.read("sub/.envrc"), "before");
}

/// It is told when it happens, and from then on where.
fn a_folder_that_the_server_filled_is_refused_with_what_to_look_at() {
    let folder = Folder::new();
    folder.write("sub/x", "x");
    let server = probe("probe-fills", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    for count in 0..513 {
        does(&mut session, "write", &folder.file(&format!("sub/{count}.code-workspace")));
    }
    let (_, stderr) = session.finish();
    let there = folder.file("sub");
    assert!(stderr.contains(&format!("513 of them in {there}")), "{stderr}");
    let ran = server.home().run(["--json", "tools", &server.name]).failed(13, "mount-changed");
    assert!(ran.error()["hint"].as_str().unwrap().contains(&there), "{ran}");
    fs::remove_dir_all(&there).unwrap();
    server.home().run(["--json", "tools", &server.name]).ended(0);
}

/// The kernel takes a mount away when the host puts another file in the place of the one it is on.
fn a_held_file_that_is_replaced_ends_the_session() {
    let folder = Folder::new();
    let held = folder.write(".git/config", "before");
    let server = probe("probe-replaced", &["--mount", &folder.option(":rw")]);
    let mut session = server.session();
    fails(&mut session, "write", &held, json!({}), &["EROFS"]);
    // edited in place it is still the same file
    fs::write(&held, "edited").unwrap();
    fails(&mut session, "write", &held, json!({}), &["EROFS"]);
    assert_eq!(disk(&mut session, "read", &held, json!({})), "edited");

    let new = folder.write(".git/config.lock", "replaced");
    fs::rename(new, &held).unwrap();
    assert_eq!(session.ended(seconds(20)).code(), Some(16));
    let stderr = session.stderr();
    assert!(stderr.contains("was replaced on this machine") && stderr.contains(".git/config"), "{stderr}");
    assert_eq!(fs::read_to_string(&held).unwrap(), "replaced");
    // and a new session begins anew
    let mut session = server.session();
    fails(&mut session, "write", &held, json!({}), &["EROFS"]);
}

fn a_folder_that_is_no_longer_the_same_is_not_given() {
    let parent = Folder::new();
    let (folder, secret) = (parent.path().join("work"), parent.path().join("secret"));
    parent.write("work/x", "x");
    parent.write("secret/key", "key");
    let path = folder.display().to_string();
    let server = probe("probe-changed", &["--mount", &path]);
    let call = || {
        let words =
            ["--json", "call", &server.name, "disk", &format!(r#"{{"what":"list","path":"{path}"}}"#)];
        server.home().run(words)
    };
    call().ended(0);
    let moved = parent.path().join("moved");

    fs::rename(&folder, &moved).unwrap();
    call().failed(13, "mount-changed");
    symlink(&secret, &folder).unwrap();
    let ran = call().failed(13, "mount-changed");
    assert!(ran.stderr.contains(&secret.display().to_string()), "{ran}");
    // a client is told in the protocol
    let mut session = Session::start(server.command());
    let error = session.refused("initialize", crate::session::initialize(json!({})));
    assert_eq!(error["data"]["code"], "mount-changed", "{error}");
    assert_eq!(session.ended(seconds(20)).code(), Some(13));

    fs::remove_file(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    call().failed(13, "mount-changed");
    fs::remove_file(&folder).unwrap();
    fs::create_dir_all(&folder).unwrap();
    if root() {
        chown(&folder, Some(4_321), Some(4_321)).unwrap();
        let ran = call().failed(13, "mount-changed");
        assert!(ran.stderr.contains("4321:4321"), "{ran}");
    }
    fs::remove_dir(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    call().ended(0);
    assert!(!parent.path().join("moved").exists());
}

/// Stands between the launcher and the engine, and does something just before a container is created: after the launcher
/// has looked, before the engine does.
struct Meddler {
    address: String,
    _directory: TempDir,
}

impl Meddler {
    fn new(meddle: impl FnOnce() + Send + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("engine.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let meddle = Arc::new(Mutex::new(Some(meddle)));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let engine = UnixStream::connect("/var/run/docker.sock").unwrap();
                let (mut up, mut down) = (client.try_clone().unwrap(), engine.try_clone().unwrap());
                let meddle = Arc::clone(&meddle);
                let mut to_engine = engine;
                thread::spawn(move || {
                    let mut piece = vec![0; 1 << 20];
                    while let Ok(read @ 1..) = up.read(&mut piece) {
                        let asked = String::from_utf8_lossy(&piece[..read]);
                        if asked.starts_with("POST ") && asked.contains("/containers/create") {
                            meddle.lock().unwrap().take().into_iter().for_each(|meddle| meddle());
                        }
                        if to_engine.write_all(&piece[..read]).is_err() {
                            break;
                        }
                    }
                    let _ = to_engine.shutdown(Shutdown::Write);
                });
                let mut to_client = client;
                thread::spawn(move || {
                    let _ = std::io::copy(&mut down, &mut to_client);
                    let _ = to_client.shutdown(Shutdown::Write);
                });
            }
        });
        Self { address: format!("unix://{}", path.display()), _directory: directory }
    }
}

fn a_folder_that_is_turned_under_the_engines_hands_is_noticed_inside() {
    let parent = Folder::new();
    parent.write("work/x", "x");
    parent.write("secret/key", "key");
    let [work, moved, secret] = ["work", "moved", "secret"].map(|name| parent.path().join(name));
    let server = probe("probe-turned", &["--mount", work.to_str().unwrap()]);
    let list = format!(r#"{{"what":"list","path":"{}"}}"#, work.display());
    let ask = |address: &str| {
        let mut command = server.home().command(["--json", "call", &server.name, "disk", &list]);
        command.env("DOCKER_HOST", address);
        run(command)
    };
    // nothing is turned: the way through works
    let seen = ask(&Meddler::new(|| {}).address).ended(0);
    assert!(seen.stdout.contains("\\\"x\\\""), "{seen}");
    let turned = work.clone();
    let meddler = Meddler::new(move || {
        fs::rename(&turned, &moved).unwrap();
        symlink(&secret, &turned).unwrap();
    });
    let ran = ask(&meddler.address).failed(13, "mount-changed");
    assert!(ran.error()["message"].as_str().unwrap().contains("not the same inside"), "{ran}");
    assert!(fs::symlink_metadata(&work).unwrap().is_symlink(), "it was not turned");
}

fn folders_that_no_server_is_given_are_refused_by_name() {
    let home = Home::new();
    let of_user = Folder::new();
    for name in
        [".ssh/id_ed25519", ".config/gcloud/x", ".claude/x", ".netrc", "work/x", "other/.ssh/x", "bin/x"]
    {
        of_user.write(name, "x");
    }
    let state = home.path().display().to_string();
    let user = of_user.path().display().to_string();
    let inside = |name: &str| of_user.file(name);
    let cases = [
        ("/".to_owned(), "everything there is"),
        ("/etc".to_owned(), "settings"),
        ("/usr/share".to_owned(), "programs"),
        ("/proc/self".to_owned(), "the kernel's"),
        ("/var/run".to_owned(), "sockets"),
        ("/var/lib".to_owned(), "container engine's own files"),
        ("/var/tmp".to_owned(), "temporary files"),
        (user.clone(), "a whole home"),
        ("~".to_owned(), "a whole home"),
        (inside(".ssh"), "private keys"),
        (inside(".config"), "credentials"),
        (inside(".config/gcloud"), "credentials"),
        (inside(".claude"), "AI client"),
        (inside("other"), "private keys"),
        (format!("{}:rw", inside("bin")), "looks for one"),
        (inside(".netrc"), "tokens or passwords"),
        (inside("work/x"), "mounted alone"),
        // as much as if they were there
        (inside(".gnupg"), "private keys"),
        ("~/.aws/x".to_owned(), "credentials"),
        ("/var/run/docker.sock".to_owned(), "root on this machine"),
        ("~/nowhere".to_owned(), "no shell expanded `~/nowhere`"),
        (state.clone(), "Pinfold's own"),
        (format!("{state}/state"), "Pinfold's own"),
        (inside("nowhere"), "nothing is created"),
    ];
    for (path, why) in cases {
        let mut command = home.command(["--json", "show", "npm:anything", "--mount", &path]);
        command.env("HOME", of_user.path());
        let ran = run(command).failed(11, "mount-refused");
        let said = ran.error();
        let text = format!("{} {}", said["message"], said["why"]);
        assert!(text.contains(why), "{path}: {text}");
    }
    assert!(!of_user.path().join("nowhere").exists());
    // a typing error of those who know another tool
    let typed = format!("{}:/data", inside("work"));
    let ran = home.run(["--json", "show", "npm:anything", "--mount", &typed]).failed(11, "mount-refused");
    assert!(ran.stderr.contains("the same path inside"), "{ran}");
}

/// Whoever may ask the engine could reach every file through it: so what they may not do themselves is refused.
fn a_folder_that_a_mount_shows_elsewhere_is_refused_there_too() {
    if !root() {
        return;
    }
    let (of_user, other, home) = (Folder::new(), Folder::new(), Home::new());
    for name in [".kube/deep/x", "work/.git/hooks/x"] {
        of_user.write(name, "x");
    }
    // kept on another disk, and shown where it belongs
    other.write("disk/netlify/x", "x");
    of_user.write(".config/netlify/y", "y");
    for name in ["kube", "deep", "hooks", "work"] {
        other.write(&format!("{name}/y"), "y");
    }
    let shown = [
        (of_user.file(".kube"), other.file("kube")),
        (of_user.file(".kube/deep"), other.file("deep")),
        (of_user.file("work/.git/hooks"), other.file("hooks")),
        (of_user.file("work"), other.file("work")),
        (other.file("disk/netlify"), of_user.file(".config/netlify")),
    ];
    let bind = |(from, to): &(String, String)| {
        Command::new("mount").args(["--bind", from, to]).status().unwrap().success()
    };
    let mounted = shown.iter().filter(|one| bind(one)).count();
    let why = |name: &str| {
        let mut command = home.command(["--json", "show", "npm:anything", "--mount", &other.file(name)]);
        command.env("HOME", of_user.path());
        let ran = run(command);
        let refused = (ran.code == Some(11)).then(|| ran.error());
        let refused = refused.filter(|error| error["code"] == "mount-refused");
        refused.map(|error| error["why"].as_str().unwrap().to_owned())
    };
    let seen = ["kube", "deep", "disk", "disk/netlify", "hooks:rw", "work"].map(why);
    for (_, at) in &shown {
        let _ = Command::new("umount").arg(at).status();
    }
    assert_eq!(mounted, shown.len());
    for (why, said) in seen.iter().zip(["cluster", "cluster", "tokens", "tokens", "git "]) {
        assert!(why.as_ref().is_some_and(|why| why.contains(said)), "{why:?}: {said}");
    }
    assert_eq!(seen.last().unwrap().as_deref(), None, "what may be given may be given from there");
}

fn a_user_gives_no_right_that_they_do_not_have() {
    if !root() {
        return;
    }
    let (user, home) = (Folder::new(), Home::new());
    for file in ["", "state", "state/seal.key"] {
        user.give(&home.file(file));
    }
    let program = user.write("pinfold", "");
    fs::copy(env!("CARGO_BIN_EXE_pinfold"), &program).unwrap();
    let (private, readable) = (Folder::new(), Folder::of_root());
    chown(private.path(), Some(4_321), Some(4_321)).unwrap();
    // one that may ask the engine, which would reach any folder for them
    let engine = fs::metadata("/var/run/docker.sock").unwrap().gid();
    let show = |mount: &str| {
        let mut command = Command::new(&program);
        command.args(["--json", "show", "path:/nowhere.tgz", "--mount", mount]);
        command.env("PINFOLD_HOME", home.path()).env("HOME", user.path());
        command.uid(user.owner()).gid(engine).current_dir("/");
        run(command)
    };
    for mount in [private.option(""), private.option(":rw"), readable.option(":rw")] {
        let ran = show(&mount).failed(11, "mount-refused");
        assert!(ran.error()["message"].as_str().unwrap().starts_with("you may not"), "{ran}");
    }
    show(&readable.option("")).failed(15, "not-found");
}

fn sockets_in_a_folder_lead_nowhere() {
    let folder = Folder::new();
    let path = folder.file("socket");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    folder.give(Path::new(&path));
    for access in ["", ":rw"] {
        let name = format!("probe-socket{}", access.trim_start_matches(':'));
        let server = probe(&name, &["--mount", &folder.option(access)]);
        let mut session = server.session();
        let came = session.data("socket_file", json!({"path": path}));
        assert_eq!(came, json!({"error": "EPERM"}));
        let own = format!("{HOME}/own");
        let came = session.data("socket_file", json!({"path": own, "make": true}));
        assert_eq!(came, json!({"error": "EPERM"}));
        // children are started all the same: their pipes are pairs
        assert_eq!(session.data("hog", json!({"mib": 1}))["code"], 0);
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody connected");
}

fn what_is_mounted_in_a_folder_does_not_come_along() {
    if !root() {
        return;
    }
    let folder = Folder::new();
    let below = folder.write("disk/under", "under");
    let disk_at = folder.path().join("disk");
    let done = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&disk_at).status().unwrap();
    assert!(done.success());
    fs::write(disk_at.join("over"), "over").unwrap();
    let seen = std::panic::catch_unwind(|| {
        let server = probe("probe-disk", &["--mount", &folder.option(":rw")]);
        let mut session = server.session();
        disk(&mut session, "list", &disk_at.display().to_string(), json!({}))
    });
    assert!(Command::new("umount").arg(&disk_at).status().unwrap().success());
    assert_eq!(seen.unwrap(), json!(["under"]));
    assert_eq!(fs::read_to_string(below).unwrap(), "under");
}

fn one_folder_in_another_keeps_its_own_access() {
    let folder = Folder::new();
    folder.write("in/out/x", "x");
    folder.write("in/y", "y");
    let (outer, inner) = (folder.file("in"), folder.file("in/out"));
    let server = probe("probe-inner", &["--mount", &outer, "--mount", &format!("{inner}:rw")]);
    let mut session = server.session();
    does(&mut session, "write", &format!("{inner}/x"));
    fails(&mut session, "write", &format!("{outer}/y"), json!({}), &["EROFS"]);
    let server = probe("probe-outer", &["--mount", &format!("{outer}:rw"), "--mount", &inner]);
    let mut session = server.session();
    does(&mut session, "write", &format!("{outer}/y"));
    fails(&mut session, "write", &format!("{inner}/x"), json!({}), &["EROFS"]);
    fails(&mut session, "rename", &inner, json!({"to": format!("{outer}/z")}), &["EBUSY"]);
}

fn a_folder_of_roots_is_read_as_nobody_and_written_as_root_alone() {
    if !root() {
        return;
    }
    let folder = Folder::of_root();
    let (open, shut) = (folder.write("open", "open"), folder.write("shut", "shut"));
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o600)).unwrap();
    let server = probe("probe-of-root", &["--mount", &folder.option("")]);
    let mut session = server.session();
    assert_eq!(disk(&mut session, "read", &open, json!({})), "open");
    fails(&mut session, "read", &shut, json!({}), &["EACCES"]);
    drop(session);
    let home = server.home();
    let write = folder.option(":rw");
    let ran = home.run(["--json", "show", "npm:anything", "--mount", &write]).failed(11, "mount-refused");
    assert!(ran.error()["hint"].as_str().unwrap().contains("--allow-root"), "{ran}");
    home.run(["--json", "show", "npm:anything", "--allow-root"]).failed(11, "mount-refused");

    let server = probe("probe-root", &["--mount", &write, "--allow-root"]);
    let mut session = server.session();
    does(&mut session, "write", &shut);
    assert_eq!(fs::read_to_string(&shut).unwrap(), "x");
    let report = session.data("report", json!({}));
    assert_eq!(report["ids"]["uid"], json!(["0", "0", "0", "0"]));
    for (set, bits) in report["capabilities"].as_object().unwrap() {
        assert_eq!(bits, "0000000000000000", "{set}");
    }
    assert_eq!((&report["node"]["user"], &report["node"]["home"]), (&json!("root"), &json!(HOME)));
    assert_eq!(report["writable_kernel_files"], json!([]));
    let mut writable: Vec<&str> =
        report["writable_directories"].as_array().unwrap().iter().map(|at| at.as_str().unwrap()).collect();
    writable.retain(|at| !at.starts_with("/dev"));
    let mut promised = vec![HOME, "/tmp", folder.path().to_str().unwrap()];
    promised.sort_unstable();
    assert_eq!(writable, promised);
}

fn a_folder_under_every_kind_of_path_works() {
    let mut places: Vec<PathBuf> = vec!["/tmp".into(), "/var/tmp".into()];
    if root() {
        // `/root` too: others may not enter it, and a folder of theirs below it is at its own path
        places.extend(["/home".into(), "/srv".into(), "/opt".into(), "/mnt".into(), "/root".into()]);
    }
    let folders: Vec<Folder> = places.iter().map(|place| Folder::in_place(place)).collect();
    let odd = folders[0].path().join("with a space: and ünï");
    fs::create_dir(&odd).unwrap();
    folders[0].give(&odd);
    let mut options: Vec<String> = folders.iter().map(|folder| folder.option("")).collect();
    options.push(format!("{}:rw", odd.display()));
    let options: Vec<&str> = options.iter().flat_map(|option| ["--mount", option.as_str()]).collect();
    let server = probe("probe-paths", &options);
    let mut session = server.session();
    for folder in &folders {
        fails(&mut session, "write", &folder.file("x"), json!({}), &["EROFS"]);
        assert_eq!(disk(&mut session, "stat", &folder.file(""), json!({}))["uid"], folder.owner());
    }
    does(&mut session, "write", &odd.join("x").display().to_string());
    assert_eq!(fs::read_to_string(odd.join("x")).unwrap(), "x");
}
