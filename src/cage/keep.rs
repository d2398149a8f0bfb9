//! Where is what a server writes in its home kept, and whose is it?
//!
//! In a volume of the engine's, for a server that was mounted with `--persist`. It belongs to one local name of one
//! source in one state directory, so two servers never share one; it outlives cages and plans, and goes when the server
//! is unmounted. The reaper never takes one: what a server wrote is the user's.
//!
//! How much is in it the engine does not bound, and the engine has no `nosuid`, `nodev` or `noexec` for it: the first
//! two are moot in a cage, the third is lost.

use super::CageError;
use super::engine::{Engine, Labels, VolumeRecord, label};
use crate::digest::Digest;
use crate::plan::{LocalName, User};
use crate::state::HomeId;
use crate::text::Shown;

/// The kept home of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    volume: String,
    labels: Labels,
    user: User,
}

impl Kept {
    /// That of this name and source in this state directory, for a server that runs as this user.
    pub fn of(state: &HomeId, name: &LocalName, source: &str, user: User) -> Self {
        let source = Digest::of(source.as_bytes()).to_string();
        let whose = Digest::of(format!("{state} {name} {source}").as_bytes());
        let labels = Labels::from([
            (label::MARK.into(), "home".into()),
            (label::STATE.into(), state.to_string()),
            (label::NAME.into(), name.to_string()),
            (label::SOURCE.into(), source),
        ]);
        Self { volume: format!("pinfold-home-{name}-{}", whose.short(16)), labels, user }
    }

    /// The volume's name in the engine.
    pub fn volume(&self) -> &str {
        &self.volume
    }

    /// Makes sure that it is there, and is what it should be.
    ///
    /// # Errors
    /// [`CageError::KeptElsewhere`] where a volume of that name is another's, or not a plain one; [`CageError::KeptForAnother`]
    /// where what is in it belongs to another user than the server runs as.
    pub(crate) async fn ready(&self, engine: &dyn Engine) -> Result<(), CageError> {
        let volume = match engine.volume(&self.volume).await? {
            Some(volume) => volume,
            None => {
                let mut labels = self.labels.clone();
                labels.insert(label::USER.into(), self.user.to_string());
                engine.make_volume(&self.volume, labels).await?
            }
        };
        // a volume can be a name for any folder of the host's: only one that the engine keeps by itself will do
        if !volume.plain || !self.labels.iter().all(|(name, value)| volume.labels.get(name) == Some(value)) {
            return Err(CageError::KeptElsewhere { volume: Shown::new(&self.volume) });
        }
        let whose = volume.labels.get(label::USER).map(String::as_str).unwrap_or_default();
        if whose != self.user.to_string() {
            return Err(CageError::KeptForAnother { whose: Shown::new(whose), user: self.user });
        }
        Ok(())
    }

    /// Whether there is one.
    pub async fn exists(&self, engine: &dyn Engine) -> Result<bool, CageError> {
        Ok(engine.volume(&self.volume).await?.is_some_and(|volume| self.is(&volume)))
    }

    /// Removes it with what is in it; whether there was one.
    pub async fn forget(&self, engine: &dyn Engine) -> Result<bool, CageError> {
        match engine.volume(&self.volume).await? {
            Some(volume) if self.is(&volume) => {
                engine.remove_volume(&self.volume).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn is(&self, volume: &VolumeRecord) -> bool {
        self.labels.iter().all(|(name, value)| volume.labels.get(name) == Some(value))
    }
}

/// The homes that are kept for this name in this state directory, whatever its source: of servers that are not mounted
/// now, too. Their names in the engine.
pub async fn of_name(
    engine: &dyn Engine,
    state: &HomeId,
    name: &LocalName,
) -> Result<Vec<String>, CageError> {
    let labels = Labels::from([
        (label::MARK.into(), "home".into()),
        (label::STATE.into(), state.to_string()),
        (label::NAME.into(), name.to_string()),
    ]);
    Ok(engine.volumes(&labels).await?.into_iter().map(|volume| volume.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_servers_have_one_home() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, two] = dirs.each_ref().map(|dir| crate::state::Home::at(dir.path()).unwrap().id().unwrap());
        let of =
            |state, name: &str, source| Kept::of(state, &name.parse().unwrap(), source, User::NOBODY).volume;
        let first = of(&one, "memory", "npm:memory");
        assert_eq!(first, of(&one, "memory", "npm:memory"));
        assert!(first.starts_with("pinfold-home-memory-"));
        for other in [
            of(&two, "memory", "npm:memory"),
            of(&one, "memory2", "npm:memory"),
            of(&one, "memory", "pypi:memory"),
        ] {
            assert_ne!(first, other);
        }
    }
}
