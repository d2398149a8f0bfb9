//! How does a plan come to be?
//!
//! In one function, from parts that were each checked when they were made. A plan from a file goes through the
//! very same function, so a file cannot hold a plan that could not have been drawn.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::egress::MOST_RULES;
use super::mount::{self, MOST_MOUNTS};
use super::release::Stored;
use super::{
    Argument, ArgumentRefused, Body, CageRuntime, EnvAsked, EnvName, EnvValue, FORMAT, Install, Limits,
    LocalName, Lock, MOST_ARGUMENTS, Mount, Plan, PlanFile, PlanRefused, PrivateWay, Program, Released,
    Runtime, User, WayOut,
};
use crate::digest::Digest;
use crate::source::{Ecosystem, Extras, HeldTo, Requirement};
use crate::text::Shown;

/// Requirements a plan may hold besides the package; each is a line on the card.
const MOST_REQUIREMENTS: usize = 32;
/// Variables a plan may name; each is a line on the card.
const MOST_VARIABLES: usize = 128;

/// What a plan is drawn from. Every part has been checked by its own type.
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    /// The name it will go by.
    pub name: LocalName,
    /// The exact package.
    pub release: Released,
    /// Its whole tree.
    pub lock: &'a Lock,
    /// What runs it.
    pub runtime: Runtime,
    /// What else was asked to be in the tree.
    pub with: Vec<Requirement>,
    /// The program of the package to start.
    pub program: Program,
    /// The server's arguments, as typed after `--`.
    pub arguments: Vec<String>,
    /// Variables asked for. Dropped ones are ignored here: whoever parsed them says so in `Facts`.
    pub env: Vec<EnvAsked>,
    /// Ways out, to public hosts.
    pub egress: Vec<WayOut>,
    /// Ways to this machine and its network, as the user typed them.
    pub egress_private: Vec<PrivateWay>,
    /// Folders of this machine, in any order.
    pub mounts: Vec<Mount>,
    /// Whether what the server writes in its home is kept.
    pub persist: bool,
    /// Limits.
    pub limits: Limits,
    /// Who it runs as.
    pub user: User,
    /// The runtime of the engine's, where one was named.
    pub cage_runtime: Option<CageRuntime>,
}

impl Plan {
    /// Draws the plan.
    ///
    /// # Errors
    /// [`PlanRefused`] for an argument, a variable given in two ways, or more of anything than a card can show.
    pub fn draw(draft: Draft<'_>) -> Result<Self, PlanRefused> {
        let Draft {
            name,
            release,
            lock,
            runtime,
            with,
            program,
            arguments,
            env,
            egress,
            egress_private,
            mounts,
            persist,
            limits,
            user,
            cage_runtime,
        } = draft;
        if arguments.len() > MOST_ARGUMENTS {
            let position = MOST_ARGUMENTS + 1;
            return Err(PlanRefused::Argument { position, why: ArgumentRefused::TooMany });
        }
        let mut argv = program.launcher(&release)?;
        for (at, text) in arguments.iter().enumerate() {
            let refused = |why| PlanRefused::Argument { position: at + 1, why };
            argv.push(Argument::new(text).map_err(refused)?);
        }
        let mut settings = BTreeMap::<EnvName, EnvValue>::new();
        let mut credentials: BTreeSet<EnvName> = argv.iter().flat_map(Argument::secrets).collect();
        for asked in env {
            match asked {
                EnvAsked::Credential(name) => {
                    credentials.insert(name);
                }
                EnvAsked::Setting(name, value) => {
                    if settings.get(&name).is_some_and(|earlier| *earlier != value) {
                        return Err(PlanRefused::TwiceGiven(name));
                    }
                    settings.insert(name, value);
                }
                EnvAsked::Dropped { .. } => {}
            }
        }
        let body = Body {
            format: FORMAT,
            name,
            source: release.source(),
            ecosystem: release.package().ecosystem(),
            package: release.package().name().to_owned(),
            extras: release.extras(),
            version: release.package().version(),
            integrity: release.package().held_to(),
            origin: release.origin().clone(),
            lock: lock.digest(),
            runtime,
            install: Install { scripts: false, build: !lock.builds().is_empty() },
            with,
            program,
            argv,
            env: settings,
            credentials,
            egress: egress.into_iter().collect(),
            egress_private: egress_private.into_iter().collect(),
            mounts: mount::in_order(mounts)?,
            persist,
            limits,
            user,
            cage_runtime,
        };
        Self::from_body(body, release)
    }

    /// The checks that concern several parts at once, then the digests.
    fn from_body(body: Body, released: Released) -> Result<Self, PlanRefused> {
        if let Some(name) = body.env.keys().find(|name| body.credentials.contains(*name)) {
            return Err(PlanRefused::TwiceGiven(name.clone()));
        }
        released.check_origin()?;
        if body.runtime.name() != released.runtime() {
            return Err(PlanRefused::Runtime(Shown::new(body.runtime.name())));
        }
        if body.with.len() > MOST_REQUIREMENTS {
            return Err(PlanRefused::TooMany { what: "requirements", most: MOST_REQUIREMENTS });
        }
        if body.egress.len() + body.egress_private.len() > MOST_RULES {
            return Err(PlanRefused::TooMany { what: "egress rules", most: MOST_RULES });
        }
        if body.mounts.len() > MOST_MOUNTS {
            return Err(PlanRefused::TooMany { what: "folders", most: MOST_MOUNTS });
        }
        // root is for a folder of root's; without one there is nothing that it could do
        if body.user.is_root() && body.mounts.is_empty() {
            return Err(PlanRefused::Root);
        }
        if body.env.len() + body.credentials.len() > MOST_VARIABLES {
            return Err(PlanRefused::TooMany { what: "variables", most: MOST_VARIABLES });
        }
        let canonical = |e: serde_json::Error| PlanRefused::Stored(Shown::new(&e.to_string()));
        let digest = Digest::of_canonical(&body).map_err(canonical)?;
        let tree = Digest::of_canonical(&Tree::of(&body)).map_err(canonical)?;
        let launcher = body.program.launcher(&released)?.len();
        Ok(Self { body, released, launcher, digest, tree })
    }
}

/// What decides the content of a sealed image. No path of this machine, so the same archive gives the same tree.
#[derive(Serialize)]
struct Tree<'a> {
    format: u32,
    ecosystem: Ecosystem,
    package: &'a str,
    extras: &'a Extras,
    version: &'a str,
    integrity: &'a HeldTo,
    lock: Digest,
    runtime: &'a Runtime,
    install: Install,
}

impl<'a> Tree<'a> {
    fn of(body: &'a Body) -> Self {
        Self {
            format: FORMAT,
            ecosystem: body.ecosystem,
            package: &body.package,
            extras: &body.extras,
            version: &body.version,
            integrity: &body.integrity,
            lock: body.lock,
            runtime: &body.runtime,
            install: body.install,
        }
    }
}

impl PlanFile {
    /// The plan, if it is the one that `expected` names and one that could have been drawn.
    ///
    /// # Errors
    /// [`PlanRefused::Digest`] if it is another, [`PlanRefused::Stored`] or the part's own refusal if it could
    /// not.
    pub fn check(self, expected: &Digest) -> Result<Plan, PlanRefused> {
        let body = self.0;
        let stored = |why: &str| PlanRefused::Stored(Shown::new(why));
        if body.format != FORMAT {
            return Err(stored("it has the form of another version of pinfold"));
        }
        // Every part is checked again as when it was drawn; those that follow from others must follow.
        let release = Released::stored(&Stored {
            ecosystem: body.ecosystem,
            package: &body.package,
            extras: &body.extras,
            version: &body.version,
            integrity: &body.integrity,
            origin: &body.origin,
        })?;
        if body.source != release.source() {
            return Err(stored("its source is not that of its package"));
        }
        let launcher = body.program.launcher(&release)?;
        if !body.argv.starts_with(&launcher) {
            return Err(stored("its command does not start its program"));
        }
        if body.argv.len() > MOST_ARGUMENTS + launcher.len() {
            return Err(stored("its command is too long"));
        }
        if !body.argv.iter().flat_map(Argument::secrets).all(|name| body.credentials.contains(&name)) {
            return Err(stored("its command refers to a credential that it does not list"));
        }
        if mount::in_order(body.mounts.clone())? != body.mounts {
            return Err(stored("its folders are not in order"));
        }
        if body.install.scripts {
            return Err(stored("it runs install scripts"));
        }
        if body.install.build && body.ecosystem != Ecosystem::Pypi {
            return Err(stored("it builds packages of another ecosystem than Python's"));
        }
        let plan = Plan::from_body(body, release)?;
        if plan.digest != *expected {
            return Err(PlanRefused::Digest { expected: *expected, found: plan.digest });
        }
        Ok(plan)
    }
}

#[cfg(test)]
pub(crate) mod tests;
