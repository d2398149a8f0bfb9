//! What if a disk of this machine runs full?
//!
//! The state directory's or the temporary directory's, at any step of a mount: the command says so, what is stored is
//! not damaged, nothing is half mounted, and with room the same command works.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use pinfold::cage::engine::label;
use pinfold::digest::{Digest, canonical};
use serde_json::{Value, json};

use crate::mounted;
use crate::package::Package;
use crate::pinfold::{Home, run};
use crate::second_engine::Tmpfs;
use crate::{engine, tests};

tests![
    a_state_directory_that_runs_full_at_any_step_of_a_mount_is_told_and_nothing_is_half_there,
    a_temporary_directory_that_is_full_is_told_and_the_next_try_works,
];

/// Bytes of a page, in which a file system in memory counts.
const PAGE: u64 = 4_096;
/// More pages than a mount writes, by far.
const PAGES: u64 = 24;

/// Takes all room there is but for some pages.
fn fill(directory: &Path, but: u64) -> PathBuf {
    let path = directory.join("filler");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[0; 4_096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    drop(file);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length - but * PAGE).unwrap();
    path
}

/// The files of a folder, with the digest of what they hold.
fn contents(folder: &Path) -> BTreeMap<PathBuf, String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| (entry.path(), Digest::of(&fs::read(entry.path()).unwrap()).to_string())).collect()
}

fn a_state_directory_that_runs_full_at_any_step_of_a_mount_is_told_and_nothing_is_half_there() {
    let place = tempfile::tempdir().unwrap();
    let disk = Tmpfs::mount(&place.path().join("disk"), 4 << 20);
    let home = Home::under(disk.path());
    let (first, second) = (Package::least("stays"), Package::least("comes"));
    let stays = mounted::mount(&home, &first.spec(), &[]);
    let spec = second.spec();
    let digest = home.run(["--json", "show", &spec]).ended(0).json()["digest"].as_str().unwrap().to_owned();
    let words = ["--json", "mount", &spec, "--consent", &digest];
    let before = contents(&home.file("state/pins"));
    let images = engine::sealed_of(&home.state().unwrap());

    let mut told = BTreeSet::new();
    let mounted_with = (0..PAGES).find(|pages| {
        let filler = fill(disk.path(), *pages);
        let ran = home.run(words);
        if ran.code == Some(0) {
            fs::remove_file(filler).unwrap();
            return true;
        }
        let error = ran.failed(1, "disk-full").error();
        told.insert(error["message"].as_str().unwrap().to_owned());
        let what = format!("with {pages} pages: {error}");
        // read while the disk is still full
        let servers = home.run(["--json", "list"]).ended(0).json()["servers"].as_array().unwrap().clone();
        let names: Vec<&Value> = servers.iter().map(|server| &server["name"]).collect();
        assert_eq!(names, [&json!(stays.name)], "{what}");
        assert_eq!(engine::sealed_of(&home.state().unwrap()), images, "{what}");
        assert_eq!(engine::containers(&home.state().unwrap()).len(), 0, "{what}");
        assert_eq!(contents(&home.file("state/pins")), before, "{what}");
        fs::remove_file(filler).unwrap();
        assert_eq!(home.run(["call", &stays.name, "hello"]).ended(0).stdout.trim(), "hello", "{what}");
        false
    });
    assert!(mounted_with.is_some_and(|pages| pages > 0), "{mounted_with:?}");
    assert!(told.len() > 1, "it never ran full at different steps: {told:?}");
    assert_eq!(home.run(["call", "comes", "hello"]).ended(0).stdout.trim(), "hello");
    // a disk that is full keeps nobody from making room
    let filler = fill(disk.path(), 0);
    home.run(["unmount", "comes"]).ended(0);
    fs::remove_file(filler).unwrap();
    home.run(["unmount", &stays.name]).ended(0);
    engine::nothing_of(&home, "unmounted");
}

fn a_temporary_directory_that_is_full_is_told_and_the_next_try_works() {
    let place = tempfile::tempdir().unwrap();
    let disk = Tmpfs::mount(&place.path().join("disk"), 1 << 20);
    fill(disk.path(), 0);
    let home = Home::with_a_key_of_its_own();
    // a runtime image of an older Pinfold: it gets this one's init as a layer, which is put together in a file
    let older = older_runtime(&home);
    let package = Package::least("temporary");
    let spec = package.tarball();
    let mut command = home.command(["--json", "show", &spec]);
    command.env("TMPDIR", disk.path());
    let ran = run(command).failed(1, "disk-full");
    assert!(ran.error()["hint"].as_str().unwrap().contains("TMPDIR"), "{ran}");
    let left: Vec<_> = fs::read_dir(disk.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["filler"], "temporary files are left");
    engine::nothing_of(&home, "full");
    home.run(["--json", "show", &spec]).ended(0);
    let made = engine::runtimes_of(&home.state().unwrap());
    assert_eq!(made.len(), 1, "the runtime image with this build's init: {made:?}");
    // the older one, which has no name, goes with what was built on it
    engine::remove_image(&made[0]);
    assert_eq!(engine::inspect_image_if_there(&older), None);
}

/// A runtime image as this home would have made it, but for its init, which is the one of another build.
fn older_runtime(home: &Home) -> String {
    let labels = engine::inspect_image(&crate::pinfold::runtime_image())["Config"]["Labels"].clone();
    let mut labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
    labels.retain(|name, _| {
        [label::MARK, label::RUNTIME, label::VERSION, label::RECIPE, label::REGISTRY].contains(&name.as_str())
    });
    labels.insert(label::INIT.to_owned(), format!("sha256:{}", "0".repeat(64)));
    let key = pinfold::state::Home::at(home.path()).unwrap().seal_key().unwrap();
    let stamp = key.seal("image", &canonical(&labels).unwrap()).to_string();
    labels.insert(label::STAMP.to_owned(), stamp);
    let labels: Vec<(&str, &str)> =
        labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    engine::forge(&labels)
}
