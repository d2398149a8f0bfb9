//! How is a server started?
//!
//! By [`start`], whichever command asks: from a sealed image and its pin, with the credentials the plan lists, and
//! in no other way. What runs is the plan's command; what it sees is the plan's environment and a few variables
//! of our own.
//!
//! Invariants: the image has the pin's tree digest and is for its user, or nothing starts; every folder is judged anew; a credential goes over the link and nowhere
//! else; a plan without egress gets a gate that opens for nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::egress::{Egress, EgressRule};
use super::engine::{Engine, Labels, label};
use super::folder::{Folders, Grounds};
use super::image::Image;
use super::keep::Kept;
use super::link::{Ending, Program, Running, Value};
use super::profile::{HOME, PATH, Profile};
use super::{Cage, CageError, roots};
use crate::net::Resolver;
use crate::pin::Pin;
use crate::plan::SERVER_DIR;
use crate::secret::{Given, Mask};
use crate::state::HomeId;

/// A running server.
pub struct Server {
    /// Its cage; ended when the server is no longer wanted.
    pub cage: Cage,
    /// Its streams and its life.
    pub running: Running,
    /// What it may reach, and what it tried.
    pub egress: Arc<Egress>,
    /// The folders it was given.
    pub folders: Arc<Folders>,
    /// What is left out of what is told of it: its credentials.
    pub mask: Arc<Mask>,
}

/// What a start takes from this host.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The time zone, by name.
    pub time_zone: Option<String>,
    /// The language and encoding.
    pub language: Option<String>,
    /// The certificates this host trusts, as PEM. Of use only where the plan has a way out.
    pub roots: Option<Vec<u8>>,
    /// What folders are judged by.
    pub grounds: Grounds,
    /// Held files that have a second name, as far as that is known; none where nothing is.
    pub second_names: Option<BTreeSet<PathBuf>>,
    /// Whose homes are kept, of plans that keep theirs. None where nothing is to be left behind, as after a trial: the
    /// server then has an empty home in memory.
    pub keep: Option<HomeId>,
}

/// Starts the pinned server in a cage of its sealed image.
///
/// # Errors
/// [`CageError`]: the engine, the cage or the program's start; a folder that is no longer the one that was agreed to;
/// a pin whose image is another's.
pub async fn start(
    engine: Arc<dyn Engine>,
    image: &Image,
    pin: &Pin,
    given: Given,
    around: &Surroundings,
    resolver: Resolver,
) -> Result<Server, CageError> {
    let plan = pin.plan();
    if image.tree() != plan.tree_digest() || image.user() != plan.user() {
        return Err(CageError::OtherImage);
    }
    // a plan's rules were parsed by the same grammar when it was drawn, so none is lost here
    let rules: Vec<EgressRule> = plan
        .egress()
        .iter()
        .map(|way| way.as_str().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| CageError::OtherPlan)?;
    let mask = Arc::new(given.mask());
    let egress = Egress::rules(resolver, rules).and_private(plan.egress_private());
    let egress = Arc::new(egress.without(Arc::clone(&mask)));
    let mut profile = Profile::run(*plan.limits(), plan.user()).with_runtime(plan.cage_runtime());
    if plan.persists()
        && let Some(state) = &around.keep
    {
        let kept = Kept::of(state, plan.name(), plan.source(), plan.user());
        kept.ready(engine.as_ref()).await?;
        profile = profile.with_kept_home(kept);
    }
    // last before the engine is asked: a path can lead elsewhere than when it was agreed to
    let folders = Folders::judge_again(plan.mounts(), plan.user(), &around.grounds)?;
    if let Some(before) = &around.second_names {
        folders.no_new_second_name(before)?;
    }
    let profile = profile.with_folders(&folders);
    let labels = Labels::from([(label::TREE.into(), plan.tree_digest().to_string())]);
    let gate = Arc::clone(&egress);
    let cage = Cage::open(engine, image.id().clone(), profile, labels, gate).await?;
    match launch(&cage, pin, given, around).await {
        Ok(running) => Ok(Server { cage, running, egress, folders: Arc::new(folders), mask }),
        Err(error) => {
            // the error that matters is the first
            let _ = cage.end().await;
            Err(error)
        }
    }
}

async fn launch(cage: &Cage, pin: &Pin, given: Given, around: &Surroundings) -> Result<Running, CageError> {
    let plan = pin.plan();
    let mut env: Vec<(String, Value)> = vec![
        ("PATH".into(), PATH.into()),
        ("HOME".into(), HOME.into()),
        ("LANG".into(), around.language.as_deref().unwrap_or("C.UTF-8").into()),
    ];
    if let Some(zone) = &around.time_zone {
        env.push(("TZ".into(), zone.as_str().into()));
    }
    // only a server that speaks to somebody needs to know whom to trust
    if let (true, Some(pem)) = (plan.has_way_out(), &around.roots) {
        roots::put(cage, pem).await?;
        env.extend(roots::variables().map(|(name, path)| (name.to_owned(), path.into())));
    }
    let settings = plan.env().iter().map(|(name, value)| (name.as_str().to_owned(), value.as_str().into()));
    env.extend(settings);
    let filled = given.fill(plan);
    env.extend(filled.env);
    let program = Program { argv: filled.argv, env, cwd: SERVER_DIR.into(), ending: Ending::SERVER };
    cage.run(program).await
}
