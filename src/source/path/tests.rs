use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;
use crate::failure::{Code, Failure};

const MANIFEST: &str =
    r#"{"name":"@s/a","version":"1.2.3","bin":{"a":"./cli.js"},"description":"does things"}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn tarball(members: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (path, kind, content) in members {
        let mut header = Header::new_ustar();
        // Written raw: the library refuses `..` and absolute paths, a hostile tarball does not.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let content = if *kind == EntryType::Regular { content } else { "" };
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content.as_bytes()).unwrap();
    }
    gzip(&archive.into_inner().unwrap())
}

fn file<'a>(path: &'a str, content: &'a str) -> (&'a str, EntryType, &'a str) {
    (path, EntryType::Regular, content)
}

fn made(tgz: &[u8]) -> Result<Release, SourceError> {
    release(Path::new("./a.tgz"), tgz)
}

fn code(tgz: &[u8]) -> Code {
    Failure::from(made(tgz).unwrap_err()).code()
}

#[test]
fn a_tarball_is_the_release_its_manifest_names() {
    let tgz = tarball(&[
        file("package/cli.js", "x"),
        file("package/package.json", MANIFEST),
        file("package/z", ""),
    ]);
    let release = made(&tgz).unwrap();
    assert_eq!((release.name().as_str(), release.version().to_string().as_str()), ("@s/a", "1.2.3"));
    assert_eq!(release.integrity(), Integrity::of(&tgz));
    assert_eq!((release.bins()[0].name(), release.bins()[0].file()), ("a", "cli.js"));
    assert_eq!(release.path(), Some(Path::new("./a.tgz")));
    assert_eq!(release.facts().description, Some(Shown::new("does things")));
}

#[test]
fn accepts_a_top_folder_of_any_name() {
    for path in ["a/package.json", "./package/package.json", "package-1.2.3/package.json"] {
        assert!(made(&tarball(&[file(path, MANIFEST)])).is_ok(), "{path}");
    }
}

#[test]
fn refuses_a_tarball_without_a_manifest_at_its_top() {
    for path in
        ["package.json", "package/x/package.json", "package/package.json/x", "package/../package.json"]
    {
        assert_eq!(code(&tarball(&[file(path, MANIFEST)])), Code::NotFound, "{path}");
    }
}

#[test]
fn refuses_two_manifests() {
    for second in
        ["package/package.json", "other/package.json", "package/Package.JSON", "./package/./package.json"]
    {
        let tgz = tarball(&[file("package/package.json", MANIFEST), file(second, MANIFEST)]);
        assert!(made(&tgz).unwrap_err().to_string().contains("two package.json"), "{second}");
    }
}

#[test]
fn refuses_two_manifests_in_two_gzip_members() {
    let mut tgz = tarball(&[file("package/package.json", MANIFEST)]);
    // A tar archive ends with zero blocks; without them the second member goes on where the first ended.
    let mut first = Vec::new();
    MultiGzDecoder::new(tgz.as_slice()).read_to_end(&mut first).unwrap();
    first.truncate(1_024);
    let second = tgz.split_off(0);
    tgz.extend(gzip(&first));
    tgz.extend(second);
    assert!(made(&tgz).unwrap_err().to_string().contains("two package.json"));
}

#[test]
fn refuses_a_manifest_that_is_no_plain_file() {
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Directory, EntryType::Fifo] {
        let tgz = tarball(&[("package/package.json", kind, "")]);
        assert!(made(&tgz).unwrap_err().to_string().contains("plain file"), "{kind:?}");
    }
}

#[test]
fn members_that_would_climb_out_are_not_read() {
    let tgz = tarball(&[
        file("../../etc/passwd", "x"),
        file("/etc/passwd", "x"),
        ("package/link", EntryType::Symlink, ""),
        file("package/package.json", MANIFEST),
    ]);
    assert!(made(&tgz).is_ok());
}

#[test]
fn refuses_a_manifest_with_a_refused_name_version_or_program() {
    for (manifest, expected) in [
        (r#"{"name":"../x","version":"1.0.0"}"#, Code::NameRefused),
        (r#"{"name":"a;b","version":"1.0.0"}"#, Code::NameRefused),
        (r#"{"name":"a","version":"1"}"#, Code::NameRefused),
        (r#"{"name":"a","version":"1.0.0","bin":"../x"}"#, Code::LaunchRefused),
        (r#"{"version":"1.0.0"}"#, Code::NotFound),
        (r#"{"name":"a"}"#, Code::NotFound),
        (r#"{"name":7,"version":"1.0.0"}"#, Code::NotFound),
        ("[]", Code::NotFound),
        ("nonsense", Code::NotFound),
        ("", Code::NotFound),
    ] {
        assert_eq!(code(&tarball(&[file("package/package.json", manifest)])), expected, "{manifest}");
    }
}

#[test]
fn refuses_bytes_that_are_no_tarball() {
    let good = tarball(&[file("package/package.json", MANIFEST)]);
    for bad in [&b""[..], b"nonsense", &good[..good.len() / 2], &gzip(b"nonsense"), &gzip(&[0xff; 2_000])] {
        assert_eq!(code(bad), Code::NotFound);
    }
}

#[test]
fn refuses_a_manifest_past_its_bound() {
    let large = format!("{MANIFEST}{}", " ".repeat(4 << 20));
    assert!(
        made(&tarball(&[file("package/package.json", &large)])).unwrap_err().to_string().contains("4 MiB")
    );
}

#[test]
fn refuses_a_tarball_that_unpacks_past_its_bound() {
    let zeros = "\0".repeat(1 << 20);
    let tgz = tarball(&[file("package/package.json", MANIFEST), file("package/zeros", &zeros)]);
    assert!(tgz.len() < 20_000);
    assert!(manifest(&tgz, 2 << 20).is_ok());
    for bound in [1_000, 1 << 20, (1 << 20) + 1_536] {
        assert!(manifest(&tgz, bound).is_err(), "{bound}");
    }
}

#[test]
fn looks_at_what_a_path_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("a.tgz"), "x").unwrap();
    std::fs::write(at("a.zip"), "x").unwrap();
    std::fs::write(at("a.whl"), "x").unwrap();
    std::fs::create_dir_all(at("package")).unwrap();
    std::fs::create_dir_all(at("empty.tgz")).unwrap();
    std::fs::write(at("package/package.json"), MANIFEST).unwrap();
    assert_eq!(look(&at("a.tgz")), Ok(Kind::File));
    assert_eq!(look(&at("package")), Ok(Kind::Dir));
    for none in ["a.zip", "gone.tgz", "empty.tgz", "a.tgz/x"] {
        assert!(matches!(look(&at(none)), Err(SourceError::NoPackage { .. })), "{none}");
    }
    assert!(matches!(look(&at("a.whl")), Err(SourceError::NotYet { .. })));
    assert_eq!(read(&at("a.tgz")), Ok(b"x".to_vec()));
    assert!(read(&at("gone.tgz")).is_err());
}
