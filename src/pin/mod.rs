//! What did this user consent to, and what was it seen to be?
//!
//! A [`Pin`] is the record: the plan, its lock, the yes, and what the server showed. It is the proof that starting
//! a cage asks for. From a file it comes only through [`PinFile::check`], which recomputes every digest and
//! verifies the seal, so a pin that was edited by hand, or planted, is no consent to anything.
//!
//! Invariants: a pin's lock and consent are those of its plan; there is no way from a file to a pin around the
//! check; image names, last runs and other facts of one machine are not in a pin ([`LocalFacts`]).

mod file;
mod local;
mod store;
mod surface;

pub use file::PinFile;
pub use local::LocalFacts;
pub use store::Store;
pub use surface::Surface;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::consent::{Consent, How};
use crate::digest::Digest;
use crate::failure::{Code, Failure};
use crate::plan::{LocalName, Lock, Plan};
use crate::state::StateError;
use crate::text::Shown;

/// What was consented to, and what was seen since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    plan: Plan,
    lock: Lock,
    surface: Option<Surface>,
    consent: ConsentRecord,
    pinfold: String,
}

/// A consent as it is written down. Says that there was one; only a [`Pin`] proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentRecord {
    plan: Digest,
    how: How,
    at: Timestamp,
}

impl ConsentRecord {
    /// How the yes was given.
    pub fn how(&self) -> How {
        self.how
    }

    /// When.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

impl Pin {
    /// Makes a pin of a plan that was consented to.
    ///
    /// # Errors
    /// [`PinError::Unrelated`] if the lock or the consent is another plan's.
    pub fn consented(plan: Plan, lock: Lock, consent: Consent) -> Result<Self, PinError> {
        if consent.plan() != plan.digest() || lock.digest() != plan.lock_digest() {
            return Err(PinError::Unrelated { name: plan.name().clone() });
        }
        let consent = ConsentRecord { plan: consent.plan(), how: consent.how(), at: consent.at() };
        Ok(Self { plan, lock, surface: None, consent, pinfold: env!("CARGO_PKG_VERSION").to_owned() })
    }

    /// The same pin with what the server was seen to show.
    #[must_use]
    pub fn with_surface(self, surface: Surface) -> Self {
        Self { surface: Some(surface), ..self }
    }

    /// The name the server goes by.
    pub fn name(&self) -> &LocalName {
        self.plan.name()
    }

    /// What was consented to.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The whole tree.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// What the server showed; `None` until it was first seen.
    pub fn surface(&self) -> Option<&Surface> {
        self.surface.as_ref()
    }

    /// The yes.
    pub fn consent(&self) -> &ConsentRecord {
        &self.consent
    }

    /// The version of Pinfold that wrote it.
    pub fn pinfold(&self) -> &str {
        &self.pinfold
    }
}

/// A pin cannot be had, or not be kept.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// There is none under that name.
    #[error("no server is mounted as {name}")]
    NotMounted {
        /// The name.
        name: Shown,
        /// A name that is mounted and looks like it.
        near: Option<LocalName>,
    },
    /// Its files are not a pin of this user's.
    #[error("the pin of {name} cannot be used: {why}")]
    Corrupt {
        /// The name.
        name: Shown,
        /// What is wrong.
        why: String,
    },
    /// A file in the store that says it is a pin, under a name that no pin can have.
    #[error("{path} is no pin, and is in the pin store")]
    NotAPin {
        /// The file.
        path: Shown,
    },
    /// Another source has the name.
    #[error("the name {name} is that of {holder}")]
    Taken {
        /// The name.
        name: LocalName,
        /// Whose it is.
        holder: Shown,
    },
    /// The pin is no longer the one that was read.
    #[error("{name} was mounted anew meanwhile")]
    Moved {
        /// The name.
        name: LocalName,
    },
    /// More items, or longer names of them, than a surface may have.
    #[error("{name} shows more than a pin can hold")]
    TooMuch {
        /// The name.
        name: LocalName,
    },
    /// A plan, a lock and a consent that do not belong together. A fault of ours.
    #[error("the plan of {name}, its lock and the consent do not belong together")]
    Unrelated {
        /// The name.
        name: LocalName,
    },
    /// The store's files cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<PinError> for Failure {
    fn from(error: PinError) -> Self {
        let what = error.to_string();
        match error {
            PinError::State(state) => state.into(),
            PinError::NotMounted { near, .. } => {
                let hint = match near {
                    Some(near) => format!("did you mean {near}? `pinfold list` shows what is mounted"),
                    None => {
                        "mount it first: pinfold mount SPEC; `pinfold list` shows what is mounted".to_owned()
                    }
                };
                Failure::new(Code::NotMounted, what, "only what was consented to is started", hint)
            }
            PinError::Corrupt { name, .. } => Failure::new(
                Code::StateCorrupt,
                what,
                "a pin that was cut short, edited or brought from elsewhere carries no consent",
                format!("forget it with `pinfold pins reset {name}`, then mount the server again"),
            ),
            PinError::NotAPin { path } => Failure::new(
                Code::StateCorrupt,
                what,
                "its name is no server's name, and somebody may believe that it is in force",
                format!("look at where it came from, then move {path} away"),
            ),
            PinError::Taken { name, .. } => Failure::new(
                Code::NameRefused,
                what,
                "two sources never share a name, so that neither can pass for the other",
                format!("give another with --name, or forget that one: pinfold unmount {name}"),
            ),
            PinError::Moved { .. } => Failure::new(
                Code::Other,
                what,
                "another pinfold changed its pin while this one was at work",
                "try again",
            ),
            PinError::TooMuch { .. } => Failure::new(
                Code::ServerFailed,
                what,
                "a server with thousands of tools is of no use to a model, and its surface cannot be held",
                "choose another server",
            ),
            PinError::Unrelated { .. } => {
                Failure::new(Code::Other, what, "this is a fault of pinfold's own", "please report it")
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::consent::by_digest;
    use crate::plan::tests::{draft, lock, plan};
    use crate::plan::{Draft, WayOut};
    use crate::state::ConsentBy;

    pub(crate) fn consent_to(plan: &Plan) -> Consent {
        by_digest(&plan.digest(), plan, ConsentBy::Any, Timestamp::UNIX_EPOCH).unwrap()
    }

    pub(crate) fn pin_of(plan: Plan) -> Pin {
        let consent = consent_to(&plan);
        Pin::consented(plan, lock(), consent).unwrap()
    }

    pub(crate) fn pin() -> Pin {
        pin_of(plan())
    }

    /// A plan of the same name and source that differs.
    pub(crate) fn other_plan() -> Plan {
        let lock = lock();
        let egress = vec!["api.example.com".parse::<WayOut>().unwrap()];
        Plan::draw(Draft { egress, ..draft(&lock) }).unwrap()
    }

    #[test]
    fn accepts_the_consent_to_its_plan_and_refuses_that_to_another() {
        let error = Pin::consented(plan(), lock(), consent_to(&other_plan())).unwrap_err();
        assert!(matches!(error, PinError::Unrelated { .. }));
        assert_eq!(pin().consent().how(), How::Digest);
    }
}
