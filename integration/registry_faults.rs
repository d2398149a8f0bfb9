//! What if the registry fails, at any point of the way?
//!
//! Down, reset, half an answer, silence, an error status, other bytes: at the look-up, while dependencies are resolved,
//! and while archives are fetched after the consent. Each time the registry is named, nothing is half there, and the
//! same command works once the registry does.

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::index::{self, Index, Mood, Wheel};
use crate::patience::seconds;
use crate::pinfold::{Home, Ran, run};
use crate::registry::{self, Fault, Registry, own, program};
use crate::{engine, tests};

tests![
    a_registry_that_fails_at_the_look_up_is_named_and_the_next_try_works,
    a_registry_that_fails_while_resolving_is_named_and_the_next_try_works,
    a_registry_that_fails_while_installing_is_named_and_the_next_try_works,
    other_bytes_than_the_lock_names_are_not_installed,
    a_registry_that_falls_silent_is_waited_for_a_bounded_time,
    an_index_of_python_packages_that_fails_is_named_and_the_next_try_works,
    an_index_of_python_packages_that_falls_silent_is_waited_for_a_bounded_time,
];

/// How an answer can fail that is not to be believed.
const FAULTS: [Fault; 4] = [Fault::Reset, Fault::Half, Fault::Status(503), Fault::OtherBytes];

/// A server with one dependency, in a registry of its own, and a home that looks there.
struct Place {
    registry: Registry,
    home: Home,
    name: String,
    /// Where its launchers put temporary files.
    temporary: tempfile::TempDir,
}

impl Place {
    fn new(name: &str) -> Self {
        let registry = Registry::new();
        let name = own(name);
        registry.plain("inner");
        let manifest = json!({"bin": "server.js", "dependencies": {"inner": "1.0.0"}});
        registry.publish(&name, manifest, json!({}), &[("server.js", program())]);
        let home = registry.home();
        Self { registry, home, name, temporary: tempfile::tempdir().unwrap() }
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = self.home.command([&["--json"], words].concat());
        command.env("TMPDIR", self.temporary.path());
        run(command)
    }

    fn spec(&self) -> String {
        format!("npm:{}", self.name)
    }

    /// Where its archive is.
    fn archive(&self) -> String {
        format!("{0}/-/{0}-1.0.0.tgz", self.name)
    }

    /// The digest of its plan, shown.
    #[track_caller]
    fn shown(&self) -> String {
        self.run(&["show", &self.spec()]).ended(0).json()["digest"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn mount(&self, digest: &str) -> Ran {
        self.run(&["mount", &self.spec(), "--consent", digest])
    }

    /// No pin, no image, no container, no file that was only for the way.
    #[track_caller]
    fn nothing_left(&self, after: &str) {
        assert_eq!(self.run(&["list"]).ended(0).json()["servers"], json!([]), "{after}");
        engine::nothing_of(&self.home, after);
        for folder in ["state/pins", "state/local"] {
            let left = files(&self.home.file(folder));
            assert!(left.is_empty(), "{after}: in {folder}: {left:?}");
        }
        let left = files(self.temporary.path());
        assert!(left.is_empty(), "{after}: temporary files: {left:?}");
    }

    /// The error tells of the registry, by the address the user set.
    #[track_caller]
    fn names_the_registry(&self, ran: &Ran) {
        let error = ran.error();
        let told = format!("{} {}", error["message"], error["why"]);
        assert!(told.contains(&format!("localhost:{}", self.registry.port)), "{ran}");
    }

    /// It can be mounted, works, and goes again.
    #[track_caller]
    fn works(&self, digest: &str) {
        self.mount(digest).ended(0);
        let ran = self.run(&["call", &self.name, "hello"]).ended(0);
        assert_eq!(ran.json()["content"][0]["text"], "hello", "{ran}");
        self.run(&["unmount", &self.name]).ended(0);
        self.nothing_left("unmounted");
    }
}

fn files(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    entries.unwrap_or_default().into_iter().map(|entry| entry.file_name()).collect()
}

/// A port of this machine that nothing listens on.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn a_registry_that_fails_at_the_look_up_is_named_and_the_next_try_works() {
    let place = Place::new("look-up");
    for fault in FAULTS {
        place.registry.breaks(&place.name, fault);
        for word in ["show", "mount"] {
            let ran = place.run(&[word, &place.spec()]).failed(15, "registry-failed");
            place.names_the_registry(&ran);
        }
        place.nothing_left(&format!("{fault:?}"));
    }
    place.registry.mended();
    let port = closed_port();
    registry::set(&place.home, port);
    let ran = place.run(&["show", &place.spec()]).failed(15, "registry-failed");
    assert!(ran.error()["message"].as_str().unwrap().contains(&format!("localhost:{port}")), "{ran}");
    place.registry.of(&place.home);
    place.works(&place.shown());
}

fn a_registry_that_fails_while_resolving_is_named_and_the_next_try_works() {
    let place = Place::new("resolving");
    for fault in FAULTS {
        place.registry.breaks("inner", fault);
        let ran = place.run(&["mount", &place.spec()]).failed(15, "registry-failed");
        place.names_the_registry(&ran);
        place.nothing_left(&format!("{fault:?}"));
    }
    place.registry.mended();
    place.works(&place.shown());
}

fn a_registry_that_fails_while_installing_is_named_and_the_next_try_works() {
    let place = Place::new("installing");
    let digest = place.shown();
    for fault in [Fault::Reset, Fault::Half, Fault::Status(503)] {
        place.registry.breaks("inner/-/inner-1.0.0.tgz", fault);
        let ran = place.mount(&digest).failed(15, "registry-failed");
        place.names_the_registry(&ran);
        place.nothing_left(&format!("{fault:?}"));
    }
    place.registry.mended();
    let port = closed_port();
    registry::set(&place.home, port);
    let ran = place.mount(&digest).failed(15, "registry-failed");
    assert!(ran.error()["why"].as_str().unwrap().contains(&format!("localhost:{port}")), "{ran}");
    place.nothing_left("down");
    place.registry.of(&place.home);
    place.works(&digest);
}

fn other_bytes_than_the_lock_names_are_not_installed() {
    let place = Place::new("other-bytes");
    let digest = place.shown();
    for path in [place.archive(), "inner/-/inner-1.0.0.tgz".to_owned()] {
        place.registry.breaks(&path, Fault::OtherBytes);
        let ran = place.mount(&digest).failed(13, "hash-mismatch");
        place.names_the_registry(&ran);
        place.nothing_left(&path);
        place.registry.mended();
    }
    place.works(&digest);
}

/// Does all of this side by side; the first that fails is the failure.
fn at_once<const N: usize>(tasks: [impl FnOnce() + Send; N]) {
    thread::scope(|scope| {
        for task in tasks.map(|task| scope.spawn(task)) {
            task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// Longest a silent registry is waited for, however often it is asked.
const SILENCE: Duration = seconds(150);

fn a_registry_that_falls_silent_is_waited_for_a_bounded_time() {
    let places = ["silent-look-up", "silent-resolving", "silent-installing"].map(Place::new);
    let digest = places[2].shown();
    places[0].registry.breaks(&places[0].name, Fault::Stall);
    places[1].registry.breaks("inner", Fault::Stall);
    places[2].registry.breaks("inner/-/inner-1.0.0.tgz", Fault::Stall);
    at_once(places.each_ref().map(|place| {
        let digest = &digest;
        move || {
            let begun = Instant::now();
            let ran = match place.name.contains("installing") {
                true => place.mount(digest),
                false => place.run(&["mount", &place.spec()]),
            };
            let ran = ran.failed(15, "registry-failed");
            assert!(place.registry.is_stalling(), "{ran}");
            assert!(begun.elapsed() < SILENCE, "{:?}: {ran}", begun.elapsed());
            place.names_the_registry(&ran);
            place.nothing_left("silence");
        }
    }));
    for place in &places {
        place.registry.mended();
        place.works(&place.shown());
    }
}

/// A Python server on an index of its own, and a home that looks there.
struct PythonPlace {
    index: Index,
    home: Home,
    spec: String,
    name: String,
}

impl PythonPlace {
    fn new(name: &str) -> Self {
        let (index, server) = (Index::new(), Wheel::least(name));
        index.publish(&server);
        let home = index.home();
        Self { index, home, spec: format!("pypi:{}", server.name), name: server.name }
    }

    #[track_caller]
    fn shown(&self) -> String {
        let ran = self.home.run(["--json", "show", &self.spec]).ended(0);
        ran.json()["digest"].as_str().unwrap().to_owned()
    }

    fn mount(&self, digest: &str) -> Ran {
        self.home.run(["--json", "mount", &self.spec, "--consent", digest])
    }

    /// It failed, names the index on this port, and left nothing.
    #[track_caller]
    fn failed(&self, ran: Ran, port: u16, what: &str) {
        let ran = ran.failed(15, "registry-failed");
        let error = ran.error();
        let told = format!("{} {}", error["message"], error["why"]);
        assert!(told.contains(&format!("localhost:{port}")), "{what}: {ran}");
        assert_eq!(self.home.run(["--json", "list"]).ended(0).json()["servers"], json!([]), "{what}");
        engine::nothing_of(&self.home, what);
    }

    #[track_caller]
    fn works(&self, digest: &str) {
        self.mount(digest).ended(0);
        self.home.run(["unmount", &self.name]).ended(0);
        engine::nothing_of(&self.home, "unmounted");
    }
}

fn an_index_of_python_packages_that_fails_is_named_and_the_next_try_works() {
    let place = PythonPlace::new("indexfails");
    let (digest, port) = (place.shown(), place.index.port());
    for mood in [Mood::Down, Mood::Reset] {
        place.index.mood(mood);
        let what = format!("{mood:?}");
        place.failed(place.home.run(["--json", "show", &place.spec]), port, &what);
        place.failed(place.mount(&digest), port, &what);
    }
    place.index.mood(Mood::Half);
    place.failed(place.mount(&digest), port, "Half");
    place.index.mood(Mood::Well);
    let closed = closed_port();
    index::set(&place.home, closed);
    place.failed(place.home.run(["--json", "show", &place.spec]), closed, "closed");
    place.failed(place.mount(&digest), closed, "closed");
    index::set(&place.home, port);
    place.works(&digest);
}

fn an_index_of_python_packages_that_falls_silent_is_waited_for_a_bounded_time() {
    let places = ["silentpage", "silentfile"].map(PythonPlace::new);
    let digest = places[1].shown();
    at_once(places.each_ref().map(|place| {
        let digest = &digest;
        let page = place.spec.contains("page");
        place.index.mood(if page { Mood::Silent } else { Mood::SilentFiles });
        move || {
            let begun = Instant::now();
            let ran = match page {
                true => place.home.run(["--json", "show", &place.spec]),
                false => place.mount(digest),
            };
            assert!(begun.elapsed() < SILENCE, "{:?}: {ran}", begun.elapsed());
            place.failed(ran, place.index.port(), "silence");
        }
    }));
    for place in &places {
        place.index.mood(Mood::Well);
        place.works(&place.shown());
    }
}
