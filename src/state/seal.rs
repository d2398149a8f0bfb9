//! How does a file of ours show that this user's Pinfold wrote it?
//!
//! By a seal, HMAC-SHA256 with a random key that only this user can read. A pin edited by hand, copied from
//! somebody else, or planted by a program that can write files but was not given the key, does not carry it.
//! A program running as this very user can read the key; that is the limit of what a file can prove.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{StateError, shown};

/// The key of [`Seal`]s: no Debug, no Clone, wiped when dropped.
pub struct SealKey(Zeroizing<[u8; SealKey::LEN]>);

/// A seal on some bytes, written `hmac-sha256:` and 64 hex digits. Says nothing until verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal([u8; 32]);

/// The text is not a seal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a seal is written `hmac-sha256:` and 64 lower-case hex digits")]
pub struct NotASeal;

impl SealKey {
    /// Bytes of a key.
    pub const LEN: usize = 32;

    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// Seals bytes. `purpose` keeps a seal made for one kind of file from being valid on another.
    pub fn seal(&self, purpose: &'static str, bytes: &[u8]) -> Seal {
        Seal(self.mac(purpose, bytes).finalize().into_bytes().into())
    }

    /// Whether that seal was made with this key for these bytes and this purpose, in constant time.
    #[must_use]
    pub fn verify(&self, purpose: &'static str, bytes: &[u8], seal: &Seal) -> bool {
        self.mac(purpose, bytes).verify_slice(&seal.0).is_ok()
    }

    fn mac(&self, purpose: &'static str, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        mac.update(purpose.as_bytes());
        // A purpose holds no NUL, so where it ends cannot be moved.
        mac.update(&[0]);
        mac.update(bytes);
        mac
    }
}

/// The key file may be read by its owner only.
pub(super) fn judge_secrecy(path: &Path) -> Result<(), StateError> {
    let meta = fs::symlink_metadata(path).map_err(|e| StateError::io("inspect", path, e))?;
    if meta.mode() & 0o077 != 0 {
        return Err(StateError::Unsafe {
            path: shown(path),
            why: "can be read by others",
            remedy: format!(
                "remove {}: another key is made, and what is mounted has to be consented to again",
                shown(path)
            ),
        });
    }
    Ok(())
}

impl FromStr for Seal {
    type Err = NotASeal;

    fn from_str(text: &str) -> Result<Self, NotASeal> {
        let hex = text.strip_prefix("hmac-sha256:").ok_or(NotASeal)?;
        let lower = hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let mut bytes = [0; 32];
        if !lower || hex::decode_to_slice(hex, &mut bytes).is_err() {
            return Err(NotASeal);
        }
        Ok(Self(bytes))
    }
}

impl std::fmt::Display for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "hmac-sha256:{}", hex::encode(self.0))
    }
}

impl Serialize for Seal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_its_own_seal_and_refuses_every_neighbour() {
        let (key, other) = (SealKey::new(&[7; 32]).unwrap(), SealKey::new(&[8; 32]).unwrap());
        let seal = key.seal("pin", b"bytes");
        assert!(key.verify("pin", b"bytes", &seal));
        assert!(!key.verify("pin", b"byte", &seal));
        assert!(!key.verify("pins", b"bytes", &seal));
        assert!(!other.verify("pin", b"bytes", &seal));
    }

    #[test]
    fn a_seal_is_hmac_sha256() {
        // RFC 4231 has no vector with this framing; computed with `openssl dgst -sha256 -mac HMAC`.
        let key = SealKey::new(&[0x0b; 32]).unwrap();
        let text = serde_json::to_string(&key.seal("pin", b"Hi There")).unwrap();
        assert_eq!(text, "\"hmac-sha256:888f3d0f30102dc4aa538589e51d11d363d49f8141d39b40a6bdca12739a1a2e\"");
        assert_eq!(serde_json::from_str::<Seal>(&text).unwrap(), key.seal("pin", b"Hi There"));
    }

    #[test]
    fn refuses_a_key_of_another_length() {
        assert!(SealKey::new(&[0; 31]).is_none() && SealKey::new(&[0; 33]).is_none());
    }
}
