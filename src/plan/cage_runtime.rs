//! Under which of the engine's runtimes does a cage run?
//!
//! Under the engine's own, unless a person names another, such as gVisor (`runsc`) or Kata: then under that one or not
//! at all. The name is the engine's; whether it knows one of that name is asked when a cage is started.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::refused::PlanRefused;
use crate::text::Shown;

/// Longest name of a runtime, in characters.
const LONGEST: usize = 64;

/// The name of a runtime of the engine's: letters, digits, `.`, `_` and `-`, the first a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CageRuntime(String);

impl CageRuntime {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CageRuntime {
    type Err = PlanRefused;

    fn from_str(text: &str) -> Result<Self, PlanRefused> {
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        // no path: an engine may take one for a program of its host's
        if !plain || !begins || text.len() > LONGEST {
            return Err(PlanRefused::CageRuntime(Shown::new(text)));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for CageRuntime {
    type Error = PlanRefused;

    fn try_from(text: String) -> Result<Self, PlanRefused> {
        text.parse()
    }
}

impl fmt::Display for CageRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_names_engines_have() {
        for good in ["runsc", "kata-runtime", "io.containerd.kata.v2", "crun", "runsc_ptrace", "a"] {
            assert_eq!(good.parse::<CageRuntime>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn refuses_paths_options_and_what_is_too_long() {
        for bad in ["", "/usr/bin/runsc", "--privileged", ".", "run sc", "runsc\n", "ру", &"a".repeat(65)] {
            assert!(bad.parse::<CageRuntime>().is_err(), "{bad:?}");
        }
    }
}
