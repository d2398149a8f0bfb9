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

use super::forbidden::Forbidden;
use super::repository::{self, Git, HELD_IN_GIT};
use crate::text::Shown;

/// Names held for one reason.
pub struct Row {
    /// Paths, below any folder that is looked into. `*` stands for one part of a name or more.
    pub names: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// Names that are held.
#[rustfmt::skip] // names of one kind on few lines
pub const HELD: &[Row] = &[
    Row {
        names: &[
            ".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".jj/repo/config.toml", ".jj/workspace-config.toml",
            ".pijul/config", ".repo", ".sl/config", "_darcs/prefs/defaults",
        ],
        why: "their settings name programs that every command runs; git has rules of its own, below",
    },
    Row {
        names: &[
            ".githooks", ".husky", ".huskyrc", ".huskyrc.*", ".lefthook", ".lefthook-local.*", ".lefthook.*",
            "lefthook-local.*", "lefthook.*", ".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*",
            ".overcommit.yml", ".git-hooks", ".pre-commit-config.yaml", ".pre-commit-config.yml",
            "prek.toml", ".simple-git-hooks.*", "simple-git-hooks.*", ".commitlintrc",
            ".commitlintrc.*", "commitlint.config.*",
        ],
        why: "git hooks that are installed already run what these say",
    },
    Row {
        names: &[
            ".fleet", ".idea", ".nova", ".vs", ".vscode", ".zed", "*.code-workspace", "*.sublime-project",
            ".bsp", ".dir-locals.el", ".dir-locals-2.el", ".exrc", ".externalToolBuilders", ".formatter.exs", ".gdbinit",
            ".helix", ".kak", ".lazy.lua", ".lazygit.yml", ".lldbinit", ".lvimrc", ".neoconf.json", ".nvim",
            ".nvim.lua", ".nvimrc", ".obsidian", ".projections.json", ".pylintrc", ".rubocop.yml", ".theia", ".trunk",
            ".vim", ".vimrc", "hie.yaml", "logseq/custom.js", "rust-analyzer.toml",
        ],
        why: "editors and debuggers run tasks, and programs that settings name, when the folder is opened",
    },
    Row {
        names: &[
            ".Renviron", ".Rprofile", ".ghci", ".iex.exs", ".irbrc", ".ocamlinit", ".octaverc", ".pdbrc", ".pryrc",
        ],
        why: "interpreters run them when they are started in the folder",
    },
    Row {
        names: &[
            ".codesandbox", ".devcontainer", ".devcontainer.json", ".gitpod.yml", ".idx", ".replit",
        ],
        why: "what they name runs when the folder is opened, `initializeCommand` outside of the container",
    },
    Row {
        names: &[
            ".mcp.json", ".agent", ".agents", ".aiassistant", ".aider.conf.yml", ".aider.model.settings.yml", ".amazonq", ".amp", ".antigravity", ".augment",
            ".claude", ".cline", ".codebuddy", ".codex", ".continue", ".continuerc.json", ".copilot", ".crush", ".crush.json", "crush.json",
            ".cursor", ".factory", ".forge", ".gemini", ".github/hooks", ".gitlab/duo", ".goose", ".grok", ".iflow",
            ".junie", ".kilo", ".kilocode", ".kimi", ".kiro", ".opencode", ".opencode.json", ".pi", ".rovodev",
            "opencode.json", "opencode.jsonc", ".openhands", ".qoder", ".qodo", ".qwen", ".roo",
            ".tabnine", ".trae", ".warp", ".windsurf",
        ],
        why: "AI clients start the servers and run the hooks that these name",
    },
    Row {
        names: &[
            "AGENT.md", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md",
            "CODEBUDDY.md", "CRUSH.md", "GEMINI.md", "GROK.md", "IFLOW.md", "QWEN.md", "WARP.md", ".clinerules", ".cursorrules", ".goosehints",
            ".kilocodemodes", ".roomodes", ".roorules", ".rules", ".windsurfrules", ".github/agents",
            ".github/chatmodes", ".github/copilot-instructions.md", ".github/instructions", ".github/prompts",
            ".github/skills",
        ],
        why: "AI clients take them for their user's orders: what a server writes there reaches a model unscreened",
    },
    Row {
        names: &[
            ".direnv", ".envrc", ".autoenv", ".autoenv.zsh", ".mise", ".mise.toml", ".mise.*.toml", "mise.toml",
            "mise.*.toml", ".rtx.toml", ".shadowenv.d", ".tool-versions",
        ],
        why: "shells run them, or what they name, when somebody enters the folder",
    },
    Row {
        names: &[
            ".bash_aliases", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".config/fish", ".gitconfig",
            ".inputrc", ".profile", ".tmux.conf", ".xinitrc", ".xprofile", ".xsession", ".zlogin", ".zlogout",
            ".zprofile", ".zshenv", ".zshrc",
        ],
        why: "shells, git and a session run them at their start; a folder of settings is often linked into a home",
    },
    Row {
        names: &[
            ".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", ".yarn", ".yarnrc", ".yarnrc.yml", "bunfig.toml",
            "uv.toml", ".cargo", ".mvn", ".bazelrc", ".bazeliskrc", ".bazelversion", ".bundle", ".corepack.env",
            ".pnp.cjs", ".sdkmanrc", ".terraformrc", "Directory.Build.props", "Directory.Build.targets",
            "NuGet.Config", "NuGet.config", "gradle/wrapper", "nuget.config", "pnpm-workspace.yaml", "rust-toolchain",
            "rust-toolchain.toml",
        ],
        why: "package managers and build tools take from them where code comes from and what runs first",
    },
    Row {
        names: &[".venv"],
        why: "editors run the interpreter in it when the folder is opened; by another name it is known by `pyvenv.cfg`",
    },
    Row {
        names: &[
            ".appveyor.yml", ".build.yml", ".buildkite", ".circleci", ".cirrus.yml", ".drone.yml", ".forgejo", ".gitea", ".github/actions",
            ".github/workflows", ".gitlab-ci.yml", ".semaphore", ".teamcity", ".travis.yml", ".woodpecker", ".woodpecker.yml",
            "Jenkinsfile", "appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml",
        ],
        why: "they run with a project's secrets once somebody pushes them",
    },
];

/// How deep is looked: a folder's own entries are at depth 1.
pub const DEPTH: usize = 5;
/// Entries that are looked at in one folder.
const MOST_ENTRIES: usize = 100_000;
/// Places that are held in one folder; each is a mount, and so is each folder on the way to it. A server can make more
/// of them, and so close the folder to itself and to every other: that is told at the end of its session, and both then
/// and at the next start with the folder that has to be looked at. No number is large enough not to be reached, and to
/// leave some of them out would be to hold nothing.
const MOST_PLACES: usize = 512;
/// Folders that are not looked into: what packages bring along is opened by nobody, and there is much of it.
pub(super) const NOT_INTO: &[&str] = &["node_modules", "__pycache__"];

/// What makes a folder a Python environment, whose interpreter editors run and shells switch to. Source: PEP 405.
pub(super) const ENVIRONMENT: &str = "pyvenv.cfg";

/// What was found in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files and folders to be held, absolute.
    pub held: BTreeSet<PathBuf>,
    /// Names to be held that are symbolic links, on which nothing can be mounted; and links in held places that lead to
    /// what cannot be held.
    pub links: BTreeSet<PathBuf>,
    /// Places to be held that have one of these links on the way.
    pub(super) behind: BTreeSet<PathBuf>,
    /// Held files that have another name, by which they can be written to.
    pub(super) twice: BTreeSet<PathBuf>,
    /// What people are told of a place that is held for another reason than its name.
    pub(super) words: BTreeMap<PathBuf, &'static str>,
    /// Where git keeps repositories.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Whose the folder is, and so who may open again what is closed in it.
    owner: u32,
    /// Entries of each folder that was looked into, until all were.
    seen: BTreeMap<PathBuf, usize>,
    all_seen: usize,
}

/// Where most of something is, in a folder: whoever made it may be a stranger, and only a person can tell whether it may
/// go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crowd {
    /// The innermost folder with more than half of them.
    pub(super) most: PathBuf,
    /// How many are in there.
    pub(super) count: usize,
}

impl Crowd {
    /// Of so many in each of these folders.
    fn of(root: &Path, folders: impl Iterator<Item = (PathBuf, usize)>) -> Self {
        let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let mut all = 0;
        for (folder, count) in folders {
            all += count;
            for above in folder.ancestors().take_while(|above| above.starts_with(root)) {
                *counts.entry(above.to_owned()).or_default() += count;
            }
        }
        let many = counts.into_iter().filter(|(_, count)| *count * 2 > all);
        let inner = many.max_by_key(|(folder, _)| folder.components().count());
        let (most, count) = inner.unwrap_or_else(|| (root.to_owned(), all));
        Self { most, count }
    }
}

/// Why a folder could not be looked through.
#[derive(Debug)]
pub(super) enum TooMuch {
    /// More entries than are looked at, and where most of them are.
    Entries(Crowd),
    /// More places to hold than a cage has mounts, and where most of them are.
    Places(Crowd),
    /// Folders inside each other, where git keeps submodules' repositories, without an end.
    Repositories(PathBuf),
    /// It could not be read, and the server could make it readable to itself.
    Unreadable(PathBuf, io::Error),
    /// A folder in it has a name that is no UTF-8, and what is below cannot be held.
    Unnameable(PathBuf),
    /// Settings of git's are longer, or include more, than is read.
    Settings(PathBuf),
    /// These settings of git's have it take its hooks from the folder itself, or from around it.
    Hooks(PathBuf),
}

impl TooMuch {
    /// What has to be looked at by a person.
    pub(super) fn cause(&self) -> &Path {
        match self {
            Self::Entries(crowd) | Self::Places(crowd) => &crowd.most,
            Self::Repositories(path)
            | Self::Unreadable(path, _)
            | Self::Unnameable(path)
            | Self::Settings(path)
            | Self::Hooks(path) => path,
        }
    }
}

/// Whether a name fits a name of the table.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

/// Why a folder would itself be held in the one it lies in, or lies in what would be, if so: it is no folder to be
/// written to by its own. What is in a working tree of its own is that tree's, whatever the tree lies in.
pub(super) fn is_held(folder: &Path) -> Option<Forbidden> {
    for place in folder.ancestors() {
        let name = place.file_name()?.to_string_lossy();
        let how = if place == folder { "is" } else { "lies in" };
        let forbidden = |why| Some(Forbidden { place: place.to_owned(), how, why });
        let is = |pattern: &&str| {
            if pattern.contains('/') { place.ends_with(pattern) } else { fits(pattern, &name) }
        };
        if let Some(row) = HELD.iter().find(|row| row.names.iter().any(is)) {
            return forbidden(row.why);
        }
        if fs::symlink_metadata(place.join(ENVIRONMENT)).is_ok() {
            return forbidden(
                "it is a Python environment: an editor runs its interpreter, and a shell is switched to it",
            );
        }
        if repository::is_held_in_one(place) {
            return forbidden("git runs what is in it, or does what it says");
        }
        if fs::symlink_metadata(place.join(".git")).is_ok() {
            return None;
        }
        // the whole repository may be given: then what is to be held in it is
        if place != folder && repository::is(place) {
            return forbidden("git keeps a repository there, and takes its settings and hooks from it");
        }
    }
    None
}

/// Looks a folder through for what is to be held. Other mounts that lie in it are left to themselves.
pub(super) fn look(root: &Path, other_mounts: &BTreeSet<PathBuf>) -> Result<Found, TooMuch> {
    let owner =
        fs::symlink_metadata(root).map_err(|error| TooMuch::Unreadable(root.to_owned(), error))?.uid();
    let mut found = Found { owner, ..Found::default() };
    let git = Git::new(root, other_mounts)?;
    found.around(&git)?;
    found.below_the_top(root)?;
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
            found.see(root, &folder)?;
            let kind = entry.file_type().map_err(|error| TooMuch::Unreadable(entry.path(), error))?;
            match entry.file_name().into_string() {
                Ok(name) => drop(kinds.insert(name, kind)),
                // no engine can be told of a place in it
                Err(_) if kind.is_dir() => return Err(TooMuch::Unnameable(entry.path())),
                Err(_) => {}
            }
        }
        if folder != root && kinds.contains_key(ENVIRONMENT) {
            found.hold_environment(root, &folder)?;
            continue;
        }
        found.take(&git, &folder, &kinds)?;
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
    found.follow(&git)?;
    (found.seen, found.all_seen) = Default::default();
    // not before all were seen: which folder has most of them is what a person has to be told
    if found.held.len() + found.links.len() > MOST_PLACES {
        let above = |path: &PathBuf| (path.parent().unwrap_or(root).to_owned(), 1);
        return Err(TooMuch::Places(Crowd::of(root, found.there().map(above))));
    }
    Ok(found)
}

impl Found {
    /// Everything of the table that is there, whether it can be held or not.
    pub(super) fn there(&self) -> impl Iterator<Item = &PathBuf> {
        self.held.iter().chain(&self.links)
    }

    /// Counts an entry of a folder.
    pub(super) fn see(&mut self, root: &Path, folder: &Path) -> Result<(), TooMuch> {
        match self.seen.get_mut(folder) {
            Some(count) => *count += 1,
            None => drop(self.seen.insert(folder.to_owned(), 1)),
        }
        self.all_seen += 1;
        if self.all_seen > MOST_ENTRIES {
            return Err(TooMuch::Entries(Crowd::of(root, std::mem::take(&mut self.seen).into_iter())));
        }
        Ok(())
    }

    /// Refuses a place that cannot be looked into and that the server, who runs as the folder's owner, could open to
    /// itself. What went meanwhile, and what belongs to somebody else, is nothing to hold.
    pub(super) fn is_nothing_to_hold(&self, place: &Path, error: io::Error) -> Result<(), TooMuch> {
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

    /// Holds a Python environment, by whatever name.
    fn hold_environment(&mut self, root: &Path, folder: &Path) -> Result<(), TooMuch> {
        if let Some(place) = folder.strip_prefix(root).ok().and_then(Path::to_str) {
            self.hold(root, place)?;
            self.words.insert(folder.to_owned(), "a Python environment");
        }
        Ok(())
    }

    /// Holds what the table names by more than one part, where the folder is itself the first of them.
    fn below_the_top(&mut self, root: &Path) -> Result<(), TooMuch> {
        for pattern in HELD.iter().flat_map(|row| row.names) {
            for (at, _) in pattern.match_indices('/') {
                if root.ends_with(&pattern[..at]) {
                    self.hold(root, &pattern[at + 1..])?;
                }
            }
        }
        Ok(())
    }

    /// Takes what is to be held among the entries of one folder.
    fn take(
        &mut self,
        git: &Git,
        folder: &Path,
        kinds: &BTreeMap<String, fs::FileType>,
    ) -> Result<(), TooMuch> {
        for pattern in HELD.iter().flat_map(|row| row.names) {
            match pattern.split_once('/') {
                Some((first, _)) if kinds.contains_key(first) => self.hold(folder, pattern)?,
                Some(_) => {}
                None if pattern.contains('*') => {
                    for name in kinds.keys().filter(|name| fits(pattern, name)) {
                        self.hold(folder, name)?;
                    }
                }
                None if kinds.contains_key(*pattern) => self.hold(folder, pattern)?,
                None => {}
            }
        }
        // of a further working tree of Jujutsu's: a file that says where the repository is, with its settings
        if kinds.contains_key(".jj") && folder.join(".jj/repo").is_file() {
            self.hold(folder, ".jj/repo")?;
            self.words.insert(folder.join(".jj/repo"), ".jj/repo");
        }
        match kinds.get(".git") {
            Some(kind) if kind.is_dir() => self.repository(git, &folder.join(".git"), 0)?,
            // of a submodule or a further working tree: a file that says where the repository is
            Some(_) => {
                self.hold(folder, ".git")?;
                self.tree(git, folder)?;
            }
            None => {}
        }
        // a repository without a working tree, which git takes for one all the same, whatever else lies in it
        if repository::is_with(folder, |name| kinds.contains_key(name)) {
            self.repository(git, folder, 0)?;
        }
        Ok(())
    }

    /// Holds a place, if it is there. A link anywhere on the way cannot be held.
    pub(super) fn hold(&mut self, folder: &Path, place: &str) -> Result<(), TooMuch> {
        let mut path = folder.to_owned();
        for part in place.split('/') {
            path.push(part);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    self.links.insert(path);
                    self.behind.insert(folder.join(place));
                    return Ok(());
                }
                Ok(_) => {}
                Err(error) => return self.is_nothing_to_hold(&path, error),
            }
        }
        self.held.insert(path);
        Ok(())
    }
}

/// Places by what they are called, so that one name that is there many times hides no other.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<(usize, String), (PathBuf, usize)>);

impl Groups {
    /// Adds a place that was found.
    pub(super) fn add(&mut self, found: &Found, path: &Path) {
        let word = found.word(path);
        let mut names = HELD.iter().flat_map(|row| row.names);
        // what git runs comes first, then the table's order
        let rank =
            if word.starts_with(".git/") { 0 } else { 1 + names.position(|name| *name == word).unwrap_or(0) };
        let (_, more) = self.0.entry((rank, word)).or_insert_with(|| (path.to_owned(), 0));
        *more += 1;
    }

    /// One of each name, with how many more there are.
    pub(super) fn told(&self) -> Vec<Shown> {
        let told = |(path, count): &(PathBuf, usize)| match count {
            1 => Shown::new(&path.to_string_lossy()),
            _ => Shown::new(&format!("{} (and {} more of its name)", path.display(), count - 1)),
        };
        self.0.values().map(told).collect()
    }
}

impl Found {
    /// What would be held if it came to be: in the repositories that were found, and at the top of the folder.
    pub(super) fn might_come(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        let of_git =
            self.repositories.iter().flat_map(|folder| HELD_IN_GIT.iter().map(|name| folder.join(name)));
        let names = HELD.iter().flat_map(|row| row.names).filter(|name| !name.contains('*'));
        of_git.chain(names.map(|name| root.join(name)))
    }

    /// Places of it for people: in the table's words, since whoever named the folders around them may be a stranger;
    /// those of one name together, with how many there are.
    pub(super) fn told(&self, places: &BTreeSet<PathBuf>) -> Vec<String> {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for path in places {
            *names.entry(self.word(path)).or_default() += 1;
        }
        let counted = |(name, count)| if count == 1 { name } else { format!("{name} in {count} places") };
        names.into_iter().map(counted).collect()
    }

    /// The table's word for a place, or for the one it lies in.
    fn word(&self, path: &Path) -> String {
        let around = path.ancestors().skip(1).find(|above| self.held.contains(*above));
        match around {
            Some(held) if !self.held.contains(path) => format!("{}/…", self.word_of_one(held)),
            _ => self.word_of_one(path),
        }
    }

    fn word_of_one(&self, path: &Path) -> String {
        let last = path.file_name().unwrap_or_default().to_string_lossy();
        let row = HELD.iter().flat_map(|row| row.names).find(|pattern| match pattern.contains('/') {
            // a link can be on the way to a place
            true => path.ends_with(pattern) || pattern.split('/').next() == Some(&last),
            false => fits(pattern, &last),
        });
        let other = || self.words.iter().find(|(place, _)| place.starts_with(path)).map(|(_, word)| *word);
        match row {
            Some(pattern) => (*pattern).to_owned(),
            None if last == ".git" => ".git".to_owned(),
            None => match (HELD_IN_GIT.iter().find(|name| **name == last), other()) {
                (_, Some(word)) => word.to_owned(),
                (name, None) => format!(".git/{}", name.unwrap_or(&"…")),
            },
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
