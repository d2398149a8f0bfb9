//! Is anything of a third party downloaded before a consent?
//!
//! A registry on this machine that counts: metadata may be read while a plan is shown, archives may not. It is reached
//! from the cages as `localhost`, which the operator's configuration names.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::package::Package;
use crate::pinfold::Home;
use crate::{mounted, tests};

tests![
    no_archive_is_downloaded_before_a_consent,
    a_package_with_a_lock_of_its_own_is_refused_before_a_consent,
    a_bundle_is_installed_out_of_its_own_archive,
    what_a_bundle_lacks_is_not_fetched,
    a_lock_that_the_registry_does_not_tell_of_is_not_followed,
    a_folder_s_npmrc_does_not_steer_its_packing,
];

/// What is wrong with an answer of the registry's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// The connection is reset before a byte of it.
    Reset,
    /// Half of what the head announces comes, and the connection ends.
    Half,
    /// Half of it comes, and then nothing more for as long as the registry is there.
    Stall,
    /// This HTTP status instead.
    Status(u16),
    /// As many bytes, and others.
    OtherBytes,
}

/// The registry, for as long as the program runs.
pub struct Registry {
    pub port: u16,
    shelf: Arc<Shelf>,
}

/// What it holds, and what was asked of it.
#[derive(Default)]
struct Shelf {
    archives: Mutex<BTreeMap<String, Vec<u8>>>,
    documents: Mutex<BTreeMap<String, Value>>,
    downloads: Mutex<Vec<String>>,
    faults: Mutex<BTreeMap<String, Fault>>,
    /// What is being answered with [`Fault::Stall`] just now.
    held: Mutex<Vec<TcpStream>>,
}

impl Shelf {
    fn answer(&self, mut client: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(client.try_clone()?).lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
        let _ = lines.find(String::is_empty);
        let found = if path.ends_with(".tgz") {
            self.downloads.lock().unwrap().push(path.clone());
            self.archives.lock().unwrap().get(&path).cloned()
        } else {
            self.documents.lock().unwrap().get(&path).map(|document| document.to_string().into_bytes())
        };
        let (mut status, mut body) = found.map_or((404, b"{}".to_vec()), |body| (200, body));
        let fault = self.faults.lock().unwrap().get(&path).copied();
        match fault {
            // a socket that is closed with unread bytes or with no time to linger is reset
            Some(Fault::Reset) => {
                return rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO))
                    .map_err(Into::into);
            }
            Some(Fault::Status(other)) => (status, body) = (other, b"{}".to_vec()),
            Some(Fault::OtherBytes) => *body.last_mut().unwrap() ^= 1,
            Some(Fault::Half | Fault::Stall) | None => {}
        }
        let head = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            if status == 200 { "OK" } else { "So it is" },
            body.len()
        );
        if matches!(fault, Some(Fault::Half | Fault::Stall)) {
            body.truncate(body.len() / 2);
        }
        client.write_all(head.as_bytes())?;
        client.write_all(&body)?;
        if fault == Some(Fault::Stall) {
            self.held.lock().unwrap().push(client);
        }
        Ok(())
    }
}

impl Registry {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = Self { port: listener.local_addr().unwrap().port(), shelf: Arc::default() };
        let shelf = Arc::clone(&registry.shelf);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shelf = Arc::clone(&shelf);
                // a client that left is no fault of the registry's
                thread::spawn(move || shelf.answer(client));
            }
        });
        registry
    }

    /// From now on this path is answered so.
    pub fn breaks(&self, path: &str, fault: Fault) {
        self.shelf.faults.lock().unwrap().insert(path.to_owned(), fault);
    }

    /// From now on everything is answered well.
    pub fn mended(&self) {
        self.shelf.faults.lock().unwrap().clear();
        self.shelf.held.lock().unwrap().clear();
    }

    /// Whether somebody waits for the rest of an answer.
    pub fn is_stalling(&self) -> bool {
        !self.shelf.held.lock().unwrap().is_empty()
    }

    /// A home whose registry this is.
    pub fn home(&self) -> Home {
        let home = Home::new();
        self.of(&home);
        home
    }

    /// Makes this the registry of a home.
    pub fn of(&self, home: &Home) {
        set(home, self.port);
    }

    /// Publishes version 1.0.0 of a package: its manifest, what the registry says besides, and further files.
    pub fn publish(&self, name: &str, manifest: Value, said: Value, files: &[(&str, String)]) {
        let mut manifest = manifest;
        (manifest["name"], manifest["version"]) = (name.into(), "1.0.0".into());
        let mut tar = tar::Builder::new(Vec::new());
        let package_json = ("package.json", manifest.to_string());
        for (path, content) in [&package_json].into_iter().chain(files) {
            let mut header = tar::Header::new_ustar();
            header.set_mode(0o755);
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, format!("package/{path}"), content.as_bytes()).unwrap();
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar.into_inner().unwrap()).unwrap();
        let archive = gzip.finish().unwrap();
        let path = format!("{name}/-/{name}-1.0.0.tgz");
        let hash = base64::prelude::BASE64_STANDARD.encode(sha512(&archive));
        manifest["dist"] = json!({
            "tarball": format!("http://localhost:{}/{path}", self.port),
            "integrity": format!("sha512-{hash}"),
        });
        manifest.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        let document =
            json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": manifest}});
        self.shelf.documents.lock().unwrap().insert(name.to_owned(), document);
        self.shelf.archives.lock().unwrap().insert(path, archive);
    }

    /// A package that nothing is remarkable about.
    pub fn plain(&self, name: &str) {
        self.publish(name, json!({}), json!({}), &[]);
    }

    pub fn downloads(&self) -> Vec<String> {
        self.shelf.downloads.lock().unwrap().clone()
    }
}

/// Makes whatever listens on this port of this machine the registry of a home.
pub fn set(home: &Home, port: u16) {
    std::fs::create_dir_all(home.file("config")).unwrap();
    let config = format!("[npm]\nregistry = \"http://localhost:{port}/\"\n");
    std::fs::write(home.file("config/config.toml"), config).unwrap();
}

fn sha512(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    sha2::Sha512::digest(bytes).to_vec()
}

/// A name that no other run has: an image of the same tree, left by one, would not be installed again.
pub fn own(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The program of the least server.
pub fn program() -> String {
    std::fs::read_to_string(Package::least("least").path().join("server.js")).unwrap()
}

/// A server that bundles `inner`, as its archive really does or does not.
fn bundles(registry: &Registry, name: &str, list: Value, with: bool) {
    let inner = json!({"name": "inner", "version": "1.0.0"}).to_string();
    let mut files = vec![("server.js", program())];
    if with {
        files.push(("node_modules/inner/package.json", inner));
    }
    let manifest =
        json!({"bin": "server.js", "dependencies": {"inner": "1.0.0"}, "bundleDependencies": list});
    registry.publish(name, manifest, json!({}), &files);
}

fn no_archive_is_downloaded_before_a_consent() {
    let registry = Registry::new();
    let home = registry.home();
    registry.plain("inner");
    bundles(&registry, "bundle-list", json!(["inner"]), true);
    bundles(&registry, "bundle-all", json!(true), true);
    let nested = json!({"bin": "server.js", "dependencies": {"bundle-list": "^1.0.0", "inner": "^1.0.0"}});
    registry.publish("nested", nested, json!({}), &[]);
    for name in ["bundle-list", "bundle-all", "nested", "inner-user"] {
        let user = json!({"bin": "server.js", "dependencies": {"inner": "*"}});
        registry.publish("inner-user", user, json!({}), &[]);
        home.run(["--json", "show", &format!("npm:{name}")]).ended(0).json();
        assert_eq!(registry.downloads(), Vec::<String>::new(), "{name}");
    }
    // an address instead of a version is an archive too, even one of the registry's own
    for (name, spec) in [
        ("by-address", format!("http://localhost:{}/inner/-/inner-1.0.0.tgz", registry.port)),
        ("by-git", format!("git+http://localhost:{}/inner.git", registry.port)),
        ("by-file", "file:../../../etc".to_owned()),
    ] {
        let manifest = json!({"bin": "server.js", "dependencies": {"inner": spec}});
        registry.publish(name, manifest, json!({}), &[]);
        home.run(["--json", "show", &format!("npm:{name}")]).failed(15, "cannot-resolve");
        assert_eq!(registry.downloads(), Vec::<String>::new(), "{name}");
    }
}

fn a_package_with_a_lock_of_its_own_is_refused_before_a_consent() {
    let registry = Registry::new();
    let home = registry.home();
    registry.plain("inner");
    let manifest = json!({"bin": "server.js", "dependencies": {"inner": "*"}});
    registry.publish("own-lock", manifest, json!({"_hasShrinkwrap": true}), &[]);
    let nested = json!({"bin": "server.js", "dependencies": {"own-lock": "*"}});
    registry.publish("nested", nested, json!({}), &[]);
    for name in ["own-lock", "nested"] {
        let ran = home.run(["--json", "show", &format!("npm:{name}")]).failed(11, "source-refused");
        assert!(ran.error()["message"].as_str().unwrap().contains("own-lock@1.0.0"), "{ran}");
        assert_eq!(registry.downloads(), Vec::<String>::new(), "{name}");
    }
}

fn a_bundle_is_installed_out_of_its_own_archive() {
    let registry = Registry::new();
    let home = registry.home();
    let name = own("bundle-whole");
    bundles(&registry, &name, json!(["inner"]), true);
    let server = mounted::mount(&home, &format!("npm:{name}"), &[]);
    assert_eq!(registry.downloads(), [format!("{name}/-/{name}-1.0.0.tgz")]);
    home.run(["unmount", &server.name]).ended(0);
}

fn what_a_bundle_lacks_is_not_fetched() {
    let registry = Registry::new();
    let home = registry.home();
    registry.plain("inner");
    let name = own("bundle-lacks");
    bundles(&registry, &name, json!(["inner"]), false);
    let server = mounted::mount(&home, &format!("npm:{name}"), &[]);
    assert_eq!(registry.downloads(), [format!("{name}/-/{name}-1.0.0.tgz")]);
    home.run(["unmount", &server.name]).ended(0);
}

fn a_lock_that_the_registry_does_not_tell_of_is_not_followed() {
    let registry = Registry::new();
    let home = registry.home();
    registry.plain("inner");
    let resolved = format!("http://localhost:{}/inner/-/inner-1.0.0.tgz", registry.port);
    let locked = json!({"lockfileVersion": 3, "packages": {
        "": {"name": "hidden-lock", "version": "1.0.0", "dependencies": {"inner": "*"}},
        "node_modules/inner": {"version": "1.0.0", "resolved": resolved},
    }});
    let manifest = json!({"bin": "server.js"});
    let said = json!({"_hasShrinkwrap": false});
    let files = [("npm-shrinkwrap.json", locked.to_string()), ("server.js", program())];
    let name = own("hidden-lock");
    registry.publish(&name, manifest, said, &files);
    let server = mounted::mount(&home, &format!("npm:{name}"), &[]);
    assert_eq!(registry.downloads(), [format!("{name}/-/{name}-1.0.0.tgz")]);
    home.run(["unmount", &server.name]).ended(0);
}

fn a_folder_s_npmrc_does_not_steer_its_packing() {
    let home = Home::new();
    let package = Package::least("steered");
    let digest = |what: &str| {
        let ran = home.run(["--json", "show", &package.spec()]).ended(0);
        ran.json()["digest"].as_str().unwrap_or_else(|| panic!("{what}: {ran}")).to_owned()
    };
    let plain = digest("as it is");
    for line in [
        "json=true",
        "dry-run=true",
        "before=2001-01-01",
        "workspaces=true",
        "pack-destination=/tmp",
        "silent",
    ] {
        std::fs::write(package.path().join(".npmrc"), format!("{line}\n")).unwrap();
        assert_eq!(digest(line), plain, "{line}");
    }
}
