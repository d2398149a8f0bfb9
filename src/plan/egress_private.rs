//! How is a way to this machine, or to its network, written in a plan?
//!
//! `host:port`, the port always written, in a field of its own, so that it is never mistaken for one of the public
//! rules. Only the person who types `--egress-private` makes one: there is no `FromStr` and no `Deserialize`, and the
//! one constructor is a word to search for, [`PrivateWay::typed`]. A registry's entry, a launch line, a redirect or a
//! cage's question holds names ([`HostName`]) and rules ([`super::WayOut`]), and neither becomes this:
//!
//! ```compile_fail
//! let way: pinfold::plan::PrivateWay = "localhost:5432".parse().unwrap();
//! ```
//! ```compile_fail
//! let way: pinfold::plan::PrivateWay = serde_json::from_str("\"localhost:5432\"").unwrap();
//! ```
//! ```compile_fail
//! let theirs: pinfold::plan::WayOut = "db.example.com:5432".parse().unwrap();
//! let way: pinfold::plan::PrivateWay = theirs.into();
//! ```
//! ```compile_fail
//! let way = pinfold::plan::PrivateWay::typed("localhost:5432").unwrap();
//! ```
//!
//! A host is a name. In a cage names alone lead anywhere: the address that stands for one is the cage's own invention,
//! and a program that connects to `192.168.1.20` finds no route, whatever the launcher would allow. The one address
//! that every cage has is loopback, so 127.0.0.1 and ::1 are taken for `localhost`.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::failure::{Code, Failure};
use crate::net::own::ENGINE_PORTS;
use crate::net::{HostName, NotAHostName, OperatorHost, RefusedName};
use crate::text::Shown;

/// One way to this machine or its network: a name and a port.
///
/// `localhost`, and any name under it, is this machine's loopback and nothing else. Every other name is resolved by this
/// machine's own resolver at each connection, and may lead to any address but those of
/// [`crate::net::address::NEVER`], and to this machine's own on any port but a container engine's. A name that is public may be given too: inside a company one often leads to a
/// private address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrivateWay {
    host: HostName,
    port: u16,
}

/// The text opens nothing of this machine or its network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAPrivateWay {
    /// Not `HOST:PORT`.
    #[error("it is written HOST:PORT, a port from 1 to 65535")]
    Grammar,
    /// A URL.
    #[error("it is a host and a port, not a URL: without scheme and path")]
    Url,
    /// A pattern, or `public`.
    #[error("each host is named by itself, no pattern")]
    Pattern,
    /// An address other than loopback's own.
    #[error("a cage reaches hosts by name alone: a program in it that connects to {0} finds no route")]
    Address(Shown),
    /// The host is no name.
    #[error(transparent)]
    Host(#[from] NotAHostName),
    /// A name that nobody can mean.
    #[error(transparent)]
    Never(#[from] RefusedName),
    /// A container engine's own port.
    #[error("port {0} is a container engine's own: whoever speaks to it is root on this machine")]
    Engine(u16),
}

impl PrivateWay {
    /// Takes what the user typed after `--egress-private`. Whoever calls this vouches that it was the user.
    ///
    /// # Errors
    /// [`NotAPrivateWay`]
    pub(crate) fn typed(text: &str) -> Result<Self, NotAPrivateWay> {
        if text.contains('/') {
            return Err(NotAPrivateWay::Url);
        }
        if text == "public" || text.starts_with("public:") || text.contains('*') {
            return Err(NotAPrivateWay::Pattern);
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Err(match is_here(address) {
                true => NotAPrivateWay::Grammar,
                false => NotAPrivateWay::Address(Shown::new(text)),
            });
        }
        let (host, port) = text.rsplit_once(':').ok_or(NotAPrivateWay::Grammar)?;
        let plain = !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|_| plain).ok_or(NotAPrivateWay::Grammar)?;
        let literal = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        };
        let host: HostName = match literal {
            Some(address) if is_here(address) => "localhost".parse()?,
            Some(_) => return Err(NotAPrivateWay::Address(Shown::new(host))),
            None if host.is_empty() => return Err(NotAPrivateWay::Grammar),
            None => host.parse().map_err(|error| match error {
                NotAHostName::Address => NotAPrivateWay::Address(Shown::new(host)),
                grammar => NotAPrivateWay::Host(grammar),
            })?,
        };
        host.private()?;
        if host.is_this_machine() && ENGINE_PORTS.contains(&port) {
            return Err(NotAPrivateWay::Engine(port));
        }
        Ok(Self { host, port })
    }

    /// The host. This is where a name becomes one that may be private, because the user typed it.
    pub(crate) fn host(&self) -> OperatorHost {
        OperatorHost::chosen_by_operator(self.host.clone())
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it leads to this machine by definition; any other name may do so as well.
    pub fn is_this_machine(&self) -> bool {
        self.host.is_this_machine()
    }
}

fn is_here(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// Ways of a stored plan, each in its one spelling: what a plan's digest is over was typed when it was drawn.
pub(super) fn stored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<PrivateWay>, D::Error> {
    let mut ways = BTreeSet::new();
    for text in Vec::<String>::deserialize(deserializer)? {
        let way = PrivateWay::typed(&text).map_err(serde::de::Error::custom)?;
        if way.to_string() != text {
            return Err(serde::de::Error::custom("a way to this network in another spelling than its one"));
        }
        ways.insert(way);
    }
    Ok(ways)
}

impl fmt::Display for PrivateWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Serialize for PrivateWay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<NotAPrivateWay> for Failure {
    fn from(error: NotAPrivateWay) -> Self {
        let hint = match &error {
            NotAPrivateWay::Address(_) => {
                "give the host a name, in your name server or in /etc/hosts, write `--egress-private NAME:PORT`, and have the server connect to that name"
            }
            NotAPrivateWay::Never(name) if name.row().why.contains("localhost") => {
                "write `--egress-private localhost:PORT`, and have the server connect to localhost"
            }
            NotAPrivateWay::Never(_) | NotAPrivateWay::Engine(_) => {
                "leave it out; no option opens it to a caged server"
            }
            NotAPrivateWay::Pattern => "name each host; public hosts are opened by `--egress`",
            _ => "write for example `--egress-private localhost:5432` or `--egress-private nas.home:8080`",
        };
        Failure::new(Code::EgressRefused, "the way to your own network is refused", &error, hint)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_a_name_and_a_port_in_one_spelling() {
        for (text, way) in [
            ("localhost:5432", "localhost:5432"),
            ("LOCALHOST.:5432", "localhost:5432"),
            ("127.0.0.1:5432", "localhost:5432"),
            ("[::1]:5432", "localhost:5432"),
            ("app.localhost:3000", "app.localhost:3000"),
            ("nas:445", "nas:445"),
            ("Printer.local:631", "printer.local:631"),
            ("db.corp.example.com:5432", "db.corp.example.com:5432"),
            ("router.lan:2375", "router.lan:2375"),
        ] {
            assert_eq!(PrivateWay::typed(text).unwrap().to_string(), way);
        }
    }

    #[test]
    fn refuses_an_address_with_what_a_cage_can_do_about_it() {
        for text in [
            "192.168.1.20:5432",
            "127.0.0.2:80",
            "0.0.0.0:80",
            "169.254.169.254:80",
            "[fd00::1]:443",
            "[::]:80",
            "0x7f.1:80",
            "2130706433:80",
            "127.1:80",
            "192.168.1.20",
            "fd00::1",
            "[fe80::1%eth0]:80",
        ] {
            let refused = PrivateWay::typed(text).unwrap_err();
            assert!(matches!(refused, NotAPrivateWay::Address(_)), "{text}: {refused:?}");
            assert!(Failure::from(refused).hint().to_string().contains("/etc/hosts"), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_single_host_and_port() {
        for text in [
            "",
            ":",
            "localhost",
            "localhost:",
            "localhost:0",
            "localhost:080",
            "localhost:65536",
            "localhost:+1",
            ":5432",
            "127.0.0.1",
            "::1",
            "*:80",
            "*.lan:80",
            "public",
            "public:443",
            "http://localhost:80",
            "a b:80",
            "localhost:80/x",
            "-a:80",
            "a..b:80",
            "a\u{0}:80",
            "localhost:5432:1",
        ] {
            let refused = PrivateWay::typed(text).unwrap_err();
            assert_eq!(Failure::from(refused).code(), Code::EgressRefused, "{text}");
        }
    }

    #[test]
    fn refuses_metadata_an_engine_and_this_machine_under_a_name_it_does_not_have() {
        for (text, said) in [
            ("metadata.google.internal:80", "credentials"),
            ("metadata:80", "credentials"),
            ("instance-data:80", "credentials"),
            ("localhost:2375", "root on this machine"),
            ("127.0.0.1:2376", "root on this machine"),
        ] {
            let refused = PrivateWay::typed(text).unwrap_err();
            assert!(refused.to_string().contains(said), "{text}: {refused}");
        }
        let docker = Failure::from(PrivateWay::typed("host.docker.internal:5432").unwrap_err());
        assert!(docker.hint().to_string().contains("localhost:PORT"), "{docker:?}");
    }

    #[test]
    fn a_stored_way_has_its_one_spelling() {
        let read = |text: &str| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            stored(&mut deserializer)
        };
        assert_eq!(read(r#"["localhost:5432"]"#).unwrap().len(), 1);
        for bad in
            [r#"["127.0.0.1:5432"]"#, r#"["LOCALHOST:5432"]"#, r#"["10.0.0.1:1"]"#, r#"[1]"#, r#""x:1""#]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_an_accepted_way_reads_back_the_same(text in "\\PC{0,40}|[a-zA-Z0-9.:\\[\\]-]{0,30}") {
            if let Ok(way) = PrivateWay::typed(&text) {
                prop_assert_eq!(PrivateWay::typed(&way.to_string()), Ok(way.clone()));
                prop_assert!(way.port() != 0);
            }
        }
    }
}
