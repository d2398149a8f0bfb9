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

/// Why a start cannot be given its credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// The plan lists them and this environment lacks them.
    #[error("{} is not set", list(.names))]
    Missing {
        /// The server's local name.
        server: String,
        /// Every one that is missing.
        names: Vec<EnvName>,
    },
    /// Its value is not one line of text. A key of several lines is meant for a file: programs cut a variable at
    /// its first newline, or read what follows as another.
    #[error("the value of {name} holds a control character, or is no UTF-8 text")]
    Unusable {
        /// The server's local name.
        server: String,
        /// Which. Its value is nobody's to print.
        name: EnvName,
    },
}

fn list(names: &[EnvName]) -> String {
    names.iter().map(EnvName::as_str).collect::<Vec<_>>().join(", ")
}

impl Given {
    /// Reads the plan's credentials out of this process's environment.
    ///
    /// # Errors
    /// [`NotGiven::Missing`] names every one that is not set, or is empty; [`NotGiven::Unusable`] one that cannot
    /// be a variable.
    pub fn from_environment(plan: &Plan) -> Result<Self, NotGiven> {
        Self::read(plan, |name| std::env::var_os(name).map(std::os::unix::ffi::OsStringExt::into_vec))
    }

    fn read(plan: &Plan, source: impl Fn(&str) -> Option<Vec<u8>>) -> Result<Self, NotGiven> {
        let (mut given, mut missing) = (Vec::new(), Vec::new());
        for name in plan.credentials() {
            match source(name.as_str()).filter(|value| !value.is_empty()) {
                Some(value) => {
                    let secret = Secret::new(value);
                    if !std::str::from_utf8(secret.reveal())
                        .is_ok_and(|text| !text.contains(char::is_control))
                    {
                        return Err(NotGiven::Unusable {
                            server: plan.name().to_string(),
                            name: name.clone(),
                        });
                    }
                    given.push((name.clone(), secret));
                }
                None => missing.push(name.clone()),
            }
        }
        if missing.is_empty() {
            Ok(Self(given))
        } else {
            Err(NotGiven::Missing { server: plan.name().to_string(), names: missing })
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

impl From<NotGiven> for Failure {
    fn from(error: NotGiven) -> Self {
        match &error {
            NotGiven::Missing { server, names } => Failure::new(
                Code::SecretMissing,
                format!("{server} cannot start: {error}"),
                "its plan lists it as a credential, which is read from the environment at every start",
                format!(
                    "set {} in the environment of the program that runs `pinfold run {server}` (an AI client's config has an `env` for it)",
                    list(names)
                ),
            ),
            NotGiven::Unusable { server, name } => Failure::new(
                Code::EnvRefused,
                format!("{server} cannot start: {error}"),
                "a credential travels as one variable of one line, which nothing can take for two",
                format!("set {name} to the credential alone, without a line break at its end"),
            ),
        }
    }
}
