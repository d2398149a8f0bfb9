//! How does a value get into this system's keyring, and out of it again?
//!
//! Through the Secret Service of the session bus, which GNOME, KDE and KeePassXC offer, spoken to without a library of
//! the system's. A host without a session bus has no keyring: that is usual on servers, and then none is asked.
//!
//! An entry is found by what it is for: the state directory, the server, its source and the variable. So another
//! server that asks for a variable of the same name finds nothing.

use std::collections::HashMap;
use std::time::Duration;

use secret_service::{EncryptionType, Error, Item, SecretService};
use tokio::time::timeout;

use super::Secret;
use crate::plan::{EnvName, Plan};
use crate::state::HomeId;

/// How long the service may take to answer, its start included.
const ANSWERING: Duration = Duration::from_secs(10);

/// How long a person may take to unlock the keyring, where it asks them.
const UNLOCKING: Duration = Duration::from_secs(60);

/// Why the keyring could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoKeyring {
    /// There is no session bus, or nobody on it who keeps secrets.
    #[error("this session has no keyring")]
    Absent,
    /// It does not answer.
    #[error("the keyring does not answer")]
    Silent,
    /// It is locked, and nobody unlocked it.
    #[error("the keyring is locked")]
    Locked,
    /// It has no such entry any more.
    #[error("the keyring has no entry for it any more")]
    Gone,
    /// It refused, or failed.
    #[error("the keyring failed: {0}")]
    Failed(String),
}

impl From<Error> for NoKeyring {
    fn from(error: Error) -> Self {
        match error {
            Error::Unavailable => Self::Absent,
            Error::Locked | Error::Prompt => Self::Locked,
            other => Self::Failed(other.to_string()),
        }
    }
}

/// This session's keyring.
pub struct Keyring(SecretService<'static>);

impl Keyring {
    /// Whether this process is in a session that could have one. Asks nobody.
    pub fn is_likely() -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        // Source: D-Bus Specification, "Well-known Message Bus Instances"; systemd puts the socket there
        set("DBUS_SESSION_BUS_ADDRESS")
            || std::env::var_os("XDG_RUNTIME_DIR")
                .is_some_and(|dir| std::path::Path::new(&dir).join("bus").exists())
    }

    /// Finds it.
    ///
    /// # Errors
    /// [`NoKeyring::Absent`] where there is none; [`NoKeyring::Silent`] after 10 s.
    pub async fn open() -> Result<Self, NoKeyring> {
        if !Self::is_likely() {
            return Err(NoKeyring::Absent);
        }
        // Encrypted on the bus as well, which others of this user may listen on.
        match timeout(ANSWERING, SecretService::connect(EncryptionType::Dh)).await {
            Ok(Ok(service)) => Ok(Self(service)),
            // no bus at that address, or nobody who offers the service
            Ok(Err(_)) => Err(NoKeyring::Absent),
            Err(_) => Err(NoKeyring::Silent),
        }
    }

    /// Keeps a value, in place of an earlier one.
    ///
    /// # Errors
    /// [`NoKeyring`]
    pub async fn set(&self, entry: &Entry<'_>, value: &Secret) -> Result<(), NoKeyring> {
        let keep = async {
            let collection = self.0.get_default_collection().await?;
            collection.unlock().await?;
            let label = format!("{} for {} (pinfold)", entry.variable, entry.server);
            collection.create_item(&label, entry.attributes(), value.reveal(), true, "text/plain").await?;
            Ok(())
        };
        timeout(UNLOCKING, keep).await.unwrap_or(Err(NoKeyring::Locked))
    }

    /// The value.
    ///
    /// # Errors
    /// [`NoKeyring`]
    pub async fn get(&self, entry: &Entry<'_>) -> Result<Secret, NoKeyring> {
        let read = async {
            let item = self.find(entry).await?.ok_or(NoKeyring::Gone)?;
            if item.is_locked().await? {
                item.unlock().await?;
            }
            Ok(Secret::new(item.get_secret().await?))
        };
        timeout(UNLOCKING, read).await.unwrap_or(Err(NoKeyring::Locked))
    }

    /// Forgets the value, if it is there.
    ///
    /// # Errors
    /// [`NoKeyring`]
    pub async fn forget(&self, entry: &Entry<'_>) -> Result<(), NoKeyring> {
        let remove = async {
            if let Some(item) = self.find(entry).await? {
                item.delete().await?;
            }
            Ok(())
        };
        timeout(UNLOCKING, remove).await.unwrap_or(Err(NoKeyring::Locked))
    }

    async fn find(&self, entry: &Entry<'_>) -> Result<Option<Item<'_>>, NoKeyring> {
        let found = self.0.search_items(entry.attributes()).await?;
        Ok(found.unlocked.into_iter().chain(found.locked).next())
    }
}

/// What an entry is for.
pub struct Entry<'a> {
    home: &'a str,
    server: &'a str,
    source: &'a str,
    variable: &'a str,
}

impl<'a> Entry<'a> {
    /// The credential of a plan's server.
    pub fn new(home: &'a HomeId, plan: &'a Plan, variable: &'a EnvName) -> Self {
        Self {
            home: home.as_str(),
            server: plan.name().as_str(),
            source: plan.source(),
            variable: variable.as_str(),
        }
    }

    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([
            ("application", "pinfold"),
            ("home", self.home),
            ("server", self.server),
            ("source", self.source),
            ("variable", self.variable),
        ])
    }
}
