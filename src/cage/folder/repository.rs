//! What does git run, or take its settings from, in this folder?
//!
//! Where git keeps a repository: its settings and hooks, a rebase that waits to go on, and the same of submodules and
//! further working trees. And whatever those settings name that lies in the folder, by any name: hooks, further
//! settings, programs. Settings count wherever they are, the user's own and those of a repository that the folder lies
//! in included; a folder below the top of a working tree is as much that repository's as the top.
//!
//! Invariant: what is read is bounded, and no file is waited for: a server that could write here may have made it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::held::{Found, TooMuch};
use super::settings::{self, Names};
use crate::state::read_plain;

/// What is held in the folder where git keeps a repository: programs are named in its settings and lie in its hooks,
/// `commondir` says that both are to be taken from elsewhere, and a rebase or a series of picks goes on with what its
/// list says, `exec` lines included.
/// Source: gitrepository-layout(5), git-config(1) (`core.fsmonitor`, `core.sshCommand`, `filter.*`, aliases),
/// git-rebase(1) (`exec`).
pub(super) const HELD_IN_GIT: &[&str] = &[
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];

/// What tells a repository among those of submodules: any of these is enough, as a server can move the others away.
/// It can also put one of them where there is no repository, so whatever else lies beside is looked at all the same.
const TELLS: &[&str] = &["HEAD", "commondir", "config", "hooks", "objects"];

/// Folders of a repository in which others are.
const HOLD_OTHERS: &[&str] = &["modules", "worktrees"];

/// Folders of a repository with much in them that is named by others: a branch may be called `config`. Among
/// submodules one of these is a repository only where it is one itself.
const NAMES_OF_OTHERS: &[&str] = &["logs", "objects", "refs"];

/// Stands in the settings of every repository that git has made, and in no others. Source: git-config(1).
const FORMAT: &[u8] = b"repositoryformatversion";

/// Folders inside each other that are looked through for the repositories of submodules.
const DEEPEST_REPOSITORY: usize = 24;

/// Bytes of a file of settings. They have a few thousand.
const SETTINGS_BYTES: u64 = 1024 * 1024;

/// Bytes of a file that says where a repository is: a path.
const POINTER_BYTES: u64 = 8 * 1024;

/// How far settings that include others are followed: git's own bound. Source: `config.c`, MAX_INCLUDE_DEPTH.
const DEEPEST_INCLUDE: usize = 10;

/// Files of settings that are read for one repository.
const MOST_SETTINGS: usize = 100;

/// What people are told of a place that is held because settings name it.
const NAMED: &str = "what git's settings name";

/// Something that settings name, and the file that does.
#[derive(Debug, Clone)]
struct Named {
    names: Names,
    by: PathBuf,
}

/// What git takes into account for every repository in one folder.
pub(super) struct Git<'a> {
    pub(super) root: &'a Path,
    other_mounts: &'a BTreeSet<PathBuf>,
    home: Option<PathBuf>,
    of_user: Vec<Named>,
}

/// Whether a folder is one where git keeps a repository, of whatever kind; whether it is sound does not matter.
/// Source: gitrepository-layout(5).
pub(super) fn is(folder: &Path) -> bool {
    folder.is_dir() && is_with(folder, |name| fs::symlink_metadata(folder.join(name)).is_ok())
}

/// The same of a folder whose names are known. One whose other files were moved away is known by its settings, which
/// were held and could not be.
pub(super) fn is_with(folder: &Path, has: impl Fn(&str) -> bool) -> bool {
    let named = folder.file_name().is_some_and(|name| name == ".git");
    named
        || has("HEAD") && (has("objects") && has("refs") || has("commondir"))
        || has("config") && is_of_a_repository(&folder.join("config"))
}

/// Whether settings are a repository's.
fn is_of_a_repository(settings: &Path) -> bool {
    let text = read_plain(settings, SETTINGS_BYTES).unwrap_or_default().to_ascii_lowercase();
    text.windows(FORMAT.len()).any(|part| part == FORMAT)
}

/// Whether a place is one of those that are held in the folder where git keeps a repository.
pub(super) fn is_held_in_one(place: &Path) -> bool {
    let name = place.file_name().unwrap_or_default();
    HELD_IN_GIT.iter().any(|held| name == *held) && place.parent().is_some_and(is)
}

impl<'a> Git<'a> {
    /// With the settings of this user and of this machine.
    pub(super) fn new(root: &'a Path, other_mounts: &'a BTreeSet<PathBuf>) -> Result<Self, TooMuch> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let mut git = Self { root, other_mounts, home, of_user: Vec::new() };
        let xdg = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let config = xdg.or_else(|| Some(git.home.as_ref()?.join(".config")));
        let files = [
            Some(PathBuf::from("/etc/gitconfig")),
            config.map(|config| config.join("git/config")),
            git.home.as_ref().map(|home| home.join(".gitconfig")),
        ];
        let mut reader = Reader { git: &git, found: Vec::new(), files: 0 };
        for file in files.into_iter().flatten() {
            // the file itself may be a link into the folder
            let names = Names::Settings(file.to_string_lossy().into_owned());
            reader.found.push(Named { names, by: file.clone() });
            reader.read(&file, 0)?;
        }
        git.of_user = reader.found;
        Ok(git)
    }

    /// Whether a path is in the folder that is looked through, and in no other mount.
    pub(super) fn has(&self, path: &Path) -> bool {
        let elsewhere = |at: &PathBuf| at != self.root && path.starts_with(at) && at.starts_with(self.root);
        path.starts_with(self.root) && !self.other_mounts.iter().any(elsewhere)
    }

    /// All settings of a repository, the user's first.
    fn settings(&self, repository: &Path) -> Result<Vec<Named>, TooMuch> {
        let common = pointer(&repository.join("commondir")).map(|to| repository.join(to));
        let mut reader = Reader { git: self, found: self.of_user.clone(), files: 0 };
        for folder in common.as_deref().into_iter().chain([repository]) {
            reader.read(&folder.join("config"), 0)?;
            reader.read(&folder.join("config.worktree"), 0)?;
        }
        Ok(reader.found)
    }

    /// A path as settings write it. None for one that has the place in it where git is installed, or a home of nobody.
    fn path(&self, text: &str, base: &Path) -> Option<PathBuf> {
        let path = match text.strip_prefix("~/") {
            Some(rest) => self.home.as_ref()?.join(rest),
            None if text.starts_with('~') => super::expanded(text)?,
            None if text.starts_with("%(") => return None,
            None => base.join(text),
        };
        Some(without_dots(&path))
    }
}

/// The words of a small file that says where something is.
fn pointer(file: &Path) -> Option<String> {
    let bytes = read_plain(file, POINTER_BYTES).ok()?;
    Some(String::from_utf8(bytes).ok()?.trim_end_matches(['\n', '\r']).to_owned())
}

/// Where the repository of a working tree is: its `.git`, or where that file says.
fn of_tree(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    if fs::metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let to = pointer(&git)?;
    Some(without_dots(&tree.join(to.strip_prefix("gitdir:")?.trim_start())))
}

/// A path without `.` and `..`, as it is spelled: a link on the way is another spelling, which is looked at as well.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Reads files of settings and those they include.
struct Reader<'a> {
    git: &'a Git<'a>,
    found: Vec<Named>,
    files: usize,
}

impl Reader<'_> {
    fn read(&mut self, file: &Path, depth: usize) -> Result<(), TooMuch> {
        let long = || TooMuch::Settings(file.to_owned());
        // a file that cannot be read by its user, whoever that is, steers nothing of theirs
        let text = match read_plain(file, SETTINGS_BYTES) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) if fs::metadata(file).is_ok_and(|file| file.len() > SETTINGS_BYTES) => return Err(long()),
            Err(_) => return Ok(()),
        };
        self.files += 1;
        if self.files > MOST_SETTINGS {
            return Err(long());
        }
        for names in settings::names(&text) {
            let further = match &names {
                Names::Settings(path) => self.git.path(path, file.parent().unwrap_or(file)),
                _ => None,
            };
            self.found.push(Named { names, by: file.to_owned() });
            if let Some(further) = further.filter(|_| depth < DEEPEST_INCLUDE) {
                self.read(&further, depth + 1)?;
            }
        }
        Ok(())
    }
}

impl Found {
    /// Holds what the user's own settings name, and those of the repositories that the folder lies in.
    pub(super) fn around(&mut self, git: &Git) -> Result<(), TooMuch> {
        self.named(git, &git.of_user, Path::new("/"))?;
        for above in git.root.ancestors().skip(1) {
            if is(above) {
                self.settings(git, above)?;
            }
            self.tree(git, above)?;
        }
        Ok(())
    }

    /// Holds what the settings of a working tree's repository name, and what is to be held in the repository itself,
    /// wherever in the folder it is.
    pub(super) fn tree(&mut self, git: &Git, tree: &Path) -> Result<(), TooMuch> {
        let Some(repository) = of_tree(tree) else { return Ok(()) };
        self.named(git, &git.settings(&repository)?, tree)?;
        self.repository_at(git, &repository)
    }

    /// Holds what is to be held where git keeps a repository, if that is in the folder: by the path that leads there,
    /// and by its own.
    fn repository_at(&mut self, git: &Git, repository: &Path) -> Result<(), TooMuch> {
        let own = repository.canonicalize().ok();
        for path in [Some(repository.to_owned()), own].into_iter().flatten() {
            if path.is_dir() && git.has(&path) {
                self.repository(git, &path, 0)?;
            }
        }
        Ok(())
    }

    /// Holds what is to be held where git keeps a repository, those of its submodules and working trees included.
    pub(super) fn repository(&mut self, git: &Git, folder: &Path, depth: usize) -> Result<(), TooMuch> {
        if !self.repositories.insert(folder.to_owned()) {
            return Ok(());
        }
        for name in HELD_IN_GIT {
            self.hold(folder, name)?;
        }
        self.settings(git, folder)?;
        if let Some(common) = pointer(&folder.join("commondir")) {
            self.repository_at(git, &without_dots(&folder.join(common)))?;
        }
        for inner in HOLD_OTHERS {
            self.repositories(git, &folder.join(inner), depth + 1)?;
        }
        Ok(())
    }

    /// Holds what a repository's settings name, seen from where git would be: its working tree, or itself where it has
    /// none or receives a push.
    fn settings(&mut self, git: &Git, repository: &Path) -> Result<(), TooMuch> {
        let settings = git.settings(repository)?;
        let mut trees = BTreeSet::from([repository.to_owned()]);
        if repository.file_name().is_some_and(|name| name == ".git") {
            trees.extend(repository.parent().map(Path::to_owned));
        }
        for named in &settings {
            if let Names::Tree(tree) = &named.names {
                trees.extend(git.path(tree, repository));
            }
        }
        trees.iter().try_for_each(|tree| self.named(git, &settings, tree))
    }

    /// Every repository below a folder where git keeps those of submodules: a submodule's name may have several parts,
    /// and submodules may have submodules.
    fn repositories(&mut self, git: &Git, folder: &Path, depth: usize) -> Result<(), TooMuch> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.is_nothing_to_hold(folder, error),
        };
        let inside = self.repositories.contains(folder);
        for entry in entries {
            // refused rather than skipped: what is not looked at is not held
            if depth > DEEPEST_REPOSITORY {
                return Err(TooMuch::Repositories(folder.to_owned()));
            }
            self.see(git.root, folder)?;
            let entry = entry.map_err(|error| TooMuch::Unreadable(folder.to_owned(), error))?;
            let path = entry.path();
            let name = entry.file_name();
            let is = |names: &[&str]| inside && names.iter().any(|known| name == *known);
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || is(HELD_IN_GIT) || is(HOLD_OTHERS) {
                continue;
            }
            let of_others = is(NAMES_OF_OTHERS);
            if self.is_among_submodules(&path, of_others)? {
                self.repository(git, &path, depth + 1)?;
            } else if of_others {
                continue;
            }
            self.repositories(git, &path, depth + 1)?;
        }
        Ok(())
    }

    /// Whether a folder where git keeps the repositories of submodules is one of them.
    fn is_among_submodules(&self, folder: &Path, of_others: bool) -> Result<bool, TooMuch> {
        for tell in TELLS {
            let path = folder.join(tell);
            match fs::symlink_metadata(&path) {
                // there is a `HEAD` in `logs` too
                Ok(_) if of_others && *tell == "HEAD" => {}
                Ok(_) => return Ok(true),
                Err(error) => self.is_nothing_to_hold(&path, error)?,
            }
        }
        Ok(false)
    }

    /// Holds what settings name, as git in this working tree would read it.
    fn named(&mut self, git: &Git, settings: &[Named], tree: &Path) -> Result<(), TooMuch> {
        for Named { names, by } in settings {
            match names {
                Names::Tree(_) => {}
                Names::Settings(path) => {
                    if let Some(path) = git.path(path, by.parent().unwrap_or(by)) {
                        self.hold_named(git, &path, NAMED)?;
                    }
                }
                Names::Hooks(path) => {
                    let Some(path) = git.path(path, tree) else { continue };
                    let around = git.root.starts_with(&path) && path.starts_with(tree) && path != tree;
                    if git.root == path || around {
                        return Err(TooMuch::Hooks(by.clone()));
                    }
                    self.hold_named(git, &path, NAMED)?;
                }
                Names::Command(command) => {
                    // a folder that it names may be the one it goes into: `cd tools && ./x`, `-C tools`
                    let folders = settings::words(command).filter_map(|word| git.path(word, tree));
                    let folders = folders.filter(|path| git.has(path) && path.is_dir());
                    let bases: Vec<PathBuf> = [tree.to_owned()].into_iter().chain(folders).take(8).collect();
                    for (at, word) in settings::words(command).enumerate() {
                        // looked for on PATH, not in the folder
                        if at == 0 && !word.contains('/') {
                            continue;
                        }
                        // behind a variable or a command that says where the working tree is
                        let below = word.trim_start_matches('/');
                        let paths =
                            bases.iter().flat_map(|base| [git.path(word, base), git.path(below, base)]);
                        for path in paths.flatten() {
                            if fs::metadata(&path).is_ok_and(|found| found.is_file()) {
                                self.hold_named(git, &path, NAMED)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Holds a place by the name it was given, and by its own.
    pub(super) fn hold_named(&mut self, git: &Git, path: &Path, why: &'static str) -> Result<(), TooMuch> {
        for path in [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten() {
            // another mount is looked through by itself
            if let Some(place) = path.strip_prefix(git.root).ok().and_then(Path::to_str)
                && !place.is_empty()
                && git.has(&path)
            {
                self.hold(git.root, place)?;
                self.words.entry(path).or_insert(why);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::held::tests::Tree;
    use super::*;

    #[test]
    fn holds_what_a_repositorys_settings_name_in_the_folder() {
        let tree = Tree::of(&[
            ".git/HEAD",
            "tools/hooks/pre-commit",
            "tools/filter.py",
            "tools/settings",
            "tools/settings.too",
            "tools/watch",
            "tools/other",
            "log",
            "deep/a/b/c/d/e/f/hooks/x",
        ]);
        tree.write(
            ".git/config",
            "[core]\n\thooksPath = tools/./x/../hooks\n\tfsmonitor = ./tools/watch\n\
             [filter \"f\"]\nclean = python3 tools/filter.py %f\n[alias]\nl = log\n\
             [include]\npath = ../tools/settings\n[include]\npath = nowhere\n",
        );
        tree.write("tools/settings", "[includeIf \"onbranch:x\"]\npath = settings.too\n");
        tree.write("tools/settings.too", "[core]\nhooksPath = deep/a/b/c/d/e/f/hooks\n");
        let found = tree.look();
        let held = [
            ".git/config",
            "deep/a/b/c/d/e/f/hooks",
            "tools/filter.py",
            "tools/hooks",
            "tools/settings",
            "tools/settings.too",
            "tools/watch",
        ];
        assert_eq!(tree.names(&found.held), held);
        assert_eq!(found.told(&found.held), [".git/config", "what git's settings name in 6 places"]);
    }

    #[test]
    fn holds_what_a_command_names_in_quotes_and_from_the_folder_it_goes_into() {
        let tree = Tree::of(&[".git/HEAD", "my tools/x", "tools/t", "tools/other", "t"]);
        tree.write(
            ".git/config",
            "[alias]\na = !cd tools && ./t\n[tar \"x\"]\ncommand = \"'my tools/x' -c\"\n",
        );
        assert_eq!(tree.names(&tree.look().held), [".git/config", "my tools/x", "t", "tools/t"]);
    }

    #[test]
    fn holds_what_is_named_by_its_own_name_too_and_by_a_full_path() {
        let tree = Tree::of(&[".git/HEAD", "real/x", "full/x"]);
        symlink("real", tree.path().join("link")).unwrap();
        let full = tree.path().join("full");
        tree.write(
            ".git/config",
            &format!("[core]\nhooksPath = link\n[init]\ntemplateDir = {}\n", full.display()),
        );
        let found = tree.look();
        assert_eq!(tree.names(&found.held), [".git/config", "full", "real"]);
        assert_eq!(tree.names(&found.links), ["link"]);
        assert_eq!(found.told(&found.links), ["what git's settings name"]);
    }

    #[test]
    fn holds_for_a_further_working_tree_and_a_submodule_what_their_repository_says() {
        let main =
            Tree::of(&["main/.git/worktrees/w/HEAD", "main/.git/modules/s/HEAD", "w/own/x", "main/s/own/x"]);
        let at = |name: &str| main.path().join(name).display().to_string();
        main.write("main/.git/config", "[core]\nhooksPath = own\n");
        main.write("main/.git/worktrees/w/commondir", "../..\n");
        main.write("w/.git", &format!("gitdir: {}\n", at("main/.git/worktrees/w")));
        main.write("main/.git/modules/s/config", "[core]\nworktree = ../../../s\nhooksPath = own\n");
        main.write("main/s/.git", "gitdir: ../.git/modules/s\n");
        let look = |root: &str| {
            let root = main.path().join(root);
            let found = super::super::held::look(&root, &BTreeSet::new()).unwrap();
            found
                .held
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(look("w"), [".git", "own"]);
        assert_eq!(look("main/s"), [".git", "own"]);
        assert_eq!(
            look("main"),
            [".git/config", ".git/modules/s/config", ".git/worktrees/w/commondir", "s/.git", "s/own"]
        );
    }

    #[test]
    fn a_folder_below_the_top_of_a_repository_is_as_much_the_repositorys() {
        let tree = Tree::of(&[".git/HEAD", "tools/hooks/x", "tools/y", "tools/hooks/lib/z"]);
        tree.write(".git/config", "[core]\nhooksPath = tools/hooks\n");
        let look = |name: &str| super::super::held::look(&tree.path().join(name), &BTreeSet::new());
        assert_eq!(tree.names(&look("tools").unwrap().held), ["tools/hooks"]);
        for hooks in ["tools/hooks", "tools/hooks/lib"] {
            assert!(matches!(look(hooks), Err(TooMuch::Hooks(_))), "{hooks}");
        }
        tree.write(".git/config", "[core]\nhooksPath = .\n");
        assert!(matches!(look("."), Err(TooMuch::Hooks(_))));
        assert!(look("tools").is_ok());
    }

    #[test]
    fn holds_a_rebase_that_waits_to_go_on() {
        let tree = Tree::of(&[
            ".git/HEAD",
            ".git/rebase-merge/git-rebase-todo",
            ".git/rebase-apply/next",
            ".git/sequencer/todo",
            ".git/MERGE_HEAD",
        ]);
        assert_eq!(
            tree.names(&tree.look().held),
            [".git/rebase-apply", ".git/rebase-merge", ".git/sequencer"]
        );
    }

    #[test]
    fn settings_without_end_are_refused_and_a_pipe_or_a_circle_is_not_waited_for() {
        let tree = Tree::of(&[".git/HEAD"]);
        tree.write(".git/config", "[include]\npath = config\npath = ../pipe\npath = ../pipe\n");
        crate::state::pipe(tree.path());
        assert_eq!(tree.names(&tree.look().held), [".git/config", "pipe"]);
        tree.write(".git/config", &"#".repeat(SETTINGS_BYTES as usize + 1));
        let look = super::super::held::look(tree.path(), &BTreeSet::new());
        assert!(matches!(look, Err(TooMuch::Settings(_))));
        tree.write(".git/config", &"[include]path=../a\n".repeat(10));
        tree.write("a", &"[include]path=b\n".repeat(20));
        let look = super::super::held::look(tree.path(), &BTreeSet::new());
        assert!(look.is_ok(), "what is not there is not read");
        tree.write("b", "");
        let look = super::super::held::look(tree.path(), &BTreeSet::new());
        assert!(matches!(look, Err(TooMuch::Settings(_))));
    }

    #[test]
    fn what_a_server_puts_beside_submodules_repositories_hides_none_of_them() {
        let lib = [".git/modules/third_party/lib/config", ".git/modules/third_party/lib/hooks"];
        let tree = Tree::of(&[".git/HEAD", lib[0], &format!("{}/x", lib[1])]);
        assert_eq!(tree.names(&tree.look().held), lib, "with nothing but what is held");
        for planted in ["HEAD", "config", "objects/x", "refs/x", "hooks/x", "commondir"] {
            let at = format!(".git/modules/third_party/{planted}");
            let tree = Tree::of(&[".git/HEAD", lib[0], &format!("{}/x", lib[1]), &at]);
            let held = tree.names(&tree.look().held);
            assert!(lib.iter().all(|name| held.iter().any(|held| held == name)), "{planted}: {held:?}");
        }
        // a repository's own branches, logs and objects are nothing of the kind
        let tree = Tree::of(&[
            ".git/modules/x/config",
            ".git/modules/x/refs/heads/config",
            ".git/modules/x/refs/heads/hooks/y",
            ".git/modules/x/logs/HEAD",
            ".git/modules/x/logs/refs/heads/config",
            ".git/modules/x/objects/ab/cd",
        ]);
        assert_eq!(tree.names(&tree.look().held), [".git/modules/x/config"]);
    }

    #[test]
    fn a_repository_is_found_where_the_file_of_its_tree_says_however_deep() {
        let deep = "a/b/c/d/e/f/g";
        let tree = Tree::of(&[&format!("{deep}/config"), &format!("{deep}/hooks/x")]);
        tree.write(".git", &format!("gitdir: {}\n", tree.path().join(deep).display()));
        let held = [".git".to_owned(), format!("{deep}/config"), format!("{deep}/hooks")];
        assert_eq!(tree.names(&tree.look().held), held);
        // and what a repository says it shares with another
        let common = Tree::of(&[".git/HEAD", &format!("{deep}/config")]);
        common.write(".git/commondir", &format!("../{deep}\n"));
        let held = [".git/commondir".to_owned(), format!("{deep}/config")];
        assert_eq!(common.names(&common.look().held), held);
    }

    #[test]
    fn a_repository_without_a_tree_is_known_by_its_settings_when_the_rest_was_moved_away() {
        let tree = Tree::of(&["bare/hooks/x", "other/config", "other/hooks/x"]);
        tree.write("bare/config", "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n");
        assert_eq!(tree.names(&tree.look().held), ["bare/config", "bare/hooks"]);
    }

    #[test]
    fn tells_where_git_keeps_a_repository_by_what_is_in_it() {
        let tree =
            Tree::of(&["a/.git/", "b/HEAD", "b/objects/", "b/refs/", "w/HEAD", "w/commondir", "n/HEAD"]);
        for (name, one) in [("a/.git", true), ("b", true), ("w", true), ("n", false), ("a", false)] {
            assert_eq!(is(&tree.path().join(name)), one, "{name}");
        }
    }
}
