//! How does a source archive become a wheel?
//!
//! By its own code, which runs here for the first time: after the consent, in a cage of its own that is thrown away. Its
//! tools are laid down first, by wheel and hash, with the index reachable; then the way out is shut for good, and only
//! then does the package's build run. What it leaves is taken for a wheel of a stranger's and nothing more: one file,
//! of the package and version that were locked, that goes on into the install cage as any wheel does.
//!
//! Invariant: a build has no network, no credential, and no file but its own archive and its tools.

use std::sync::Arc;
use std::time::Duration;

use super::{InstallError, Pypi, Shown};
use crate::cage::egress::Egress;
use crate::cage::link::LinkError;
use crate::cage::profile::Profile;
use crate::cage::{Cage, CageError};
use crate::install::{GaveUp, Manager, Progress, Tool, leave};
use crate::plan::{Build, SERVER_DIR};
use crate::source::{SourceArchive, WheelName};

const BUILDER: &str = "/tmp/pinfold/build.py";
const BUILDER_SOURCE: &str = include_str!("../../../images/python/build.py");
const BUILDER_ASKED: &str = "/tmp/pinfold/build.json";
/// How long one build may take. Without a compiler it is a matter of seconds.
const PATIENCE: Duration = Duration::from_secs(180);
const TOOLS: &str = "/tmp/pinfold/tools.txt";
/// Longest wheel taken out of the cage, in bytes.
const WHEEL_LIMIT: u64 = 128 * 1024 * 1024;

/// A wheel that was built here.
pub(super) struct Built {
    /// Its file's name.
    pub(super) file: String,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
}

impl Pypi {
    /// Builds a package of the lock from its archive.
    pub(super) async fn build(
        &self,
        build: &Build,
        archive: &SourceArchive,
        progress: &dyn Progress,
    ) -> Result<Built, InstallError> {
        let package = Shown::new(&format!("{}=={}", build.name(), build.version()));
        progress.step(&format!("building {package} in a cage of its own"));
        let egress = Arc::new(self.egress()?);
        let cage = self.open(Profile::build(), Arc::clone(&egress)).await?;
        let built = self.built_in(&cage, &egress, build, archive, &package).await;
        leave(cage, built).await
    }

    async fn built_in(
        &self,
        cage: &Cage,
        egress: &Egress,
        build: &Build,
        archive: &SourceArchive,
        package: &Shown,
    ) -> Result<Built, InstallError> {
        let file = format!("/tmp/pinfold/{}-{}{}", build.name(), build.version(), archive.ending);
        let asked = serde_json::json!({"folder": SERVER_DIR, "requirements": TOOLS, "archive": file});
        cage.put(&file, 0o644, &archive.bytes).await?;
        cage.put(TOOLS, 0o644, build.requirements().as_bytes()).await?;
        cage.put(BUILDER, 0o644, BUILDER_SOURCE.as_bytes()).await?;
        cage.put(BUILDER_ASKED, 0o644, asked.to_string().as_bytes()).await?;
        let prepared = self.python(BUILDER).and("prepare").attempt(cage).await?;
        if !prepared.well {
            return Err(InstallError::NotInstalled(Box::new(GaveUp {
                manager: Manager::Uv,
                package: Shown::new(&format!("what builds {package}")),
                said: prepared.said,
                ways: self.ways(egress),
            })));
        }
        // uv has ended, and with it every connection: from here on strangers' code runs
        egress.shut();
        let before = egress.mark();
        let ended = self.python(BUILDER).and("build").patience(PATIENCE).attempt(cage).await?;
        let denied = || egress.denied_since(before).into_iter().map(|denied| denied.name).collect();
        let late = ended.late;
        let not_built = |said: Vec<Shown>| InstallError::NotBuilt {
            package: package.clone(),
            said,
            denied: denied(),
            late,
        };
        if !ended.well {
            return Err(not_built(ended.said));
        }
        let out = format!("{SERVER_DIR}/out");
        let listed = Tool::new(["ls", "-A", &out]).run(cage).await?;
        let left: Vec<&str> = listed.lines().filter(|name| name.ends_with(".whl")).collect();
        let is_locked = |name: &WheelName| name.name() == build.name() && name.version() == build.version();
        match left[..] {
            [file] if file.parse::<WheelName>().is_ok_and(|name| is_locked(&name)) => {
                match cage.get(&format!("{out}/{file}"), WHEEL_LIMIT).await {
                    Ok(bytes) => Ok(Built { file: file.to_owned(), bytes }),
                    // no plain file, or too long a one: what a build leaves is its own doing
                    Err(CageError::Ended(LinkError::File { why, .. })) => Err(not_built(vec![why])),
                    Err(error) => Err(error.into()),
                }
            }
            _ => Err(not_built(vec![
                Shown::new(&format!(
                    "its build left {}",
                    if left.is_empty() { "no wheel".into() } else { left.join(", ") }
                )),
                Shown::new("one wheel of this very package and version is wanted"),
            ])),
        }
    }
}
