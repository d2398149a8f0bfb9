use std::io::{Cursor, Write as _};

use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::failure::{Code, Failure};

/// An archive as a builder of wheels writes it.
pub(super) fn zip_with(write: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>, SimpleFileOptions)) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    write(&mut zip, SimpleFileOptions::default());
    zip.finish().unwrap().into_inner()
}

pub(super) fn zip_of(members: &[(&str, &str)]) -> Vec<u8> {
    zip_with(|zip, options| {
        for (name, content) in members {
            match name.ends_with('/') {
                true => zip.add_directory(*name, options).unwrap(),
                false => {
                    zip.start_file(*name, options).unwrap();
                    zip.write_all(content.as_bytes()).unwrap();
                }
            }
        }
    })
}

const METADATA: &str = "Metadata-Version: 2.4\nName: A.B\nVersion: 1.0\nSummary: does things\nRequires-Python: >=3.10\n\
                        Requires-Dist: mcp>=1\nRequires-Dist: anyio; extra == 'x'\n\n";
const POINTS: &str =
    "[console_scripts]\na-b = a_b:main\nother=a_b.cli:run [x]\n\n[gui_scripts]\nwindow = a_b:gui\n";
const FILE: &str = "a_b-1.0-py3-none-any.whl";

fn wheel(members: &[(&str, &str)]) -> Vec<u8> {
    zip_of(members)
}

fn usual() -> Vec<u8> {
    wheel(&[
        ("a_b/__init__.py", ""),
        ("a_b-1.0.dist-info/METADATA", METADATA),
        ("a_b-1.0.dist-info/entry_points.txt", POINTS),
        ("a_b-1.0.data/scripts/old-script", "#!python"),
        ("a_b-1.0.dist-info/WHEEL", "Wheel-Version: 1.0"),
    ])
}

fn read(file: &str, bytes: &[u8]) -> Result<WheelFile, SourceError> {
    WheelFile::read(&Path::new("/srv").join(file), bytes)
}

fn code(file: &str, bytes: &[u8]) -> Code {
    Failure::from(read(file, bytes).unwrap_err()).code()
}

fn carried() -> [CarriedPython; 2] {
    ["3.11.2", "3.13.5"].map(|version| CarriedPython::new(version).unwrap())
}

#[test]
fn a_wheel_is_the_release_its_name_and_metadata_tell() {
    let bytes = usual();
    let wheel = read(FILE, &bytes).unwrap();
    let release = wheel.release();
    assert_eq!(release.package().exact(), "a-b==1.0");
    assert!(release.package().is(&bytes));
    assert_eq!(release.path(), Some(Path::new("/srv/a_b-1.0-py3-none-any.whl")));
    assert_eq!(release.scripts().unwrap(), ["a-b", "old-script", "other"]);
    assert_eq!(release.facts().description, Some(Shown::new("does things")));
    assert_eq!(wheel.file(), FILE);
    let names: Vec<_> = wheel.depends_on().iter().map(PypiName::as_str).collect();
    assert_eq!(names, ["anyio", "mcp"]);
    assert_eq!(wheel.python(&carried(), None), Ok(PythonMinor::of_3(13)));
    assert_eq!(wheel.python(&carried(), Some(PythonMinor::of_3(11))), Ok(PythonMinor::of_3(11)));
    assert!(matches!(
        wheel.python(&carried(), Some(PythonMinor::of_3(12))),
        Err(SourceError::PythonMissing { .. })
    ));
}

#[test]
fn refuses_a_wheel_that_no_python_here_can_install() {
    let bytes = usual();
    for file in [
        "a_b-1.0-cp313-cp313-win_amd64.whl",
        "a_b-1.0-cp312-cp312-manylinux_2_17_x86_64.whl",
        "a_b-1.0-py2-none-any.whl",
    ] {
        let refused = read(file, &bytes).unwrap().python(&carried(), None).unwrap_err();
        let SourceError::NotInstallable { why, .. } = &refused else { panic!("{file}: {refused}") };
        assert!(matches!(why, PassedOver::OtherSystems(_)), "{file}: {why}");
        assert!(Failure::from(refused).why().to_string().contains(&file[8..file.len() - 4]));
    }
    let needs = METADATA.replace(">=3.10", ">=3.14");
    let refused =
        read(FILE, &wheel(&[("a_b-1.0.dist-info/METADATA", &needs)])).unwrap().python(&carried(), None);
    let Err(SourceError::NotInstallable { why, .. }) = refused else { panic!() };
    assert_eq!(why, PassedOver::OtherPython(Shown::new(">=3.14")));
}

#[test]
fn refuses_a_wheel_whose_parts_disagree() {
    let good = usual();
    for file in ["a_c-1.0-py3-none-any.whl", "a_b-1.1-py3-none-any.whl", "a_b.whl", "x.zip"] {
        assert_eq!(code(file, &good), Code::NotFound, "{file}");
    }
    for (what, members) in [
        ("no metadata", vec![("a_b-1.0.dist-info/WHEEL", "")]),
        ("no dist-info", vec![("a_b/__init__.py", "")]),
        ("another's dist-info", vec![("c-1.0.dist-info/METADATA", METADATA)]),
        (
            "two dist-infos",
            vec![("a_b-1.0.dist-info/METADATA", METADATA), ("A_B-1.0.dist-info/METADATA", METADATA)],
        ),
        (
            "another case",
            vec![("a_b-1.0.dist-info/METADATA", METADATA), ("c-1.0.Dist-Info/METADATA", METADATA)],
        ),
        ("another name inside", vec![("a_b-1.0.dist-info/METADATA", "Name: c\nVersion: 1.0\n")]),
        ("another version inside", vec![("a_b-1.0.dist-info/METADATA", "Name: a-b\nVersion: 1.1\n")]),
        ("two names inside", vec![("a_b-1.0.dist-info/METADATA", "Name: a-b\nName: c\nVersion: 1.0\n")]),
        ("no name inside", vec![("a_b-1.0.dist-info/METADATA", "Version: 1.0\n")]),
        ("no headers", vec![("a_b-1.0.dist-info/METADATA", "nonsense")]),
        (
            "a dependency from elsewhere",
            vec![(
                "a_b-1.0.dist-info/METADATA",
                "Name: a-b\nVersion: 1.0\nRequires-Dist: c @ https://x.example/c.whl\n",
            )],
        ),
    ] {
        assert_eq!(code(FILE, &wheel(&members)), Code::NotFound, "{what}");
    }
}

#[test]
fn refuses_a_program_whose_name_means_something_elsewhere() {
    for name in ["../x", "a/b", "a b", "-x", "a;b", "é", ".x", ""] {
        let points = format!("[console_scripts]\n{name} = a:b\n");
        let bytes = wheel(&[
            ("a_b-1.0.dist-info/METADATA", METADATA),
            ("a_b-1.0.dist-info/entry_points.txt", &points),
        ]);
        assert_eq!(code(FILE, &bytes), Code::LaunchRefused, "{name:?}");
    }
}

#[test]
fn refuses_bytes_that_are_no_wheel() {
    let good = usual();
    for bad in [&b""[..], b"nonsense", &good[..good.len() / 2], &[b"x", good.as_slice()].concat()] {
        assert_eq!(code(FILE, bad), Code::NotFound);
    }
}
