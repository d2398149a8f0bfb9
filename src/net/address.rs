//! May this address be connected to for a name that somebody else chose?
//!
//! Only if it is a public unicast address. Judged on the address about to be connected to, never on the name: a
//! name says nothing, and a second look-up may answer otherwise. The classes are one table, first match wins, read
//! by the check, by `doctor` and by the tests. What carries an IPv4 address inside is unwrapped and judged by that
//! address too, since a translator on the way would reach it.
//!
//! Invariants: no I/O here; an IPv6 address in no row and outside the one block that is allocated is refused.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::IpNet;

/// One class of addresses, and what is done with it.
#[derive(Debug)]
pub struct Class {
    /// The range, in CIDR form.
    pub net: &'static str,
    /// A short name, for messages.
    pub name: &'static str,
    /// The document that sets the range apart.
    pub source: &'static str,
    /// Why it is not for names that somebody else chose.
    pub why: &'static str,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    Refuse,
    /// Judge the IPv4 addresses inside instead; all must pass.
    Unwrap(fn(Ipv6Addr) -> Vec<Ipv4Addr>),
}

macro_rules! class {
    ($net:literal, $name:literal, $source:literal, $why:literal) => {
        Class { net: $net, name: $name, source: $source, why: $why, rule: Rule::Refuse }
    };
    ($net:literal, $name:literal, $source:literal, $why:literal, unwrap $with:expr) => {
        Class { net: $net, name: $name, source: $source, why: $why, rule: Rule::Unwrap($with) }
    };
}

/// The table, most particular first: the first row that holds the address decides.
#[rustfmt::skip]
pub const CLASSES: &[Class] = &[
    class!("0.0.0.0/32",         "unspecified",    "RFC 1122 3.2.1.3", "connects to this machine on common systems"),
    class!("0.0.0.0/8",          "this-network",   "RFC 791 3.2",      "never a destination; some systems treat it as this machine"),
    class!("10.0.0.0/8",         "private",        "RFC 1918",         "the local network"),
    class!("100.64.0.0/10",      "shared",         "RFC 6598",         "carrier-grade NAT; mesh VPNs and one cloud's metadata service live here"),
    class!("127.0.0.0/8",        "loopback",       "RFC 1122 3.2.1.3", "this machine"),
    class!("168.63.129.16/32",   "cloud-platform", "Azure platform address", "a public-looking address that is a virtual machine's own control service"),
    class!("169.254.0.0/16",     "link-local",     "RFC 3927",         "cloud metadata and its credentials"),
    class!("172.16.0.0/12",      "private",        "RFC 1918",         "the local network"),
    class!("192.0.0.0/24",       "protocol",       "RFC 6890",         "protocol assignments; one cloud's metadata service lives here"),
    class!("192.0.2.0/24",       "documentation",  "RFC 5737",         "TEST-NET-1, never public"),
    class!("192.88.99.0/24",     "relay",          "RFC 7526",         "6to4 relays, withdrawn: whoever announces it gets the traffic"),
    class!("192.168.0.0/16",     "private",        "RFC 1918",         "the local network"),
    class!("198.18.0.0/15",      "benchmarking",   "RFC 2544",         "test networks, and the fake addresses of some VPN clients"),
    class!("198.51.100.0/24",    "documentation",  "RFC 5737",         "TEST-NET-2, never public"),
    class!("203.0.113.0/24",     "documentation",  "RFC 5737",         "TEST-NET-3, never public"),
    class!("224.0.0.0/4",        "multicast",      "RFC 5771",         "not one host"),
    class!("255.255.255.255/32", "broadcast",      "RFC 919",          "not one host"),
    class!("240.0.0.0/4",        "reserved",       "RFC 1112 4",       "not allocated; in use inside some networks"),

    class!("::/128",             "unspecified",    "RFC 4291 2.5.2",   "connects to this machine on common systems"),
    class!("::1/128",            "loopback",       "RFC 4291 2.5.3",   "this machine"),
    class!("::ffff:0:0/96",      "ipv4-mapped",    "RFC 4291 2.5.5.2", "the IPv4 address inside is what is reached", unwrap last_32),
    class!("::/96",              "ipv4-compatible","RFC 4291 2.5.5.1", "the IPv4 address inside may be what is reached", unwrap last_32),
    class!("64:ff9b::/96",       "nat64",          "RFC 6052 2.1",     "a translator reaches the IPv4 address inside", unwrap last_32),
    class!("64:ff9b:1::/48",     "nat64-local",    "RFC 8215",         "translation inside one network, its layout unknown"),
    class!("100::/64",           "discard",        "RFC 6666",         "nothing is there"),
    class!("100:0:0:1::/64",     "dummy",          "RFC 9780",         "nothing is there"),
    class!("2001::/32",          "teredo",         "RFC 4380 4",       "a relay reaches the IPv4 addresses inside", unwrap teredo),
    class!("2001::/23",          "protocol",       "RFC 2928",         "protocol assignments, benchmarking and ORCHID among them"),
    class!("2001:db8::/32",      "documentation",  "RFC 3849",         "never public"),
    class!("2002::/16",          "6to4",           "RFC 3056 2",       "a relay reaches the IPv4 address inside", unwrap six_to_four),
    class!("3fff::/20",          "documentation",  "RFC 9637",         "never public"),
    class!("5f00::/16",          "segment-routing","RFC 9602",         "one network's own routing"),
    class!("fc00::/7",           "unique-local",   "RFC 4193",         "the local network"),
    class!("fe80::/10",          "link-local",     "RFC 4291 2.5.6",   "the local link"),
    class!("fec0::/10",          "site-local",     "RFC 3879",         "the local network, in old installations"),
    class!("ff00::/8",           "multicast",      "RFC 4291 2.7",     "not one host"),
];

/// What is left of IPv6 outside `2000::/3`, the only block allocated for global unicast.
static UNALLOCATED: Class =
    class!("::/0", "unallocated", "RFC 4291 2.4", "outside 2000::/3 nothing is allocated as global unicast");

/// What is refused even for a name that the user typed to open a host of their own.
///
/// Not whole classes of private addresses, which is where such hosts live, but what is no host, and the services that
/// give a machine's own credentials to whoever asks from it: a server that reaches one has left its cage for good.
#[rustfmt::skip]
pub const NEVER: &[Class] = &[
    class!("0.0.0.0/8",          "this-network",   "RFC 791 3.2",      "never a destination; some systems treat it as this machine"),
    class!("100.100.100.200/32", "cloud-metadata", "Alibaba Cloud",    "it hands this machine's credentials to whoever asks"),
    class!("168.63.129.16/32",   "cloud-platform", "Azure platform address", "a virtual machine's own control service"),
    class!("169.254.0.0/16",     "link-local",     "RFC 3927",         "cloud metadata lives here and hands this machine's credentials to whoever asks"),
    class!("192.0.0.192/32",     "cloud-metadata", "Oracle Cloud",     "it hands this machine's credentials to whoever asks"),
    class!("224.0.0.0/4",        "multicast",      "RFC 5771",         "not one host"),
    class!("255.255.255.255/32", "broadcast",      "RFC 919",          "not one host"),

    class!("::/128",             "unspecified",    "RFC 4291 2.5.2",   "connects to this machine on common systems"),
    class!("::ffff:0:0/96",      "ipv4-mapped",    "RFC 4291 2.5.5.2", "the IPv4 address inside is what is reached", unwrap last_32),
    class!("64:ff9b::/96",       "nat64",          "RFC 6052 2.1",     "a translator reaches the IPv4 address inside", unwrap last_32),
    class!("64:ff9b:1::/48",     "nat64-local",    "RFC 8215",         "translation inside one network, its layout unknown"),
    class!("2001::/32",          "teredo",         "RFC 4380 4",       "a relay reaches the IPv4 addresses inside", unwrap teredo),
    class!("2002::/16",          "6to4",           "RFC 3056 2",       "a relay reaches the IPv4 address inside", unwrap six_to_four),
    class!("fd00:ec2::254/128",  "cloud-metadata", "Amazon EC2",       "it hands this machine's credentials to whoever asks"),
    class!("fd20:ce::254/128",   "cloud-metadata", "Google Cloud",     "it hands this machine's credentials to whoever asks"),
    class!("fe80::/10",          "link-local",     "RFC 4291 2.5.6",   "without its link it is no address, and cloud metadata lives here"),
    class!("ff00::/8",           "multicast",      "RFC 4291 2.7",     "not one host"),
];

type Table = Vec<(IpNet, &'static Class)>;

static TABLE: LazyLock<Table> = LazyLock::new(|| read(CLASSES));
static NEVER_TABLE: LazyLock<Table> = LazyLock::new(|| read(NEVER));

fn read(classes: &'static [Class]) -> Table {
    // A row that does not parse cannot be skipped silently; the test `every_row_is_a_range` walks the tables.
    classes.iter().map(|class| (class.net.parse().expect("a row's range is a literal"), class)).collect()
}

/// An address that a name chosen by somebody else must not lead to.
#[derive(Clone, Copy)]
pub struct RefusedAddress {
    address: IpAddr,
    carried: Option<Ipv4Addr>,
    class: &'static Class,
}

impl RefusedAddress {
    /// The address that was judged.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The class it, or the address inside it, falls in.
    pub fn class(&self) -> &'static Class {
        self.class
    }
}

impl PartialEq for RefusedAddress {
    fn eq(&self, other: &Self) -> bool {
        (self.address, self.carried, self.class.net) == (other.address, other.carried, other.class.net)
    }
}

impl Eq for RefusedAddress {}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        if let Some(carried) = self.carried {
            write!(f, " carries {carried}, which")?;
        }
        write!(f, " is {} ({}): {}", self.class.name, self.class.source, self.class.why)
    }
}

impl fmt::Debug for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RefusedAddress {}

/// Passes a public unicast address; anything else is refused with its class.
///
/// ```
/// use pinfold::net::address::check;
/// assert!(check("9.9.9.9".parse().unwrap()).is_ok());
/// assert!(check("::ffff:169.254.169.254".parse().unwrap()).is_err());
/// ```
pub fn check(address: IpAddr) -> Result<(), RefusedAddress> {
    judge(&TABLE, address).unwrap_or_else(|| match address {
        IpAddr::V6(v6) if v6.segments()[0] & 0xe000 != 0x2000 => {
            Err(RefusedAddress { address, carried: None, class: &UNALLOCATED })
        }
        _ => Ok(()),
    })
}

/// Passes an address that a name of the user's own may lead to; what is in [`NEVER`] is refused.
///
/// ```
/// use pinfold::net::address::check_private;
/// assert!(check_private("192.168.1.20".parse().unwrap()).is_ok());
/// assert!(check_private("169.254.169.254".parse().unwrap()).is_err());
/// ```
pub fn check_private(address: IpAddr) -> Result<(), RefusedAddress> {
    judge(&NEVER_TABLE, address).unwrap_or(Ok(()))
}

/// What the first row that holds the address says; `None` if none does.
fn judge(table: &Table, address: IpAddr) -> Option<Result<(), RefusedAddress>> {
    let (_, class) = table.iter().find(|(net, _)| net.contains(&address))?;
    let (Rule::Unwrap(inside), IpAddr::V6(v6)) = (&class.rule, address) else {
        return Some(Err(RefusedAddress { address, carried: None, class }));
    };
    let refused = inside(v6).into_iter().find_map(|carried| {
        let inner = judge(table, IpAddr::V4(carried))?.err()?;
        Some(RefusedAddress { address, carried: Some(carried), class: inner.class })
    });
    Some(refused.map_or(Ok(()), Err))
}

fn last_32(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let o = address.octets();
    vec![Ipv4Addr::new(o[12], o[13], o[14], o[15])]
}

fn six_to_four(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let o = address.octets();
    vec![Ipv4Addr::new(o[2], o[3], o[4], o[5])]
}

/// The server's address as it is, and the client's with every bit turned over (RFC 4380 4).
fn teredo(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let o = address.octets();
    vec![Ipv4Addr::new(o[4], o[5], o[6], o[7]), Ipv4Addr::new(!o[12], !o[13], !o[14], !o[15])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(address: &str) -> Option<&'static str> {
        check(address.parse().unwrap()).err().map(|refused| refused.class().name)
    }

    #[test]
    fn every_row_is_a_range() {
        for class in CLASSES.iter().chain(NEVER) {
            let net: IpNet = class.net.parse().unwrap();
            assert_eq!(net, net.trunc(), "{} has host bits", class.net);
            assert!(!class.source.is_empty() && !class.why.is_empty());
        }
        assert_eq!((TABLE.len(), NEVER_TABLE.len()), (CLASSES.len(), NEVER.len()));
    }

    #[test]
    fn refuses_both_ends_of_every_range() {
        for class in CLASSES.iter().filter(|class| matches!(class.rule, Rule::Refuse)) {
            let net: IpNet = class.net.parse().unwrap();
            assert!(check(net.network()).is_err(), "{}", net.network());
            assert!(check(net.broadcast()).is_err(), "{}", net.broadcast());
        }
    }

    #[test]
    fn what_is_never_reached_is_no_strangers_either() {
        for class in NEVER.iter().filter(|class| matches!(class.rule, Rule::Refuse)) {
            let net: IpNet = class.net.parse().unwrap();
            for address in [net.network(), net.broadcast()] {
                assert!(check_private(address).is_err() && check(address).is_err(), "{address}");
            }
        }
    }

    #[test]
    fn a_name_of_the_users_own_may_lead_to_their_network_and_not_to_metadata() {
        for good in [
            "127.0.0.1",
            "127.0.0.2",
            "::1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.20",
            "100.64.0.7",
            "fd00::1",
            "fd00:ec2::253",
            "9.9.9.9",
            "2606:4700::1111",
            "::ffff:10.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "100.100.100.199",
            "100.100.100.201",
            "192.0.0.191",
            "192.0.0.193",
            "240.0.0.1",
        ] {
            assert_eq!(check_private(good.parse().unwrap()), Ok(()), "{good}");
        }
        for bad in [
            "0.0.0.0",
            "169.254.169.254",
            "169.254.0.0",
            "169.254.255.255",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "ff02::1",
        ] {
            assert!(check_private(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    type Neighbours = (&'static str, &'static str, Option<&'static str>, &'static str, Option<&'static str>);

    /// The address just before and just after each range, and what it is.
    #[rustfmt::skip]
    const NEIGHBOURS: &[Neighbours] = &[
        ("0.0.0.0/32",         "0.0.0.0",         Some("unspecified"), "0.0.0.1",       Some("this-network")),
        ("0.0.0.0/8",          "0.0.0.1",         Some("this-network"), "1.0.0.0",      None),
        ("10.0.0.0/8",         "9.255.255.255",   None,                "11.0.0.0",      None),
        ("100.64.0.0/10",      "100.63.255.255",  None,                "100.128.0.0",   None),
        ("127.0.0.0/8",        "126.255.255.255", None,                "128.0.0.0",     None),
        ("168.63.129.16/32",   "168.63.129.15",   None,                "168.63.129.17", None),
        ("169.254.0.0/16",     "169.253.255.255", None,                "169.255.0.0",   None),
        ("172.16.0.0/12",      "172.15.255.255",  None,                "172.32.0.0",    None),
        ("192.0.0.0/24",       "191.255.255.255", None,                "192.0.1.0",     None),
        ("192.0.2.0/24",       "192.0.1.255",     None,                "192.0.3.0",     None),
        ("192.88.99.0/24",     "192.88.98.255",   None,                "192.88.100.0",  None),
        ("192.168.0.0/16",     "192.167.255.255", None,                "192.169.0.0",   None),
        ("198.18.0.0/15",      "198.17.255.255",  None,                "198.20.0.0",    None),
        ("198.51.100.0/24",    "198.51.99.255",   None,                "198.51.101.0",  None),
        ("203.0.113.0/24",     "203.0.112.255",   None,                "203.0.114.0",   None),
        ("224.0.0.0/4",        "223.255.255.255", None,                "240.0.0.0",     Some("reserved")),
        ("255.255.255.255/32", "255.255.255.254", Some("reserved"),    "255.255.255.255", Some("broadcast")),
        ("240.0.0.0/4",        "239.255.255.255", Some("multicast"),   "255.255.255.254", Some("reserved")),
        ("::/128",             "::",              Some("unspecified"), "::1",           Some("loopback")),
        ("::1/128",            "::",              Some("unspecified"), "::2",           Some("this-network")),
        ("::ffff:0:0/96",      "::fffe:ffff:ffff", Some("unallocated"), "::1:0:0:0",    Some("unallocated")),
        ("::/96",              "::1",             Some("loopback"),    "::1:0:0",       Some("unallocated")),
        ("64:ff9b::/96",       "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "64:ff9b::1:0:0", Some("unallocated")),
        ("64:ff9b:1::/48",     "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "64:ff9b:2::", Some("unallocated")),
        ("100::/64",           "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "100:0:0:1::", Some("dummy")),
        ("100:0:0:1::/64",     "100::ffff:ffff:ffff:ffff", Some("discard"), "100:0:0:2::", Some("unallocated")),
        ("2001::/32",          "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "2001:1::", Some("protocol")),
        ("2001::/23",          "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "2001:200::", None),
        ("2001:db8::/32",      "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", None, "2001:db9::", None),
        ("2002::/16",          "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "2003::", None),
        ("3fff::/20",          "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "3fff:1000::", None),
        ("5f00::/16",          "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "5f01::", Some("unallocated")),
        ("fc00::/7",           "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "fe00::", Some("unallocated")),
        ("fe80::/10",          "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("unallocated"), "fec0::", Some("site-local")),
        ("fec0::/10",          "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("link-local"), "ff00::", Some("multicast")),
        ("ff00::/8",           "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("site-local"), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("multicast")),
    ];

    #[test]
    fn judges_both_neighbours_of_every_range() {
        let rows: Vec<_> = NEIGHBOURS.iter().map(|row| row.0).collect();
        let classes: Vec<_> = CLASSES.iter().map(|class| class.net).collect();
        assert_eq!(rows, classes, "every row has its neighbours here");
        for (net, before, class_before, after, class_after) in NEIGHBOURS {
            assert_eq!(class_of(before), *class_before, "before {net}");
            assert_eq!(class_of(after), *class_after, "after {net}");
        }
    }

    #[test]
    fn refuses_a_private_address_in_every_wrapping() {
        for wrapped in [
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:a00:1::1",
            "2001:0:a00:1::",               // Teredo, private server
            "2001:0:909:909:0:0:f5ff:fffe", // Teredo, private client, bits turned over
            "::ffff:169.254.169.254",
        ] {
            let refused = check(wrapped.parse().unwrap()).unwrap_err();
            assert!(matches!(refused.class().name, "private" | "link-local"), "{wrapped}: {refused}");
            assert!(refused.to_string().contains(" carries "), "{refused}");
        }
    }

    #[test]
    fn accepts_a_public_address_in_every_wrapping() {
        for wrapped in [
            "::ffff:9.9.9.9",
            "::9.9.9.9",
            "64:ff9b::9.9.9.9",
            "2002:909:909::1",
            "2001:0:909:909::f6f6:f6f6",
        ] {
            assert_eq!(class_of(wrapped), None, "{wrapped}");
        }
    }

    #[test]
    fn accepts_public_addresses() {
        for public in ["1.1.1.1", "9.9.9.9", "192.31.196.1", "2606:4700::1111", "2a00::1", "2620:4f:8000::1"]
        {
            assert_eq!(class_of(public), None, "{public}");
        }
    }
}
