//! Which paths does a plan name that are on this machine and not in the cage?
//!
//! A server's path arguments and settings lead to its own disk, and a cage has none of this machine's folders but those
//! that were mounted. The commonest launch line of all, a filesystem server and a folder, so starts a server that finds
//! nothing. The plan alone cannot tell: whether a word is a path is told by what is there. So it is looked at when a
//! plan is shown, and when a server has failed, and is said; no argument is ever changed.
//!
//! Invariant: nothing here decides anything. A word that is taken for a path by mistake costs a remark.

use std::path::{Component, Path, PathBuf};

use super::host::Host;
use crate::cage::folder::{FolderRefused, Folders, Grounds, expanded, resolve};
use crate::cage::profile::HOME;
use crate::consent::{command_amended, shell_word};
use crate::failure::Failure;
use crate::plan::{Access, Exactly, MountAsked, Plan, SERVER_DIR};
use crate::text::Shown;

/// Paths that are told; a launch line with more is one of patterns or of words.
const TOLD: usize = 8;

/// Places that the cage has of its own, with the same programs and devices to find there.
const ITS_OWN: &[&str] = &[
    "/bin", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr", SERVER_DIR, HOME,
];

/// A path of this machine's that the plan names and the cage does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outside {
    /// As it stands in the plan.
    word: String,
    /// The path that was meant.
    meant: PathBuf,
    /// Why the word itself leads nowhere in the cage, wherever that is: `is relative, …`.
    otherwise: Option<&'static str>,
    way: Way,
}

/// How it comes into the cage.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// It would be there under the path that was meant, or is nowhere at all: that path is to be written.
    Written,
    /// By mounting this folder.
    Mount { folder: String, writes: bool },
    /// By none, for a reason; and what to do instead.
    Never { why: Shown, hint: Shown },
}

/// Everything that a plan names so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outsiders(Vec<Outside>);

impl Outsiders {
    /// Looks at this machine.
    pub fn look(host: &Host, plan: &Plan) -> Self {
        let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
        Self::judged(plan, &here, &host.grounds())
    }

    fn judged(plan: &Plan, here: &Path, grounds: &Grounds) -> Self {
        let words = plan.arguments().iter().map(|argument| argument.as_str());
        let words = words.chain(plan.env().values().map(|value| value.as_str()));
        let mut all: Vec<Outside> = Vec::new();
        for path in words.flat_map(paths) {
            if all.len() < TOLD
                && !all.iter().any(|known| known.word == path)
                && let Some(outside) = judge(path, plan, here, grounds)
            {
                all.push(outside);
            }
        }
        Self(all)
    }

    /// What a card says of them, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = Shown> {
        self.0.iter().map(|outside| Shown::new(&outside.remark()))
    }

    /// What to do after a server failed, with the command that does it; none where there is nothing to say.
    pub fn hint(&self, plan: &Plan) -> Option<String> {
        let mut said: Vec<String> = Vec::new();
        let mut options: Vec<String> = Vec::new();
        let mut wants = false;
        for outside in &self.0 {
            let word = shown(&outside.word);
            match &outside.way {
                Way::Written => said.push(format!("`{word}` {}", outside.otherwise.unwrap_or(ELSEWHERE))),
                Way::Never { why, hint } => {
                    said.push(format!("`{word}` is not in the cage and is never given, since {why}: {hint}"));
                }
                Way::Mount { folder, writes } => {
                    said.push(format!("`{word}` {}", outside.otherwise.unwrap_or(NOT_IN)));
                    wants |= !writes;
                    let option = option(folder, *writes);
                    if !options.contains(&option) {
                        options.push(option);
                    }
                }
            }
        }
        let amended = self.0.iter().any(|outside| !matches!(outside.way, Way::Never { .. }));
        if said.is_empty() {
            return None;
        }
        let mut hint = said.join("; ");
        if amended {
            let last: Vec<&str> = options.iter().flat_map(|option| ["--mount", option]).collect();
            let command = command_amended(plan, "mount", &last, &|word| self.amend(word));
            hint.push_str(&format!("; mount the server again: `{command}`"));
            if wants {
                hint.push_str(" (`:rw` after the path where it is to write)");
            }
        }
        Some(hint)
    }

    /// An argument or a value with the paths that were meant in the place of those that lead nowhere.
    fn amend(&self, text: &str) -> String {
        let amended = self
            .0
            .iter()
            .find(|outside| outside.otherwise.is_some() && paths(text).contains(&outside.word.as_str()));
        match amended {
            Some(outside) if !matches!(outside.way, Way::Never { .. }) => {
                // at the end of a word, or between signs that part paths: never inside a longer one
                let meant = outside.meant.to_string_lossy();
                match text.strip_suffix(outside.word.as_str()) {
                    Some(before) => format!("{before}{meant}"),
                    None => text.replacen(&outside.word, &meant, 1),
                }
            }
            _ => text.to_owned(),
        }
    }
}

const NOT_IN: &str = "is not in the cage";
const ELSEWHERE: &str = "is under another path in the cage";
const RELATIVE: &str = "is relative, and the cage has no working folder of yours";
const TILDE: &str = "was not expanded by a shell, and is not by Pinfold";
const LINK: &str = "is a link, or leads through one, and the cage has only where it leads";

impl Outside {
    fn remark(&self) -> String {
        let word = shown(&self.word);
        let meant = self.meant.to_string_lossy();
        let instead = self.otherwise.map(|why| format!("`{word}` {why}: write `{}`", shown(&meant)));
        match (&self.way, instead) {
            (Way::Written, Some(instead)) => instead,
            (Way::Written, None) => format!("`{word}` {ELSEWHERE}"),
            (Way::Mount { folder, writes }, instead) => {
                let to_write = shell_word(&option(folder, true));
                let add = match writes {
                    true => format!("add `--mount {to_write}`"),
                    false => format!(
                        "add `--mount {}` (`{to_write}` if it is to write there)",
                        shell_word(&option(folder, false))
                    ),
                };
                match instead {
                    Some(instead) => format!("{instead}, and {add}"),
                    None => format!("`{word}` {NOT_IN}; {add}"),
                }
            }
            (Way::Never { why, hint }, _) => {
                format!("`{word}` {NOT_IN} and is never given, since {why}: {hint}")
            }
        }
    }
}

/// A folder as a value of `--mount`. The last `:ro` or `:rw` is an access, whatever the folder is called.
fn option(folder: &str, writes: bool) -> String {
    match writes {
        true => format!("{folder}:rw"),
        false if folder.ends_with(":ro") || folder.ends_with(":rw") => format!("{folder}:ro"),
        false => folder.to_owned(),
    }
}

/// A word as a shell takes it, which is how the options beside it are written; unless not all of it can be seen.
fn shown(word: &str) -> String {
    let exactly = Exactly(word).to_string();
    if exactly.contains("\\u{") { exactly } else { shell_word(word) }
}

/// What in a word may be a path: the word, what follows `=`, what follows a scheme, and the parts of a list.
fn paths(word: &str) -> Vec<&str> {
    let value = match word.split_once('=') {
        Some((name, value)) if !name.contains('/') => value,
        _ => word,
    };
    match value.split_once("://") {
        // `file:///x`, `sqlite:////x`: whatever the scheme, and no host
        Some((_, rest)) if rest.starts_with('/') => {
            let slashes = rest.len() - rest.trim_start_matches('/').len();
            vec![&rest[slashes - 1..]]
        }
        Some(_) => Vec::new(),
        None => list(value),
    }
}

/// A path, or the paths of a list such as `/a:/b` or `/a,/b`.
fn list(value: &str) -> Vec<&str> {
    let parted = [',', ':'].into_iter().find_map(|sign| {
        let parts: Vec<&str> = value.split(sign).collect();
        (parts.len() > 1 && parts.iter().all(|part| part.starts_with(['/', '~', '.']))).then_some(parts)
    });
    parted.unwrap_or_else(|| vec![value])
}

/// Judges one word.
fn judge(word: &str, plan: &Plan, here: &Path, grounds: &Grounds) -> Option<Outside> {
    let (path, otherwise) = match expanded(word) {
        // another's home is too rarely meant by a word that begins so
        Some(path) if word == "~" || word.starts_with("~/") => (path, Some(TILDE)),
        _ if word.starts_with('/') => (PathBuf::from(word), None),
        _ if word == "." || word == ".." || word.contains('/') => (here.join(word), Some(RELATIVE)),
        _ => return None,
    };
    let outside =
        |meant: PathBuf, otherwise, way| Some(Outside { word: word.to_owned(), meant, otherwise, way });
    let (typed, path) = (path.clone(), plain(&path));
    // what `..` leaves behind a link is another folder for a shell than for the kernel: nobody can tell which is meant
    let real =
        |path: &Path| path.canonicalize().or_else(|_| path.parent().unwrap_or(path).canonicalize()).ok();
    if real(&typed) != real(&path) {
        return None;
    }
    if ITS_OWN.iter().any(|own| path.starts_with(own)) {
        return None;
    }
    let covers = |path: &Path| plan.mounts().iter().any(|mount| path.starts_with(mount.path().as_path()));
    let Ok(real) = path.canonicalize() else {
        let absent = absent(&path, otherwise == Some(TILDE), grounds, covers(&path));
        return absent.and_then(|(meant, way)| outside(meant, otherwise, way));
    };
    if covers(&path) {
        return otherwise.and_then(|why| outside(path, Some(why), Way::Written));
    }
    // the cage has a folder under the path that it really has, and no links that lead there
    let otherwise = if real == path { otherwise } else { otherwise.or(Some(LINK)) };
    if covers(&real) {
        return outside(real, otherwise, Way::Written);
    }
    let folder = if real.is_dir() { real.as_path() } else { real.parent()? };
    let way = way(folder, false, grounds);
    outside(real, otherwise, way)
}

/// A file that is not there, in a folder that is: it is to be made. Told apart from a word by its name's ending. A `~`
/// is told whatever it leads to.
fn absent(path: &Path, tilde: bool, grounds: &Grounds, covered: bool) -> Option<(PathBuf, Way)> {
    let written = || tilde.then(|| (path.to_owned(), Way::Written));
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match folder.filter(|folder| folder.is_dir() && folder.parent().is_some()) {
        // the cage has a folder of its own there, which can be written to
        Some(folder) if !covered && path.extension().is_some() && folder != Path::new("/tmp") => {
            let meant = folder.join(path.file_name()?);
            Some((meant, way(&folder, true, grounds)))
        }
        _ => written(),
    }
}

/// Whether a folder may be mounted.
fn way(folder: &Path, writes: bool, grounds: &Grounds) -> Way {
    let access = if writes { Access::Write } else { Access::Read };
    let asked = MountAsked { path: folder.to_string_lossy().into_owned(), access };
    let given =
        resolve(&asked, grounds).and_then(|mount| Folders::judge(&[mount], grounds, None).map(|_| ()));
    match given {
        // root's own is given to be written to where that is said, which the refusal then explains
        Ok(()) | Err(FolderRefused::Roots { .. }) => Way::Mount { folder: asked.path, writes },
        Err(refused) => {
            let failure = Failure::from(refused);
            Way::Never { why: failure.why().clone(), hint: failure.hint().clone() }
        }
    }
}

/// A path without `.`, and without `..` where what it leaves is a name.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::plan::tests::{draft, lock};
    use crate::plan::{Draft, Mount};
    use crate::state::Home;

    /// A folder of this machine, looked at from within.
    struct Here {
        directory: tempfile::TempDir,
        grounds: Grounds,
    }

    impl Here {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let home = Home::at(&directory.path().join("state")).unwrap();
            let grounds = Grounds::of_this_machine(&home, Vec::new());
            Self { directory, grounds }
        }

        fn path(&self, name: &str) -> String {
            self.directory.path().canonicalize().unwrap().join(name).display().to_string()
        }

        fn folder(&self, name: &str) -> String {
            fs::create_dir_all(self.path(name)).unwrap();
            self.path(name)
        }

        fn plan(&self, arguments: &[&str], env: &[&str], mounts: &[&str]) -> Plan {
            let mount = |path: &&str| Mount::new(path.parse().unwrap(), Access::Read);
            Plan::draw(Draft {
                arguments: arguments.iter().map(ToString::to_string).collect(),
                env: env.iter().map(|text| text.parse().unwrap()).collect(),
                mounts: mounts.iter().map(mount).collect(),
                ..draft(&lock())
            })
            .unwrap()
        }

        fn look(&self, plan: &Plan) -> Outsiders {
            Outsiders::judged(plan, Path::new(&self.path("")), &self.grounds)
        }

        /// What is said of one argument.
        fn said(&self, argument: &str, mounts: &[&str]) -> Vec<String> {
            let plan = self.plan(&[argument], &[], mounts);
            self.look(&plan).remarks().map(|remark| remark.to_string()).collect()
        }
    }

    #[test]
    fn a_folder_that_no_mount_covers_is_told_with_the_mount_and_one_that_is_covered_is_not() {
        let here = Here::new();
        let notes = here.folder("my notes");
        let told = format!(
            "`'{notes}'` is not in the cage; add `--mount '{notes}'` (`'{notes}:rw'` if it is to write there)"
        );
        assert_eq!(here.said(&notes, &[]), [told.as_str()]);
        for argument in [format!("--root={notes}"), format!("file://{notes}")] {
            assert_eq!(here.said(&argument, &[]), [told.as_str()], "{argument}");
        }
        assert_eq!(here.said(&format!("{notes}/"), &[&here.path("")[..here.path("").len() - 1]]), [""; 0]);
        assert_eq!(here.said(&notes, &[&notes]), [""; 0]);
        let other = here.folder("my notes-2");
        assert_eq!(here.said(&other, &[&notes]).len(), 1, "a name that begins alike");
    }

    #[test]
    fn a_file_is_told_with_its_folder_and_one_that_is_to_be_made_with_writing() {
        let here = Here::new();
        let data = here.folder("data");
        fs::write(here.path("data/x.db"), "").unwrap();
        let [said] = &here.said(&format!("--db={data}/x.db"), &[])[..] else { panic!() };
        assert!(
            said.starts_with(&format!("`{data}/x.db` is not in the cage; add `--mount {data}` (")),
            "{said}"
        );
        let plan = here.plan(&[], &[&format!("MEMORY_FILE_PATH={data}/new.jsonl")], &[]);
        let said: Vec<_> = here.look(&plan).remarks().map(|remark| remark.to_string()).collect();
        assert_eq!(said, [format!("`{data}/new.jsonl` is not in the cage; add `--mount {data}:rw`")]);
    }

    #[test]
    fn what_is_no_path_of_this_machines_is_passed_over() {
        let here = Here::new();
        for word in [
            "https://example.com/tmp",
            "--read-only",
            "/no/such/folder",
            "/api",
            "owner/repository",
            "sqlite",
            "/home/cage/memory.json",
            "/usr/bin/env",
            "/dev/null",
            "/tmp/scratch.json",
            "-",
            "",
            "a=b",
            "://",
        ] {
            assert_eq!(here.said(word, &[]), [""; 0], "{word}");
        }
    }

    #[test]
    fn a_relative_path_and_a_tilde_are_told_as_what_they_mean() {
        let here = Here::new();
        let data = here.folder("sub/data");
        for word in ["sub/data", "./sub/data", "./sub/../sub/data"] {
            let [said] = &here.said(word, &[])[..] else { panic!("{word}") };
            let meant = format!(
                "`{word}` is relative, and the cage has no working folder of yours: write `{data}`, and add `--mount {data}`"
            );
            assert!(said.starts_with(&meant), "{said}");
        }
        let [said] = &here.said("sub/data", &[&data])[..] else { panic!() };
        assert!(said.ends_with(&format!("write `{data}`")), "{said}");
        assert_eq!(here.said(".", &[]).len(), 1);
        let home = std::env::var("HOME").unwrap();
        let [said] = &here.said("~/nothing/here", &[])[..] else { panic!() };
        assert!(
            said.contains("not expanded") && said.ends_with(&format!("write `{home}/nothing/here`")),
            "{said}"
        );
        assert_eq!(here.said("~someone", &[]), [""; 0]);
    }

    #[test]
    fn a_link_is_told_as_where_it_leads() {
        let here = Here::new();
        let real = here.folder("real");
        symlink(&real, here.path("link")).unwrap();
        let [said] = &here.said(&here.path("link"), &[&real])[..] else { panic!() };
        assert!(said.ends_with(&format!("write `{real}`")), "{said}");
    }

    #[test]
    fn a_folder_whose_name_ends_like_an_access_is_told_with_the_access_that_is_meant() {
        let here = Here::new();
        here.folder("z");
        for (name, access) in [("z:rw", ":ro"), ("z:ro", ":ro"), ("z:x", "")] {
            let folder = here.folder(name);
            let [said] = &here.said(&folder, &[])[..] else { panic!("{name}") };
            assert!(said.contains(&format!("add `--mount {folder}{access}` (`{folder}:rw` if")), "{said}");
            for writes in [false, true] {
                let asked: MountAsked = option(&folder, writes).parse().unwrap();
                assert_eq!((asked.path.as_str(), asked.access == Access::Write), (folder.as_str(), writes));
            }
            let plan = here.plan(&[&folder], &[], &[]);
            assert!(here.look(&plan).hint(&plan).unwrap().contains(&format!("--mount {folder}{access} ")));
        }
    }

    #[test]
    fn nothing_is_advised_where_a_link_lies_before_two_dots() {
        let here = Here::new();
        here.folder("a/b/c");
        here.folder("a/d");
        let other = here.folder("d");
        symlink(here.path("a/b"), here.path("link")).unwrap();
        assert_eq!(here.said(&here.path("link/../d"), &[]), [""; 0]);
        assert_eq!(here.said(&here.path("link/../d/new.db"), &[]), [""; 0]);
        let [said] = &here.said(&here.path("a/../d"), &[])[..] else { panic!() };
        assert!(said.contains(&format!("add `--mount {other}`")), "{said}");
    }

    #[test]
    fn a_name_says_nothing_in_our_words_and_is_quoted_as_a_shell_does() {
        let here = Here::new();
        let folder = here.folder("x` is not in the cage; add `--mount ~/.config:rw` or `y");
        let [said] = &here.said(&folder, &[])[..] else { panic!() };
        assert!(!said.contains("`--mount ~/.config:rw`"), "{said}");
        let folder = here.folder("q'uote");
        let [said] = &here.said(&folder, &[])[..] else { panic!() };
        let quoted = shell_word(&folder);
        assert!(
            said.starts_with(&format!("`{quoted}` is not in the cage; add `--mount {quoted}`")),
            "{said}"
        );
    }

    #[test]
    fn what_is_never_given_is_told_with_the_reason_and_no_mount() {
        let here = Here::new();
        let home = std::env::var("HOME").unwrap();
        for word in ["/", "/etc/hostname", home.as_str()] {
            let [said] = &here.said(word, &[])[..] else { panic!("{word}") };
            assert!(said.contains("never given, since") && !said.contains("--mount"), "{said}");
        }
    }

    #[test]
    fn the_hint_has_the_whole_command_with_what_was_meant() {
        let here = Here::new();
        let data = here.folder("data");
        let plan = here.plan(&["--root=./data", "--x", "./data"], &["MODE=fast"], &[]);
        let hint = here.look(&plan).hint(&plan).unwrap();
        let id = plan.release().id();
        let command =
            format!("`pinfold mount {id} --env MODE=fast --mount {data} -- --root={data} --x {data}`");
        assert!(hint.contains(&command), "{hint}");
        let plan = here.plan(&["--x"], &[], &[]);
        assert_eq!(here.look(&plan).hint(&plan), None);
    }
}
