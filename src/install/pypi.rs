//! What does uv do for us, and where?
//!
//! Two things, each in a cage: it puts a dependency tree together as hashed requirements, and it lays locked wheels
//! down with every hash enforced. It downloads no interpreter, reads no configuration, and reaches the package index and
//! the hosts of its files and nothing else. A package that has no wheel is built first, where the plan says so, in a
//! cage of its own ([`build`]), and goes on as a wheel.
//!
//! Both are driven by small programs of ours, run by the image's own interpreter with `-I -S`:
//! `images/python/resolve.py` also reads the table of contents of the wanted wheel, for its programs, without
//! downloading it, and `images/python/sources.py` reads what source archives say of themselves; `images/python/install.py` also makes the environment, holds every file that was laid down to the
//! RECORD of its package, and compiles the modules. No code of a package runs in either cage.
//!
//! Invariant: nothing of the user's pip or uv configuration but the index's address goes in; no credential does.

mod build;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::runtime::Runtime;
use super::tool::Tool;
use super::{GaveUp, InstallError, Manager, Progress, Ways, discard, leave, packages, seal, ways};
use crate::cage::Cage;
use crate::cage::egress::{Egress, RegistryWithoutName};
use crate::cage::engine::{Engine, Labels};
use crate::cage::image::Image;
use crate::cage::profile::Profile;
use crate::cage::roots;
use crate::cage::stamp::Stamp;
use crate::digest::Digest;
use crate::net::{Resolver, Target};
use crate::pin::Pin;
use crate::plan::{Build, ModuleName, Origin, Placed, Program, PypiTree, SERVER_DIR, ScriptName};
use crate::source::{PypiPackage, Registry, Requirement, SourceArchive};
use crate::text::Shown;

/// Makes a lock, and what it is asked and answers.
const RESOLVER: &str = "/tmp/pinfold/resolve.py";
const RESOLVER_SOURCE: &str = include_str!("../../images/python/resolve.py");
const SOURCES: &str = "/tmp/pinfold/sources.py";
const SOURCES_SOURCE: &str = include_str!("../../images/python/sources.py");
const RESOLVER_ASKED: &str = "/tmp/pinfold/resolve.json";
const RESOLVED: &str = "/tmp/pinfold/resolved.json";
/// Lays a lock down, and what it is asked and answers.
const INSTALLER: &str = "/tmp/pinfold/install.py";
const INSTALLER_SOURCE: &str = include_str!("../../images/python/install.py");
const INSTALLER_ASKED: &str = "/tmp/pinfold/install.json";
const INSTALLED: &str = "/tmp/pinfold/installed.json";
const REQUIREMENTS: &str = "/tmp/pinfold/requirements.txt";
/// uv's cache, inside: gone with the cage.
const CACHE: &str = "/tmp/uv";
/// Where a wheel of this disk is put; its own name says what it fits.
const WHEELS: &str = "/tmp/pinfold/wheel";
/// Longest answer taken out of a cage, in bytes.
const ANSWER_LIMIT: u64 = 32 * 1024 * 1024;
/// Bytes of all wheels together that are built for one tree.
const MOST_BUILT: usize = 256 * 1024 * 1024;
/// Programs named to a person at most.
const NAMED: usize = 20;

/// What every stage of uv's needs.
pub struct Pypi {
    engine: Arc<dyn Engine>,
    runtime: Runtime,
    places: Places,
    resolver: Resolver,
    roots: Option<Vec<u8>>,
    stamp: Stamp,
}

/// Where Python packages come from.
#[derive(Debug, Clone)]
pub struct Places {
    /// The package index (PEP 503).
    pub index: Registry,
    /// Files that the index lists: their hosts are those it keeps its files on.
    pub files: Vec<Target>,
}

/// Whoever fetches what is built, each archive held to its hash.
pub trait Archives: Send + Sync {
    /// The source archive of a package.
    fn archive<'a>(&'a self, build: &'a Build) -> BoxFuture<'a, Result<SourceArchive, InstallError>>;
}

/// What is to be installed.
pub struct Wanted<'a> {
    /// The package the tree is for.
    pub package: &'a PypiPackage,
    /// What else was asked to be in the tree.
    pub with: &'a [Requirement],
    /// The package's own wheel, where it comes from this disk.
    pub wheel: Option<Wheel<'a>>,
    /// Whether a source archive will do for a package that has no wheel.
    pub build: bool,
}

/// A wheel of this disk.
#[derive(Clone, Copy)]
pub struct Wheel<'a> {
    /// Its file's name, which says what it is and what it fits (PEP 427).
    pub file: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// What resolving gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The whole tree as hashed requirements, not yet checked: for [`Lock::read`](crate::plan::Lock::read).
    pub lock: Vec<u8>,
    /// What the package has to start.
    pub programs: Programs,
    /// The package's one line about itself.
    pub summary: Option<Shown>,
}

/// The programs of a package, as far as they are known before it is installed.
///
/// They stand in its wheel alone and are read there without downloading it, which not every index allows. They are
/// told, not vouched for: an install whose plan starts a program that is not there fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Programs {
    /// What its wheel lists.
    Known {
        /// Its console scripts.
        scripts: Vec<ScriptName>,
        /// Its modules that `python -m` takes.
        modules: Vec<ModuleName>,
    },
    /// Not known before it is installed.
    Unknown {
        /// Why not.
        why: Shown,
    },
}

impl Pypi {
    /// uv of this runtime, against this index. `roots` are the certificates this host trusts, as PEM.
    pub fn new(
        engine: Arc<dyn Engine>,
        runtime: Runtime,
        places: Places,
        resolver: Resolver,
        roots: Option<Vec<u8>>,
        stamp: Stamp,
    ) -> Self {
        Self { engine, runtime, places, resolver, roots, stamp }
    }

    /// Resolves the whole dependency tree for this runtime's Python, out of metadata alone.
    ///
    /// # Errors
    /// [`InstallError::NoWheel`] where a package would have to be built; [`InstallError::Unresolved`] for whatever
    /// else uv cannot do.
    pub async fn resolve(&self, wanted: &Wanted<'_>) -> Result<Resolved, InstallError> {
        let egress = Arc::new(self.egress()?);
        let cage = self.open(Profile::resolve(), Arc::clone(&egress)).await?;
        let package = Shown::new(&wanted.package_id());
        let resolved = async {
            let placed = match wanted.wheel {
                Some(wheel) => Some(place(&cage, wheel).await?),
                None => None,
            };
            let with: Vec<String> = wanted.with.iter().map(ToString::to_string).collect();
            let asked = serde_json::json!({
                "name": wanted.package.name,
                "extras": wanted.package.extras.to_string(),
                "version": wanted.package.version,
                "with": with,
                "wheel": placed,
                "build": wanted.build,
                "hashes": wanted.package.hashes.iter().map(Digest::hex).collect::<Vec<_>>(),
            });
            cage.put(SOURCES, 0o644, SOURCES_SOURCE.as_bytes()).await?;
            cage.put(RESOLVER, 0o644, RESOLVER_SOURCE.as_bytes()).await?;
            cage.put(RESOLVER_ASKED, 0o644, asked.to_string().as_bytes()).await?;
            let ended = self.python(RESOLVER).attempt(&cage).await?;
            if !ended.well {
                return Err(unresolved(package, ended.said, self.ways(&egress)));
            }
            read_resolved(package, &cage.get(RESOLVED, ANSWER_LIMIT).await?)
        }
        .await;
        leave(cage, resolved).await
    }

    /// Lays the pinned tree down and seals it. `wheel` is the package's own bytes, where it comes from this disk;
    /// `archives` has the sources of what the lock says is built.
    ///
    /// # Errors
    /// [`InstallError::NotBuilt`] and [`InstallError::OtherNeeds`] where a package cannot be built, or not into what
    /// was locked;
    /// [`InstallError::NotInstalled`] where uv gives up, a wrong hash included; [`InstallError::OtherTree`] and
    /// [`InstallError::OtherFiles`] where what is there is not what was locked; [`InstallError::NoProgram`] where the
    /// plan's program is not in it; [`InstallError::OtherRuntime`] where this is not the pin's Python.
    pub async fn install(
        &self,
        pin: &Pin,
        tree: &PypiTree,
        wheel: Option<&[u8]>,
        archives: &dyn Archives,
        progress: &dyn Progress,
    ) -> Result<Image, InstallError> {
        self.is_the_pins(pin)?;
        let mut built = Vec::new();
        for build in tree.builds() {
            // one at a time: an archive is let go when it is built
            let archive = archives.archive(build).await?;
            built.push((build.name(), self.build(build, &archive, progress).await?));
            if built.iter().map(|(_, wheel)| wheel.bytes.len()).sum::<usize>() > MOST_BUILT {
                let said = vec![Shown::new("what was built is more than 256 MiB together")];
                let package = Shown::new(build.name().as_str());
                return Err(InstallError::NotBuilt { package, said, denied: Vec::new(), late: false });
            }
        }
        let egress = Arc::new(self.egress()?);
        progress.step(&format!("installing {}, wheels only", packages(pin)));
        let cage = self.open(Profile::install(), Arc::clone(&egress)).await?;
        let package = Shown::new(&pin.plan().release().id());
        let installed = async {
            let mut placed = BTreeMap::new();
            if let (Some(bytes), Origin::Path(path)) = (wheel, pin.plan().release().origin()) {
                let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let path = place(&cage, Wheel { file, bytes }).await?;
                placed.insert(tree.own().clone(), Placed { path, sha256: Digest::of(bytes) });
            }
            for (name, wheel) in &built {
                let path = place(&cage, Wheel { file: &wheel.file, bytes: &wheel.bytes }).await?;
                placed.insert((*name).clone(), Placed { path, sha256: Digest::of(&wheel.bytes) });
            }
            let asked = serde_json::json!({
                "server": SERVER_DIR,
                "own": tree.own(),
                "requirements": REQUIREMENTS,
                "built": !built.is_empty(),
            });
            cage.put(REQUIREMENTS, 0o644, tree.requirements(&placed).as_bytes()).await?;
            cage.put(INSTALLER, 0o644, INSTALLER_SOURCE.as_bytes()).await?;
            cage.put(INSTALLER_ASKED, 0o644, asked.to_string().as_bytes()).await?;
            let ended = self.python(INSTALLER).attempt(&cage).await?;
            if !ended.well {
                return Err(not_installed(package, ended.said, self.ways(&egress)));
            }
            compare(pin, tree, &cage.get(INSTALLED, ANSWER_LIMIT).await?)
        }
        .await;
        seal(cage, installed, pin, &self.stamp, progress).await
    }

    /// The lock is of one Python, and what the plan says of the runtime has to be true.
    fn is_the_pins(&self, pin: &Pin) -> Result<(), InstallError> {
        let (pinned, here) = (pin.plan().runtime(), &self.runtime);
        let same = (pinned.name(), pinned.version(), pinned.recipe())
            == (here.name(), here.version(), here.recipe());
        if same {
            return Ok(());
        }
        let shown = |name, version, recipe| Shown::new(&format!("{name} {version} ({recipe})"));
        Err(InstallError::OtherRuntime {
            pinned: shown(pinned.name(), pinned.version(), pinned.recipe()),
            here: shown(here.name(), here.version(), here.recipe()),
        })
    }

    fn egress(&self) -> Result<Egress, RegistryWithoutName> {
        Egress::index(self.resolver.clone(), &self.places.index, &self.places.files)
    }

    async fn open(&self, profile: Profile, egress: Arc<Egress>) -> Result<Cage, InstallError> {
        let image = self.runtime.image().clone();
        let cage = Cage::open(Arc::clone(&self.engine), image, profile, Labels::new(), egress).await?;
        let Some(pem) = &self.roots else { return Ok(cage) };
        match roots::put(&cage, pem).await {
            Ok(()) => Ok(cage),
            Err(error) => Err(discard(cage, error.into()).await),
        }
    }

    fn ways(&self, egress: &Egress) -> Ways {
        ways(egress, [self.places.index.url()])
    }

    /// A program of ours, by the image's interpreter, in an environment in which uv does what it is told and no more.
    ///
    /// Source: uv's reference of environment variables.
    fn python(&self, program: &str) -> Tool {
        let mut env: Vec<(&str, String)> = [
            ("UV_CACHE_DIR", CACHE),
            ("UV_DEFAULT_INDEX", self.places.index.url().as_str()),
            ("UV_NO_CONFIG", "1"),
            ("UV_PYTHON_DOWNLOADS", "never"),
            ("UV_KEYRING_PROVIDER", "disabled"),
            ("UV_NO_PROGRESS", "1"),
            // in seconds, and how often more; npm has the same: an index that is silent for so long is down
            ("UV_HTTP_TIMEOUT", "60"),
            ("UV_HTTP_RETRIES", "1"),
            ("NO_COLOR", "1"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .into();
        if self.roots.is_some() {
            env.extend(roots::variables().map(|(name, path)| (name, path.to_owned())));
        }
        Tool::new(["python3", "-I", "-S", program]).with(&env)
    }
}

impl Wanted<'_> {
    fn package_id(&self) -> String {
        let PypiPackage { name, version, extras, .. } = self.package;
        format!("{name}{extras}=={version}")
    }
}

/// Puts a wheel of this disk into the cage, under its own name.
async fn place(cage: &Cage, wheel: Wheel<'_>) -> Result<String, InstallError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+!-".contains(&b);
    if !wheel.file.ends_with(".whl") || wheel.file.starts_with('.') || !wheel.file.bytes().all(plain) {
        let manager = Manager::Uv;
        let said = vec![Shown::new(
            "the name of a wheel says what it is: NAME-VERSION-PYTHON-ABI-PLATFORM.whl (PEP 427)",
        )];
        let package = Shown::new(wheel.file);
        return Err(InstallError::Unresolved(Box::new(GaveUp {
            manager,
            package,
            said,
            ways: Ways::default(),
        })));
    }
    let path = format!("{WHEELS}/{}", wheel.file);
    cage.put(&path, 0o644, wheel.bytes).await?;
    Ok(path)
}

/// uv's failure to resolve; that a package has no wheel is told apart, since it is a person's choice what to do then.
fn unresolved(package: Shown, said: Vec<Shown>, ways: Ways) -> InstallError {
    match quoted(&said, "Wheels are required for `") {
        Some(needed) => InstallError::NoWheel { package, needed, said },
        None => InstallError::Unresolved(Box::new(GaveUp { manager: Manager::Uv, package, said, ways })),
    }
}

/// uv's failure to install; that bytes are not the locked ones is told apart from a bad day of the network.
fn not_installed(package: Shown, said: Vec<Shown>, ways: Ways) -> InstallError {
    match quoted(&said, "Hash mismatch for `") {
        Some(package) => InstallError::OtherBytes { package, said, asked: ways.asked },
        None => InstallError::NotInstalled(Box::new(GaveUp { manager: Manager::Uv, package, said, ways })),
    }
}

/// What stands between these words and the next quote.
fn quoted(said: &[Shown], after: &str) -> Option<Shown> {
    said.iter().find_map(|line| {
        let line = line.to_string();
        let (_, rest) = line.split_once(after)?;
        rest.split_once('`').map(|(name, _)| Shown::new(name))
    })
}

fn read_resolved(package: Shown, answer: &[u8]) -> Result<Resolved, InstallError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        lock: String,
        #[serde(default)]
        problems: Vec<String>,
        programs: Option<Told>,
        summary: Option<String>,
        unread: Option<String>,
    }
    #[derive(Deserialize)]
    struct Told {
        scripts: Vec<String>,
        modules: Vec<String>,
    }
    let answer: Answer = ours(answer)?;
    if !answer.problems.is_empty() {
        let said = answer.problems.iter().map(|line| Shown::new(line)).collect();
        return Err(InstallError::NotBuildable { package, said });
    }
    let programs = match answer.programs {
        // a name that no plan could hold is none that could be started
        Some(told) => Programs::Known {
            scripts: told.scripts.into_iter().filter_map(|name| name.try_into().ok()).collect(),
            modules: told.modules.into_iter().filter_map(|name| name.try_into().ok()).collect(),
        },
        None => Programs::Unknown { why: Shown::new(&answer.unread.unwrap_or_default()) },
    };
    let summary = answer.summary.as_deref().map(str::trim).filter(|line| !line.is_empty()).map(Shown::new);
    Ok(Resolved { lock: answer.lock.into_bytes(), programs, summary })
}

/// What was installed, as our program in the cage found it.
#[derive(Deserialize)]
struct Installed {
    packages: Vec<InstalledPackage>,
    otherwise: Vec<String>,
    /// What the packages need of each other and is not there.
    unmet: Vec<String>,
}

#[derive(Deserialize)]
struct InstalledPackage {
    name: String,
    version: String,
    scripts: Vec<String>,
    shut: Vec<String>,
    modules: Vec<String>,
}

/// Holds what was installed to the lock, and the plan's program to what was installed.
fn compare(pin: &Pin, tree: &PypiTree, answer: &[u8]) -> Result<(), InstallError> {
    let installed: Installed = ours(answer)?;
    let package = Shown::new(&pin.plan().release().id());
    if !installed.otherwise.is_empty() {
        let files = installed.otherwise.iter().map(|line| Shown::new(line)).collect();
        return Err(InstallError::OtherFiles { package, files });
    }
    if !installed.unmet.is_empty() {
        let said = installed.unmet.iter().map(|line| Shown::new(line)).collect();
        return Err(InstallError::OtherNeeds { package, said });
    }
    let laid = installed.packages.iter().map(|one| (one.name.as_str(), one.version.as_str()));
    if let Some(other) = tree.not_laid_as_locked(laid) {
        return Err(InstallError::OtherTree { package: Shown::new(other) });
    }
    installed.has(package, tree, pin.plan().program())
}

impl Installed {
    fn has(&self, package: Shown, tree: &PypiTree, program: &Program) -> Result<(), InstallError> {
        let own = self.packages.iter().find(|one| one.name.parse().as_ref() == Ok(tree.own()));
        let wanted = program.name();
        let there = match program {
            // a dependency's script will do, as with `uvx --from`; those of the package itself are named
            Program::Script(_) => {
                if self.packages.iter().any(|one| one.scripts.iter().any(|script| script == wanted)) {
                    return Ok(());
                }
                if self.packages.iter().any(|one| one.shut.iter().any(|script| script == wanted)) {
                    return Err(InstallError::ShutProgram { package, wanted: Shown::new(wanted) });
                }
                own.map_or(&[][..], |own| &own.scripts)
            }
            Program::Module(_) => {
                let modules = own.map_or(&[][..], |own| &own.modules);
                if modules.iter().any(|module| module == wanted) {
                    return Ok(());
                }
                modules
            }
            Program::File(_) => &[],
        };
        let there = there.iter().take(NAMED).map(|name| Shown::new(name)).collect();
        Err(InstallError::NoProgram { package, wanted: Shown::new(wanted), there })
    }
}

/// Reads an answer of our own program's.
fn ours<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, InstallError> {
    serde_json::from_slice(answer).map_err(|error| InstallError::Tool {
        tool: Shown::new("python3"),
        said: vec![Shown::new(&format!("its answer cannot be read: {error}"))],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_wheel_is_named() {
        let said = [
            "error: No solution found when resolving dependencies",
            "  cause: Because docopt==0.6.2 has no usable wheels and you require docopt==0.6.2, we can conclude that",
            "hint: Wheels are required for `docopt` because building from source is disabled for all packages",
        ];
        let said: Vec<Shown> = said.iter().map(|line| Shown::new(line)).collect();
        let error = unresolved(Shown::new("x==1"), said, Ways::default());
        assert!(error.to_string().starts_with("docopt comes as source only"), "{error}");
        let other = unresolved(Shown::new("x==1"), vec![Shown::new("error: dns")], Ways::default());
        assert!(matches!(other, InstallError::Unresolved(_)));
    }

    #[test]
    fn a_package_with_other_bytes_is_named() {
        let said = vec![Shown::new("  cause: Hash mismatch for `anyio==4.16.0`"), Shown::new("Expected:")];
        let error = not_installed(Shown::new("x==1"), said, Ways::default());
        assert!(error.to_string().starts_with("anyio==4.16.0 was served with other bytes"), "{error}");
        let other = not_installed(Shown::new("x==1"), vec![Shown::new("error: dns")], Ways::default());
        assert!(matches!(other, InstallError::NotInstalled(_)));
    }

    #[test]
    fn programs_that_could_not_be_started_are_not_told() {
        let answer =
            br#"{"lock": "x==1", "programs": {"scripts": ["x", "../y", "python3"], "modules": ["x", "a-b"]},
                          "summary": " one line ", "unread": null}"#;
        let resolved = read_resolved(Shown::new("x==1"), answer).unwrap();
        let Programs::Known { scripts, modules } = resolved.programs else { panic!("known") };
        assert_eq!(scripts.iter().map(ScriptName::as_str).collect::<Vec<_>>(), ["x"]);
        assert_eq!(modules.iter().map(ModuleName::as_str).collect::<Vec<_>>(), ["x"]);
        assert_eq!(resolved.summary, Some(Shown::new("one line")));
    }

    #[test]
    fn programs_that_could_not_be_read_are_unknown_with_the_reason() {
        let answer = br#"{"lock": "x==1", "programs": null, "summary": null, "unread": "whole files only"}"#;
        let why = Shown::new("whole files only");
        assert_eq!(read_resolved(Shown::new("x==1"), answer).unwrap().programs, Programs::Unknown { why });
    }
}
