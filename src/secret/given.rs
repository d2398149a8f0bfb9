//! Which credentials does this start get, and where from?
//!
//! The plan says which, by name; the environment of the process that starts the server has them. Nothing is
//! guessed from likeness of names, and a missing one is said before anything is started.

use super::Secret;
use crate::cage::link::{Argument, Value};
use crate::failure::{Code, Failure};
use crate::plan::{EnvName, Piece, Plan};

/// The credentials of one start.
pub struct Given(Vec<(EnvName, Secret)>);

/// A plan's command and credentials, ready for the link.
pub(crate) struct Filled {
    /// The command, credentials in their places.
    pub(crate) argv: Vec<Argument>,
    /// The credentials as variables.
    pub(crate) env: Vec<(String, Value)>,
}

/// Credentials that the plan lists and this environment lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not set", list(.missing))]
pub struct Missing {
    server: String,
    missing: Vec<EnvName>,
}

fn list(names: &[EnvName]) -> String {
    names.iter().map(EnvName::as_str).collect::<Vec<_>>().join(", ")
}

impl Given {
    /// Reads the plan's credentials out of this process's environment.
    ///
    /// # Errors
    /// [`Missing`] names every one that is not set, or is empty.
    pub fn from_environment(plan: &Plan) -> Result<Self, Missing> {
        Self::read(plan, |name| std::env::var_os(name).map(std::os::unix::ffi::OsStringExt::into_vec))
    }

    fn read(plan: &Plan, source: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, Missing> {
        let (mut given, mut missing) = (Vec::new(), Vec::new());
        for name in plan.credentials() {
            match source(name.as_str()).filter(|value| !value.is_empty()) {
                Some(value) => given.push((name.clone(), Secret::new(value))),
                None => missing.push(name.clone()),
            }
        }
        if missing.is_empty() {
            Ok(Self(given))
        } else {
            Err(Missing { server: plan.name().to_string(), missing })
        }
    }

    /// Puts the credentials in their places in the plan's command and environment.
    pub(crate) fn fill(self, plan: &Plan) -> Filled {
        let secret = |name: &EnvName| {
            let value =
                self.0.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, value)| value.reveal());
            Value::Secret(Secret::new(value.to_vec()))
        };
        let argv = plan
            .argv()
            .iter()
            .map(|argument| {
                let pieces = argument.pieces().into_iter().map(|piece| match piece {
                    Piece::Text(text) => Value::from(text),
                    Piece::Secret(name) => secret(&name),
                });
                pieces.collect()
            })
            .collect();
        let env = self.0.iter().map(|(name, _)| (name.as_str().to_owned(), secret(name))).collect();
        Filled { argv, env }
    }
}

impl From<Missing> for Failure {
    fn from(error: Missing) -> Self {
        let names = list(&error.missing);
        Failure::new(
            Code::SecretMissing,
            format!("{} cannot start: {error}", error.server),
            "its plan lists it as a credential, which is read from the environment at every start",
            format!(
                "set {names} in the environment of the program that runs `pinfold run {}` (an AI client's config has an `env` for it)",
                error.server
            ),
        )
    }
}
