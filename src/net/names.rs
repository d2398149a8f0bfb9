//! Is this text the name of a host, and may somebody else have chosen it?
//!
//! [`HostName`] is the one form of a name, so that `LOCALHOST.`, `localhost` and its full-width spelling are one
//! thing wherever names are compared. An address is never a name, in whatever form it is written: it would pass a
//! resolver unseen. The table of names refused before any look-up is a cheap first cut that gives a clear reason;
//! the boundary is the address check.
//!
//! Invariants: no I/O here; a `HostName` is lower-case ASCII, without a trailing dot, at most 253 bytes.

use std::fmt;
use std::str::FromStr;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use crate::text::Shown;

/// A host's name in the one form Pinfold compares and looks up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

/// Why a text is not a host's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAHostName {
    /// Outside the grammar.
    #[error(
        "a host's name is labels of letters, digits, `-` and `_` joined by dots, none longer than 63 and all \
         together at most 253 (RFC 1035 2.3.4, RFC 5891)"
    )]
    Grammar,
    /// An address, in any of the forms a C library or a browser takes.
    #[error("an address is not a name: a name's last label is not a number (WHATWG URL 3.5)")]
    Address,
}

impl HostName {
    /// The name, lower-case ASCII without a trailing dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this name is `domain` or lies under it; whole labels are compared.
    pub fn is_at_or_under(&self, domain: &str) -> bool {
        self.0 == domain || self.is_under(domain)
    }

    /// Whether this name lies under `domain`, at any depth; the domain itself does not.
    pub fn is_under(&self, domain: &str) -> bool {
        self.0.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }

    /// Refuses the names that only ever mean this machine or its network.
    ///
    /// To be asked before the look-up of any name that somebody else chose.
    pub fn third_party(&self) -> Result<(), RefusedName> {
        match self.row_in(REFUSED) {
            Some(row) => Err(RefusedName { name: self.clone(), row }),
            None if !self.0.contains('.') => Err(RefusedName { name: self.clone(), row: &SINGLE_LABEL }),
            None => Ok(()),
        }
    }

    /// Refuses the names that a user cannot mean, not even for a host of their own.
    ///
    /// To be asked of a name that the user chose and that may be private; what others chose is asked
    /// [`HostName::third_party`].
    pub fn private(&self) -> Result<(), RefusedName> {
        match self.row_in(NEVER) {
            Some(row) => Err(RefusedName { name: self.clone(), row }),
            None => Ok(()),
        }
    }

    /// Whether it is this machine by its own name: `localhost`, or a name under it (RFC 6761 6.3).
    pub fn is_this_machine(&self) -> bool {
        self.is_at_or_under("localhost")
    }

    fn row_in(&self, table: &'static [Row]) -> Option<&'static Row> {
        table.iter().find(|row| match row.pattern.strip_prefix("*.") {
            Some(domain) => self.is_at_or_under(domain),
            None => self.0 == row.pattern,
        })
    }
}

impl FromStr for HostName {
    type Err = NotAHostName;

    fn from_str(text: &str) -> Result<Self, NotAHostName> {
        // An IPv6 address holds a colon and would be refused by the grammar; this names the better reason.
        if text.contains([':', '[', ']']) {
            return Err(NotAHostName::Address);
        }
        // Bounded before the mapping, which is linear but need not see a megabyte.
        if text.len() > 1_024 {
            return Err(NotAHostName::Grammar);
        }
        let ascii = Uts46::new()
            .to_ascii(text.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::VerifyAllowRootDot)
            .map_err(|_| NotAHostName::Grammar)?;
        // After the mapping, because a full-width dot or digit has become a plain one by now.
        let name = ascii.strip_suffix('.').unwrap_or(&ascii);
        let label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
        };
        if !name.split('.').all(label) {
            return Err(NotAHostName::Grammar);
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        let number = last.bytes().all(|b| b.is_ascii_digit())
            || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if number {
            return Err(NotAHostName::Address);
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<&HostName> for Shown {
    fn from(name: &HostName) -> Self {
        Shown::new(&name.0)
    }
}

/// One name, or one domain with all under it, that is refused before look-up.
#[derive(Debug)]
pub struct Row {
    /// `name`, or `*.domain` for the domain itself and everything under it.
    pub pattern: &'static str,
    /// The document that sets it apart, or who uses it.
    pub source: &'static str,
    /// What it leads to.
    pub why: &'static str,
}

const fn row(pattern: &'static str, source: &'static str, why: &'static str) -> Row {
    Row { pattern, source, why }
}

/// The names refused before look-up.
#[rustfmt::skip]
pub const REFUSED: &[Row] = &[
    row("*.localhost",       "RFC 6761 6.3",  "this machine"),
    row("*.localdomain",     "common hosts files", "this machine"),
    row("ip6-localhost",     "common hosts files", "this machine"),
    row("ip6-loopback",      "common hosts files", "this machine"),
    row("*.local",           "RFC 6762 3",    "the local link, answered by whoever is on it"),
    row("*.internal",        "ICANN, reserved for private use", "private networks, cloud metadata and container hosts"),
    row("*.home.arpa",       "RFC 8375",      "the home network"),
    row("*.lan",             "RFC 6762 G",    "the local network, by common use"),
    row("*.home",            "RFC 6762 G",    "the local network, by common use"),
    row("*.corp",            "RFC 6762 G",    "the local network, by common use"),
    row("*.intranet",        "RFC 6762 G",    "the local network, by common use"),
    row("*.private",         "RFC 6762 G",    "the local network, by common use"),
    row("*.svc",             "Kubernetes",    "services of the cluster this machine belongs to"),
    row("metadata",          "cloud images' hosts files", "cloud metadata and its credentials"),
    row("instance-data",     "cloud images' hosts files", "cloud metadata and its credentials"),
    row("*.in-addr.arpa",    "RFC 1035 3.5",  "addresses written backwards, not hosts"),
    row("*.ip6.arpa",        "RFC 3596 2.5",  "addresses written backwards, not hosts"),
    row("*.onion",           "RFC 7686",      "not in the DNS; a look-up only tells others"),
    row("*.alt",             "RFC 9476",      "not in the DNS; a look-up only tells others"),
    row("*.test",            "RFC 6761 6.2",  "never public"),
    row("*.invalid",         "RFC 6761 6.4",  "never exists"),
];

/// The names that are refused even where the user typed them to open a host of their own.
#[rustfmt::skip]
pub const NEVER: &[Row] = &[
    row("metadata",                 "cloud images' hosts files", "cloud metadata, which hands this machine's credentials to whoever asks"),
    row("metadata.google.internal", "Google Cloud",  "cloud metadata, which hands this machine's credentials to whoever asks"),
    row("instance-data",            "cloud images' hosts files", "cloud metadata, which hands this machine's credentials to whoever asks"),
    row("host.docker.internal",     "Docker",        "this machine, which is called `localhost` here"),
    row("gateway.docker.internal",  "Docker",        "this machine, which is called `localhost` here"),
    row("host.containers.internal", "Podman",        "this machine, which is called `localhost` here"),
    row("*.in-addr.arpa",           "RFC 1035 3.5",  "addresses written backwards, not hosts"),
    row("*.ip6.arpa",               "RFC 3596 2.5",  "addresses written backwards, not hosts"),
    row("*.onion",                  "RFC 7686",      "not in the DNS; a look-up only tells others"),
    row("*.alt",                    "RFC 9476",      "not in the DNS; a look-up only tells others"),
    row("*.invalid",                "RFC 6761 6.4",  "never exists"),
];

static SINGLE_LABEL: Row =
    row("(a name without a dot)", "RFC 1535", "only the local network's search list gives it a meaning");

/// A name that only ever means this machine or its network.
#[derive(Clone)]
pub struct RefusedName {
    name: HostName,
    row: &'static Row,
}

impl RefusedName {
    /// The name.
    pub fn name(&self) -> &HostName {
        &self.name
    }

    /// The row of the table that holds it.
    pub fn row(&self) -> &'static Row {
        self.row
    }
}

impl PartialEq for RefusedName {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RefusedName {}

impl fmt::Display for RefusedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is refused by {} ({}): {}", self.name, self.row.pattern, self.row.source, self.row.why)
    }
}

impl fmt::Debug for RefusedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RefusedName {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[test]
    fn folds_case_and_one_trailing_dot() {
        assert_eq!(host("API.Example.COM."), host("api.example.com"));
        assert_eq!(host("ＡＰＩ．example。com").as_str(), "api.example.com");
        assert_eq!(host("bücher.example").as_str(), "xn--bcher-kva.example");
    }

    #[test]
    fn accepts_names_as_they_are_in_use() {
        for name in
            ["a.b", "r3---sn-abc.example.com", "_dmarc.example.com", "1.example", "0x1.example", "xn--p1ai"]
        {
            assert_eq!(host(name).as_str(), name);
        }
    }

    #[test]
    fn refuses_what_is_no_name() {
        let long_label = format!("{}.example", "a".repeat(64));
        let long_name = format!("{}example", "a.".repeat(130));
        for bad in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a.b..",
            "a b",
            "a/b",
            "a@b",
            "a\0b",
            "a\nb",
            "a%2eb",
            "-a.example",
            "a-.example",
            "*.example.com",
            "a,b",
            "a;b",
            "xn--\u{0}",
            &long_label,
            &long_name,
        ] {
            assert_eq!(bad.parse::<HostName>(), Err(NotAHostName::Grammar), "{bad:?}");
        }
    }

    #[test]
    fn refuses_an_address_in_every_form() {
        for bad in [
            "127.0.0.1",
            "127.1",
            "127",
            "2130706433",
            "017700000001",
            "0x7f000001",
            "0x7f.1",
            "127.0.0.0x1",
            "0x",
            "127.0.0.1.",
            "１２７.０.０.１",
            "::1",
            "[::1]",
            "::ffff:10.0.0.1",
            "example.0",
            "a.0x1f",
            "1.2.3.4.5",
        ] {
            assert_eq!(bad.parse::<HostName>(), Err(NotAHostName::Address), "{bad:?}");
        }
    }

    #[test]
    fn refuses_names_of_this_machine_and_its_network() {
        for bad in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "metadata",
            "instance-data",
            "host.docker.internal",
            "host.containers.internal",
            "router.lan",
            "router",
            "wpad",
            "api.default.svc",
            "4.3.2.1.in-addr.arpa",
            "x.test",
        ] {
            assert!(host(bad).third_party().is_err(), "{bad}");
        }
    }

    #[test]
    fn accepts_names_that_only_look_like_them() {
        for good in [
            "localhost.example.com",
            "notlocal.example",
            "mylocal.com",
            "internal.example.com",
            "svc.example.com",
        ] {
            assert_eq!(host(good).third_party(), Ok(()), "{good}");
        }
    }

    #[test]
    fn every_row_reads_as_a_name() {
        for row in REFUSED.iter().chain(NEVER) {
            let name = row.pattern.strip_prefix("*.").unwrap_or(row.pattern);
            assert_eq!(host(name).as_str(), name);
            assert!(host(name).third_party().is_err(), "{name}");
        }
        for row in NEVER {
            let name = row.pattern.strip_prefix("*.").unwrap_or(row.pattern);
            assert!(host(name).private().is_err(), "{name}");
        }
    }

    #[test]
    fn a_name_of_the_users_own_may_be_any_but_those_that_nobody_can_mean() {
        for good in
            ["localhost", "app.localhost", "nas", "printer.local", "db.corp", "api.example.com", "x.test"]
        {
            assert_eq!(host(good).private(), Ok(()), "{good}");
        }
        for bad in ["metadata", "Metadata.Google.Internal.", "host.docker.internal", "1.0.0.127.in-addr.arpa"]
        {
            assert!(host(bad).private().is_err(), "{bad}");
        }
    }

    #[test]
    fn this_machine_is_localhost_and_what_is_under_it() {
        for (name, here) in [
            ("localhost", true),
            ("a.LOCALHOST.", true),
            ("notlocalhost", false),
            ("localhost.example.com", false),
        ] {
            assert_eq!(host(name).is_this_machine(), here, "{name}");
        }
    }

    #[test]
    fn a_domain_holds_whole_labels_only() {
        assert!(host("a.example.com").is_under("example.com"));
        assert!(!host("example.com").is_under("example.com"));
        assert!(!host("badexample.com").is_under("example.com"));
    }

    proptest! {
        #[test]
        fn an_accepted_name_reads_back_the_same(text in "\\PC{0,80}") {
            if let Ok(name) = text.parse::<HostName>() {
                prop_assert_eq!(name.as_str().parse::<HostName>(), Ok(name.clone()));
                prop_assert!(name.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b)));
            }
        }
    }
}
