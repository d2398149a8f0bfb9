//! Which public hosts does a rule open?
//!
//! `host[:port]`, `*.domain[:port]` or `public`. No text that parses as a rule can name this machine or its network:
//! those are opened by [`crate::plan::PrivateWay`], a type of its own that nothing here makes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::failure::{Code, Failure};
use crate::net::{HostName, NotAHostName, RefusedName};

/// The port of a rule that names none.
pub(super) const DEFAULT_PORT: u16 = 443;
/// The ports `public` opens.
const PUBLIC_PORTS: [u16; 2] = [80, 443];

/// One allowed way out, as the user writes it: `host[:port]`, `*.domain[:port]` or `public`.
///
/// The port is 443 where none is written. `*.domain` is every name under the domain, at any depth, and not the
/// domain itself. `public` is every public name on ports 80 and 443. No rule reaches an address that is not public.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EgressRule(Rule);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Rule {
    Host(HostName, u16),
    Under(HostName, u16),
    Public,
}

/// Why a text is no egress rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARule {
    /// Neither of the three forms.
    #[error("an egress rule is `host`, `host:port`, `*.domain`, `*.domain:port` or `public`")]
    Grammar,
    /// A whole URL where a host is meant.
    #[error("an egress rule is a host, not a URL: without scheme and path")]
    Url,
    /// The port is no number from 1 to 65535.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// A wildcard over a whole top-level domain, or everything.
    #[error("a wildcard needs a domain of two labels or more; every public host is `public`")]
    Wildcard,
    /// The host is not a name.
    #[error(transparent)]
    Host(#[from] NotAHostName),
    /// The host is this machine or its network.
    #[error(transparent)]
    Private(#[from] RefusedName),
}

impl EgressRule {
    /// The rule that allows one host on one port.
    ///
    /// # Errors
    /// The name only means this machine or its network, or the port is 0.
    pub fn host(name: HostName, port: u16) -> Result<Self, NotARule> {
        name.third_party()?;
        if port == 0 {
            return Err(NotARule::Port);
        }
        Ok(Self(Rule::Host(name, port)))
    }

    /// Whether it is `public`, which the card has to say aloud.
    pub fn is_public(&self) -> bool {
        self.0 == Rule::Public
    }

    pub(super) fn holds(&self, name: &HostName) -> bool {
        match &self.0 {
            Rule::Host(host, _) => host == name,
            Rule::Under(domain, _) => name.is_under(domain.as_str()),
            Rule::Public => name.third_party().is_ok(),
        }
    }

    pub(super) fn ports(&self) -> &[u16] {
        match &self.0 {
            Rule::Host(_, port) | Rule::Under(_, port) => std::slice::from_ref(port),
            Rule::Public => &PUBLIC_PORTS,
        }
    }
}

impl FromStr for EgressRule {
    type Err = NotARule;

    fn from_str(text: &str) -> Result<Self, NotARule> {
        if text == "public" {
            return Ok(Self(Rule::Public));
        }
        if text.contains('/') {
            return Err(NotARule::Url);
        }
        // More than one colon is an IPv6 address, which the name's own grammar refuses with the better words.
        let (host, port) = match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, port_of(port)?),
            _ => (text, DEFAULT_PORT),
        };
        if host.is_empty() {
            return Err(NotARule::Grammar);
        }
        let Some(domain) = host.strip_prefix("*.") else {
            if host.contains('*') {
                return Err(NotARule::Wildcard);
            }
            return Self::host(host.parse()?, port);
        };
        let domain: HostName = domain.parse().map_err(|error| match domain.contains('*') {
            true => NotARule::Wildcard,
            false => NotARule::Host(error),
        })?;
        if !domain.as_str().contains('.') {
            return Err(NotARule::Wildcard);
        }
        domain.third_party()?;
        Ok(Self(Rule::Under(domain, port)))
    }
}

/// Digits only: `parse` would also take a leading `+`.
fn port_of(text: &str) -> Result<u16, NotARule> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NotARule::Port);
    }
    text.parse().ok().filter(|port| *port != 0).ok_or(NotARule::Port)
}

impl fmt::Display for EgressRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Host(host, DEFAULT_PORT) => write!(f, "{host}"),
            Rule::Host(host, port) => write!(f, "{host}:{port}"),
            Rule::Under(domain, DEFAULT_PORT) => write!(f, "*.{domain}"),
            Rule::Under(domain, port) => write!(f, "*.{domain}:{port}"),
            Rule::Public => f.write_str("public"),
        }
    }
}

impl Serialize for EgressRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EgressRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl From<NotARule> for Failure {
    fn from(error: NotARule) -> Self {
        let hint = match &error {
            NotARule::Private(_) | NotARule::Host(NotAHostName::Address) => {
                "`--egress` opens public hosts by name; a port of this machine or its network is opened by `--egress-private HOST:PORT`"
            }
            _ => "write for example `--egress api.example.com` or `--egress \"*.example.com:8443\"`",
        };
        Failure::new(Code::EgressRefused, "the egress rule is refused", &error, hint)
    }
}
