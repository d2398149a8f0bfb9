use std::os::unix::fs::symlink;

use super::*;

pub(in super::super) struct Tree(tempfile::TempDir);

impl Tree {
    pub(in super::super) fn of(files: &[&str]) -> Self {
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

    pub(in super::super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(in super::super) fn write(&self, file: &str, text: &str) {
        fs::write(self.0.path().join(file), text).unwrap();
    }

    pub(in super::super) fn look(&self) -> Found {
        look(self.0.path(), &BTreeSet::new()).unwrap()
    }

    pub(in super::super) fn names(&self, paths: &BTreeSet<PathBuf>) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(self.0.path()).unwrap().display().to_string()).collect()
    }
}

#[test]
fn holds_every_name_of_the_table_and_not_its_neighbour() {
    for name in HELD.iter().flat_map(|row| row.names) {
        let file = name.replace('*', "mine");
        let tree = Tree::of(&[&file]);
        assert_eq!(tree.names(&tree.look().held), [file.as_str()], "{name}");
        let neighbour = if name.ends_with('*') { format!("x{file}") } else { format!("{file}x") };
        let tree = Tree::of(&[&neighbour]);
        assert_eq!(tree.look().held, BTreeSet::new(), "{name}");
    }
}

#[test]
fn a_notes_folder_keeps_the_plugins_of_its_editor() {
    let tree = Tree::of(&[".obsidian/plugins/x/main.js", "daily/note.md", ".jj/repo"]);
    let found = tree.look();
    assert_eq!(tree.names(&found.held), [".jj/repo", ".obsidian"]);
    assert_eq!(found.told(&found.held), [".jj/repo", ".obsidian"]);
    assert_eq!(Tree::of(&[".jj/repo/store/x"]).look().held, BTreeSet::new());
}

#[test]
fn a_folder_that_would_be_held_is_not_given_by_itself_nor_what_lies_in_it() {
    for held in [
        "/srv/p/.vscode",
        "/srv/p/.vscode/x",
        "/srv/p/.github/workflows",
        "/srv/x.code-workspace",
        "/srv/p/.claude/hooks/x",
    ] {
        assert!(is_held(Path::new(held)).is_some(), "{held}");
    }
    for free in ["/srv/p", "/srv/p/hooks", "/srv/p/workflows"] {
        assert_eq!(is_held(Path::new(free)), None, "{free}");
    }
}

#[test]
fn a_place_where_git_keeps_a_repository_is_judged_by_what_it_is() {
    let tree = Tree::of(&[
        "p/.git/HEAD",
        "p/.git/hooks/",
        "p/.git/objects/",
        "p/.git/modules/x/HEAD",
        "p/.git/modules/x/objects/",
        "p/.git/modules/x/refs/",
        "p/.git/modules/x/config",
        "p/.git/modules/x/hooks/.git",
        "p/.git/worktrees/w/HEAD",
        "p/.git/worktrees/w/commondir",
        "p/.claude/worktrees/w/.git",
        "p/.claude/worktrees/w/src/",
        "bare/HEAD",
        "bare/objects/",
        "bare/refs/",
        "bare/hooks/",
        "bare/rebase-merge/",
        "bare/main/.git",
    ]);
    let at = |name: &str| tree.path().join(name);
    for held in [
        "p/.git/hooks",
        "p/.git/objects",
        "p/.git/modules",
        "p/.git/modules/x/hooks",
        "p/.git/modules/x/refs",
        "p/.git/worktrees",
        "bare/hooks",
        "bare/refs",
        "bare/rebase-merge",
    ] {
        assert!(is_held(&at(held)).is_some(), "{held}");
    }
    for (whole, inside) in [
        ("p/.git", &["hooks", "modules/x/config", "modules/x/hooks", "worktrees/w/commondir"][..]),
        ("p/.git/modules/x", &["config", "hooks"]),
        ("p/.git/worktrees/w", &["commondir"]),
        ("bare", &["hooks", "main/.git", "rebase-merge"]),
        ("bare/main", &[".git"]),
        ("p/.claude/worktrees/w", &[".git"]),
        ("p/.claude/worktrees/w/src", &[]),
    ] {
        assert!(is_held(&at(whole)).is_none_or(|held| held.place != at(whole)), "{whole}");
        let found = look(&at(whole), &BTreeSet::new()).unwrap();
        let names: Vec<String> = tree.names(&found.held);
        let held: Vec<String> = inside.iter().map(|name| format!("{whole}/{name}")).collect();
        assert_eq!(names, held, "{whole}");
    }
    for free in ["p", "p/.git", "bare", "bare/main", "p/.claude/worktrees/w", "p/.claude/worktrees/w/src"] {
        assert_eq!(is_held(&at(free)), None, "{free}");
    }
}

#[test]
fn a_folder_that_is_itself_a_part_of_a_held_name_keeps_the_rest_of_it() {
    let tree = Tree::of(&[".github/workflows/x", ".github/other", ".jj/repo/config.toml"]);
    let look = |name: &str| look(&tree.path().join(name), &BTreeSet::new()).unwrap().held;
    assert_eq!(tree.names(&look(".github")), [".github/workflows"]);
    assert_eq!(tree.names(&look(".jj")), [".jj/repo/config.toml"]);
    assert_eq!(tree.names(&look(".jj/repo")), [".jj/repo/config.toml"]);
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
fn a_python_environment_is_one_by_any_name() {
    let tree =
        Tree::of(&["env/pyvenv.cfg", "env/lib/.vscode/x", "a/py3/pyvenv.cfg", "venv/x", "env/bin/python"]);
    let found = tree.look();
    assert_eq!(tree.names(&found.held), ["a/py3", "env"]);
    assert_eq!(found.told(&found.held), ["a Python environment in 2 places"]);
    for inside in ["env", "env/bin"] {
        assert!(
            is_held(&tree.path().join(inside)).is_some_and(|held| held.why.contains("Python environment"))
        );
    }
    assert_eq!(is_held(&tree.path().join("venv")), None);
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
fn a_link_is_told_apart() {
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
fn what_has_a_second_name_is_held_and_noted() {
    let tree = Tree::of(&[".git/HEAD", ".git/config"]);
    fs::hard_link(tree.0.path().join(".git/config"), tree.0.path().join("other")).unwrap();
    let found = tree.look();
    assert_eq!(tree.names(&found.held), [".git/config"]);
    assert_eq!(tree.names(&found.twice), [".git/config"]);
    assert_eq!(found.links, BTreeSet::new());
}

#[test]
fn too_many_places_are_told_with_the_folder_that_has_them() {
    let tree = Tree::of(&[".vscode/x", "own/.envrc", "own/deep/x"]);
    let count = |folder: &str, n| {
        for name in 0..n {
            fs::create_dir_all(tree.path().join(format!("{folder}/{name}"))).unwrap();
            tree.write(&format!("{folder}/{name}/.envrc"), "");
        }
    };
    count("own/deep", MOST_PLACES - 2);
    assert_eq!(tree.look().held.len(), MOST_PLACES);
    count("planted/here", 1);
    let Err(TooMuch::Places(crowd)) = look(tree.path(), &BTreeSet::new()) else { panic!("too many") };
    assert_eq!((crowd.most, crowd.count), (tree.path().join("own/deep"), MOST_PLACES - 2));
    // whichever was looked at first
    count("planted/here", 2_000);
    let too_much = look(tree.path(), &BTreeSet::new()).unwrap_err();
    assert_eq!(too_much.cause(), tree.path().join("planted/here"));
}

#[test]
fn repositories_of_submodules_are_looked_for_to_an_end() {
    let deep = format!(".git/modules/{}HEAD", "x/".repeat(40));
    let tree = Tree::of(&[".git/HEAD", &deep]);
    let refused = look(tree.path(), &BTreeSet::new()).unwrap_err();
    assert!(matches!(refused, TooMuch::Repositories(_)), "{refused:?}");
    let wide: Vec<String> = (0..600).map(|n| format!(".git/modules/{n}/HEAD")).collect();
    let wide: Vec<&str> = wide.iter().map(String::as_str).chain([".git/HEAD"]).collect();
    assert_eq!(Tree::of(&wide).look().held, BTreeSet::new());
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
    assert!(found.is_nothing_to_hold(&tree.0.path().join("gone"), io::ErrorKind::NotFound.into()).is_ok());
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
    let found = tree.look();
    let told = found.told(&found.held);
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
