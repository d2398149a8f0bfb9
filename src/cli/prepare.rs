//! How does what a user typed become a plan?
//!
//! One way for every command that makes one: find the release, resolve its tree in a cage, draw the plan. Nothing
//! third-party is unpacked on this host or run anywhere. What differs between ecosystems is in a file of each.

mod npm;
mod pypi;

use super::asked::{Asked, PlanOptions};
use super::host::Host;
use super::misplaced::behind_the_dashes;
use super::out::Out;
use super::outside::Outsiders;
use crate::digest::Digest;
use crate::failure::Failure;
use crate::install;
use crate::plan::{Facts, Lock, Plan, Program, Released, Runtime};
use crate::source::{Release, Spec, path};
use crate::text::Shown;

/// A plan, and what belongs to it.
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// Its lock.
    pub lock: Lock,
    /// What is told about the package.
    pub facts: Facts,
    /// Its own bytes, where it comes from this disk.
    pub archive: Option<Vec<u8>>,
}

/// A release and its whole tree, as its ecosystem's client puts it together.
struct Resolved {
    release: Release,
    /// The package's own bytes, where it comes from this disk.
    archive: Option<Vec<u8>>,
    /// The lock as the client wrote it.
    lock: Vec<u8>,
    runtime: install::runtime::Runtime,
    program: Program,
    /// What was chosen otherwise than one might think, a sentence each.
    remarks: Vec<Shown>,
    /// The package's one line about itself, where its client told one that the registry did not.
    summary: Option<Shown>,
}

/// Makes the plan of what was typed.
pub async fn prepare(host: &Host, out: &Out, text: &str, options: &PlanOptions) -> Result<Prepared, Failure> {
    let asked = Asked::read(host, text, options)?;
    if let Some(runtime) = &asked.cage_runtime {
        host.engine().await?.has_runtime(runtime).await?;
    }
    let resolved = match &asked.spec {
        Spec::Npm(spec) => npm::published(host, out, &asked, spec).await?,
        Spec::Pypi(spec) => pypi::published(host, out, &asked, spec).await?,
        Spec::Path(spec) => match path::look(spec.as_path())? {
            path::Kind::Wheel => pypi::local(host, out, &asked, spec.as_path()).await?,
            path::Kind::File | path::Kind::Dir => npm::local(host, out, &asked, spec.as_path()).await?,
        },
    };
    let Resolved { release, archive, lock, runtime, program, remarks, summary } = resolved;
    let released = Released::from(&release);
    let lock = Lock::read(&lock, &released)?;
    let runtime = Runtime::new(runtime.name(), runtime.version(), runtime.recipe())?;
    let mut facts = asked.facts(&release);
    facts.remarks.extend(remarks);
    facts.description = facts.description.or(summary);
    facts.remarks.extend(behind_the_dashes(&options.args));
    let plan = asked.draw(host, released, &lock, runtime, program)?;
    facts.remarks.extend(Outsiders::look(host, &plan).remarks());
    Ok(Prepared { plan, lock, facts, archive })
}

/// The plan of what was typed, over a release and a tree that were shown before: nothing is looked up.
///
/// Gives none where what was shown is another package than was typed.
pub fn prepare_again(
    host: &Host,
    text: &str,
    options: &PlanOptions,
    digest: &Digest,
) -> Result<Option<Prepared>, Failure> {
    let shown = crate::consent::ShownPlans::of(host.home())?;
    let Some(kept) = shown.find(digest, jiff::Timestamp::now())? else { return Ok(None) };
    let asked = Asked::read(host, text, options)?;
    if !asked.is_of(&kept.plan) {
        return Ok(None);
    }
    let (runtime, program) = (kept.plan.runtime().clone(), kept.plan.program().clone());
    let plan = asked.draw(host, kept.plan.release().clone(), &kept.lock, runtime, program)?;
    Ok(Some(Prepared { plan, lock: kept.lock, facts: kept.facts, archive: kept.archive }))
}
