use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;
use crate::failure::{Code, Failure};
use crate::source::HeldTo;

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
fn refuses_a_pipe_by_what_it_is_and_does_not_wait_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = crate::state::pipe(dir.path());
    for named in ["x.tgz", "x-1-py3-none-any.whl"] {
        let path = dir.path().join(named);
        std::fs::hard_link(&pipe, &path).unwrap();
        for refused in [look(&path).map(drop), read(&path).map(drop)] {
            assert!(refused.unwrap_err().to_string().contains("a pipe"));
        }
    }
}

#[test]
fn a_tarball_is_the_release_its_manifest_names() {
    let tgz = tarball(&[
        file("package/cli.js", "x"),
        file("package/package.json", MANIFEST),
        file("package/z", ""),
    ]);
    let release = made(&tgz).unwrap();
    assert_eq!(release.package().exact(), "@s/a@1.2.3");
    assert_eq!(release.package().held_to(), HeldTo::Archive(Integrity::of(&tgz)));
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
    assert_eq!(look(&at("a.whl")), Ok(Kind::Wheel));
    std::fs::create_dir_all(at("project.whl")).unwrap();
    std::fs::write(at("project.whl/pyproject.toml"), "").unwrap();
    let project = look(&at("project.whl")).unwrap_err();
    assert!(matches!(project, SourceError::PythonProject { .. }));
    assert!(Failure::from(project).hint().to_string().contains("uv build --wheel"));
    assert_eq!(read(&at("a.tgz")), Ok(b"x".to_vec()));
    assert!(read(&at("gone.tgz")).is_err());
}

/// The ways to give the next member another name: GNU's, PAX's, PAX's for all members.
const NAMES: [(&str, EntryType); 3] =
    [("gnu", EntryType::GNULongName), ("pax", EntryType::XHeader), ("global", EntryType::XGlobalHeader)];

fn named(kind: EntryType, name: &str) -> Vec<u8> {
    if kind == EntryType::GNULongName {
        return [name.as_bytes(), b"\0"].concat();
    }
    record("path", name).into_bytes()
}

fn record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let length = rest.len() + 2;
    assert!((10..100).contains(&length));
    format!("{length}{rest}")
}

/// A manifest, and before a second file headers of these types and contents.
fn with_headers(headers: &[(EntryType, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    let mut append = |kind: EntryType, name: &str, content: &[u8]| {
        let mut header = Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content).unwrap();
    };
    append(EntryType::Regular, "package/package.json", MANIFEST.as_bytes());
    for (kind, content) in headers {
        append(*kind, "header", content);
    }
    append(EntryType::Regular, "package/other", b"other");
    gzip(&archive.into_inner().unwrap())
}

#[test]
fn refuses_a_member_that_is_named_in_two_ways() {
    for (first_kind, first) in NAMES {
        for (second_kind, second) in NAMES {
            for (one, other) in [("package/a", "package/package.json"), ("package/package.json", "package/a")]
            {
                let tgz = with_headers(&[(first, named(first, one)), (second, named(second, other))]);
                assert_eq!(code(&tgz), Code::NotFound, "{first_kind} {one}, {second_kind} {other}");
            }
        }
    }
}

#[test]
fn refuses_shapes_that_npm_never_writes() {
    let pax = |text: &str| vec![(EntryType::XHeader, text.as_bytes().to_vec())];
    let cases = [
        ("a global path", vec![(EntryType::XGlobalHeader, record("path", "package/a").into_bytes())]),
        ("a global link", vec![(EntryType::XGlobalHeader, record("linkpath", "package/a").into_bytes())]),
        ("a path twice", pax(&(record("path", "package/a") + &record("path", "package/b")))),
        ("another size", pax(&record("size", "512"))),
        ("a sparse name", pax(&record("GNU.sparse.name", "package/package.json"))),
        ("a wrong length", pax("99 path=package/a\n")),
        ("a signed length", pax("+19 path=package/a\n")),
        ("two lines", pax(&record("path", "a/b\n20 path=x"))),
        ("a zero byte", pax(&record("path", "package/package.json\0"))),
        ("a sparse file", vec![(EntryType::GNUSparse, Vec::new())]),
        ("a contiguous file", vec![(EntryType::Continuous, Vec::new())]),
        ("a device", vec![(EntryType::Char, Vec::new())]),
        ("an unknown type", vec![(EntryType::new(b'X'), record("path", "package/a").into_bytes())]),
    ];
    for (what, headers) in cases {
        assert_eq!(code(&with_headers(&headers)), Code::NotFound, "{what}");
    }
}

#[test]
fn accepts_one_long_name_and_a_comment() {
    let long = EntryType::GNULongName;
    for headers in [
        vec![(long, named(long, "package/a"))],
        vec![(
            EntryType::XHeader,
            (record("path", "package/a") + &record("size", "500"))
                .replace("12 size=500", "9 size=5")
                .into_bytes(),
        )],
        vec![(EntryType::XGlobalHeader, record("comment", "of git archive").into_bytes())],
    ] {
        made(&with_headers(&headers)).unwrap();
    }
}
