//! Which servers are measured, and how do they go again?
//!
//! Three, mounted in a home of their own as anybody would: `show`, then `mount` with the digest it gave. One is a
//! package from npm, one a package of Python's; the third is `benches/big-server`, since no published server gives
//! results of a chosen size.
//! A sealed image belongs to a tree and not to a home: one that was there before the bench is left there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pinfold::pin::{LocalFacts, Pin, Store};
use pinfold::plan::LocalName;
use pinfold::state::Home;
use serde::Deserialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::{Outcome, client};

/// The servers, and the home they are mounted in.
pub struct Mounts {
    /// The package from npm.
    pub everything: Mounted,
    /// The one from an index of Python packages.
    pub python: Mounted,
    /// The one that gives large results.
    pub big: Mounted,
    work: PathBuf,
    home: PathBuf,
    state: String,
}

/// A mounted server.
pub struct Mounted {
    spec: String,
    digest: String,
    pin: Pin,
    image: String,
}

/// The part of `show --json` that is needed.
#[derive(Deserialize)]
struct Shown {
    digest: String,
    plan: ShownPlan,
}

#[derive(Deserialize)]
struct ShownPlan {
    name: String,
    version: String,
}

impl Mounts {
    /// Shows and mounts all of them.
    pub fn make(work: &Path, engine: &Engine, package: &str, python: &str) -> Outcome<Self> {
        let home = home(work);
        let big = Path::new(env!("CARGO_MANIFEST_DIR")).join("../big-server").canonicalize()?;
        let big = format!("path:{}", big.display());
        let everything = Mounted::make(work, engine, &format!("npm:{package}"))?;
        let python = Mounted::make(work, engine, &format!("pypi:{python}"))?;
        let big = Mounted::make(work, engine, &big)?;
        let state = Home::at(&home)?.id()?.as_str().to_owned();
        Ok(Self { everything, python, big, work: work.into(), home, state })
    }

    /// Where the bench may leave files while it runs.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// The name that marks this home's cages.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// `pinfold` in this home.
    pub fn pinfold(&self) -> Command {
        pinfold(&self.home)
    }

    /// The command that is in a client's config.
    pub fn run(&self, server: &Mounted) -> Command {
        let mut command = self.pinfold();
        command.args(["run", server.pin.name().as_str()]);
        command
    }
}

impl Mounted {
    fn make(work: &Path, engine: &Engine, spec: &str) -> Outcome<Self> {
        let home = home(work);
        let shown: Shown = serde_json::from_slice(&printed(pinfold(&home).args(["show", "--json", spec]))?)?;
        let spec = match spec.strip_prefix("npm:") {
            // exactly what was shown from here on, whatever is published meanwhile
            Some(package) if !package[1..].contains('@') => format!("{spec}@{}", shown.plan.version),
            None if spec.starts_with("pypi:") && !spec.contains("==") => {
                format!("{spec}=={}", shown.plan.version)
            }
            _ => spec.to_owned(),
        };
        // before the mount, since the clean-up needs to know what was there
        let (tree, there) = sealed(&home, engine, &shown.digest)?;
        let note = serde_json::json!({"tree": tree, "there": there});
        let notes = work.join("trees");
        fs::create_dir_all(&notes)?;
        fs::write(notes.join(&shown.plan.name), note.to_string())?;

        printed(pinfold(&home).args(["mount", "--json", &spec, "--consent", &shown.digest]))?;
        let at = Home::at(&home)?;
        let name: LocalName = shown.plan.name.parse().map_err(|_| "a name that show gave does not parse")?;
        let pin = Store::open(&at)?.load(&name)?;
        let image = LocalFacts::load(&at, &name)?.image.ok_or("the mount did not note its image")?;
        Ok(Self { spec, digest: shown.digest, pin, image })
    }

    /// What was typed, with its exact version.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// The digest that was consented to.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Package and version, as the client of its ecosystem takes them.
    pub fn release(&self) -> String {
        self.spec.trim_start_matches("npm:").trim_start_matches("pypi:").to_owned()
    }

    /// Its sealed image.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The command that is started in the cage.
    pub fn argv(&self) -> Vec<String> {
        self.pin.plan().argv().iter().cloned().map(String::from).collect()
    }
}

/// The tree digest of a plan that was shown, and the sealed images of it that are there already.
fn sealed(home: &Path, engine: &Engine, digest: &str) -> Outcome<(String, Vec<String>)> {
    let shown = pinfold::consent::ShownPlans::of(&Home::at(home)?)?;
    let kept = shown.find(&digest.parse()?, jiff::Timestamp::now())?.ok_or("what was shown was not kept")?;
    let tree = kept.plan.tree_digest().to_string();
    let there = engine.sealed(&tree)?;
    Ok((tree, there))
}

/// Ends what an interrupted measurement left running, and removes what any measurement made.
pub fn clean(work: &Path) -> Outcome<()> {
    client::end_all(work)?;
    let home = home(work);
    let trees = work.join("trees");
    if !home.exists() || !trees.exists() {
        return Ok(());
    }
    let engine = Engine::find(&home)?;
    for cage in engine.cages(Home::at(&home)?.id()?.as_str())? {
        engine.remove(&cage);
    }
    for note in fs::read_dir(trees)? {
        let note: Value = serde_json::from_slice(&fs::read(note?.path())?)?;
        let tree = note["tree"].as_str().unwrap_or_default();
        let there: Vec<&str> =
            note["there"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for image in engine.sealed(tree)? {
            if !there.contains(&image.as_str()) {
                engine.remove_image(&image);
            }
        }
    }
    Ok(())
}

/// The home in a working folder.
pub fn home(work: &Path) -> PathBuf {
    work.join("home")
}

/// `pinfold`, as it was built beside this program, in a home.
pub fn pinfold(home: &Path) -> Command {
    let own = std::env::current_exe().unwrap_or_default();
    let mut command = Command::new(own.with_file_name("pinfold"));
    command.env("PINFOLD_HOME", home);
    command
}

/// What a command prints; its own words if it fails.
fn printed(command: &mut Command) -> Outcome<Vec<u8>> {
    let ended = command.stdin(Stdio::null()).output()?;
    if !ended.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&ended.stderr)).into());
    }
    Ok(ended.stdout)
}
