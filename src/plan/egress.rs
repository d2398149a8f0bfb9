//! How is a way out of a cage written in a plan?
//!
//! `host:port`, `*.domain:port`, or `public`, always in one spelling (lower case, the port written out), so that
//! the same rule has the same digest. Whether a host may be reached at all is judged when it is, by address.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::net::HostName;
use crate::text::Shown;

/// The port of a rule that names none: HTTPS.
const HTTPS: u16 = 443;

/// How many rules a plan may hold; each is a line on the card.
pub const MOST_RULES: usize = 64;

/// One way out, in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct WayOut(String);

/// The text is not a way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no egress rule: HOST[:PORT], *.DOMAIN[:PORT], or `public`; a public name, no address")]
pub struct NotAWayOut(Shown);

impl WayOut {
    /// The rule: `api.example.com:443`, `*.example.com:443`, `public`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is `public`, any public name on 80 and 443.
    pub fn is_public(&self) -> bool {
        self.0 == "public"
    }
}

impl FromStr for WayOut {
    type Err = NotAWayOut;

    fn from_str(text: &str) -> Result<Self, NotAWayOut> {
        let refuse = || NotAWayOut(Shown::new(text));
        if text == "public" {
            return Ok(Self(text.to_owned()));
        }
        let (host, port) = match text.rsplit_once(':') {
            None => (text, HTTPS),
            Some((host, port)) => {
                let spelling = !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit());
                (host, port.parse::<u16>().ok().filter(|_| spelling).ok_or_else(refuse)?)
            }
        };
        let (star, host) = host.strip_prefix("*.").map_or(("", host), |domain| ("*.", domain));
        // The grammar and the names that only ever mean this machine are the network guard's; here they are
        // asked so that nobody is shown, and consents to, a rule that can never hold.
        let name: HostName = host.parse().map_err(|_| refuse())?;
        if name.third_party().is_err() {
            return Err(refuse());
        }
        Ok(Self(format!("{star}{name}:{port}")))
    }
}

impl TryFrom<String> for WayOut {
    type Error = NotAWayOut;

    fn try_from(text: String) -> Result<Self, NotAWayOut> {
        let rule: Self = text.parse()?;
        // A stored plan holds the one spelling.
        if rule.0 == text { Ok(rule) } else { Err(NotAWayOut(Shown::new(&text))) }
    }
}

impl From<WayOut> for String {
    fn from(rule: WayOut) -> String {
        rule.0
    }
}

impl fmt::Display for WayOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_names_in_one_spelling() {
        for (text, rule) in [
            ("API.example.com", "api.example.com:443"),
            ("api.example.com.", "api.example.com:443"),
            ("db.example.com:5432", "db.example.com:5432"),
            ("*.example.com", "*.example.com:443"),
            ("bücher.example", "xn--bcher-kva.example:443"),
            ("public", "public"),
        ] {
            assert_eq!(text.parse::<WayOut>().unwrap().as_str(), rule);
        }
    }

    #[test]
    fn refuses_addresses_patterns_and_nonsense() {
        for bad in [
            "",
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "[::1]",
            "::1",
            "*",
            "*.com",
            "a.*.com",
            "https://x.example",
            "x.example/path",
            "x.example:",
            "x.example:0",
            "x.example:080",
            "x.example:65536",
            "x..example",
            "-x.example",
            "x.example:+1",
            "public:443",
            "x y",
            "localhost",
            "x.localhost",
            "printer.local",
            "metadata.google.internal",
            "host.docker.internal",
            "intranet",
            "*.*.example.com",
        ] {
            assert!(bad.parse::<WayOut>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_an_accepted_rule_reads_back_the_same(text in "\\PC{0,40}|[*a-zA-Z0-9.:-]{0,30}") {
            if let Ok(rule) = text.parse::<WayOut>() {
                prop_assert_eq!(rule.as_str().parse::<WayOut>(), Ok(rule));
            }
        }
    }
}
