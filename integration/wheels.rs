//! Is a Python package of this disk mounted as its wheel is, and are launch lines what they say?
//!
//! A wheel made here, with nothing to depend on: a server in the standard library alone. Looked at on the card, mounted,
//! called and taken away again; and wheels and lines that are refused before anything is made.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use base64::Engine as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::engine;
use crate::index;
use crate::pinfold::Home;
use crate::session::Session;
use crate::tests;

tests![
    a_wheel_is_shown_mounted_called_and_taken_away,
    a_wheel_that_readers_read_differently_is_refused_and_nothing_is_made,
    a_wheel_with_a_package_added_to_it_is_resolved_from_where_the_index_keeps_that,
    a_program_that_cannot_be_executed_is_the_packages_fault,
    a_python_project_is_answered_with_how_to_build_it,
    a_launch_line_shows_what_its_package_by_itself_shows,
    a_launch_line_that_moves_the_source_is_refused_by_the_flag,
];

/// A server of the handshake era in the standard library alone.
const SERVER: &str = r#"
import json, sys

def main():
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        results = {
            "initialize": lambda: {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "wheel", "version": "1"}},
            "tools/list": lambda: {"tools": [{"name": "python", "description": "Tells its Python and arguments",
                                              "inputSchema": {"type": "object"}}]},
            "tools/call": lambda: {"content": [{"type": "text", "text": json.dumps(
                [list(sys.version_info[:2]), sys.argv[1:]])}]},
        }
        answer = results.get(asked["method"])
        rest = {"result": answer()} if answer else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **rest}), flush=True)
"#;

/// A wheel on this disk.
struct Wheel {
    directory: TempDir,
}

impl Wheel {
    fn new() -> Self {
        let wheel = Self { directory: tempfile::Builder::new().prefix("pinfold-wheel-").tempdir().unwrap() };
        // of a version no other has, so that tests of other runs share no image with it
        let version = format!("1.0.{}", std::process::id());
        let info = format!("wheel_server-{version}.dist-info");
        let mut members = vec![
            ("wheel_server.py".to_owned(), SERVER.to_owned()),
            (
                format!("{info}/METADATA"),
                format!(
                    "Metadata-Version: 2.1\nName: wheel-server\nVersion: {version}\nSummary: Made by a test\nRequires-Python: >=3.10\n"
                ),
            ),
            (
                format!("{info}/WHEEL"),
                "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
            ),
            (
                format!("{info}/entry_points.txt"),
                "[console_scripts]\nwheel-server = wheel_server:main\n".to_owned(),
            ),
        ];
        let mut record = String::new();
        for (path, text) in &members {
            // Source: PEP 376 and PEP 427: URL-safe base64 without its padding
            let hash = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(text));
            record.push_str(&format!("{path},sha256={hash},{}\n", text.len()));
        }
        record.push_str(&format!("{info}/RECORD,,\n"));
        members.push((format!("{info}/RECORD"), record));
        let mut zip = ZipWriter::new(fs::File::create(wheel.path()).unwrap());
        for (path, text) in &members {
            zip.start_file(path, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        wheel
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(format!("wheel_server-1.0.{}-py3-none-any.whl", std::process::id()))
    }

    fn spec(&self) -> String {
        format!("path:{}", self.path().display())
    }
}

fn a_wheel_is_shown_mounted_called_and_taken_away() {
    let (home, wheel) = (Home::new(), Wheel::new());
    let words = ["--python", "3.11", "--", "--greeting", "a b"];
    let shown = home.run([&["--json", "show", &wheel.spec()][..], &words].concat()).ended(0).json();
    let plan = &shown["plan"];
    assert_eq!(plan["package"], "wheel-server");
    assert!(plan["runtime"]["version"].as_str().unwrap().starts_with("3.11."), "{shown}");
    let digest = shown["digest"].as_str().unwrap();
    home.run([&["mount", &wheel.spec(), "--consent", digest][..], &words].concat()).ended(0);

    // what was mounted is what runs, whatever becomes of the file
    fs::write(wheel.path(), "nonsense").unwrap();
    let (mut session, _) = Session::handshake(home.command(["run", "wheel"]), json!({}));
    let told: serde_json::Value = serde_json::from_str(&session.text("python", json!({}))).unwrap();
    assert_eq!(told, json!([[3, 11], ["--greeting", "a b"]]));
    session.finish();

    let installed = home.installed();
    assert_eq!(installed.len(), 1, "{installed:?}");
    assert!(!engine::sealed(&installed[0]).is_empty());
    home.run(["unmount", "wheel"]).ended(0);
    assert!(engine::sealed(&installed[0]).is_empty());
}

fn a_wheel_that_readers_read_differently_is_refused_and_nothing_is_made() {
    let (home, wheel) = (Home::new(), Wheel::new());
    let good = fs::read(wheel.path()).unwrap();
    for (what, bytes) in [
        ("something before", [b"#!/bin/sh\n".as_slice(), &good].concat()),
        ("something after", [&good, b"x".as_slice()].concat()),
        ("another archive after", [good.as_slice(), &good].concat()),
        ("half of it", good[..good.len() / 2].to_vec()),
    ] {
        fs::write(wheel.path(), bytes).unwrap();
        let ran = home.run(["--json", "show", &wheel.spec()]).failed(15, "not-found");
        assert!(ran.error()["why"].as_str().unwrap().contains("zip archive"), "{what}: {ran}");
    }
    let renamed = wheel.directory.path().join("other-1.0-py3-none-any.whl");
    fs::write(&renamed, &good).unwrap();
    home.run(["--json", "show", &format!("path:{}", renamed.display())]).failed(15, "not-found");
    let elsewhere = wheel
        .directory
        .path()
        .join(format!("wheel_server-1.0.{}-cp311-cp311-win_amd64.whl", std::process::id()));
    fs::write(&elsewhere, &good).unwrap();
    let ran =
        home.run(["--json", "show", &format!("path:{}", elsewhere.display())]).failed(15, "cannot-resolve");
    assert!(ran.error()["why"].as_str().unwrap().contains("win_amd64"), "{ran}");
    nothing_of(&home);
}

fn a_wheel_with_a_package_added_to_it_is_resolved_from_where_the_index_keeps_that() {
    let (home, wheel) = (Home::new(), Wheel::new());
    let shown = home.run(["--json", "show", &wheel.spec(), "--with", "six"]).ended(0).json();
    assert!(shown.to_string().contains("six"), "{shown}");
}

fn a_program_that_cannot_be_executed_is_the_packages_fault() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let mount = |wheel: &index::Wheel| {
        let path = folder.path().join(wheel.file_name());
        fs::write(&path, wheel.bytes()).unwrap();
        let spec = format!("path:{}", path.display());
        let shown = home.run(["--json", "show", &spec]).ended(0).json();
        home.run(["--json", "mount", &spec, "--consent", shown["digest"].as_str().unwrap()])
    };
    let with = |name: &str, place: &str, first: &str| {
        let wheel = index::Wheel::new(name);
        let own = wheel.file_name().split('-').next().unwrap().to_owned();
        wheel.file(&format!("{own}-1.0.data/{place}/{own}"), format!("{first}\n{SERVER}\nmain()\n"))
    };
    // a script is executable once it is installed, whatever mode it has in the archive
    mount(&with("script", "scripts", "#!python")).ended(0);
    // a file that takes a console script's place is as it was packed
    let data = with("data", "data/bin", "#!python");
    let own = data.file_name().split('-').next().unwrap().to_owned();
    let ran = mount(&data.script(&own, "x:main")).failed(11, "launch-refused");
    assert!(ran.error()["message"].as_str().unwrap().contains(&format!("`{own}`")), "{ran}");
    let ran = mount(&with("lost", "scripts", "#!/nowhere/python")).failed(16, "server-failed");
    assert!(ran.error()["why"].as_str().unwrap().contains("bin/lost"), "{ran}");
}

fn a_python_project_is_answered_with_how_to_build_it() {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    fs::write(project.path().join("pyproject.toml"), "[project]\nname = \"x\"\n").unwrap();
    let ran =
        home.run(["--json", "show", &format!("path:{}", project.path().display())]).failed(15, "not-found");
    assert!(ran.error()["hint"].as_str().unwrap().contains("uv build --wheel"), "{ran}");
}

fn a_launch_line_shows_what_its_package_by_itself_shows() {
    let home = Home::new();
    let digest = |words: &[&str]| {
        let shown = home.run([&["--json", "show"][..], words].concat()).ended(0).json();
        shown["digest"].as_str().unwrap().to_owned()
    };
    let line = "uvx --python 3.11 --from mcp-server-time mcp-server-time --local-timezone=UTC";
    let itself = [
        "pypi:mcp-server-time",
        "--python",
        "3.11",
        "--bin",
        "mcp-server-time",
        "--",
        "--local-timezone=UTC",
    ];
    assert_eq!(digest(&[line]), digest(&itself));
}

fn a_launch_line_that_moves_the_source_is_refused_by_the_flag() {
    let home = Home::new();
    for (line, named) in [
        ("uvx --index-url https://index.example/simple mcp-server-time", "--index-url"),
        ("npx --registry=https://registry.example -y a", "--registry"),
        ("npx -c id", "-c"),
        ("uv run --directory /srv/x server.py", "--directory"),
        ("node --require ./x.js server.js", "--require"),
        ("npx -y a --unknown && id", "&&"),
        ("uvx $PACKAGE", "$PACKAGE"),
        ("npx -y github:a/b", "github:a/b"),
        ("bash -c 'npx a'", "bash"),
    ] {
        for command in ["show", "mount"] {
            let ran = home.run(["--json", command, line]).failed(11, "launch-refused");
            let error = ran.error();
            let told = format!("{} {}", error["message"], error["why"]);
            assert!(told.contains(named), "{line}: {ran}");
        }
    }
    let ran = home.run(["--json", "show", "docker run -i --rm -e KEY=secret mcp/server"]).failed(2, "usage");
    assert!(ran.error()["message"].as_str().unwrap().contains("mcp/server"), "{ran}");
    assert!(!ran.stderr.contains("secret"), "{ran}");
    nothing_of(&home);
}

/// No container of this home's, and nothing installed.
#[track_caller]
fn nothing_of(home: &Home) {
    if let Some(state) = home.state() {
        let left = engine::containers(&state);
        assert!(left.is_empty(), "{left:?}");
    }
    assert!(home.installed().is_empty());
}
