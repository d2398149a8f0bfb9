//! What package is this file?
//!
//! `path:` names a package on this disk: a tarball as `npm pack` makes it, or a folder that is packed into one
//! first. Either way the release is made from the tarball's bytes, so the pin holds a hash and a folder that changes
//! later is another release. Nothing is unpacked here: the one member that says what it is, `package.json`, is read
//! out of the stream, under bounds, and everything else is skipped.

use std::io::{self, Read};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use tar::EntryType;

use super::SourceError;
use super::package::NpmPackage;
use super::release::{Integrity, Manifest, Origin, Release};
use crate::state::{open_plain, read_plain};
use crate::text::Shown;

/// The largest tarball that is read: 256 MiB.
const TARBALL_BYTES: u64 = 256 << 20;
/// The most bytes a tarball may unpack to: 2 GiB.
const UNPACKED_BYTES: u64 = 2 << 30;
/// The most members a tarball may have.
const MEMBERS: usize = 200_000;
/// The largest `package.json`: 4 MiB.
const MANIFEST_BYTES: u64 = 4 << 20;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A tarball of npm's.
    File,
    /// A wheel: [`super::wheel`] reads it.
    Wheel,
    /// A folder, to be packed.
    Dir,
}

/// Looks whether a path leads to a tarball, a wheel or a folder; links are followed.
///
/// # Errors
/// There is nothing, or neither a folder of an npm package nor a file called `*.tgz`, `*.tar.gz` or `*.whl`.
pub fn look(path: &Path) -> Result<Kind, SourceError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        if !path.join("package.json").is_file() {
            // Building a Python project runs code of its own choice of build tools.
            return Err(match path.join("pyproject.toml").is_file() || path.join("setup.py").is_file() {
                true => SourceError::PythonProject { path: shown(path) },
                false => no_package(path, "the folder holds no package.json"),
            });
        }
        return Ok(Kind::Dir);
    }
    if !metadata.is_file() {
        open_plain(path).map_err(|error| unreadable(path, &error))?;
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    if !metadata.is_file() || !(name.ends_with(".tgz") || name.ends_with(".tar.gz")) {
        return match metadata.is_file() && name.ends_with(".whl") {
            true => Ok(Kind::Wheel),
            false => Err(no_package(path, "it is neither a folder nor a file ending in .tgz or .whl")),
        };
    }
    Ok(Kind::File)
}

/// The bytes of a tarball or wheel on this disk.
///
/// # Errors
/// It cannot be read, or is larger than 256 MiB.
pub fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    read_plain(path, TARBALL_BYTES).map_err(|error| unreadable(path, &error))
}

/// The release that these bytes of a tarball are; `origin` is the path the user wrote.
///
/// # Errors
/// The bytes are no tarball of a package, pass a bound, hold two manifests, or the manifest's name, version or
/// programs are refused.
pub fn release(origin: &Path, tgz: &[u8]) -> Result<Release, SourceError> {
    let json = manifest(tgz, UNPACKED_BYTES).map_err(|why| no_package(origin, &why))?;
    let json: Value = serde_json::from_slice(&json)
        .map_err(|error| no_package(origin, &format!("its package.json is unreadable: {error}")))?;
    let says = |field: &str| {
        json.get(field)
            .and_then(Value::as_str)
            .ok_or_else(|| no_package(origin, &format!("its package.json has no {field}")))
    };
    let name = says("name")?;
    let name = name.parse().map_err(|rule| SourceError::Name { text: Shown::new(name), rule })?;
    let version = says("version")?;
    let version = version.parse().map_err(|_| SourceError::Version { text: Shown::new(version) })?;
    let manifest = Manifest::read(&name, &version, &json)?;
    let package = NpmPackage { name, version, integrity: Integrity::of(tgz) };
    Ok(Release::npm(package, Origin::Path(origin.to_owned()), manifest))
}

fn shown(path: &Path) -> Shown {
    Shown::new(&path.display().to_string())
}

fn unreadable(path: &Path, error: &io::Error) -> SourceError {
    no_package(path, &error.to_string())
}

fn no_package(path: &Path, why: &str) -> SourceError {
    SourceError::NoPackage { path: shown(path), why: Shown::new(why) }
}

/// The one `package.json` directly under the tarball's top folder, whatever that is called (npm strips it).
fn manifest(tgz: &[u8], unpacked_bytes: u64) -> Result<Vec<u8>, String> {
    plain(tgz, unpacked_bytes)?;
    // npm reads every member of a gzip file, so a second one must not hide anything from us.
    let unpacked = MultiGzDecoder::new(tgz).take(unpacked_bytes);
    let mut archive = tar::Archive::new(unpacked);
    let mut found = None;
    let broken = |error: io::Error| format!("it is no tarball: {error}");
    for (count, member) in archive.entries().map_err(broken)?.enumerate() {
        if count >= MEMBERS {
            return Err(format!("it has more than {MEMBERS} members"));
        }
        let mut member = member.map_err(broken)?;
        let path = member.path().map_err(broken)?;
        let mut parts =
            path.components().filter(|part| !matches!(part, Component::CurDir | Component::RootDir));
        let is_manifest = matches!(
            (parts.next(), parts.next(), parts.next()),
            // Compared without case: on some file systems the other spelling would take its place.
            (Some(_), Some(Component::Normal(name)), None) if name.eq_ignore_ascii_case("package.json")
        );
        if !is_manifest {
            continue;
        }
        if found.is_some() {
            return Err(
                "it holds two package.json, and which one counts depends on who unpacks it".to_owned()
            );
        }
        if !member.header().entry_type().is_file() {
            return Err("its package.json is not a plain file".to_owned());
        }
        let mut json = Vec::new();
        (&mut member).take(MANIFEST_BYTES + 1).read_to_end(&mut json).map_err(broken)?;
        if json.len() as u64 > MANIFEST_BYTES {
            return Err("its package.json is larger than 4 MiB".to_owned());
        }
        found = Some(json);
    }
    // `take` ends a stream that unpacks to more as if it were complete.
    if archive.into_inner().limit() == 0 {
        return Err("it unpacks to more than 2 GiB".to_owned());
    }
    found.ok_or_else(|| "it holds no package.json".to_owned())
}

/// Refuses what tar readers read differently, so that the `package.json` we read is the one npm will: a name given
/// twice (GNU's long name and a PAX path, or one of them twice), a name for every member after it (global PAX
/// headers), and types of member that `npm pack` never writes.
fn plain(tgz: &[u8], unpacked_bytes: u64) -> Result<(), String> {
    let broken = |error: io::Error| format!("it is no tarball: {error}");
    let mut archive = tar::Archive::new(MultiGzDecoder::new(tgz).take(unpacked_bytes));
    let (mut long, mut extended, mut size) = (0, 0, None);
    let odd = |what: &str| {
        Err(format!("it holds {what}, which `npm pack` does not write and tar programs read differently"))
    };
    for (count, member) in archive.entries().map_err(broken)?.raw(true).enumerate() {
        // every member may have a header or two of its own
        if count >= 3 * MEMBERS {
            return Err(format!("it has more than {MEMBERS} members"));
        }
        let mut member = member.map_err(broken)?;
        let kind = member.header().entry_type();
        match kind {
            EntryType::GNULongName | EntryType::GNULongLink => long += 1,
            EntryType::XHeader | EntryType::XGlobalHeader => {
                let mut records = Vec::new();
                (&mut member).take(MANIFEST_BYTES + 1).read_to_end(&mut records).map_err(broken)?;
                if records.len() as u64 > MANIFEST_BYTES {
                    return odd("an extended header larger than 4 MiB");
                }
                let records = pax(&records).ok_or("it holds an extended header that is malformed")?;
                let has = |name: &[u8]| records.iter().any(|(key, _)| *key == name);
                if records.iter().any(|(key, _)| key.starts_with(b"GNU.sparse")) {
                    return odd("a sparse file");
                }
                if kind == EntryType::XGlobalHeader && (has(b"path") || has(b"linkpath") || has(b"size")) {
                    return odd("a name or size for all its members");
                }
                if records.iter().enumerate().any(|(at, (key, _))| records[..at].iter().any(|r| r.0 == *key))
                {
                    return odd("one key twice in an extended header");
                }
                if kind == EntryType::XHeader {
                    extended += 1;
                    size = records.iter().find(|(key, _)| *key == b"size").map(|(_, value)| value.to_vec());
                }
            }
            EntryType::Regular | EntryType::Directory | EntryType::Link | EntryType::Symlink => {
                if long + extended > 1 {
                    return odd("a member that is named twice");
                }
                let length = member.header().entry_size().map_err(broken)?;
                if size.is_some_and(|size| size != length.to_string().as_bytes()) {
                    return odd("a member with two sizes");
                }
                (long, extended, size) = (0, 0, None);
            }
            _ => return odd("a member that is not a plain file, folder or link"),
        }
    }
    if long + extended > 0 {
        return odd("a name without a member");
    }
    Ok(())
}

/// What an extended header says: records of `LENGTH KEY=VALUE\n`, the length in decimal and of the whole record
/// (POSIX pax, "pax Extended Header"). None if that is not what it is: readers differ in what they make of it.
fn pax(mut records: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut said = Vec::new();
    while !records.is_empty() {
        let space = records.iter().position(|byte| *byte == b' ')?;
        let digits = std::str::from_utf8(&records[..space]).ok()?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let length: usize = digits.parse().ok()?;
        let record = records.get(space + 1..length)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|byte| *byte == b'=')?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        // a line end or a zero byte in a name is where readers part ways
        if [&b"path"[..], b"linkpath"].contains(&key) && value.iter().any(|byte| matches!(byte, 0 | b'\n')) {
            return None;
        }
        said.push((key, value));
        records = &records[length..];
    }
    Some(said)
}

#[cfg(test)]
mod tests;
