//! Which folder of this machine does a server see, and may it write there?
//!
//! A folder is at the same path inside, so there is one path to read on the card, and what a user passes to the server
//! as an argument is right in both places. The plan holds the path with every link in it resolved: a link that is
//! turned afterwards does not change what was consented to.
//!
//! Invariants: no I/O here, so whether the folder may be given at all is judged in the cage room; a path has one
//! spelling.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::Shown;

/// Folders a plan may hold; each is a line on the card.
pub(super) const MOST_MOUNTS: usize = 16;

/// Longest path, in bytes: what is longer is not read on a card. Linux's own bound is 4,096 (path_resolution(7)).
const LONGEST: usize = 1_024;

/// What a server may do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Read what is in it.
    #[serde(rename = "ro")]
    Read,
    /// Write, too: create, change and remove files.
    #[serde(rename = "rw")]
    Write,
}

impl Access {
    /// `ro` or `rw`.
    pub fn word(self) -> &'static str {
        match self {
            Access::Read => "ro",
            Access::Write => "rw",
        }
    }
}

/// The path of a folder: absolute, each part a name, every character one that shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FolderPath(String);

/// A folder of this machine in the cage, at the same path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    path: FolderPath,
    access: Access,
}

/// One `--mount` as it was typed: `PATH`, `PATH:ro` or `PATH:rw`. The path may be relative, and a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountAsked {
    /// The path as it was typed.
    pub path: String,
    /// What the server may do there; reading unless `:rw` is said.
    pub access: Access,
}

/// A mount that cannot be in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountRefused {
    /// Nothing before `:ro` or `:rw`.
    #[error("a mount without a path")]
    NoPath,
    /// A path of another spelling.
    #[error("the folder {path} cannot be part of a plan: it {why}")]
    Path {
        /// The path.
        path: Shown,
        /// What is wrong with it.
        why: &'static str,
    },
    /// One folder, once to be read and once to be written.
    #[error("the folder {0} is given twice, once to be read and once to be written")]
    Twice(Shown),
}

impl FolderPath {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path, for the file system.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl FromStr for FolderPath {
    type Err = MountRefused;

    fn from_str(text: &str) -> Result<Self, MountRefused> {
        let refuse = |why| Err(MountRefused::Path { path: Shown::new(text), why });
        let Some(inner) = text.strip_prefix('/') else { return refuse("is not absolute") };
        if inner.is_empty() {
            return refuse("is everything there is");
        }
        if text.len() > LONGEST {
            return refuse("is longer than 1,024 bytes");
        }
        if inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return refuse("has a part that is no name");
        }
        // the card writes out what does not show, but nothing may move the cursor or turn the text around
        if Shown::new(text).to_string() != text {
            return refuse("has a character that is not drawn");
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for FolderPath {
    type Error = MountRefused;

    fn try_from(text: String) -> Result<Self, MountRefused> {
        text.parse()
    }
}

impl From<FolderPath> for String {
    fn from(path: FolderPath) -> String {
        path.0
    }
}

impl Mount {
    /// A folder and what may be done there.
    pub fn new(path: FolderPath, access: Access) -> Self {
        Self { path, access }
    }

    /// Where it is, outside and inside.
    pub fn path(&self) -> &FolderPath {
        &self.path
    }

    /// What the server may do there.
    pub fn access(&self) -> Access {
        self.access
    }
}

/// As one types it after `--mount`. `:ro` is said only where the path itself ends like an access.
impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_str();
        match self.access {
            Access::Write => write!(f, "{path}:rw"),
            Access::Read if path.ends_with(":ro") || path.ends_with(":rw") => write!(f, "{path}:ro"),
            Access::Read => f.write_str(path),
        }
    }
}

impl FromStr for MountAsked {
    type Err = MountRefused;

    fn from_str(text: &str) -> Result<Self, MountRefused> {
        // the last colon alone, so that a path may hold others
        let (path, access) = match text.rsplit_once(':') {
            Some((path, "ro")) => (path, Access::Read),
            Some((path, "rw")) => (path, Access::Write),
            _ => (text, Access::Read),
        };
        if path.is_empty() {
            return Err(MountRefused::NoPath);
        }
        Ok(Self { path: path.to_owned(), access })
    }
}

/// The mounts in the one order a plan has them, each folder once.
///
/// One may lie in another, with another access: the inner one counts for what is in it.
pub(super) fn in_order(mut mounts: Vec<Mount>) -> Result<Vec<Mount>, MountRefused> {
    mounts.sort_by(|a, b| a.path.cmp(&b.path));
    mounts.dedup();
    if let Some(pair) = mounts.windows(2).find(|pair| pair[0].path == pair[1].path) {
        return Err(MountRefused::Twice(Shown::new(pair[0].path.as_str())));
    }
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(text: &str) -> (String, Access) {
        let asked = text.parse::<MountAsked>().unwrap();
        (asked.path, asked.access)
    }

    #[test]
    fn reads_an_access_after_the_last_colon_and_colons_before_it_as_the_path() {
        for (text, path, access) in [
            ("/a", "/a", Access::Read),
            ("/a:ro", "/a", Access::Read),
            ("~/a:rw", "~/a", Access::Write),
            ("/a:b", "/a:b", Access::Read),
            ("/a:b:rw", "/a:b", Access::Write),
            ("/a:rw:ro", "/a:rw", Access::Read),
            ("/a:RW", "/a:RW", Access::Read),
            (".", ".", Access::Read),
        ] {
            assert_eq!(asked(text), (path.to_owned(), access), "{text}");
        }
        for text in ["", ":ro", ":rw"] {
            assert_eq!(text.parse::<MountAsked>(), Err(MountRefused::NoPath), "{text}");
        }
    }

    #[test]
    fn accepts_a_path_with_names_of_any_script() {
        for good in ["/a", "/a b/c", "/a:b", "/srv/Café", "/home/u/เอกสารที่", "/a\\b", "/...", "/-x", "/a'b"]
        {
            assert_eq!(good.parse::<FolderPath>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn refuses_a_path_of_another_spelling_or_that_cannot_be_drawn() {
        for bad in [
            "",
            "a",
            "./a",
            "~/a",
            "/",
            "//a",
            "/a/",
            "/a//b",
            "/a/./b",
            "/a/../b",
            "/a\nb",
            "/a\u{1b}[2K",
            "/a\u{202e}b",
            "/a\u{200b}b",
            "/a\u{7f}",
            &format!("/{}", "a".repeat(1_024)),
        ] {
            assert!(bad.parse::<FolderPath>().is_err(), "{bad:?}");
        }
        assert!(format!("/{}", "a".repeat(1_023)).parse::<FolderPath>().is_ok());
    }

    #[test]
    fn refuses_one_folder_with_two_accesses_and_accepts_one_in_another() {
        let mount = |path: &str, access| Mount::new(path.parse().unwrap(), access);
        let (read, write) = (Access::Read, Access::Write);
        assert!(in_order(vec![mount("/a", read), mount("/a", write)]).is_err());
        let ordered = in_order(vec![mount("/a/b", write), mount("/a", read), mount("/a", read)]).unwrap();
        assert_eq!(ordered, [mount("/a", read), mount("/a/b", write)]);
    }

    proptest! {
        #[test]
        fn what_is_typed_again_is_the_same_mount(path in "/[a-z:./]{0,12}(:ro|:rw)?", write in any::<bool>()) {
            if let Ok(path) = path.parse::<FolderPath>() {
                let mount = Mount::new(path, if write { Access::Write } else { Access::Read });
                let (path, access) = asked(&mount.to_string());
                prop_assert_eq!(Mount::new(path.parse().unwrap(), access), mount);
            }
        }
    }
}
