use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::tests::{consent_to, other_plan, pin, pin_of};
use super::*;
use crate::failure::{Code, Failure};
use crate::plan::tests::{draft, lock_of, released};
use crate::plan::{Draft, Origin, Plan};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&Home::at(dir.path()).unwrap()).unwrap();
    (dir, store)
}

fn name() -> LocalName {
    pin().name().clone()
}

/// A pin of the same name from the given package and archive.
fn pin_from(package: &str, archive: &[u8]) -> Pin {
    let release = released(package, archive, Origin::Registry);
    let lock = lock_of(&release);
    let plan = Plan::draw(Draft { release, ..draft(&lock) }).unwrap();
    let consent = consent_to(&plan);
    Pin::consented(plan, lock, consent).unwrap()
}

/// The same server with another tree.
fn newer() -> Pin {
    pin_from("@acme/spotify-mcp", b"newer")
}

fn corrupt<T: std::fmt::Debug>(result: Result<T, PinError>) {
    let error = result.unwrap_err();
    assert_eq!(Failure::from(error).code(), Code::StateCorrupt);
}

fn not_safe<T: std::fmt::Debug>(result: Result<T, PinError>) {
    let error = result.unwrap_err();
    assert_eq!(Failure::from(error).code(), Code::StateUnsafe);
}

#[test]
fn a_saved_pin_loads_the_same_and_a_removed_one_is_gone() {
    let (_dir, store) = store();
    assert!(store.names().unwrap().is_empty());
    store.save(&pin()).unwrap();
    assert_eq!(store.load(&name()).unwrap(), pin());
    assert_eq!(store.names().unwrap(), [name()]);
    assert_eq!(store.holders().unwrap()[&name()], "npm:@acme/spotify-mcp");
    store.remove(&name()).unwrap();
    assert!(store.all().unwrap().is_empty());
    assert!(matches!(store.remove(&name()), Err(PinError::NotMounted { .. })));
    assert!(fs::read_dir(store.dir()).unwrap().next().is_none());
}

#[test]
fn a_store_holds_two_private_files_a_server_and_nothing_else() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    store.save(&newer()).unwrap();
    let mut files: Vec<_> = fs::read_dir(store.dir()).unwrap().map(|e| e.unwrap()).collect();
    files.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = files.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(names, ["spotify.json", "spotify.lock"]);
    assert!(files.iter().all(|file| file.metadata().unwrap().mode() & 0o777 == 0o600));
}

#[test]
fn a_lock_is_verified_by_any_tool_that_knows_sha256() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    let bytes = fs::read(store.file(&name(), "lock")).unwrap();
    assert_eq!(Digest::of(&bytes), pin().plan().lock_digest());
}

#[test]
fn refuses_the_name_of_another_source_and_accepts_a_new_plan_of_the_same() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    let error = store.save(&pin_from("@evil/spotify-mcp", b"x")).unwrap_err();
    assert!(matches!(error, PinError::Taken { .. }));
    store.save(&pin_of(other_plan())).unwrap();
    store.save(&newer()).unwrap();
    assert_eq!(store.load(&name()).unwrap(), newer());
}

#[test]
fn a_surface_is_kept_for_the_plan_it_was_seen_of_and_refused_for_another() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    let mut surface = Surface::new();
    surface.add("tool/x", Digest::of(b"x"));
    let saved = store.save_surface(&name(), pin().plan().digest(), surface.clone()).unwrap();
    assert_eq!(store.load(&name()).unwrap(), saved);
    assert_eq!(saved.surface(), Some(&surface));
    assert_eq!(store.save_first_surface(&name(), pin().plan().digest(), Surface::new()).unwrap(), None);
    assert_eq!(store.load(&name()).unwrap().surface(), Some(&surface), "a surface that is there stays");
    let moved = store.save_surface(&name(), other_plan().digest(), surface);
    assert!(matches!(moved, Err(PinError::Moved { .. })));
}

#[test]
fn whatever_step_a_write_is_cut_at_a_whole_pin_is_read() {
    let (old, new) = (pin(), newer());
    // The files as each step leaves them: the old pin before the moment of the change, the new one after.
    for (steps, expected) in [(0, &old), (1, &old), (2, &new), (3, &new)] {
        let (_dir, store) = store();
        store.save(&old).unwrap();
        let file = |ext| store.file(&name(), ext);
        if steps >= 1 {
            write_private(&file("lock.new"), new.lock().bytes()).unwrap();
        }
        if steps >= 2 {
            write_private(&file("json"), &written(&new, &store.key).unwrap()).unwrap();
        }
        if steps >= 3 {
            fs::rename(file("lock.new"), file("lock")).unwrap();
        }
        fs::write(store.dir().join(".tmp-left"), b"half").unwrap();
        assert_eq!(&store.load(&name()).unwrap(), expected, "after step {steps}");
        assert_eq!(store.names().unwrap(), [name()]);

        // And the next write, also one cut short itself, starts from there.
        store.settle(&name()).unwrap();
        write_private(&file("lock.new"), pin().lock().bytes()).unwrap();
        assert_eq!(&store.load(&name()).unwrap(), expected, "after step {steps} and one more");
        store.save(&pin_of(other_plan())).unwrap();
        assert_eq!(store.load(&name()).unwrap(), pin_of(other_plan()));
        assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 2, "after step {steps}");
    }
}

#[test]
fn a_first_write_that_is_cut_short_leaves_no_pin() {
    let (_dir, store) = store();
    write_private(&store.file(&name(), "lock.new"), pin().lock().bytes()).unwrap();
    assert!(store.names().unwrap().is_empty());
    assert!(matches!(store.load(&name()), Err(PinError::NotMounted { .. })));
    store.save(&pin()).unwrap();
    assert_eq!(store.load(&name()).unwrap(), pin());
}

#[test]
fn refuses_a_damaged_pin_and_never_reads_it_as_absent() {
    let whole = |store: &Store| fs::read(store.file(&name(), "json")).unwrap();
    for damage in [0, 1, 100] {
        let (_dir, store) = store();
        store.save(&pin()).unwrap();
        let bytes = whole(&store);
        write_private(&store.file(&name(), "json"), &bytes[..bytes.len() * damage / 101]).unwrap();
        corrupt(store.load(&name()));
        corrupt(store.all());
        corrupt(store.holders());
        corrupt(store.save(&pin()));
        store.remove(&name()).unwrap();
        store.save(&pin()).unwrap();
    }
}

#[test]
fn refuses_a_pin_without_its_lock_or_with_another() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    write_private(&store.file(&name(), "lock"), newer().lock().bytes()).unwrap();
    corrupt(store.load(&name()));
    fs::remove_file(store.file(&name(), "lock")).unwrap();
    corrupt(store.load(&name()));
}

#[test]
fn refuses_a_pin_under_another_name() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    let other: LocalName = "other".parse().unwrap();
    for ext in ["json", "lock"] {
        fs::rename(store.file(&name(), ext), store.file(&other, ext)).unwrap();
    }
    corrupt(store.load(&other));
}

#[test]
fn refuses_a_pin_whose_file_name_is_no_name_and_passes_over_what_is_no_pin() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    for other in ["README.md", ".git", ".tmp-x", "spotify.lock.new", "notes.lock"] {
        fs::write(store.dir().join(other), b"").unwrap();
    }
    assert_eq!(store.names().unwrap(), [name()]);
    fs::write(store.dir().join("Not A Name.json"), b"{}").unwrap();
    assert!(matches!(store.names(), Err(PinError::NotAPin { .. })));
    assert!(matches!(store.all(), Err(PinError::NotAPin { .. })), "a list with a gap");
    assert!(store.load(&name()).is_ok(), "one bad file does not stop the others");
    let (pins, unusable) = store.survey().unwrap();
    assert_eq!(pins.len(), 1);
    let [error] = &unusable[..] else { panic!("{unusable:?}") };
    assert!(error.to_string().contains("Not A Name.json"), "{error}");
}

#[test]
fn refuses_files_that_others_could_have_written() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    for ext in ["json", "lock"] {
        let file = store.file(&name(), ext);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        not_safe(store.load(&name()));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let aside = store.dir().join("aside");
        fs::rename(&file, &aside).unwrap();
        symlink(&aside, &file).unwrap();
        not_safe(store.load(&name()));
        fs::rename(&aside, &file).unwrap();
    }
    fs::set_permissions(store.dir(), fs::Permissions::from_mode(0o777)).unwrap();
    not_safe(store.names());
}

#[test]
fn refuses_a_store_that_vanished() {
    let (_dir, store) = store();
    fs::remove_dir(store.dir()).unwrap();
    corrupt(store.names());
}

#[test]
fn two_launchers_at_once_leave_one_whole_pin_and_readers_never_see_less() {
    let (dir, store) = store();
    store.save(&pin()).unwrap();
    std::thread::scope(|scope| {
        for which in [pin(), newer()] {
            let home = Home::at(dir.path()).unwrap();
            scope.spawn(move || {
                let store = Store::open(&home).unwrap();
                for _ in 0..20 {
                    store.save(&which).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let read = store.load(&name()).unwrap();
            assert!(read == pin() || read == newer());
        }
    });
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 2);
}

#[test]
fn two_sources_that_want_one_name_at_once_do_not_both_get_it() {
    let (dir, _store) = store();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["@a/spotify", "@b/spotify"]
            .map(|package| {
                let home = Home::at(dir.path()).unwrap();
                scope.spawn(move || Store::open(&home).unwrap().save(&pin_from(package, b"x")).is_ok())
            })
            .into_iter()
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|ok| **ok).count(), 1);
}

#[test]
fn a_slip_is_answered_with_the_name_that_was_meant() {
    let (_dir, store) = store();
    store.save(&pin()).unwrap();
    for (typed, near) in
        [("spotfy", true), ("spotify-mcp", true), ("spot", false), ("x", false), ("github", false)]
    {
        let typed: LocalName = typed.parse().unwrap();
        let Err(PinError::NotMounted { near: said, .. }) = store.load(&typed) else { panic!("{typed}") };
        assert_eq!(said.is_some(), near, "{typed}");
    }
}
