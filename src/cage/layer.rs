//! How do files get into an image without anything being run?
//!
//! As a tar archive that the engine unpacks on top of a base. Owners, modes and times are set here, so that the
//! same inputs give the same layer, and only regular files are taken out of a package.

use std::fs::File;
use std::io::{Cursor, Read, Write};
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use tempfile::TempPath;

use super::engine::{Engine, ImageId, ImageRecord, Labels, label};
use super::profile::INIT;
use super::{CageError, init_binary};
use crate::plan::User;

/// Whose an entry is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    /// Root's: nobody inside may change it.
    Root,
    /// The cage's user's.
    Cage,
    /// That of a cage that runs as somebody else.
    User(User),
}

impl Owner {
    fn ids(self) -> (u64, u64) {
        match self {
            Owner::Root => (0, 0),
            Owner::Cage => Owner::User(User::NOBODY).ids(),
            Owner::User(user) => (user.uid().into(), user.gid().into()),
        }
    }
}

/// Unpacked bytes at most taken out of one package.
const PACKAGE_LIMIT: u64 = 512 * 1024 * 1024;

/// An archive being written.
pub(crate) struct Layer {
    archive: tar::Builder<File>,
    path: TempPath,
}

impl Layer {
    /// An empty archive in the system's temporary directory.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (file, path) = tempfile::NamedTempFile::with_prefix("pinfold-layer-")?.into_parts();
        Ok(Self { archive: tar::Builder::new(file), path })
    }

    /// Adds a directory, or changes an existing one's mode and owner.
    pub(crate) fn folder(&mut self, path: &str, mode: u32, owner: Owner) -> std::io::Result<()> {
        let mut header = header(tar::EntryType::Directory, mode, owner, 0);
        self.archive.append_data(&mut header, path, std::io::empty())
    }

    /// Adds a regular file.
    pub(crate) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> std::io::Result<()> {
        let mut header = header(tar::EntryType::Regular, mode, Owner::Root, bytes.len() as u64);
        self.archive.append_data(&mut header, path, bytes)
    }

    /// Adds this build's init, where every cage has its PID 1, and lets everybody pass through `/root`, as they may outside
    /// once they were given a folder below it: a folder is mounted at its own path.
    pub(crate) fn init(&mut self) -> std::io::Result<()> {
        self.folder("root", 0o711, Owner::Root)?;
        self.file(INIT.trim_start_matches('/'), 0o555, init_binary::INIT)
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> std::io::Result<()> {
        let mut header = header(tar::EntryType::Symlink, 0o777, Owner::Root, 0);
        self.archive.append_link(&mut header, path, target)
    }

    /// Adds the regular files of a packed npm package for which `place` gives a path.
    ///
    /// # Errors
    /// An entry whose path leaves the package, or more than 512 MiB of contents.
    pub(crate) fn package(
        &mut self,
        tgz: &[u8],
        place: impl Fn(&Path) -> Option<String>,
    ) -> std::io::Result<()> {
        let mut packed = tar::Archive::new(GzDecoder::new(tgz).take(PACKAGE_LIMIT));
        for entry in packed.entries()? {
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path = entry.path()?.into_owned();
            if path.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(std::io::Error::other("an entry's path leaves the package"));
            }
            // the first folder's name is the packer's choice; npm drops it too
            let inside: std::path::PathBuf = path.components().skip(1).collect();
            let Some(to) = place(&inside) else { continue };
            let runs = entry.header().mode()? & 0o111 != 0;
            let mut header =
                header(tar::EntryType::Regular, if runs { 0o755 } else { 0o644 }, Owner::Root, entry.size());
            self.archive.append_data(&mut header, to, &mut entry)?;
        }
        Ok(())
    }

    /// Adds the regular files of a tar archive, each where it says, readable to all and root's.
    ///
    /// # Errors
    /// An entry whose path is not plain, or is absolute.
    pub(crate) fn unpacked(&mut self, archive: &[u8]) -> std::io::Result<()> {
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            if path.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(std::io::Error::other("an entry's path leads elsewhere"));
            }
            if entry.header().entry_type().is_file() {
                let mut header = header(tar::EntryType::Regular, 0o644, Owner::Root, entry.size());
                self.archive.append_data(&mut header, path, &mut entry)?;
            }
        }
        Ok(())
    }

    /// Adds the regular files of a wheel for which `place` gives a path.
    ///
    /// Source: the binary distribution format (PEP 427): a zip archive, whose entries bear their modes as Unix zip
    /// programs write them.
    ///
    /// # Errors
    /// An entry whose path leaves the wheel, or more than 512 MiB of contents.
    pub(crate) fn wheel(
        &mut self,
        wheel: &[u8],
        place: impl Fn(&Path) -> Option<String>,
    ) -> std::io::Result<()> {
        let mut packed = zip::ZipArchive::new(Cursor::new(wheel)).map_err(std::io::Error::other)?;
        let mut room = PACKAGE_LIMIT;
        for index in 0..packed.len() {
            let mut entry = packed.by_index(index).map_err(std::io::Error::other)?;
            let inside = entry
                .enclosed_name()
                .ok_or_else(|| std::io::Error::other("an entry's path leaves the package"))?;
            if !entry.is_file() {
                continue;
            }
            let Some(to) = place(&inside) else { continue };
            room = room
                .checked_sub(entry.size())
                .ok_or_else(|| std::io::Error::other("the package unpacks to more than 512 MiB"))?;
            let runs = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
            let mut header =
                header(tar::EntryType::Regular, if runs { 0o755 } else { 0o644 }, Owner::Root, entry.size());
            self.archive.append_data(&mut header, to, &mut entry)?;
        }
        Ok(())
    }

    /// The finished archive; the file goes with the value.
    pub(crate) fn finish(self) -> std::io::Result<TempPath> {
        let mut file = self.archive.into_inner()?;
        file.flush()?;
        Ok(self.path)
    }
}

/// The one of these images that has this build's init, else the first with init put on top of it, labelled with what
/// `labels` makes of its labels; the image and its labels. None of none.
///
/// The images are of one kind, and their stamps were verified.
pub(crate) async fn with_our_init(
    engine: &dyn Engine,
    images: Vec<ImageRecord>,
    labels: impl FnOnce(Labels) -> Labels,
) -> Result<Option<(ImageId, Labels)>, CageError> {
    let ours = init_binary::digest().to_string();
    if let Some(image) = images.iter().find(|image| image.labels.get(label::INIT) == Some(&ours)) {
        return Ok(Some((image.id.clone(), image.labels.clone())));
    }
    let Some(mut older) = images.into_iter().next() else { return Ok(None) };
    older.labels.insert(label::INIT.into(), ours);
    let labels = labels(older.labels);
    let mut layer = Layer::new()?;
    layer.init()?;
    let tar = layer.finish()?;
    let image = engine.layer(&older.id, tar.to_path_buf(), labels.clone()).await?;
    Ok(Some((image, labels)))
}

fn header(kind: tar::EntryType, mode: u32, owner: Owner, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    let (uid, gid) = owner.ids();
    header.set_uid(uid);
    header.set_gid(gid);
    header.set_size(size);
    // 1985-10-26, as npm gives every packed file: old enough for zip, and the same everywhere
    header.set_mtime(499_162_500);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, bytes) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            // written by hand: the library refuses to write what an attacker would
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn takes_a_packages_files_without_its_first_folder() {
        let mut layer = Layer::new().unwrap();
        let tgz = packed(&[("package/bin/node", b"#!"), ("package/include/x.h", b"")]);
        layer
            .package(&tgz, |inside| (inside == Path::new("bin/node")).then(|| "usr/local/bin/node".into()))
            .unwrap();
        let path = layer.finish().unwrap();
        let mut read = tar::Archive::new(File::open(&path).unwrap());
        let paths: Vec<_> =
            read.entries().unwrap().map(|e| e.unwrap().path().unwrap().into_owned()).collect();
        assert_eq!(paths, [Path::new("usr/local/bin/node")]);
    }

    #[test]
    fn takes_what_a_wheel_holds_where_it_is_wanted() {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file("uv-1.data/scripts/uv", options.unix_permissions(0o755)).unwrap();
        zip.write_all(b"ELF").unwrap();
        zip.start_file("uv-1.dist-info/RECORD", options).unwrap();
        let wheel = zip.finish().unwrap().into_inner();
        let mut layer = Layer::new().unwrap();
        layer
            .wheel(&wheel, |inside| {
                (inside == Path::new("uv-1.data/scripts/uv")).then(|| "usr/local/bin/uv".into())
            })
            .unwrap();
        let path = layer.finish().unwrap();
        let mut read = tar::Archive::new(File::open(&path).unwrap());
        let entries: Vec<_> = read
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap(), entry.size())
            })
            .collect();
        assert_eq!(entries, [("usr/local/bin/uv".to_owned(), 0o755, 3)]);
    }

    #[test]
    fn refuses_a_wheel_or_an_archive_whose_entry_leads_elsewhere() {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("../../etc/passwd", zip::write::SimpleFileOptions::default()).unwrap();
        let wheel = zip.finish().unwrap().into_inner();
        assert!(Layer::new().unwrap().wheel(&wheel, |_| None).is_err());
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        // written by hand: the library refuses to write what an attacker would
        header.as_mut_bytes()[..5].copy_from_slice(b"../xy");
        header.set_cksum();
        let mut archive = tar::Builder::new(Vec::new());
        archive.append(&header, std::io::empty()).unwrap();
        assert!(Layer::new().unwrap().unpacked(&archive.into_inner().unwrap()).is_err());
    }

    #[test]
    fn refuses_an_entry_that_leaves_the_package() {
        for path in ["package/../../etc/passwd", "/etc/passwd"] {
            let tgz = packed(&[(path, b"x")]);
            let mut layer = Layer::new().unwrap();
            assert!(layer.package(&tgz, |inside| Some(inside.display().to_string())).is_err(), "{path}");
        }
    }
}
