//! Which servers are mounted once for many tests?
//!
//! The probe in its variants, all of one package and so of one image, in one home; and the public servers that are
//! compared with themselves. Each is mounted when a test first asks for it. Tests only start them, so it does not
//! matter how many do at once; a test that changes pins has a home of its own.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

use crate::engine;
use crate::package::{self, Package};
use crate::pinfold::{HOMES, Home};
use crate::session::Session;

/// The home of the shared servers.
static SHARED: LazyLock<Home> = LazyLock::new(Home::new);
static PROBE: LazyLock<Package> = LazyLock::new(Package::probe);

/// What was mounted there, under which name.
static MOUNTED: Mutex<BTreeMap<String, Server>> = Mutex::new(BTreeMap::new());

/// A mounted server that tests share.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its local name.
    pub name: String,
    /// The plan's digest.
    pub digest: String,
    /// The tree's digest, which its image is labelled with.
    pub tree: String,
    /// Its version.
    pub version: String,
    /// Its image, as the engine names it.
    pub image: String,
}

/// The probe as it is.
pub fn probe() -> Server {
    probe_with("probe", &[], &[])
}

/// The probe under another name, with options of `mount` and arguments of its own.
pub fn probe_with(name: &str, options: &[&str], arguments: &[&str]) -> Server {
    let mut words = vec!["--name", name];
    words.extend(options);
    words.push("--");
    words.extend(arguments);
    shared(name, &PROBE.spec(), &words)
}

/// A public server of npm's.
pub fn public(name: &str, package: &str) -> Server {
    shared(name, &format!("npm:{package}"), &[])
}

/// A public server of npm's, with options of `mount` and arguments of its own.
pub fn public_with(name: &str, package: &str, options: &[&str], arguments: &[&str]) -> Server {
    let words = [&["--name", name], options, &["--"], arguments].concat();
    shared(name, &format!("npm:{package}"), &words)
}

fn shared(name: &str, spec: &str, options: &[&str]) -> Server {
    // held all the time: a second test that wants the same server waits for the first to have mounted it
    let mut mounted = MOUNTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(server) = mounted.get(name) {
        return server.clone();
    }
    let server = mount(&SHARED, spec, options);
    assert_eq!(server.name, name, "it got another name");
    mounted.insert(name.to_owned(), server.clone());
    server
}

/// Shows a plan and mounts it with the digest shown. `options` are those of `show`, too.
pub fn mount(home: &Home, spec: &str, options: &[&str]) -> Server {
    let shown = home.run([&["--json", "show", spec], options].concat()).ended(0).json();
    let digest = shown["digest"].as_str().unwrap().to_owned();
    let done = home.run([&["--json", "mount", spec, "--consent", &digest], options].concat()).ended(0).json();
    assert_eq!(done["digest"], digest.as_str(), "another plan was mounted than was shown");
    let name = done["name"].as_str().unwrap().to_owned();
    let pin = home.run(["--json", "pins", "show", &name]).ended(0).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&home.run(["--json", "list"]).ended(0).json()["servers"].as_array().map_or(
        Value::Null,
        |servers| {
            servers
                .iter()
                .find(|server| server["name"] == name.as_str())
                .map_or(Value::Null, |s| s["version"].clone())
        },
    ));
    let tree = text(&pin["tree"]);
    let local = std::fs::read(home.file(&format!("state/local/{name}.json"))).unwrap();
    let image = text(&serde_json::from_slice::<Value>(&local).unwrap()["image"]);
    Server { name, digest, tree, version, image }
}

impl Server {
    /// `pinfold run` of it.
    pub fn command(&self) -> Command {
        SHARED.command(["run", &self.name])
    }

    /// A session of the handshake era with it, as a client without capabilities.
    pub fn session(&self) -> Session {
        Session::handshake(self.command(), serde_json::json!({})).0
    }

    /// The home it is mounted in.
    pub fn home(&self) -> &'static Home {
        &SHARED
    }
}

/// Unmounts what was mounted, and says what is left in the engine all the same.
pub fn clean_up() -> Vec<String> {
    let mut left = Vec::new();
    let mounted = std::mem::take(&mut *MOUNTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    for name in mounted.keys() {
        let ran = SHARED.run(["unmount", "--remove-data", name]);
        if ran.code != Some(0) {
            left.push(format!("{name} could not be unmounted: {ran}"));
        }
    }
    // another home's image of the same tree is another one, and stays
    for server in mounted.values().filter(|server| engine::sealed(&server.tree).contains(&server.image)) {
        left.push(format!("the image {} of {}", server.image, server.name));
    }
    package::clean_up();
    let mut homes = std::mem::take(&mut *HOMES.lock().unwrap());
    homes.extend(SHARED.state());
    let _ = std::fs::remove_dir_all(SHARED.path());
    for home in homes {
        let containers = engine::containers(&home);
        left.extend(
            containers
                .iter()
                .map(|container| format!("the container {} ({})", container.id, container.state)),
        );
    }
    left.extend(engine::networks_and_volumes());
    left
}
