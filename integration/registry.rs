//! Is anything of a third party downloaded before a consent?
//!
//! A registry on this machine that counts: metadata may be read while a plan is shown, archives may not. It is reached
//! from the cages as `localhost`, which the operator's configuration names.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

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

/// The registry, for as long as the program runs.
struct Registry {
    port: u16,
    archives: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    documents: Arc<Mutex<BTreeMap<String, Value>>>,
    downloads: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = Self {
            port: listener.local_addr().unwrap().port(),
            archives: Arc::default(),
            documents: Arc::default(),
            downloads: Arc::default(),
        };
        let (archives, documents) = (Arc::clone(&registry.archives), Arc::clone(&registry.documents));
        let downloads = Arc::clone(&registry.downloads);
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let (archives, documents) = (Arc::clone(&archives), Arc::clone(&documents));
                let downloads = Arc::clone(&downloads);
                thread::spawn(move || {
                    let mut lines = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
                    let first = lines.next().unwrap_or_default();
                    let path = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
                    let _ = lines.find(String::is_empty);
                    let found = if path.ends_with(".tgz") {
                        downloads.lock().unwrap().push(path.clone());
                        archives.lock().unwrap().get(&path).cloned()
                    } else {
                        documents.lock().unwrap().get(&path).map(|document| document.to_string().into_bytes())
                    };
                    let (status, body) =
                        found.map_or(("404 Not Found", b"{}".to_vec()), |body| ("200 OK", body));
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body));
                });
            }
        });
        registry
    }

    /// A home whose registry this is.
    fn home(&self) -> Home {
        let home = Home::new();
        std::fs::create_dir_all(home.file("config")).unwrap();
        let config = format!("[npm]\nregistry = \"http://localhost:{}/\"\n", self.port);
        std::fs::write(home.file("config/config.toml"), config).unwrap();
        home
    }

    /// Publishes version 1.0.0 of a package: its manifest, what the registry says besides, and further files.
    fn publish(&self, name: &str, manifest: Value, said: Value, files: &[(&str, String)]) {
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
        self.documents.lock().unwrap().insert(name.to_owned(), document);
        self.archives.lock().unwrap().insert(path, archive);
    }

    /// A package that nothing is remarkable about.
    fn plain(&self, name: &str) {
        self.publish(name, json!({}), json!({}), &[]);
    }

    fn downloads(&self) -> Vec<String> {
        self.downloads.lock().unwrap().clone()
    }
}

fn sha512(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    sha2::Sha512::digest(bytes).to_vec()
}

/// A name that no other run has: an image of the same tree, left by one, would not be installed again.
fn own(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The program of the least server.
fn program() -> String {
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
