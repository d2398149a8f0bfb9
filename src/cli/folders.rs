//! Which folders did the user name, and what has become of them since?
//!
//! Options are resolved and judged here, before anything is looked up, so that a plan holds folders that can be given.
//! When a server that could write has ended, what appeared in its folders and should not is told.

use super::host::Host;
use super::out::Out;
use crate::cage::folder::{self, Folders, Told};
use crate::failure::Failure;
use crate::pin::Pin;
use crate::plan::{AllowRoot, FolderFacts, Mount, MountAsked, User};
use crate::text::Shown;

/// Paths told one by one; a server can make up as many as it likes.
const TOLD: usize = 10;
/// Names of the table told one by one, each with one path.
const NAMES_TOLD: usize = 30;

/// What a server sees of this machine's disk, and keeps there.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub struct FolderOptions {
    /// A folder the server sees, at the same path; to be read unless `:rw` is said. The server then runs as its owner
    #[arg(long = "mount", value_name = "PATH[:ro|:rw]")]
    pub mount: Vec<String>,
    /// Keep what the server writes in its home, until it is unmounted
    #[arg(long)]
    pub persist: bool,
    /// Let the server be root, without root's powers, for a folder that belongs to root
    #[arg(long)]
    pub allow_root: bool,
}

/// The folders of a plan that is being drawn.
pub struct FoldersAsked {
    /// What the plan holds of them.
    pub mounts: Vec<Mount>,
    /// Whether the server's home is kept.
    pub persist: bool,
    /// Whom the server runs as.
    pub user: User,
    told: Vec<FolderFacts>,
}

impl FoldersAsked {
    /// Resolves and judges what was typed.
    ///
    /// # Errors
    /// `mount-refused` for a folder that no server is given.
    pub fn read(host: &Host, options: &FolderOptions) -> Result<Self, Failure> {
        let asked: Vec<MountAsked> =
            options.mount.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let grounds = host.grounds();
        let resolve = |asked| folder::resolve(asked, &grounds);
        let mounts: Vec<Mount> = asked.iter().map(resolve).collect::<Result<_, _>>()?;
        let root = AllowRoot::typed(options.allow_root);
        let folders = Folders::judge(&mounts, &grounds, root.as_ref())?;
        let told = folders.told().into_iter().zip(&asked).map(|(told, asked)| facts(told, asked)).collect();
        Ok(Self { mounts, persist: options.persist, user: folders.user(), told })
    }

    /// What a card tells of them.
    pub fn facts(&self) -> Vec<FolderFacts> {
        self.told.clone()
    }
}

fn facts(told: Told, asked: &MountAsked) -> FolderFacts {
    let Told { path, held, loose, twice, roots } = told;
    // `~`, a relative path or a slash at the end lead where they say; a link leads elsewhere
    let plain = std::path::absolute(&asked.path)
        .is_ok_and(|typed| typed.components().eq(path_of(&path).components()))
        || asked.path.starts_with('~')
        || asked.path.split('/').any(|part| part == "..");
    let typed = (!plain).then(|| Shown::new(&asked.path));
    FolderFacts { path, typed, held, loose, twice, roots }
}

fn path_of(shown: &Shown) -> std::path::PathBuf {
    // a path that a plan can hold is shown as it is
    shown.to_string().into()
}

/// What appeared in the folders of a server that could write to them, and what is another file than it was.
pub fn report_changes(out: &Out, pin: &Pin, folders: &Folders) {
    let changes = folders.changes();
    let name = pin.name();
    let told = [
        (
            &changes.appeared,
            NAMES_TOLD,
            "appeared while it ran, and this machine may run what it says; if you did not make it, remove it, and if you did, see that it says what you want: the server could write there",
        ),
        (
            &changes.passed,
            TOLD,
            "was there for a while as it ran, and is gone; if you did not make it, whatever you ran there meanwhile may have done what it said",
        ),
        (&changes.replaced, TOLD, "was replaced while it ran; see that it says what you want"),
        (
            &changes.doubled,
            TOLD,
            "has a second name since it ran (a hard link), by which it can be written to: find that with `find -samefile` and remove it, and see that the file says what you want",
        ),
    ];
    for (paths, most, what) in told {
        for path in paths.iter().take(most) {
            out.warn(format!("{name}: {path} {what}"));
        }
    }
    for folder in changes.closed.iter().take(TOLD) {
        out.warn(format!(
            "{name}: what it did there can no longer be judged, and it is not started with it again: {folder}"
        ));
    }
    let more: usize = told.iter().map(|(paths, most, _)| paths.len().saturating_sub(*most)).sum();
    if more > 0 {
        out.warn(format!("{name}: and {more} more like these"));
    }
}
