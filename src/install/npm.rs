//! What does npm do for us, and where?
//!
//! Three things, each in a cage: it packs a folder, it puts a dependency tree together as a lock, and it lays a
//! locked tree down with every hash enforced. Its scripts are off throughout, its cache and configuration are the
//! cage's own, and it reaches the package registries and nothing else.
//!
//! Putting a tree together reads metadata alone: no archive is downloaded before a consent. npm's command for it
//! unpacks archives that bundle packages, so its resolver is run by a small program of ours (`images/node/resolve.js`).
//!
//! Invariant: nothing of the user's npm configuration but registry addresses goes in; no credential does.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::runtime::Runtime;
use super::tool::Tool;
use super::{GaveUp, InstallError, Manager, Progress, Ways, discard, leave, packages, seal, ways};
use crate::cage::Cage;
use crate::cage::egress::Egress;
use crate::cage::engine::{Engine, Labels};
use crate::cage::image::Image;
use crate::cage::profile::Profile;
use crate::cage::roots;
use crate::cage::stamp::Stamp;
use crate::net::Resolver;
use crate::pin::Pin;
use crate::plan::{NpmTree, OWN_TARBALL, SERVER_DIR};
use crate::source::Registries;
use crate::text::Shown;

/// Where npm reads what we write for it.
const CONFIG: &str = "/tmp/pinfold/npmrc";
/// Runs npm's resolver without unpacking anything; what it is asked lies beside it.
const RESOLVER: &str = "/tmp/pinfold/resolve.js";
const RESOLVER_SOURCE: &str = include_str!("../../images/node/resolve.js");
const RESOLVER_ASKED: &str = "/tmp/pinfold/resolve.json";
/// Makes npm fail where a file of a package cannot be written.
const STRICT: &str = "/tmp/pinfold/strict.js";
const STRICT_SOURCE: &str = include_str!("../../images/node/strict.js");
/// npm's own program, inside.
const NPM: &str = "/usr/local/bin/npm";
/// npm's cache, inside.
const CACHE: &str = "/tmp/npm";
/// Where a lock is made.
const WORK: &str = "/tmp/work";
/// The name of a package that comes from this disk, inside; [`OWN_TARBALL`] is `file:` and this.
const TARBALL: &str = "package.tgz";
/// Longest lock taken out of a cage, in bytes.
const LOCK_LIMIT: u64 = 16 * 1024 * 1024;
/// Longest packed folder, in bytes.
const PACKED_LIMIT: u64 = 256 * 1024 * 1024;

/// What every stage of npm's needs.
pub struct Npm {
    engine: Arc<dyn Engine>,
    runtime: Runtime,
    registries: Registries,
    resolver: Resolver,
    roots: Option<Vec<u8>>,
    stamp: Stamp,
}

/// What is to be installed: the one direct dependency of the tree.
pub struct Wanted<'a> {
    /// The package's name.
    pub name: &'a str,
    /// Its exact version.
    pub version: &'a str,
    /// Its bytes, where it comes from this disk.
    pub tarball: Option<&'a [u8]>,
}

impl Npm {
    /// npm of this runtime, against these registries. `roots` are the certificates this host trusts, as PEM.
    pub fn new(
        engine: Arc<dyn Engine>,
        runtime: Runtime,
        registries: Registries,
        resolver: Resolver,
        roots: Option<Vec<u8>>,
        stamp: Stamp,
    ) -> Self {
        Self { engine, runtime, registries, resolver, roots, stamp }
    }

    /// The registries it is set to.
    pub fn registries(&self) -> &Registries {
        &self.registries
    }

    /// Packs a folder as `npm publish` would, scripts off and without a network: the bytes of the tarball.
    pub async fn pack(&self, folder: &[u8]) -> Result<Vec<u8>, InstallError> {
        let cage = self.open(Profile::resolve(), Arc::new(Egress::none(self.resolver.clone()))).await?;
        let packed = async {
            cage.put("/tmp/folder.tar", 0o644, folder).await?;
            Tool::new(["mkdir", "-p", "/tmp/folder", "/tmp/packed"]).run(&cage).await?;
            Tool::new(["tar", "-xf", "/tmp/folder.tar", "-C", "/tmp/folder"]).run(&cage).await?;
            let npm =
                ["npm", "pack", "--loglevel=error", "--ignore-scripts", "--pack-destination", "/tmp/packed"];
            let ended = self.npm(npm).within("/tmp/folder").attempt(&cage).await?;
            // what npm prints is steered by what it packs; what it wrote is not
            let written = Tool::new(["ls", "-A", "/tmp/packed"]).run(&cage).await?;
            match written.lines().collect::<Vec<_>>()[..] {
                [name] if ended.well && name.ends_with(".tgz") => {
                    Ok(cage.get(&format!("/tmp/packed/{name}"), PACKED_LIMIT).await?)
                }
                _ => Err(InstallError::NotPacked { said: ended.said }),
            }
        }
        .await;
        leave(cage, packed).await
    }

    /// Resolves the whole dependency tree: the bytes of a `package-lock.json` that names no registry.
    pub async fn resolve(&self, wanted: &Wanted<'_>) -> Result<Vec<u8>, InstallError> {
        let egress = Arc::new(Egress::registries(self.resolver.clone(), &self.registries)?);
        let cage = self.open(Profile::resolve(), Arc::clone(&egress)).await?;
        let resolved = async {
            cage.put(&format!("{WORK}/package.json"), 0o644, &manifest(wanted)).await?;
            if let Some(tarball) = wanted.tarball {
                cage.put(&format!("{WORK}/{TARBALL}"), 0o644, tarball).await?;
            }
            cage.put(RESOLVER, 0o644, RESOLVER_SOURCE.as_bytes()).await?;
            cage.put(RESOLVER_ASKED, 0o644, &self.asked()).await?;
            let ended = self.npm(["node", RESOLVER]).within(WORK).attempt(&cage).await?;
            if !ended.well {
                return Err(InstallError::Unresolved(Box::new(GaveUp {
                    manager: Manager::Npm,
                    package: Shown::new(&format!("{}@{}", wanted.name, wanted.version)),
                    said: ended.said,
                    ways: self.ways(&egress),
                })));
            }
            Ok(cage.get(&format!("{WORK}/package-lock.json"), LOCK_LIMIT).await?)
        }
        .await;
        leave(cage, resolved).await
    }

    /// Lays the pinned tree down and seals it. `tarball` is the package's own bytes, where it comes from this disk.
    pub async fn install(
        &self,
        pin: &Pin,
        tree: &NpmTree,
        tarball: Option<&[u8]>,
        progress: &dyn Progress,
    ) -> Result<Image, InstallError> {
        let egress = Arc::new(Egress::registries(self.resolver.clone(), &self.registries)?);
        progress.step(&format!("installing {}, scripts off", packages(pin)));
        let cage = self.open(Profile::install(), Arc::clone(&egress)).await?;
        let installed = async {
            cage.put(&format!("{SERVER_DIR}/package.json"), 0o644, tree.manifest()).await?;
            cage.put(&format!("{SERVER_DIR}/package-lock.json"), 0o644, pin.lock().bytes()).await?;
            if let Some(tarball) = tarball {
                cage.put(&format!("{SERVER_DIR}/{TARBALL}"), 0o644, tarball).await?;
            }
            cage.put(STRICT, 0o644, STRICT_SOURCE.as_bytes()).await?;
            let npm = ["node", "--require", STRICT, NPM, "ci", "--ignore-scripts"];
            let ended = self.npm(npm).within(SERVER_DIR).attempt(&cage).await?;
            if ended.well {
                let laid =
                    cage.get(&format!("{SERVER_DIR}/node_modules/.package-lock.json"), LOCK_LIMIT).await?;
                return compare(tree, &laid);
            }
            Err(InstallError::NotInstalled(Box::new(GaveUp {
                manager: Manager::Npm,
                package: Shown::new(&pin.plan().release().id()),
                said: ended.said,
                ways: self.ways(&egress),
            })))
        }
        .await;
        seal(cage, installed, pin, &self.stamp, progress).await
    }

    async fn open(&self, profile: Profile, egress: Arc<Egress>) -> Result<Cage, InstallError> {
        let cage = Cage::open(
            Arc::clone(&self.engine),
            self.runtime.image().clone(),
            profile,
            Labels::new(),
            egress,
        )
        .await?;
        let prepared = async {
            cage.put(CONFIG, 0o644, self.configuration().as_bytes()).await?;
            if let Some(pem) = &self.roots {
                roots::put(&cage, pem).await?;
            }
            Ok(())
        }
        .await;
        match prepared {
            Ok(()) => Ok(cage),
            Err(error) => Err(discard(cage, error).await),
        }
    }

    fn ways(&self, egress: &Egress) -> Ways {
        ways(egress, self.registries.all())
    }

    /// npm's whole configuration: registries, and what keeps it quiet and away from anything but the task.
    fn configuration(&self) -> String {
        let mut text = self.registries.npmrc();
        text.push_str(&format!("cache={CACHE}\n"));
        text.push_str("audit=false\nfund=false\nupdate-notifier=false\nprogress=false\n");
        text.push_str("loglevel=error\nignore-scripts=true\nlogs-max=0\nlockfile-version=3\n");
        // `resolve.js` has the same: a registry that is silent for so long is down, and asked twice
        text.push_str("fetch-timeout=60000\nfetch-retries=1\nfetch-retry-mintimeout=2000\n");
        text
    }

    /// What the resolver is asked: where, and which registries, in the form of npm's options.
    fn asked(&self) -> Vec<u8> {
        let mut registries = serde_json::Map::new();
        registries.insert("registry".into(), self.registries.main().url().as_str().into());
        for (scope, registry) in self.registries.scopes() {
            registries.insert(format!("{scope}:registry"), registry.url().as_str().into());
        }
        let asked = serde_json::json!({"path": WORK, "cache": CACHE, "registries": registries});
        asked.to_string().into_bytes()
    }

    fn npm<const N: usize>(&self, argv: [&str; N]) -> Tool {
        let mut env = vec![("NPM_CONFIG_USERCONFIG", CONFIG.to_owned())];
        if self.roots.is_some() {
            env.extend(roots::variables().map(|(name, path)| (name, path.to_owned())));
        }
        Tool::new(argv).with(&env)
    }
}

/// Holds what npm says it laid down against the lock: a package's own `npm-shrinkwrap.json` is read again at
/// install, and could name other packages than were resolved.
fn compare(tree: &NpmTree, laid: &[u8]) -> Result<(), InstallError> {
    #[derive(Deserialize)]
    struct Laid {
        packages: Map<String, Value>,
    }
    let other = |what: &str| InstallError::OtherTree { package: Shown::new(what) };
    let laid: Laid =
        serde_json::from_slice(laid).map_err(|error| other(&format!("npm's own list ({error})")))?;
    match tree.not_laid_as_locked(&laid.packages) {
        None => Ok(()),
        Some(path) => Err(other(path)),
    }
}

/// The manifest of the tree: one dependency, exact.
fn manifest(wanted: &Wanted<'_>) -> Vec<u8> {
    let spec = match wanted.tarball {
        Some(_) => OWN_TARBALL.to_owned(),
        None => wanted.version.to_owned(),
    };
    let manifest = serde_json::json!({
        "name": "pinfold-server",
        "version": "0.0.0",
        "private": true,
        "dependencies": {wanted.name: spec},
    });
    manifest.to_string().into_bytes()
}
