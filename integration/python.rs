//! Is a Python server installed from the very wheels that were shown, and from nothing else?
//!
//! With an index on this machine that counts and fails as it is told, and wheels that are not what they say.

use serde_json::Value;

use crate::index::{Index, Mood, Wheel};
use crate::pinfold::{Home, Ran};
use crate::{engine, mounted, tests};

tests![
    no_wheel_is_downloaded_before_a_consent,
    a_server_is_mounted_with_its_dependencies_and_answers,
    programs_that_cannot_be_read_are_said_to_be_unknown,
    a_wheel_of_this_disk_is_mounted_and_not_looked_up,
    nothing_of_a_package_runs_while_it_is_installed,
    source_archives_are_neither_downloaded_nor_built,
    other_bytes_than_were_shown_are_refused_and_the_next_try_works,
    half_a_download_is_told_and_the_next_try_works,
    an_index_that_is_down_is_told_and_the_next_try_works,
    a_tree_that_does_not_fit_is_told,
    a_file_that_no_record_tells_of_is_refused,
    a_file_that_is_not_as_its_record_says_is_refused,
    a_package_cannot_replace_the_interpreter_or_its_settings,
    a_program_that_is_not_there_is_told_with_those_that_are,
];

/// The digest of the plan of a package.
fn shown(home: &Home, spec: &str) -> String {
    home.run(["--json", "show", spec]).ended(0).json()["digest"].as_str().unwrap().to_owned()
}

fn mount(home: &Home, spec: &str, digest: &str) -> Ran {
    home.run(["--json", "mount", spec, "--consent", digest])
}

/// Holds a failed mount to having left nothing.
#[track_caller]
fn left_nothing(home: &Home) {
    assert!(home.installed().is_empty(), "an install is in the audit log");
    left_nothing_more(home);
}

/// Holds it to having no server mounted and no cage.
#[track_caller]
fn left_nothing_more(home: &Home) {
    let listed = home.run(["--json", "list"]).ended(0).json();
    assert_eq!(listed["servers"], Value::Array(Vec::new()), "a server is half mounted");
    let state = home.state().unwrap();
    assert!(engine::containers(&state).is_empty(), "a cage is left");
}

fn call(home: &Home, server: &str) -> String {
    home.run(["call", server, "hello", "{}"]).ended(0).stdout
}

fn no_wheel_is_downloaded_before_a_consent() {
    let index = Index::new();
    let home = index.home();
    let inner = Wheel::new("inner").file("inner.py", "");
    let server = Wheel::least("metadata").requires(&format!("{}>=1", inner.name));
    index.publish(&inner);
    index.publish(&server);
    let shown = home.run(["--json", "show", &format!("pypi:{}", server.name)]).ended(0).json();
    assert_eq!(index.downloads(), Vec::<String>::new());
    // the program is known all the same: it was read out of the middle of the wheel
    let argv = &shown["plan"]["argv"];
    assert_eq!(argv[0], format!("/opt/server/bin/{}", server.name).as_str(), "{argv}");
    for wheel in [&inner, &server] {
        assert!(index.pages().contains(&wheel.name), "{} was not asked for", wheel.name);
    }
}

fn a_server_is_mounted_with_its_dependencies_and_answers() {
    let index = Index::new();
    let home = index.home();
    let inner = Wheel::new("deep").file("deep.py", "");
    let server = Wheel::least("whole").requires(&format!("{}>=1", inner.name));
    index.publish(&inner);
    index.publish(&server);
    let mounted = mounted::mount(&home, &format!("pypi:{}", server.name), &[]);
    let mut downloads = index.downloads();
    downloads.sort();
    let mut expected = [inner.file_name(), server.file_name()];
    expected.sort();
    assert_eq!(downloads, expected);
    assert!(call(&home, &mounted.name).contains("python 3."));
    home.run(["unmount", &mounted.name]).ended(0);
}

fn programs_that_cannot_be_read_are_said_to_be_unknown() {
    let index = Index::new();
    let home = index.home();
    let server = Wheel::least("rangeless");
    index.publish(&server);
    index.mood(Mood::NoRanges);
    let spec = format!("pypi:{}", server.name);
    let shown = home.run(["--json", "show", &spec]).ended(0).json();
    let notes = shown["notes"].to_string();
    assert!(notes.contains("not known before it is installed"), "{notes}");
    // it was guessed rightly here; where it is not, nothing is mounted
    let digest = shown["digest"].as_str().unwrap();
    mount(&home, &spec, digest).ended(0);
    home.run(["unmount", &server.name]).ended(0);
    let wrong = ["--json", "show", &spec, "--bin", "nothing"];
    let digest = home.run(wrong).ended(0).json()["digest"].as_str().unwrap().to_owned();
    let ran = home.run(["--json", "mount", &spec, "--bin", "nothing", "--consent", &digest]);
    let ran = ran.failed(11, "launch-refused");
    assert!(ran.error()["why"].as_str().unwrap().contains(&server.name), "{ran}");
    left_nothing_more(&home);
}

fn a_wheel_of_this_disk_is_mounted_and_not_looked_up() {
    let index = Index::new();
    let home = index.home();
    let inner = Wheel::new("near").file("near.py", "");
    let server = Wheel::least("private").requires(&format!("{}>=1", inner.name));
    index.publish(&inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(server.file_name());
    std::fs::write(&file, server.bytes()).unwrap();
    let mounted = mounted::mount(&home, &format!("path:{}", file.display()), &[]);
    assert!(!index.pages().contains(&server.name), "a private name was told to the index");
    assert_eq!(index.downloads(), [inner.file_name()]);
    assert!(call(&home, &mounted.name).contains("python 3."));
    home.run(["unmount", &mounted.name]).ended(0);
}

fn nothing_of_a_package_runs_while_it_is_installed() {
    let index = Index::new();
    let home = index.home();
    // each of these would be run by an interpreter that reads the environment's own start files
    let leaves = "import os; [open(p, 'w').close() for p in ('/opt/server/ran', '/tmp/ran') if os.access(os.path.dirname(p), os.W_OK)]";
    let server = Wheel::least("starts").file("starts.pth", format!("{leaves}\n")).file(
        "sitecustomize.py",
        "open('/opt/server/ran', 'w').close() if __import__('os').access('/opt/server', 2) else None\n",
    );
    index.publish(&server);
    // had one of them run in the install cage, there were a file that no RECORD tells of
    let mounted = mounted::mount(&home, &format!("pypi:{}", server.name), &[]);
    home.run(["unmount", &mounted.name]).ended(0);
}

fn source_archives_are_neither_downloaded_nor_built() {
    let index = Index::new();
    let home = index.home();
    let inner = format!("sourceonly{}", std::process::id());
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let setup = b"raise SystemExit('built')\n";
    let mut header = tar::Header::new_ustar();
    header.set_size(setup.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, format!("{inner}-1.0/setup.py"), &setup[..]).unwrap();
    index.put(&inner, &format!("{inner}-1.0.tar.gz"), tar.into_inner().unwrap().finish().unwrap());
    let server = Wheel::least("needssource").requires(&inner);
    index.publish(&server);
    let ran = home.run(["--json", "show", &format!("pypi:{}", server.name)]).failed(15, "cannot-resolve");
    assert!(ran.error()["message"].as_str().unwrap().starts_with(&inner), "{ran}");
    assert_eq!(index.downloads(), Vec::<String>::new());
}

fn other_bytes_than_were_shown_are_refused_and_the_next_try_works() {
    let index = Index::new();
    let home = index.home();
    let server = Wheel::least("swapped");
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);
    let digest = shown(&home, &spec);
    let other = Wheel::least("swapped").file("more.py", "");
    index.put(&server.name, &server.file_name(), other.bytes());
    let ran = mount(&home, &spec, &digest).failed(13, "hash-mismatch");
    assert!(ran.error()["message"].as_str().unwrap().contains(&server.name), "{ran}");
    left_nothing(&home);
    index.publish(&server);
    mount(&home, &spec, &digest).ended(0);
    home.run(["unmount", &server.name]).ended(0);
}

fn half_a_download_is_told_and_the_next_try_works() {
    fails_and_works_again("halved", Mood::Half);
}

fn an_index_that_is_down_is_told_and_the_next_try_works() {
    fails_and_works_again("closed", Mood::Down);
}

fn fails_and_works_again(name: &str, mood: Mood) {
    let index = Index::new();
    let home = index.home();
    let server = Wheel::least(name);
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);
    let digest = shown(&home, &spec);
    index.mood(mood);
    mount(&home, &spec, &digest).failed(15, "registry-failed");
    left_nothing(&home);
    index.mood(Mood::Well);
    mount(&home, &spec, &digest).ended(0);
    home.run(["unmount", &server.name]).ended(0);
}

fn a_tree_that_does_not_fit_is_told() {
    let index = Index::new();
    let home = index.home();
    let server = Wheel::least("large");
    // 1.2 GiB of nothing: a small archive that unpacks to more than the cage has room for
    index.put(&server.name, &server.file_name(), server.large(1_200));
    let spec = format!("pypi:{}", server.name);
    let digest = shown(&home, &spec);
    let ran = mount(&home, &spec, &digest).failed(16, "install-failed");
    assert!(ran.error()["hint"].as_str().unwrap().contains("make room"), "{ran}");
    left_nothing(&home);
}

fn a_file_that_no_record_tells_of_is_refused() {
    refused_files("unsigned", |wheel| wheel.unrecorded("unsigned.py", "x = 1\n"), "unsigned.py");
}

fn a_file_that_is_not_as_its_record_says_is_refused() {
    refused_files("otherwise", Wheel::otherwise, ".py");
}

fn a_package_cannot_replace_the_interpreter_or_its_settings() {
    let data = |wheel: Wheel, path: &str| {
        let path = format!("{}-{}.data/data/{path}", wheel.name, wheel.version);
        wheel.file(&path, "home = /tmp\n")
    };
    refused_files("settings", |wheel| data(wheel, "pyvenv.cfg"), "pyvenv.cfg");
    refused_files("interpreter", |wheel| data(wheel, "lib64"), "lib64");
}

/// A wheel whose files are refused when they have been laid down, with the file named.
fn refused_files(name: &str, change: impl FnOnce(Wheel) -> Wheel, told: &str) {
    let index = Index::new();
    let home = index.home();
    let server = change(Wheel::least(name));
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);
    let digest = shown(&home, &spec);
    // without --json, the files are listed below the error
    let ran = home.run(["mount", &spec, "--consent", &digest]).ended(13);
    assert!(ran.stderr.contains("hash-mismatch") && ran.stderr.contains(told), "{ran}");
    left_nothing(&home);
}

fn a_program_that_is_not_there_is_told_with_those_that_are() {
    let index = Index::new();
    let home = index.home();
    let server = Wheel::least("programs").script("another", "os:getcwd");
    index.publish(&server);
    let spec = format!("pypi:{}", server.name);
    let ran = home.run(["--json", "show", &spec, "--bin", "nothing"]).failed(11, "launch-refused");
    let why = ran.error()["why"].to_string();
    assert!(why.contains("another") && why.contains(&server.name), "{ran}");
}
