//! By which other names can what is held be written to?
//!
//! A held place keeps what is in it, and not what a link in it leads to: `.git/hooks/pre-commit` may lead to a script in
//! the working tree. Where such a link leads, in the folder, is held too. Where nothing is there yet, or where the whole
//! folder around it would have to be held, the link is among those that are told. A file with a second name, a hard
//! link, is written to by that; there is no telling where it is, so it is told.
//!
//! Invariant: the look is bounded. What is in a held place was put there by no server that was held then.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::held::{ENVIRONMENT, Found, NOT_INTO, TooMuch};
use super::repository::{Git, without_dots};

/// Entries of held places that are looked at in one folder.
const MOST_ENTRIES: usize = 20_000;
/// Folders inside each other that are looked into in a held place.
const DEEPEST: usize = 6;
/// What people are told of a place that is held because a link leads there.
const LED_TO: &str = "what links in these lead to";
/// The folder of an environment with what is run by name. The rest of it are packages, which installers share with
/// their own store by hard links.
const PROGRAMS: &str = "bin";

impl Found {
    /// Holds what links lead to, and notes what has a second name.
    pub(super) fn follow(&mut self, git: &Git) -> Result<(), TooMuch> {
        let mut looked: BTreeSet<PathBuf> = BTreeSet::new();
        let mut left = MOST_ENTRIES;
        loop {
            // what is held for a link may be one itself, or hold some
            let all = self.held.iter().chain(&self.behind);
            let new: Vec<PathBuf> = all.filter(|path| !looked.contains(*path)).cloned().collect();
            if new.is_empty() {
                return Ok(());
            }
            for path in new {
                self.look_into(git, &path, &mut left)?;
                looked.insert(path);
            }
        }
    }

    fn look_into(&mut self, git: &Git, place: &Path, left: &mut usize) -> Result<(), TooMuch> {
        let mut waiting = std::collections::VecDeque::from([(place.to_owned(), 0, false)]);
        while let Some((path, depth, packaged)) = waiting.pop_front() {
            if self.behind.contains(&path) {
                self.hold_where_it_leads(git, &path)?;
                continue;
            }
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_symlink() {
                self.hold_where_it_leads(git, &path)?;
            } else if found.is_file() && found.nlink() > 1 && !packaged {
                self.twice.insert(path);
            } else if found.is_dir() && depth < DEEPEST && git.has(&path) {
                let Ok(entries) = fs::read_dir(&path) else { continue };
                let environment = fs::symlink_metadata(path.join(ENVIRONMENT)).is_ok();
                for entry in entries.flatten() {
                    let name = entry.file_name();
                    let passed_over = NOT_INTO.iter().any(|other| name == *other)
                        || (environment || packaged) && entry.path().is_dir() && name != PROGRAMS;
                    if passed_over || *left == 0 {
                        continue;
                    }
                    *left -= 1;
                    waiting.push_back((entry.path(), depth + 1, packaged || environment));
                }
            }
        }
        Ok(())
    }

    /// Holds where a path with a link in it leads, if that is in the folder: by the name that the link has for it, and
    /// by its own.
    fn hold_where_it_leads(&mut self, git: &Git, path: &Path) -> Result<(), TooMuch> {
        let above: Vec<&Path> = path.ancestors().take_while(|above| *above != git.root).collect();
        let is_link = |above: &&&Path| fs::symlink_metadata(above).is_ok_and(|found| found.is_symlink());
        let Some(link) = above.iter().rev().find(is_link) else { return Ok(()) };
        let Ok(to) = fs::read_link(link) else { return Ok(()) };
        let mut named = link.parent().unwrap_or(link).join(to);
        named.extend(path.strip_prefix(link).unwrap_or(Path::new("")));
        for place in [Some(without_dots(&named)), path.canonicalize().ok()].into_iter().flatten() {
            let held = place.ancestors().any(|above| self.held.contains(above));
            if held || !git.has(&place) {
                continue;
            }
            // nothing is there to be held, or everything would be
            if fs::symlink_metadata(&place).is_err() || link.starts_with(&place) {
                self.links.insert(link.to_path_buf());
                continue;
            }
            self.hold_named(git, &place, LED_TO)?;
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
    fn holds_where_a_link_in_a_held_place_leads() {
        let tree = Tree::of(&[
            ".git/HEAD",
            ".git/hooks/x",
            "tools/pre-commit.sh",
            "tools/other",
            ".claude/settings.json",
            "src/skills/x",
            "src/real/x",
            "src/y",
        ]);
        let link = |to: &str, at: &str| symlink(to, tree.path().join(at)).unwrap();
        link("../../tools/pre-commit.sh", ".git/hooks/pre-commit");
        link("../src/skills", ".claude/skills");
        link("../real", "src/skills/further");
        link("/usr/bin/env", ".claude/env");
        let found = tree.look();
        let held = [".claude", ".git/hooks", "src/real", "src/skills", "tools/pre-commit.sh"];
        assert_eq!(tree.names(&found.held), held);
        assert_eq!(found.links, BTreeSet::new());
        assert_eq!(found.told(&found.held)[2..], ["what links in these lead to in 3 places"]);
    }

    #[test]
    fn a_held_name_that_is_a_link_is_told_and_where_it_leads_is_held() {
        let tree = Tree::of(&[".git/HEAD", "tools/hooks/pre-commit", "a/b/x"]);
        let link = |to: &str, at: &str| symlink(to, tree.path().join(at)).unwrap();
        link("../tools/hooks", ".git/hooks");
        link("a", "chain");
        link("chain/b", ".vscode");
        let found = tree.look();
        assert_eq!(tree.names(&found.held), ["a/b", "tools/hooks"]);
        assert_eq!(tree.names(&found.links), [".git/hooks", ".vscode", "chain"]);
    }

    #[test]
    fn a_link_to_nothing_or_to_everything_is_told() {
        let tree = Tree::of(&[".vscode/x"]);
        let link = |to: &str, at: &str| symlink(to, tree.path().join(at)).unwrap();
        link("../not/there", ".vscode/tasks.json");
        link("..", ".vscode/up");
        link("../..", ".vscode/out");
        let found = tree.look();
        assert_eq!(tree.names(&found.held), [".vscode"]);
        assert_eq!(tree.names(&found.links), [".vscode/tasks.json", ".vscode/up"]);
        assert_eq!(found.told(&found.links), [".vscode/… in 2 places"]);
    }

    #[test]
    fn a_file_in_a_held_place_with_a_second_name_is_told_and_a_package_of_an_environment_is_not() {
        let tree =
            Tree::of(&[".git/HEAD", ".git/hooks/pre-push", "env/pyvenv.cfg", "env/lib/a", "env/bin/b", "z"]);
        for (at, other) in [(".git/hooks/pre-push", "other"), ("env/lib/a", "lib-a"), ("env/bin/b", "bin-b")]
        {
            fs::hard_link(tree.path().join(at), tree.path().join(other)).unwrap();
        }
        symlink("../../z", tree.path().join("env/bin/python")).unwrap();
        let found = tree.look();
        assert_eq!(tree.names(&found.twice), [".git/hooks/pre-push"]);
        assert_eq!(found.told(&found.twice), [".git/hooks/…"]);
        assert_eq!(tree.names(&found.held), [".git/hooks", "env", "z"]);
    }
}
