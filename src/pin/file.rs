//! When is a file a pin?
//!
//! When its form is known, its plan has the digest it says and could have been drawn, its lock is the plan's, its
//! consent is to that plan, and the seal over all of it is this user's.

use serde::{Deserialize, Serialize};

use super::{ConsentRecord, Pin, Surface};
use crate::digest::{Digest, canonical};
use crate::plan::{Lock, Plan, PlanFile};
use crate::state::{Seal, SealKey};

/// The form of a pin's file. Another number is another Pinfold's.
const FORMAT: u32 = 1;

/// What the seal is for: no seal on anything else is valid on a pin.
const PURPOSE: &str = "pin";

/// A pin as it stands in a file: nothing is believed before [`PinFile::check`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    format: u32,
    digest: Digest,
    plan: PlanFile,
    surface: Option<Surface>,
    consent: ConsentRecord,
    pinfold: String,
    seal: Seal,
}

/// What is sealed.
#[derive(Serialize)]
struct Sealed<'a> {
    format: u32,
    digest: Digest,
    plan: &'a Plan,
    surface: &'a Option<Surface>,
    consent: &'a ConsentRecord,
    pinfold: &'a str,
}

#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    sealed: Sealed<'a>,
    seal: Seal,
}

impl<'a> Sealed<'a> {
    fn of(pin: &'a Pin) -> Self {
        Self {
            format: FORMAT,
            digest: pin.plan.digest(),
            plan: &pin.plan,
            surface: &pin.surface,
            consent: &pin.consent,
            pinfold: &pin.pinfold,
        }
    }

    fn seal(&self, key: &SealKey) -> Result<Seal, String> {
        Ok(key.seal(PURPOSE, &canonical(self).map_err(|e| e.to_string())?))
    }
}

/// The pin as a file, sealed: two-space JSON, so that a change to it can be reviewed.
pub(super) fn written(pin: &Pin, key: &SealKey) -> Result<Vec<u8>, String> {
    let sealed = Sealed::of(pin);
    let seal = sealed.seal(key)?;
    let mut bytes = serde_json::to_vec_pretty(&Written { sealed, seal }).map_err(|e| e.to_string())?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl PinFile {
    /// Parses a file's text.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence about the file.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// Everything but the lock, verified; the digest of its lock is among it.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence about the file.
    pub(super) fn unlocked(self, key: &SealKey) -> Result<Unlocked, String> {
        if self.format != FORMAT {
            return Err(format!("it has the form {}, of another version of pinfold", self.format));
        }
        let plan = self.plan.check(&self.digest).map_err(|e| e.to_string())?;
        if self.consent.plan != plan.digest() {
            return Err("its consent is to another plan".to_owned());
        }
        if self.surface.as_ref().is_some_and(|surface| !surface.is_sound()) {
            return Err("its surface is not one that pinfold writes".to_owned());
        }
        let sealed = Sealed {
            format: self.format,
            digest: self.digest,
            plan: &plan,
            surface: &self.surface,
            consent: &self.consent,
            pinfold: &self.pinfold,
        };
        let bytes = canonical(&sealed).map_err(|e| e.to_string())?;
        if !key.verify(PURPOSE, &bytes, &self.seal) {
            return Err("its seal is not this user's: it was edited, or comes from elsewhere".to_owned());
        }
        Ok(Unlocked { plan, surface: self.surface, consent: self.consent, pinfold: self.pinfold })
    }

    /// The pin, with the lock that belongs to it.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence about the file.
    pub fn check(self, lock: &[u8], key: &SealKey) -> Result<Pin, String> {
        self.unlocked(key)?.with_lock(lock)
    }
}

/// A pin that is verified but for its lock.
pub(super) struct Unlocked {
    plan: Plan,
    surface: Option<Surface>,
    consent: ConsentRecord,
    pinfold: String,
}

impl Unlocked {
    pub(super) fn lock_digest(&self) -> Digest {
        self.plan.lock_digest()
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn with_lock(self, lock: &[u8]) -> Result<Pin, String> {
        // Our own bytes have this digest as they are; anything else is not looked into.
        if Digest::of(lock) != self.plan.lock_digest() {
            return Err("its lock is another plan's".to_owned());
        }
        let lock = Lock::read(lock, self.plan.release()).map_err(|e| e.to_string())?;
        if lock.digest() != self.plan.lock_digest() {
            return Err("its lock is not one that pinfold writes".to_owned());
        }
        if self.plan.builds() == lock.builds().is_empty() {
            return Err("its plan and its lock differ about what is built".to_owned());
        }
        let Self { plan, surface, consent, pinfold } = self;
        Ok(Pin { plan, lock, surface, consent, pinfold })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{other_plan, pin};
    use super::*;
    use crate::plan::Plan;
    use crate::plan::tests::{built_draft, built_lock, lock};
    use crate::state::Home;

    fn key() -> (tempfile::TempDir, SealKey) {
        let dir = tempfile::tempdir().unwrap();
        let key = Home::at(dir.path()).unwrap().seal_key().unwrap();
        (dir, key)
    }

    fn check(file: &Value, key: &SealKey) -> Result<Pin, String> {
        PinFile::parse(file.to_string().as_bytes())?.check(lock().bytes(), key)
    }

    fn seen() -> Pin {
        let mut surface = Surface::new().with_instructions(Digest::of(b"i"));
        surface.add("tool/x", Digest::of(b"x"));
        pin().with_surface(surface)
    }

    #[test]
    fn accepts_what_it_wrote_itself() {
        let (_dir, key) = key();
        for pin in [pin(), seen()] {
            let file = serde_json::from_slice(&written(&pin, &key).unwrap()).unwrap();
            assert_eq!(check(&file, &key).unwrap(), pin);
        }
    }

    #[test]
    fn accepts_another_layout_of_the_same_data() {
        let (_dir, key) = key();
        let text = String::from_utf8(written(&seen(), &key).unwrap()).unwrap();
        let squeezed = text.lines().map(str::trim_start).collect::<String>();
        assert!(PinFile::parse(squeezed.as_bytes()).unwrap().check(lock().bytes(), &key).is_ok());
    }

    #[test]
    fn refuses_every_edit_by_hand() {
        let (_dir, key) = key();
        let file: Value = serde_json::from_slice(&written(&seen(), &key).unwrap()).unwrap();
        let other = Digest::of(b"other");
        for (pointer, value) in [
            ("/format", json!(2)),
            ("/digest", json!(other)),
            ("/plan/egress", json!(["api.example.com:443"])),
            ("/plan/name", json!("other")),
            ("/surface", json!(null)),
            ("/surface/items/tool~1x", json!(other)),
            ("/surface/volatile", json!(["tool/y"])),
            ("/consent/plan", json!(other)),
            ("/consent/how", json!("terminal")),
            ("/consent/at", json!("2026-01-01T00:00:00Z")),
            ("/pinfold", json!("9.9.9")),
            ("/seal", json!(format!("hmac-sha256:{}", "0".repeat(64)))),
        ] {
            let mut edited = file.clone();
            *edited.pointer_mut(pointer).unwrap() = value;
            assert!(check(&edited, &key).is_err(), "{pointer}");
        }
        let mut further = file.clone();
        further["further"] = json!(1);
        assert!(check(&further, &key).is_err());
        for member in ["seal", "consent", "plan", "digest"] {
            let mut without = file.clone();
            without.as_object_mut().unwrap().remove(member);
            assert!(check(&without, &key).is_err(), "{member}");
        }
    }

    #[test]
    fn refuses_a_plan_swapped_with_its_digest_and_consent() {
        // Consistent in itself, and yet nobody said yes to it: the seal tells.
        let (_dir, key) = key();
        let mut file: Value = serde_json::from_slice(&written(&pin(), &key).unwrap()).unwrap();
        file["plan"] = serde_json::to_value(other_plan()).unwrap();
        file["digest"] = json!(other_plan().digest());
        file["consent"]["plan"] = json!(other_plan().digest());
        assert!(check(&file, &key).unwrap_err().contains("seal"));
    }

    #[test]
    fn refuses_the_pin_of_another_user() {
        let ((_a, ours), (_b, theirs)) = (key(), key());
        let file = serde_json::from_slice(&written(&pin(), &theirs).unwrap()).unwrap();
        assert!(check(&file, &ours).unwrap_err().contains("seal"));
    }

    #[test]
    fn refuses_a_plan_that_says_otherwise_than_its_lock_what_is_built() {
        let built = built_lock();
        let plan = Plan::draw(built_draft(&built)).unwrap();
        let told = serde_json::to_string(&plan).unwrap().replace(r#""build":true"#, r#""build":false"#);
        let file: PlanFile = serde_json::from_str(&told).unwrap();
        let digest =
            Digest::of_canonical(&serde_json::from_str::<serde_json::Value>(&told).unwrap()).unwrap();
        let plan = file.check(&digest).unwrap();
        let consent = ConsentRecord {
            plan: plan.digest(),
            how: crate::consent::How::Digest,
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let unlocked = Unlocked { plan, surface: None, consent, pinfold: String::new() };
        assert!(unlocked.with_lock(built.bytes()).unwrap_err().contains("what is built"));
    }

    #[test]
    fn refuses_another_lock_and_the_same_lock_written_otherwise() {
        let (_dir, key) = key();
        let bytes = written(&pin(), &key).unwrap();
        let with = |lock: &[u8]| PinFile::parse(&bytes).unwrap().check(lock, &key);
        assert!(with(lock().bytes()).is_ok());
        assert!(with(b"").is_err());
        assert!(with(&lock().bytes()[..lock().bytes().len() - 1]).is_err());
    }
}
