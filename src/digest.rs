//! How are bytes and plans named, so that a name can stand for them?
//!
//! One digest, SHA-256, over one form of JSON, RFC 8785: two machines that agree on the data agree on the
//! digest. Parsed from text by one grammar only, so a digest in a file or on a command line reads back the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest as _;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is written `sha256:` and 64 lower-case hex digits")]
pub struct NotADigest;

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest whose bytes were computed elsewhere, piece by piece.
    pub(crate) fn from_sha256(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of a value's canonical JSON ([`canonical`]).
    pub fn of_canonical<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::of(&canonical(value)?))
    }

    /// The 64 hex digits alone.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The first `n` hex digits (at most 64), for names that people read; never for a comparison.
    pub fn short(&self, n: usize) -> String {
        let mut hex = self.hex();
        hex.truncate(n);
        hex
    }
}

/// A value as canonical JSON.
///
/// Source: RFC 8785, JSON Canonicalization Scheme. Numbers follow its section 3.2.2.3, so integers beyond
/// 2^53 lose digits: hash their text instead.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let hex = text.strip_prefix("sha256:").ok_or(NotADigest)?;
        let lower = hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let mut bytes = [0; 32];
        if !lower || hex::decode_to_slice(hex, &mut bytes).is_err() {
            return Err(NotADigest);
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_the_same() {
        let digest = Digest::of(b"pinfold");
        assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn refuses_other_spellings_of_a_digest() {
        let good = Digest::of(b"x").to_string();
        for bad in [
            "",
            "sha256:",
            &good[7..],
            &good.to_uppercase(),
            &good[..70],
            &format!("{good}0"),
            &format!(" {good}"),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
        }
    }

    #[test]
    fn member_order_and_spacing_do_not_change_a_digest() {
        let a: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":[1.0,"é"]}"#).unwrap();
        let b: serde_json::Value = serde_json::from_str("{ \"a\": [1, \"\\u00e9\"], \"b\": 1.0 }").unwrap();
        assert_eq!(Digest::of_canonical(&a).unwrap(), Digest::of_canonical(&b).unwrap());
    }

    #[test]
    fn numbers_are_canonical_whatever_their_size_and_spelling() {
        // With `arbitrary_precision` serde_json hands numbers over as text, which must not show.
        let value: serde_json::Value =
            serde_json::from_str(r#"{"n":[1.0,-0.0,1E5,1.10,18446744073709551616,{"m":9007199254740993}]}"#)
                .unwrap();
        let expected = r#"{"n":[1,0,100000,1.1,18446744073709552000,{"m":9007199254740992}]}"#;
        assert_eq!(String::from_utf8(canonical(&value).unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_number_no_double_can_hold_has_no_canonical_form() {
        let value: serde_json::Value = serde_json::from_str("[1e400]").unwrap();
        assert!(canonical(&value).is_err());
    }
}
