//! Which credentials does this start get, and where from?
//!
//! The plan says which, by name. A value comes from the file that the user named for it, else from the environment of
//! the process that starts the server, else from where `pinfold secret set` has put it. Nothing is guessed from likeness
//! of names, and a missing one is said before anything is started.

use super::Secret;
use super::keyring::{Entry, Keyring, NoKeyring};
use super::mask::Mask;
use super::place::{self, Place, Places};
use crate::cage::link::{Argument, Value};
use crate::failure::{Code, Failure};
use crate::plan::{EnvName, Piece, Plan};
use crate::state::{Home, StateError};
use crate::text::Shown;

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
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// The plan lists them and they are nowhere.
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
    /// The file that the user named for it.
    #[error("{path}, where {name} is to be read from, cannot be read")]
    Unreadable {
        /// The server's local name.
        server: String,
        /// Which.
        name: EnvName,
        /// The file.
        path: Shown,
        /// The system's reason.
        why: Shown,
    },
    /// The keyring that it was put in.
    #[error("{name} is in the system's keyring, and {why}")]
    Keyring {
        /// The server's local name.
        server: String,
        /// Which.
        name: EnvName,
        /// Why it could not be had.
        why: NoKeyring,
    },
    /// What says where they are.
    #[error(transparent)]
    State(#[from] StateError),
}

fn list(names: &[EnvName]) -> String {
    names.iter().map(EnvName::as_str).collect::<Vec<_>>().join(", ")
}

impl Given {
    /// Reads the plan's credentials, each from where its value is: the file that the user named for it, else this
    /// process's environment, else wherever `pinfold secret set` has put it.
    ///
    /// # Errors
    /// [`NotGiven::Missing`] names every one that is nowhere, or empty; the others one that is there and cannot be had:
    /// the next place is not tried instead, for the user meant this one.
    pub async fn gather(home: &Home, plan: &Plan) -> Result<Self, NotGiven> {
        Self::gather_with(home, plan, |name| {
            std::env::var_os(name).map(std::os::unix::ffi::OsStringExt::into_vec).map(Secret::new)
        })
        .await
    }

    async fn gather_with(
        home: &Home,
        plan: &Plan,
        environment: impl Fn(&str) -> Option<Secret>,
    ) -> Result<Self, NotGiven> {
        if plan.credentials().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let server = || plan.name().to_string();
        let places = Places::load(home, plan)?;
        let mut keyring = None;
        let (mut given, mut missing) = (Vec::new(), Vec::new());
        for name in plan.credentials() {
            let set = || environment(name.as_str()).filter(|value| !value.is_empty());
            let value = match places.of(name) {
                Some(Place::File(path)) => {
                    let read = place::read_named(path).map_err(|error| NotGiven::Unreadable {
                        server: server(),
                        name: name.clone(),
                        path: Shown::new(&path.to_string_lossy()),
                        why: Shown::new(&error.to_string()),
                    });
                    Some(read?)
                }
                None => set(),
                Some(Place::Here) => match set() {
                    Some(value) => Some(value),
                    None => places.read_own(name)?,
                },
                Some(Place::Keyring) => match set() {
                    Some(value) => Some(value),
                    None => {
                        let failed = |why| NotGiven::Keyring { server: server(), name: name.clone(), why };
                        if keyring.is_none() {
                            keyring = Some(Keyring::open().await.map_err(failed)?);
                        }
                        let id = home.id()?;
                        let entry = Entry::new(&id, plan, name);
                        match &keyring {
                            Some(keyring) => Some(keyring.get(&entry).await.map_err(failed)?),
                            None => None,
                        }
                    }
                },
            };
            match value.filter(|value| !value.is_empty()) {
                Some(value) if value.is_one_line() => given.push((name.clone(), value)),
                Some(_) => return Err(NotGiven::Unusable { server: server(), name: name.clone() }),
                None => missing.push(name.clone()),
            }
        }
        if missing.is_empty() {
            Ok(Self(given))
        } else {
            Err(NotGiven::Missing { server: server(), names: missing })
        }
    }

    /// What is not to be told of a server that has them.
    pub fn mask(&self) -> Mask {
        let mut mask = Mask::default();
        self.0.iter().for_each(|(name, value)| mask.add(name.as_str(), value.reveal()));
        mask
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
        let error = match error {
            NotGiven::State(state) => return state.into(),
            other => other,
        };
        let what = |server: &str| format!("{server} cannot start: {error}");
        match &error {
            NotGiven::Missing { server, names } => {
                let commands: Vec<String> =
                    names.iter().map(|name| format!("`pinfold secret set {server} {name}`")).collect();
                Failure::new(
                    Code::SecretMissing,
                    what(server),
                    "its plan lists it as a credential, and it is neither in the environment nor kept for this server",
                    format!(
                        "keep it with {}, or set {} in the environment of the program that runs `pinfold run {server}` (an AI client's config has an `env` for it)",
                        commands.join(" and "),
                        list(names)
                    ),
                )
            }
            NotGiven::Unusable { server, name } => Failure::new(
                Code::EnvRefused,
                what(server),
                "a credential travels as one variable of one line, which nothing can take for two",
                format!("set {name} to the credential alone, without a line break at its end"),
            ),
            NotGiven::Unreadable { server, name, why, .. } => Failure::new(
                Code::SecretMissing,
                what(server),
                why,
                format!(
                    "make the file readable, or name another: `pinfold secret set {server} {name} --file PATH`"
                ),
            ),
            NotGiven::Keyring { server, name, .. } => Failure::new(
                Code::SecretMissing,
                what(server),
                "a keyring belongs to a session of its user's, and is open while they are logged in",
                format!(
                    "unlock it, or keep the value in a file of Pinfold's own: `pinfold secret set {server} {name} --no-keyring`"
                ),
            ),
            NotGiven::State(state) => Failure::new(
                Code::StateCorrupt,
                state,
                "where its credentials are cannot be told",
                "set them again",
            ),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::Draft;
    use crate::plan::tests::{draft, lock};

    fn plan(names: &[&str]) -> Plan {
        let lock = lock();
        let env = names.iter().map(|name| name.parse().unwrap()).collect();
        Plan::draw(Draft { env, ..draft(&lock) }).unwrap()
    }

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        (dir, home)
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes().to_vec())
    }

    /// Some credentials.
    pub(crate) fn given(all: &[(&str, &str)]) -> Given {
        Given(all.iter().map(|(name, value)| (name.parse().unwrap(), secret(value))).collect())
    }

    fn values(given: &Given) -> Vec<String> {
        given.0.iter().map(|(_, value)| String::from_utf8(value.reveal().to_vec()).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_named_file_goes_before_the_environment_and_that_before_what_is_kept() {
        let (dir, home) = home();
        let plan = plan(&["A", "B", "C"]);
        let file = dir.path().join("a");
        std::fs::write(&file, "from a file\n").unwrap();
        let mut places = Places::load(&home, &plan).unwrap();
        places.note(&"A".parse().unwrap(), Place::File(file.clone())).unwrap();
        places.keep(&"B".parse().unwrap(), &secret("kept b")).unwrap();
        places.keep(&"C".parse().unwrap(), &secret("kept c")).unwrap();
        let environment = |name: &str| match name {
            "A" | "B" => Some(secret("environment")),
            // an empty one is none
            _ => Some(secret("")),
        };
        let given = Given::gather_with(&home, &plan, environment).await.unwrap();
        assert_eq!(values(&given), ["from a file", "environment", "kept c"]);
        // a file that was meant and is gone is an error, not the environment's turn
        std::fs::remove_file(&file).unwrap();
        let error = Given::gather_with(&home, &plan, environment).await.err().unwrap();
        let failure = Failure::from(error);
        assert_eq!(failure.code(), Code::SecretMissing);
        assert!(failure.hint().to_string().contains("pinfold secret set spotify A --file"), "{failure}");
    }

    #[tokio::test]
    async fn what_is_nowhere_is_named_all_at_once_with_the_commands_that_set_it() {
        let (_dir, home) = home();
        let error = Given::gather_with(&home, &plan(&["A", "B"]), |_| None).await.err().unwrap();
        let hint = Failure::from(error).hint().to_string();
        assert!(hint.contains("`pinfold secret set spotify A` and `pinfold secret set spotify B`"), "{hint}");
    }

    #[tokio::test]
    async fn refuses_a_value_of_two_lines_from_wherever_it_comes_and_does_not_repeat_it() {
        let (_dir, home) = home();
        let plan = plan(&["A"]);
        let mut places = Places::load(&home, &plan).unwrap();
        places.keep(&"A".parse().unwrap(), &secret("hunter\nLD_PRELOAD=x")).unwrap();
        let error = Given::gather_with(&home, &plan, |_| None).await.err().unwrap();
        let failure = Failure::from(error);
        assert_eq!(failure.code(), Code::EnvRefused);
        assert!(!format!("{failure} {}", failure.hint()).contains("hunter"), "{failure}");
    }
}
