//! What stays read-only in a folder that a server may write to?
//!
//! What this machine would run later without a word: hooks and programs that a version control system's settings name,
//! tasks and settings of editors, what AI clients take for their user's orders. A server that may write there has left
//! its cage, only later.
//!
//! Each such place that exists is mounted over itself, to be read; and so that it cannot be moved out of the way with
//! the folder it lies in, every folder on the way to it is mounted over itself as it is: what is mounted on can neither
//! be renamed nor removed (rename(2), EBUSY). What does not exist has nothing to be mounted on: a server can make it,
//! and that is told (see [`super::Folders::changes`]).
//!
//! Not in the table, since it runs only when somebody runs it, like every source file of a project: `package.json`
//! scripts, makefiles, tests, `node_modules`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names held for one reason.
pub struct Row {
    /// Paths, below any folder that is looked into. `*` stands for what a name begins with.
    pub names: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// Names that are held.
#[rustfmt::skip] // names of one kind on few lines
pub const HELD: &[Row] = &[
    Row {
        names: &[".hg/hgrc", ".jj/repo/config.toml"],
        why: "their settings name programs that every command runs; git has rules of its own, below",
    },
    Row {
        names: &[".githooks", ".husky", ".lefthook", ".lefthook.yml", "lefthook.yml", ".pre-commit-config.yaml"],
        why: "git hooks that are installed already run what these say",
    },
    Row {
        names: &[
            ".fleet", ".idea", ".vs", ".vscode", ".zed", "*.code-workspace", "*.sublime-project", ".dir-locals.el",
            ".exrc", ".nvim.lua", ".nvimrc", ".vimrc",
        ],
        why: "editors run tasks, and programs that settings name, when the folder is opened",
    },
    Row {
        names: &[".devcontainer", ".devcontainer.json"],
        why: "`initializeCommand` runs outside of the container",
    },
    Row {
        names: &[
            ".mcp.json", ".amazonq", ".claude", ".cline", ".codex", ".continue", ".cursor", ".gemini", ".kiro",
            ".opencode", "opencode.json", ".roo", ".windsurf",
        ],
        why: "AI clients start the servers and run the hooks that these name",
    },
    Row {
        names: &[
            "AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".clinerules", ".cursorrules",
            ".windsurfrules", ".github/copilot-instructions.md", ".github/instructions",
        ],
        why: "AI clients take them for their user's orders: what a server writes there reaches a model unscreened",
    },
    Row {
        names: &[".direnv", ".envrc", ".autoenv.zsh", ".mise", ".mise.toml", "mise.toml"],
        why: "shells run them when somebody enters the folder",
    },
    Row {
        names: &[
            ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".profile", ".zlogin", ".zprofile",
            ".zshenv", ".zshrc",
        ],
        why: "shells run them at their start; a folder of settings is often linked into a home",
    },
    Row {
        names: &[
            ".npmrc", ".pnpmfile.cjs", ".yarn", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "uv.toml", ".cargo", ".mvn",
            ".bazelrc",
        ],
        why: "package managers and build tools take from them where code comes from and what runs first",
    },
    Row {
        names: &[".venv"],
        why: "editors run the interpreter in it when the folder is opened",
    },
    Row {
        names: &[
            ".buildkite", ".circleci", ".drone.yml", ".github/actions", ".github/workflows", ".gitlab-ci.yml",
            ".travis.yml", ".woodpecker", ".woodpecker.yml", "Jenkinsfile", "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
        ],
        why: "they run with a project's secrets once somebody pushes them",
    },
];

/// What is held in the folder where git keeps a repository: programs are named in its settings and lie in its hooks,
/// and `commondir` says that both are to be taken from elsewhere.
/// Source: gitrepository-layout(5), git-config(1) (`core.fsmonitor`, `core.sshCommand`, `filter.*`, aliases).
pub const HELD_IN_GIT: &[&str] = &["commondir", "config", "config.worktree", "gitdir", "hooks"];

/// How deep is looked: a folder's own entries are at depth 1.
pub const DEPTH: usize = 5;
/// Entries that are looked at in one folder.
const MOST_ENTRIES: usize = 100_000;
/// Places that are held in one folder, and folders on the way to them.
const MOST_PLACES: usize = 512;
/// Folders inside each other that are looked through for the repositories of submodules.
const DEEPEST_REPOSITORY: usize = 24;
/// Folders that are not looked into: what packages bring along is opened by nobody, and there is much of it.
const NOT_INTO: &[&str] = &["node_modules", "__pycache__"];

/// What was found in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files and folders to be held, absolute.
    pub held: BTreeSet<PathBuf>,
    /// Names to be held that are symbolic links, on which nothing can be mounted, or that have another name as a file,
    /// by which they can be written to.
    pub links: BTreeSet<PathBuf>,
    /// Whose the folder is, and so who may open again what is closed in it.
    owner: u32,
}

/// Why a folder could not be looked through.
#[derive(Debug)]
pub(super) enum TooMuch {
    /// More entries than are looked at.
    Entries,
    /// More places to hold than a cage has mounts.
    Places,
    /// It could not be read, and the server could make it readable to itself.
    Unreadable(PathBuf, io::Error),
    /// A folder in it has a name that is no UTF-8, and what is below cannot be held.
    Unnameable(PathBuf),
}

/// Whether a name fits a name of the table.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => pattern == name,
    }
}

/// Why a folder would itself be held in the one it lies in, if it would: it is no folder to be written to by its own.
pub(super) fn is_held(folder: &Path) -> Option<&'static str> {
    let name = folder.file_name()?.to_str()?;
    if folder.ends_with(".git/hooks") {
        return Some("git runs what is in it");
    }
    let is =
        |pattern: &&str| if pattern.contains('/') { folder.ends_with(pattern) } else { fits(pattern, name) };
    HELD.iter().find(|row| row.names.iter().any(is)).map(|row| row.why)
}

/// Looks a folder through for what is to be held. Other mounts that lie in it are left to themselves.
pub(super) fn look(root: &Path, other_mounts: &BTreeSet<PathBuf>) -> Result<Found, TooMuch> {
    let owner =
        fs::symlink_metadata(root).map_err(|error| TooMuch::Unreadable(root.to_owned(), error))?.uid();
    let mut found = Found { owner, ..Found::default() };
    let mut entries_seen = 0;
    let mut waiting = vec![(root.to_owned(), 1)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if folder == root => return Err(TooMuch::Unreadable(folder, error)),
            Err(error) => {
                found.is_nothing_to_hold(&folder, error)?;
                continue;
            }
        };
        let mut kinds = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|error| TooMuch::Unreadable(folder.clone(), error))?;
            entries_seen += 1;
            if entries_seen > MOST_ENTRIES {
                return Err(TooMuch::Entries);
            }
            let kind = entry.file_type().map_err(|error| TooMuch::Unreadable(entry.path(), error))?;
            match entry.file_name().into_string() {
                Ok(name) => drop(kinds.insert(name, kind)),
                // no engine can be told of a place in it
                Err(_) if kind.is_dir() => return Err(TooMuch::Unnameable(entry.path())),
                Err(_) => {}
            }
        }
        found.take(&folder, &kinds)?;
        if found.held.len() + found.links.len() > MOST_PLACES {
            return Err(TooMuch::Places);
        }
        if depth == DEPTH {
            continue;
        }
        for (name, kind) in kinds {
            let path = folder.join(&name);
            let other = other_mounts.contains(&path) || found.held.contains(&path);
            if kind.is_dir() && name != ".git" && !NOT_INTO.contains(&name.as_str()) && !other {
                waiting.push((path, depth + 1));
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Everything of the table that is there, whether it can be held or not.
    pub(super) fn there(&self) -> impl Iterator<Item = &PathBuf> {
        self.held.iter().chain(&self.links)
    }

    /// Refuses a place that cannot be looked into and that the server, who runs as the folder's owner, could open to
    /// itself. What went meanwhile, and what belongs to somebody else, is nothing to hold.
    fn is_nothing_to_hold(&self, place: &Path, error: io::Error) -> Result<(), TooMuch> {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(()),
            io::ErrorKind::PermissionDenied => {
                // of the nearest place above it that can be looked at
                let whose = place.ancestors().find_map(|above| fs::symlink_metadata(above).ok());
                match whose {
                    Some(other) if other.uid() != self.owner => Ok(()),
                    _ => Err(TooMuch::Unreadable(place.to_owned(), error)),
                }
            }
            _ => Err(TooMuch::Unreadable(place.to_owned(), error)),
        }
    }

    /// Takes what is to be held among the entries of one folder.
    fn take(&mut self, folder: &Path, kinds: &BTreeMap<String, fs::FileType>) -> Result<(), TooMuch> {
        for pattern in HELD.iter().flat_map(|row| row.names) {
            match pattern.split_once('/') {
                Some((first, _)) if kinds.contains_key(first) => self.hold(folder, pattern)?,
                Some(_) => {}
                None if pattern.starts_with('*') => {
                    for name in kinds.keys().filter(|name| fits(pattern, name)) {
                        self.hold(folder, name)?;
                    }
                }
                None if kinds.contains_key(*pattern) => self.hold(folder, pattern)?,
                None => {}
            }
        }
        match kinds.get(".git") {
            Some(kind) if kind.is_dir() => self.repository(&folder.join(".git"), 0)?,
            // of a submodule or a further working tree: a file that says where the repository is
            Some(_) => self.hold(folder, ".git")?,
            None => {}
        }
        // a repository without a working tree, which git takes for one all the same, whatever else lies in it
        if ["HEAD", "objects", "refs"].iter().all(|name| kinds.contains_key(*name)) {
            self.repository(folder, 0)?;
        }
        Ok(())
    }

    /// Holds a place, if it is there. A link anywhere on the way cannot be held.
    fn hold(&mut self, folder: &Path, place: &str) -> Result<(), TooMuch> {
        let mut path = folder.to_owned();
        for part in place.split('/') {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    self.links.insert(path);
                    return Ok(());
                }
                Ok(found) if found.is_file() && found.nlink() > 1 => {
                    self.links.insert(path.clone());
                }
                Ok(_) => {}
                Err(error) => return self.is_nothing_to_hold(&path, error),
            }
        }
        self.held.insert(path);
        Ok(())
    }

    /// Holds what is to be held where git keeps a repository, those of its submodules and working trees included.
    fn repository(&mut self, folder: &Path, depth: usize) -> Result<(), TooMuch> {
        for name in HELD_IN_GIT {
            self.hold(folder, name)?;
        }
        for inner in ["modules", "worktrees"] {
            self.repositories(&folder.join(inner), depth + 1)?;
        }
        Ok(())
    }

    /// Every repository below a folder where git keeps those of submodules: a submodule's name may have several parts,
    /// and submodules may have submodules.
    fn repositories(&mut self, folder: &Path, depth: usize) -> Result<(), TooMuch> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.is_nothing_to_hold(folder, error),
        };
        for (count, entry) in entries.enumerate() {
            // refused rather than skipped: what is not looked at is not held
            if depth > DEEPEST_REPOSITORY || count >= MOST_PLACES || self.held.len() > MOST_PLACES {
                return Err(TooMuch::Places);
            }
            let entry = entry.map_err(|error| TooMuch::Unreadable(folder.to_owned(), error))?;
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            match fs::symlink_metadata(path.join("HEAD")) {
                Ok(_) => self.repository(&path, depth + 1)?,
                Err(error) => {
                    self.is_nothing_to_hold(&path.join("HEAD"), error)?;
                    self.repositories(&path, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Held places for people: in the table's words, since whoever named the folders around them may be a stranger; those
/// of one name together, with how many there are.
pub(super) fn told(held: &BTreeSet<PathBuf>) -> Vec<String> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for path in held {
        *names.entry(word(path)).or_default() += 1;
    }
    let counted = |(name, count)| if count == 1 { name } else { format!("{name} in {count} places") };
    names.into_iter().map(counted).collect()
}

/// The table's word for a place.
fn word(path: &Path) -> String {
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let row = HELD.iter().flat_map(|row| row.names).find(|pattern| match pattern.contains('/') {
        // a link can be on the way to a place
        true => path.ends_with(pattern) || pattern.split('/').next() == Some(&last),
        false => fits(pattern, &last),
    });
    match row {
        Some(pattern) => (*pattern).to_owned(),
        None if last == ".git" => ".git".to_owned(),
        None => format!(".git/{}", HELD_IN_GIT.iter().find(|name| **name == last).unwrap_or(&"…")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn of(files: &[&str]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for file in files {
                let path = tree.0.path().join(file.trim_end_matches('/'));
                fs::create_dir_all(if file.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
                if !file.ends_with('/') {
                    fs::write(path, "x").unwrap();
                }
            }
            tree
        }

        fn look(&self) -> Found {
            look(self.0.path(), &BTreeSet::new()).unwrap()
        }

        fn names(&self, paths: &BTreeSet<PathBuf>) -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(self.0.path()).unwrap().display().to_string()).collect()
        }
    }

    #[test]
    fn holds_every_name_of_the_table_and_not_its_neighbour() {
        for name in HELD.iter().flat_map(|row| row.names) {
            let file = name.replace('*', "mine");
            let tree = Tree::of(&[&file]);
            assert_eq!(tree.names(&tree.look().held), [file.as_str()], "{name}");
            let tree = Tree::of(&[&format!("{file}x")]);
            assert_eq!(tree.look().held, BTreeSet::new(), "{name}");
        }
    }

    #[test]
    fn a_folder_that_would_be_held_is_not_given_by_itself() {
        for held in
            ["/srv/p/.vscode", "/srv/p/.git/hooks", "/srv/p/.github/workflows", "/srv/x.code-workspace"]
        {
            assert!(is_held(Path::new(held)).is_some(), "{held}");
        }
        for free in
            ["/srv/p", "/srv/p/.git", "/srv/p/hooks", "/srv/p/workflows", "/srv/p/.claude/worktrees/x"]
        {
            assert_eq!(is_held(Path::new(free)), None, "{free}");
        }
    }

    #[test]
    fn holds_what_steers_git_and_lets_it_work() {
        let tree = Tree::of(&[
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/index",
            ".git/objects/",
            ".git/refs/heads/main",
            ".git/HEAD",
            ".git/modules/sub/config",
            ".git/modules/sub/HEAD",
            ".git/modules/a/b/hooks/x",
            ".git/modules/a/b/HEAD",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/gitdir",
            ".git/worktrees/w/HEAD",
            "sub/.git",
        ]);
        let held = [
            ".git/config",
            ".git/hooks",
            ".git/modules/a/b/hooks",
            ".git/modules/sub/config",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/gitdir",
            "sub/.git",
        ];
        assert_eq!(tree.names(&tree.look().held), held);
    }

    #[test]
    fn finds_projects_below_and_repositories_without_a_tree() {
        let tree = Tree::of(&[
            "a/b/.git/config",
            "bare/HEAD",
            "bare/objects/",
            "bare/refs/",
            "bare/config",
            "a/.vscode/x",
        ]);
        assert_eq!(tree.names(&tree.look().held), ["a/.vscode", "a/b/.git/config", "bare/config"]);
    }

    #[test]
    fn looks_no_deeper_than_it_says_and_not_into_what_packages_bring() {
        let at = "1/2/3/4/.envrc";
        let tree = Tree::of(&[at, "1/2/3/4/5/.envrc", "node_modules/x/.vscode/y"]);
        assert_eq!(tree.names(&tree.look().held), [at]);
    }

    #[test]
    fn a_link_is_told_apart_and_never_followed() {
        let tree = Tree::of(&["AGENTS.md", "elsewhere/x"]);
        symlink("AGENTS.md", tree.0.path().join("CLAUDE.md")).unwrap();
        symlink("elsewhere", tree.0.path().join(".github")).unwrap();
        let found = tree.look();
        assert_eq!(tree.names(&found.held), ["AGENTS.md"]);
        assert_eq!(tree.names(&found.links), [".github", "CLAUDE.md"]);
    }

    #[test]
    fn holds_repositories_of_submodules_however_their_names_are_made() {
        let tree = Tree::of(&[
            ".git/HEAD",
            ".git/modules/third_party/libs/foo/HEAD",
            ".git/modules/third_party/libs/foo/config",
            ".git/modules/third_party/libs/foo/modules/x/y/HEAD",
            ".git/modules/third_party/libs/foo/modules/x/y/config",
            "bare/.git/",
            "bare/HEAD",
            "bare/objects/",
            "bare/refs/",
            "bare/config",
        ]);
        let held = [
            ".git/modules/third_party/libs/foo/config",
            ".git/modules/third_party/libs/foo/modules/x/y/config",
            "bare/config",
        ];
        assert_eq!(tree.names(&tree.look().held), held);
    }

    #[test]
    fn what_has_a_second_name_is_held_and_said_to_be_loose() {
        let tree = Tree::of(&[".git/HEAD", ".git/config"]);
        fs::hard_link(tree.0.path().join(".git/config"), tree.0.path().join("other")).unwrap();
        let found = tree.look();
        assert_eq!(tree.names(&found.held), [".git/config"]);
        assert_eq!(tree.names(&found.links), [".git/config"]);
    }

    #[test]
    fn refuses_a_folder_whose_name_no_engine_can_be_told() {
        use std::os::unix::ffi::OsStrExt;
        let tree = Tree::of(&["a/x"]);
        fs::create_dir(tree.0.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"))).unwrap();
        assert!(matches!(look(tree.0.path(), &BTreeSet::new()), Err(TooMuch::Unnameable(_))));
    }

    #[test]
    fn a_place_that_its_owner_closed_is_refused_and_another_users_is_not() {
        let tree = Tree::of(&["sub/.envrc"]);
        let found = tree.look();
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(found.is_nothing_to_hold(&tree.0.path().join("sub"), denied()).is_err());
        let others = Found { owner: found.owner + 1, ..Found::default() };
        assert!(others.is_nothing_to_hold(&tree.0.path().join("sub"), denied()).is_ok());
        assert!(
            found.is_nothing_to_hold(&tree.0.path().join("gone"), io::ErrorKind::NotFound.into()).is_ok()
        );
    }

    #[test]
    fn notices_what_comes_to_be() {
        let tree = Tree::of(&[".git/HEAD", ".git/config"]);
        let before: BTreeSet<PathBuf> = tree.look().there().cloned().collect();
        fs::write(tree.0.path().join(".git/commondir"), "../evil").unwrap();
        fs::create_dir_all(tree.0.path().join("sub/.vscode")).unwrap();
        fs::write(tree.0.path().join("x.code-workspace"), "{}").unwrap();
        let after: BTreeSet<PathBuf> = tree.look().there().cloned().collect();
        let new: BTreeSet<PathBuf> = after.difference(&before).cloned().collect();
        assert_eq!(tree.names(&new), [".git/commondir", "sub/.vscode", "x.code-workspace"]);
    }

    #[test]
    fn tells_names_of_the_table_once_and_no_others() {
        let tree = Tree::of(&[
            "a/.git/config",
            "b/.git/config",
            ".vscode/x",
            "a/AGENTS.md",
            ".x, and nothing else/.git/hooks/x",
            "and more.code-workspace",
            "c/.git",
            ".github/workflows/x",
            "bare/HEAD",
            "bare/objects/",
            "bare/refs/",
            "bare/config",
        ]);
        let told = told(&tree.look().held);
        assert_eq!(
            told,
            [
                "*.code-workspace",
                ".git",
                ".git/config in 3 places",
                ".git/hooks",
                ".github/workflows",
                ".vscode",
                "AGENTS.md"
            ]
        );
    }
}
