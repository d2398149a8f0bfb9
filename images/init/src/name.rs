//! Is this text a host name that a rule can be held against?
//!
//! One spelling a name: lower case, no trailing dot, letters, digits, `-` and `_` only (a name outside those
//! cannot be on an allow-list, and must not reach a log or a terminal as bytes). RFC 1035 §2.3.4 gives the lengths.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A host name, lower case, without a trailing dot, 1 to 253 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(Box<str>);

/// The text is not a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a host name has 1 to 253 characters in labels of 1 to 63 letters, digits, hyphens or underscores")]
pub struct NotAHostName;

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = NotAHostName;

    fn from_str(text: &str) -> Result<Self, NotAHostName> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if text.len() > 253 || !text.split('.').all(label) {
            return Err(NotAHostName);
        }
        Ok(Self(text.to_ascii_lowercase().into()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for HostName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folds_case_and_the_trailing_dot() {
        assert_eq!("API.Example.COM.".parse::<HostName>().unwrap().as_str(), "api.example.com");
    }

    #[test]
    fn refuses_what_is_not_a_host_name() {
        let long_label = "a".repeat(64);
        let long_name = ["a".repeat(63).as_str(); 4].join(".");
        for bad in [
            "",
            ".",
            "a..b",
            ".a",
            "a..",
            "a b",
            "a/b",
            "a\u{0}b",
            "é.example",
            "*.a",
            "[::1]",
            &long_label,
            &long_name,
        ] {
            assert_eq!(bad.parse::<HostName>(), Err(NotAHostName), "{bad:?}");
        }
    }

    #[test]
    fn accepts_the_longest_label_and_name() {
        let name = format!("{}.{}", ["a".repeat(63).as_str(); 3].join("."), "a".repeat(61));
        assert_eq!(name.len(), 253);
        assert!(name.parse::<HostName>().is_ok());
        assert!("_dmarc.xn--e1afmkfd".parse::<HostName>().is_ok());
    }

    proptest! {
        #[test]
        fn an_accepted_name_reads_back_the_same(text in "\\PC{0,80}|[a-z.-]{1,80}") {
            if let Ok(name) = text.parse::<HostName>() {
                prop_assert_eq!(name.as_str().parse::<HostName>(), Ok(name));
            }
        }
    }
}
