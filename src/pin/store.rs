//! Where are pins kept, so that two launchers at once and a power cut leave them whole?
//!
//! In a directory: `NAME.json`, the pin, and `NAME.lock`, its tree. The two are one record, and a file system
//! replaces one file at a time, so the pin is the record and says which lock is its own:
//!
//! 1. the new lock is written as `NAME.lock.new`;
//! 2. the new pin replaces `NAME.json`; this is the moment of the change;
//! 3. `NAME.lock.new` becomes `NAME.lock`.
//!
//! After a cut before 2, the old pin finds its lock under the old name; after one between 2 and 3, the new pin
//! finds its own under the new one. Readers look under both, and take whichever has the digest their pin says.
//!
//! Invariants: a writer holds the store's lock; what is read is verified whole or is an error, never an empty
//! store; a name belongs to one source until it is removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{PinFile, Unlocked, written};
use super::{Pin, PinError, Surface};
use crate::digest::Digest;
use crate::plan::LocalName;
use crate::state::{
    FileLock, Home, SealKey, StateError, list_private, read_private, remove_private, shown, write_private,
};
use crate::text::Shown;

const DIRECTORY: &str = "pins";

/// Bytes of a pin: a plan of at most 256 arguments, and a surface.
const PIN_LIMIT: u64 = 8 * 1024 * 1024;

/// Bytes of a lock.
const LOCK_LIMIT: u64 = 16 * 1024 * 1024;

/// How long another launcher may be at it. Writing takes milliseconds.
const WAIT: Duration = Duration::from_secs(10);

/// A directory of pins.
pub struct Store {
    dir: PathBuf,
    lock: PathBuf,
    key: SealKey,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Store {
    /// The user's own store.
    ///
    /// # Errors
    /// [`PinError::State`] if its directory or the key cannot be used.
    pub fn open(home: &Home) -> Result<Self, PinError> {
        let dir = home.state_subdir(DIRECTORY)?;
        // Beside the store, so that a store holds pins and nothing else.
        Ok(Self { dir, lock: home.state_dir().join("pins.lock"), key: home.seal_key()? })
    }

    /// Where the pins are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The names of all pins, sorted.
    ///
    /// # Errors
    /// [`PinError::NotAPin`] for a `.json` whose name is none: somebody may believe that it is in force.
    /// [`PinError::State`] if the directory cannot be used, or is gone.
    pub fn names(&self) -> Result<Vec<LocalName>, PinError> {
        self.entries()?.into_iter().collect()
    }

    /// Every file that says it is a pin, by name. Left-overs of a crash and files that cannot be pins are passed over.
    fn entries(&self) -> Result<Vec<Result<LocalName, PinError>>, PinError> {
        let Some(files) = list_private(&self.dir)? else {
            return Err(StateError::corrupt(&self.dir, "it was there a moment ago and is gone").into());
        };
        let mut entries = Vec::new();
        for file in files {
            let text = file.to_string_lossy();
            if text.starts_with('.') {
                continue;
            }
            let Some(stem) = text.strip_suffix(".json") else { continue };
            let path = || shown(&self.dir.join(&file));
            entries.push(stem.parse().map_err(|_| PinError::NotAPin { path: path() }));
        }
        Ok(entries)
    }

    /// The pin of that name.
    ///
    /// # Errors
    /// [`PinError::NotMounted`] if there is none; otherwise as [`Store::find`].
    pub fn load(&self, name: &LocalName) -> Result<Pin, PinError> {
        self.find(name)?.ok_or_else(|| self.not_mounted(name))
    }

    /// The pin of that name, if there is one.
    ///
    /// # Errors
    /// [`PinError::Corrupt`] if it is not wholly what it should be; [`PinError::State`] if its files cannot be
    /// used.
    pub fn find(&self, name: &LocalName) -> Result<Option<Pin>, PinError> {
        // Without the lock first: starting a server waits for nobody. A pin and a lock that verify belong
        // together, however they were read.
        match self.read(name) {
            Err(PinError::Corrupt { .. }) => {
                // Perhaps a writer was between its steps. Under the lock none is.
                let _held = FileLock::acquire(&self.lock, WAIT)?;
                self.read(name)
            }
            other => other,
        }
    }

    /// Which source has which name, for deriving local names. Locks are not read, so it is quick.
    ///
    /// # Errors
    /// The first pin that cannot be used: whose its name is would be a guess.
    pub fn holders(&self) -> Result<BTreeMap<LocalName, String>, PinError> {
        let mut holders = BTreeMap::new();
        for name in self.names()? {
            if let Some(pin) = self.unlocked(&name)? {
                holders.insert(name, pin.plan().source().to_owned());
            }
        }
        Ok(holders)
    }

    /// Every pin, by name.
    ///
    /// # Errors
    /// The first that cannot be used: a list with a gap would read as complete.
    pub fn all(&self) -> Result<Vec<Pin>, PinError> {
        let mut pins = Vec::new();
        for name in self.names()? {
            // None: removed by another process meanwhile.
            pins.extend(self.find(&name)?);
        }
        Ok(pins)
    }

    /// Every pin that can be used, by name, and what is wrong with each of the others.
    ///
    /// For telling a person what is there; whoever acts on pins asks for [`Store::all`].
    ///
    /// # Errors
    /// [`PinError::State`] if the directory cannot be used, or is gone.
    pub fn survey(&self) -> Result<(Vec<Pin>, Vec<PinError>), PinError> {
        let (mut pins, mut unusable) = (Vec::new(), Vec::new());
        for entry in self.entries()? {
            match entry.and_then(|name| self.find(&name)) {
                Ok(pin) => pins.extend(pin),
                Err(error) => unusable.push(error),
            }
        }
        Ok((pins, unusable))
    }

    /// Keeps a pin, in place of an earlier one of the same source.
    ///
    /// # Errors
    /// [`PinError::Taken`] if another source has the name; [`PinError::Corrupt`] if what is there cannot be read,
    /// and so may be another source's.
    pub fn save(&self, pin: &Pin) -> Result<(), PinError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        let earlier = self.read(pin.name())?;
        if let Some(earlier) = &earlier
            && earlier.plan().source() != pin.plan().source()
        {
            let holder = Shown::new(earlier.plan().source());
            return Err(PinError::Taken { name: pin.name().clone(), holder });
        }
        self.write(pin)
    }

    /// Keeps what a server was seen to show, if its pin still is the one with that plan.
    ///
    /// # Errors
    /// [`PinError::Moved`] if it is not; otherwise as [`Store::load`].
    pub fn save_surface(&self, name: &LocalName, plan: Digest, surface: Surface) -> Result<Pin, PinError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        let pin = self.read(name)?.ok_or_else(|| self.not_mounted(name))?;
        if pin.plan().digest() != plan {
            return Err(PinError::Moved { name: name.clone() });
        }
        let pin = pin.with_surface(surface);
        self.write(&pin)?;
        Ok(pin)
    }

    /// Keeps what a server was seen to show, if its pin still is the one with that plan and says nothing of it yet. Gives
    /// the pin as it then is, or nothing where another was quicker.
    ///
    /// # Errors
    /// As [`Store::save_surface`].
    pub fn save_first_surface(
        &self,
        name: &LocalName,
        plan: Digest,
        surface: Surface,
    ) -> Result<Option<Pin>, PinError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        let pin = self.read(name)?.ok_or_else(|| self.not_mounted(name))?;
        if pin.plan().digest() != plan {
            return Err(PinError::Moved { name: name.clone() });
        }
        if pin.surface().is_some() {
            return Ok(None);
        }
        let pin = pin.with_surface(surface);
        self.write(&pin)?;
        Ok(Some(pin))
    }

    /// Forgets a pin, readable or not.
    ///
    /// # Errors
    /// [`PinError::NotMounted`] if there is none.
    pub fn remove(&self, name: &LocalName) -> Result<(), PinError> {
        let _held = FileLock::acquire(&self.lock, WAIT)?;
        // The pin first: a lock without one means nothing.
        let there = remove_private(&self.file(name, "json"))?;
        for ext in ["lock.new", "lock"] {
            remove_private(&self.file(name, ext))?;
        }
        if there { Ok(()) } else { Err(self.not_mounted(name)) }
    }

    fn file(&self, name: &LocalName, ext: &str) -> PathBuf {
        self.dir.join(format!("{name}.{ext}"))
    }

    /// The pin, verified but for its lock.
    fn unlocked(&self, name: &LocalName) -> Result<Option<Unlocked>, PinError> {
        let corrupt = |why: String| PinError::Corrupt { name: Shown::new(name.as_str()), why };
        let Some(bytes) = read_private(&self.file(name, "json"), PIN_LIMIT)? else { return Ok(None) };
        let pin = PinFile::parse(&bytes).and_then(|file| file.unlocked(&self.key)).map_err(corrupt)?;
        if pin.plan().name() != name {
            return Err(corrupt(format!("it is the pin of {}, renamed", pin.plan().name())));
        }
        Ok(Some(pin))
    }

    fn read(&self, name: &LocalName) -> Result<Option<Pin>, PinError> {
        let corrupt = |why: String| PinError::Corrupt { name: Shown::new(name.as_str()), why };
        let Some(pin) = self.unlocked(name)? else { return Ok(None) };
        let lock = self.lock_of(name, &pin)?.ok_or_else(|| corrupt("its lock is gone".to_owned()))?;
        pin.with_lock(&lock).map(Some).map_err(corrupt)
    }

    /// The lock under either of its names, that with the right digest first.
    fn lock_of(&self, name: &LocalName, pin: &Unlocked) -> Result<Option<Vec<u8>>, PinError> {
        let usual = read_private(&self.file(name, "lock"), LOCK_LIMIT)?;
        if usual.as_deref().is_some_and(|bytes| Digest::of(bytes) == pin.lock_digest()) {
            return Ok(usual);
        }
        let new = read_private(&self.file(name, "lock.new"), LOCK_LIMIT)?;
        let new = new.filter(|bytes| Digest::of(bytes) == pin.lock_digest());
        Ok(new.or(usual))
    }

    fn write(&self, pin: &Pin) -> Result<(), PinError> {
        let name = pin.name();
        if pin.surface().is_some_and(|surface| !surface.is_sound()) {
            return Err(PinError::TooMuch { name: name.clone() });
        }
        self.sweep()?;
        let bytes = written(pin, &self.key)
            .map_err(|why| PinError::Corrupt { name: Shown::new(name.as_str()), why })?;
        self.settle(name)?;
        let (json, lock, new) =
            (self.file(name, "json"), self.file(name, "lock"), self.file(name, "lock.new"));
        write_private(&new, pin.lock().bytes())?;
        if let Err(error) = write_private(&json, &bytes) {
            // a lock that no pin names goes; where the pin is in place all the same, it is its own
            if !read_private(&json, PIN_LIMIT).is_ok_and(|there| there.as_deref() == Some(&bytes[..])) {
                let _ = remove_private(&new);
            }
            return Err(error.into());
        }
        std::fs::rename(&new, &lock).map_err(|e| StateError::io("write", &lock, e))?;
        Ok(())
    }

    /// Finishes a write that was cut short before its last step, so that the next one does not take the lock away
    /// that the present pin needs.
    fn settle(&self, name: &LocalName) -> Result<(), PinError> {
        let (lock, new) = (self.file(name, "lock"), self.file(name, "lock.new"));
        let Some(bytes) = read_private(&new, LOCK_LIMIT)? else { return Ok(()) };
        if self.unlocked(name)?.is_some_and(|pin| pin.lock_digest() == Digest::of(&bytes)) {
            std::fs::rename(&new, &lock).map_err(|e| StateError::io("write", &lock, e))?;
        }
        Ok(())
    }

    /// Removes temporary files of writers that are no more. Only under the lock: then there is no other writer.
    fn sweep(&self) -> Result<(), PinError> {
        for file in list_private(&self.dir)?.unwrap_or_default() {
            if file.to_string_lossy().starts_with(crate::state::TEMPORARY) {
                remove_private(&self.dir.join(file))?;
            }
        }
        Ok(())
    }

    fn not_mounted(&self, name: &LocalName) -> PinError {
        let names = self.names().unwrap_or_default();
        PinError::NotMounted { name: Shown::new(name.as_str()), near: nearest(name, names) }
    }
}

/// The one name that the given one is a slip of: one is a whole word of the other, or they differ by a letter or
/// two. Only said, never acted upon.
fn nearest(name: &LocalName, names: Vec<LocalName>) -> Option<LocalName> {
    let near = |other: &LocalName| {
        let (a, b) = (name.as_str(), other.as_str());
        a.split('-').any(|word| word == b)
            || b.split('-').any(|word| word == a)
            || distance(a, b) <= 2.min(a.len() / 2)
    };
    names.into_iter().filter(near).min_by_key(|other| distance(name.as_str(), other.as_str()))
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let value = (before + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            before = std::mem::replace(&mut row[j + 1], value);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
