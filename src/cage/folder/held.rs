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
/// Folders that are not looked into: what packages bring along is opened by nobody, and there is much of it.
const NOT_INTO: &[&str] = &["node_modules", "__pycache__"];

/// What was found in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files and folders to be held, absolute.
    pub held: BTreeSet<PathBuf>,
    /// Names to be held that are symbolic links: nothing can be mounted on a link.
    pub links: BTreeSet<PathBuf>,
    /// Folders in which a name of the table may come to be: each project's, as it seems.
    pub projects: BTreeSet<PathBuf>,
    /// Folders where git keeps a repository.
    pub repositories: BTreeSet<PathBuf>,
}

/// Why a folder could not be looked through.
#[derive(Debug)]
pub(super) enum TooMuch {
    /// More entries than are looked at.
    Entries,
    /// More places to hold than a cage has mounts.
    Places,
    /// It could not be read.
    Unreadable(PathBuf, io::Error),
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
    let mut found = Found::default();
    found.projects.insert(root.to_owned());
    let mut entries_seen = 0;
    let mut waiting = vec![(root.to_owned(), 1)];
    while let Some((folder, depth)) = waiting.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // the server runs as the folder's owner: what this user may not read is nobody's to run either
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && folder != root => continue,
            // it went while it was looked at
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder != root => continue,
            Err(error) => return Err(TooMuch::Unreadable(folder, error)),
        };
        let mut kinds = BTreeMap::new();
        for entry in entries {
            let Ok(entry) = entry else { continue };
            entries_seen += 1;
            if entries_seen > MOST_ENTRIES {
                return Err(TooMuch::Entries);
            }
            let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(str::to_owned))
            else {
                continue;
            };
            kinds.insert(name, kind);
        }
        found.take(&folder, &kinds);
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
    /// Takes what is to be held among the entries of one folder.
    fn take(&mut self, folder: &Path, kinds: &BTreeMap<String, fs::FileType>) {
        for pattern in HELD.iter().flat_map(|row| row.names) {
            match pattern.split_once('/') {
                Some((first, _)) if kinds.contains_key(first) => self.hold(folder, pattern),
                Some(_) => {}
                None if pattern.starts_with('*') => {
                    kinds.keys().filter(|name| fits(pattern, name)).for_each(|name| self.hold(folder, name));
                }
                None if kinds.contains_key(*pattern) => self.hold(folder, pattern),
                None => {}
            }
        }
        match kinds.get(".git") {
            Some(kind) if kind.is_dir() => {
                self.projects.insert(folder.to_owned());
                self.repository(&folder.join(".git"), 0);
            }
            // of a submodule or a further working tree: a file that says where the repository is
            Some(_) => {
                self.projects.insert(folder.to_owned());
                self.hold(folder, ".git");
            }
            // a repository without a working tree, which git takes for one all the same
            None if ["HEAD", "objects", "refs"].iter().all(|name| kinds.contains_key(*name)) => {
                self.repository(folder, 0);
            }
            None => {}
        }
    }

    /// Holds a place, if it is there. A link anywhere on the way cannot be held.
    fn hold(&mut self, folder: &Path, place: &str) {
        let mut path = folder.to_owned();
        for part in place.split('/') {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    self.links.insert(path);
                    return;
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
        self.held.insert(path);
    }

    /// Holds what is to be held where git keeps a repository, those of its submodules and working trees included.
    fn repository(&mut self, folder: &Path, depth: usize) {
        self.repositories.insert(folder.to_owned());
        HELD_IN_GIT.iter().for_each(|name| self.hold(folder, name));
        // submodules can have submodules; more than a few of these in each other are nobody's
        if depth == 4 {
            return;
        }
        for inner in ["modules", "worktrees"] {
            let Ok(entries) = fs::read_dir(folder.join(inner)) else { continue };
            for entry in entries.flatten().take(MOST_PLACES) {
                // a submodule's name may have several parts
                let path = entry.path();
                if path.join("HEAD").exists() {
                    self.repository(&path, depth + 1);
                } else {
                    let below = fs::read_dir(&path).into_iter().flatten().flatten().take(MOST_PLACES);
                    for deeper in below.filter(|deeper| deeper.path().join("HEAD").exists()) {
                        self.repository(&deeper.path(), depth + 1);
                    }
                }
            }
        }
    }

    /// Places of the table that are there now in what this found, whatever they are.
    pub(super) fn there(&self) -> BTreeSet<PathBuf> {
        let mut there = BTreeSet::new();
        for project in &self.projects {
            for pattern in HELD.iter().flat_map(|row| row.names) {
                let path = project.join(pattern);
                if !pattern.starts_with('*') && fs::symlink_metadata(&path).is_ok() {
                    there.insert(path);
                }
            }
        }
        for repository in &self.repositories {
            for name in HELD_IN_GIT {
                let path = repository.join(name);
                if fs::symlink_metadata(&path).is_ok() {
                    there.insert(path);
                }
            }
        }
        there
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
    fn notices_what_comes_to_be() {
        let tree = Tree::of(&[".git/HEAD", ".git/config"]);
        let found = tree.look();
        let before = found.there();
        fs::write(tree.0.path().join(".git/commondir"), "../evil").unwrap();
        fs::create_dir(tree.0.path().join(".vscode")).unwrap();
        let new: BTreeSet<PathBuf> = found.there().difference(&before).cloned().collect();
        assert_eq!(tree.names(&new), [".git/commondir", ".vscode"]);
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
