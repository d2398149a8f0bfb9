//! How does a folder reach npm, to be packed in a cage?
//!
//! As an archive of its plain files. Links stay out, since one could lead out of the folder, and so does what no
//! package holds and what would steer npm while it packs.

use std::path::Path;

use crate::failure::{Code, Failure};

/// Bytes of a folder's files at most: 256 MiB.
const FOLDER_LIMIT: u64 = 256 * 1024 * 1024;

/// A folder as a tar archive, for npm to pack in a cage. What no package holds stays out: `.git`, `node_modules`, and
/// every `.npmrc`, which would be npm's configuration while it packs.
///
/// # Errors
/// A file that cannot be read, or more than 256 MiB of them.
pub fn archive(root: &Path) -> Result<Vec<u8>, Failure> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|error| unreadable(&dir, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&dir, &error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            if kind.is_dir() {
                if entry.file_name() != ".git" && entry.file_name() != "node_modules" {
                    waiting.push(path);
                }
                continue;
            }
            // a link could lead out of the folder; npm leaves links out of packages too
            if !kind.is_file() || entry.file_name().eq_ignore_ascii_case(".npmrc") {
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let length = entry.metadata().map_err(|error| unreadable(&path, &error))?.len();
            if archive.get_ref().len() as u64 + length > FOLDER_LIMIT {
                return Err(Failure::new(
                    Code::NotFound,
                    format!("{} is too large to pack", root.display()),
                    "its files are more than 256 MiB",
                    "pack it with `npm pack` and mount the tarball",
                ));
            }
            archive.append_path_with_name(&path, inside).map_err(|error| unreadable(&path, &error))?;
        }
    }
    archive.into_inner().map_err(|error| unreadable(root, &error))
}

/// A file or folder that the user named and that cannot be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Code::NotFound,
        format!("{} cannot be read", path.display()),
        error,
        "see that the path is right and readable by you",
    )
}
