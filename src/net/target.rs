//! Who chose this host?
//!
//! Two types, because the answer decides what may be reached. An [`OperatorUrl`] or [`OperatorHost`] comes from the
//! configuration of the person who runs Pinfold and may live on a private address, held by TLS alone. A
//! [`ThirdPartyUrl`] comes from anybody else: a registry entry, a redirect, a package. There is no conversion from
//! the second to the first, so that a stranger's name on the operator's path does not compile:
//!
//! ```compile_fail
//! use pinfold::net::{OperatorUrl, ThirdPartyUrl};
//! let theirs: ThirdPartyUrl = "https://evil.example/".parse().unwrap();
//! let ours: OperatorUrl = theirs.into();
//! ```
//! ```
//! async fn look_up(resolver: pinfold::net::Resolver, asked: pinfold::net::HostName) {
//!     let _ = resolver.vetted(&asked).await;
//! }
//! ```
//! ```compile_fail
//! async fn look_up(resolver: pinfold::net::Resolver, asked: pinfold::net::HostName) {
//!     let _ = resolver.operator(&asked).await;
//! }
//! ```
//!
//! ```compile_fail
//! async fn look_up(resolver: pinfold::net::Resolver, asked: pinfold::net::HostName) {
//!     let _ = resolver.private(&asked).await;
//! }
//! ```
//!
//! A review of who may reach private addresses is a search for `chosen_by_operator`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

use super::address::{self, RefusedAddress};
use super::names::{HostName, NotAHostName, RefusedName};
use crate::text::Shown;

/// Why a URL is not one that Pinfold asks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// It does not parse.
    #[error("{0} is not a URL")]
    Unreadable(Shown),
    /// Its scheme is not allowed here.
    #[error("{scheme}: is not allowed here, only {allowed}")]
    Scheme {
        /// The scheme it has.
        scheme: Shown,
        /// The schemes it may have.
        allowed: &'static str,
    },
    /// It carries a user name or password, which hides the host from a reader and ends up in logs.
    #[error("a URL must not carry a user name or password")]
    UserInfo,
    /// A query or fragment where a base address is meant.
    #[error("a base address has no query and no fragment")]
    NotABase,
    /// Its host is not a name.
    #[error("its host is refused: {0}")]
    Host(#[from] NotAHostName),
    /// Its host is a name that only means this machine or its network.
    #[error(transparent)]
    Name(#[from] RefusedName),
    /// Its host is an address that is not public.
    #[error(transparent)]
    Address(#[from] RefusedAddress),
}

/// A host that the operator's own configuration names; it may be private.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OperatorHost(Kind);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Name(HostName),
    Address(IpAddr),
}

impl OperatorHost {
    /// Takes a name for one that the operator chose. Whoever calls this vouches for where it was read.
    pub(crate) fn chosen_by_operator(name: HostName) -> Self {
        Self(Kind::Name(name))
    }

    /// The name, unless it is an address.
    pub fn name(&self) -> Option<&HostName> {
        match &self.0 {
            Kind::Name(name) => Some(name),
            Kind::Address(_) => None,
        }
    }

    /// The address, where the operator wrote one instead of a name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0 {
            Kind::Name(_) => None,
            Kind::Address(address) => Some(address),
        }
    }
}

impl fmt::Display for OperatorHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Name(name) => fmt::Display::fmt(name, f),
            Kind::Address(address) => fmt::Display::fmt(address, f),
        }
    }
}

impl fmt::Debug for OperatorHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A base address that the operator's own configuration names: a registry, a mirror.
///
/// `https`, or `http` where the operator wrote so (a registry on this machine); no user name, password, query or
/// fragment. Its path ends in `/`.
#[derive(Clone, PartialEq, Eq)]
pub struct OperatorUrl {
    url: Url,
    host: OperatorHost,
}

impl OperatorUrl {
    /// Takes a URL for one that the operator chose. Whoever calls this vouches for where it was read.
    pub(crate) fn chosen_by_operator(text: &str) -> Result<Self, UrlRefused> {
        let mut url = parse(text)?;
        if !matches!(url.scheme(), "https" | "http") {
            let scheme = Shown::new(url.scheme());
            return Err(UrlRefused::Scheme { scheme, allowed: "https and http" });
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(UrlRefused::NotABase);
        }
        let host = match host_of(&mut url)? {
            Ok(name) => OperatorHost(Kind::Name(name)),
            Err(address) => OperatorHost(Kind::Address(address)),
        };
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self { url, host })
    }

    /// The host.
    pub fn host(&self) -> &OperatorHost {
        &self.host
    }

    /// The TCP port, the scheme's own where none is written.
    pub fn port(&self) -> u16 {
        // Both schemes a constructor lets through have a known port.
        self.url.port_or_known_default().unwrap_or(443)
    }

    /// The whole text, as a client's configuration takes it.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The address below this one, one path segment more; whatever the segment holds is escaped, `/` included.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(segment);
        }
        Self { url, host: self.host.clone() }
    }

    /// Where a URL in a document of this host's leads: to the operator's own host within the same origin, else to
    /// a third party's.
    ///
    /// # Errors
    /// The guard refuses the URL without a look-up.
    pub fn leads_to(&self, location: &str) -> Result<Target, UrlRefused> {
        Target::Operator(self.clone()).redirected(location)
    }

    /// A URL in a document of this host's that leads to another origin, as the operator's: for
    /// [`super::Resolver::file_of`], which says when it is.
    pub(super) fn lends_its_standing(&self, location: &str) -> Result<Self, UrlRefused> {
        let mut url = self.url.join(location).map_err(|_| UrlRefused::Unreadable(Shown::new(location)))?;
        if url.scheme() != "https" {
            return Err(UrlRefused::Scheme { scheme: Shown::new(url.scheme()), allowed: "https" });
        }
        let name = host_of(&mut url)?.map_err(|_| UrlRefused::Host(NotAHostName::Address))?;
        url.set_fragment(None);
        Ok(Self { url, host: OperatorHost(Kind::Name(name)) })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for OperatorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.url.as_str())
    }
}

impl fmt::Debug for OperatorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A URL that anybody else chose: `https` only, to a public host.
///
/// Parsing it already refuses every name and address that can be refused without a look-up.
#[derive(Clone, PartialEq, Eq)]
pub struct ThirdPartyUrl(Url);

impl ThirdPartyUrl {
    pub(super) fn check(mut url: Url) -> Result<Self, UrlRefused> {
        if url.scheme() != "https" {
            return Err(UrlRefused::Scheme { scheme: Shown::new(url.scheme()), allowed: "https" });
        }
        match host_of(&mut url)? {
            Ok(name) => name.third_party()?,
            // HTTP libraries connect to a literal without asking a resolver, so this is the only check it gets.
            Err(address) => address::check(address)?,
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for ThirdPartyUrl {
    type Err = UrlRefused;

    fn from_str(text: &str) -> Result<Self, UrlRefused> {
        Self::check(parse(text)?)
    }
}

impl fmt::Display for ThirdPartyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.as_str())
    }
}

impl fmt::Debug for ThirdPartyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What to ask, and on whose word.
#[derive(Debug, Clone)]
pub enum Target {
    /// A host of the operator's.
    Operator(OperatorUrl),
    /// Anybody else's.
    ThirdParty(ThirdPartyUrl),
}

impl Target {
    /// The host's name, unless it is an address.
    pub fn name(&self) -> Option<HostName> {
        match self {
            Self::Operator(ours) => ours.host.name().cloned(),
            Self::ThirdParty(theirs) => theirs.0.host_str().and_then(|host| host.parse().ok()),
        }
    }

    /// The TCP port, the scheme's own where none is written.
    pub fn port(&self) -> u16 {
        // Both schemes that are let through have a known port.
        self.url().port_or_known_default().unwrap_or(443)
    }

    pub(super) fn url(&self) -> &Url {
        match self {
            Self::Operator(ours) => ours.url(),
            Self::ThirdParty(theirs) => theirs.url(),
        }
    }

    /// Where an answer from here sends the asker.
    ///
    /// Within one origin a host keeps its standing. To any other origin it is the answering host that chose, so the
    /// target is a third party's whatever it was before, and never `http`.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, UrlRefused> {
        let next = self.url().join(location).map_err(|_| UrlRefused::Unreadable(Shown::new(location)))?;
        if let Self::Operator(ours) = self
            && next.origin() == ours.url.origin()
        {
            if !next.username().is_empty() || next.password().is_some() {
                return Err(UrlRefused::UserInfo);
            }
            return Ok(Self::Operator(OperatorUrl { url: next, host: ours.host.clone() }));
        }
        ThirdPartyUrl::check(next).map(Self::ThirdParty)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.url().as_str())
    }
}

impl From<OperatorUrl> for Target {
    fn from(ours: OperatorUrl) -> Self {
        Self::Operator(ours)
    }
}

impl From<ThirdPartyUrl> for Target {
    fn from(theirs: ThirdPartyUrl) -> Self {
        Self::ThirdParty(theirs)
    }
}

fn parse(text: &str) -> Result<Url, UrlRefused> {
    Url::parse(text).map_err(|_| UrlRefused::Unreadable(Shown::new(text)))
}

/// The host in its one form, which is also put back into the URL; `Err` holds an address.
fn host_of(url: &mut Url) -> Result<Result<HostName, IpAddr>, UrlRefused> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefused::UserInfo);
    }
    let name: HostName = match url.host() {
        Some(Host::Ipv4(address)) => return Ok(Err(address.into())),
        Some(Host::Ipv6(address)) => return Ok(Err(address.into())),
        Some(Host::Domain(domain)) => domain.parse()?,
        None => return Err(UrlRefused::Host(NotAHostName::Grammar)),
    };
    url.set_host(Some(name.as_str())).map_err(|_| UrlRefused::Host(NotAHostName::Grammar))?;
    Ok(Ok(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_an_operator_may_write() {
        let ours = OperatorUrl::chosen_by_operator("https://Registry.Example./npm").unwrap();
        assert_eq!(ours.as_str(), "https://registry.example/npm/");
        assert_eq!(ours.port(), 443);
        let local = OperatorUrl::chosen_by_operator("http://127.0.0.1:4873/").unwrap();
        assert_eq!(local.host().address(), Some("127.0.0.1".parse().unwrap()));
        assert_eq!(local.port(), 4873);
    }

    #[test]
    fn refuses_what_even_an_operator_may_not_write() {
        for bad in [
            "",
            "registry.example",
            "ftp://registry.example/",
            "file:///etc/passwd",
            "https://user:pass@registry.example/",
            "https://user@registry.example/",
            "https://registry.example/?x",
            "https://registry.example/#x",
        ] {
            assert!(OperatorUrl::chosen_by_operator(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_child_cannot_climb_out_of_its_parent() {
        let ours = OperatorUrl::chosen_by_operator("https://registry.example/npm/").unwrap();
        assert_eq!(ours.child("@a/b").as_str(), "https://registry.example/npm/@a%2Fb");
        for segment in ["../x", "/x", "?x", "#x", "a/../../b"] {
            let child = ours.child(segment);
            assert!(child.as_str().starts_with("https://registry.example/npm/"), "{child}");
            assert!(child.url().query().is_none() && child.url().fragment().is_none(), "{child}");
        }
    }

    #[test]
    fn accepts_a_third_partys_public_https_url() {
        for good in ["https://example.com/a?b", "https://9.9.9.9/", "https://[2606:4700::1111]:8443/"] {
            assert!(good.parse::<ThirdPartyUrl>().is_ok(), "{good}");
        }
    }

    #[test]
    fn refuses_a_third_partys_private_or_unsafe_url() {
        for bad in [
            "http://example.com/",
            "ftp://example.com/",
            "https://user@example.com/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://017700000001/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://metadata.google.internal/",
            "https://１２７.0.0.1/",
        ] {
            assert!(bad.parse::<ThirdPartyUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_redirect_keeps_its_standing_only_within_its_origin() {
        let ours: Target =
            OperatorUrl::chosen_by_operator("http://registry.example:4873/npm/").unwrap().into();
        assert!(matches!(ours.redirected("/other"), Ok(Target::Operator(_))));
        assert!(matches!(ours.redirected("https://cdn.example.com/x"), Ok(Target::ThirdParty(_))));
        for bad in [
            "http://registry.example/",
            "http://cdn.example.com/",
            "https://10.0.0.1/",
            "https://localhost/",
            "//localhost/x",
            "http://u@registry.example:4873/",
            "javascript:alert(1)",
        ] {
            assert!(ours.redirected(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_redirect_from_https_never_goes_to_http() {
        let ours: Target = OperatorUrl::chosen_by_operator("https://registry.example/").unwrap().into();
        assert!(ours.redirected("http://registry.example/").is_err());
        let theirs: Target = "https://example.com/".parse::<ThirdPartyUrl>().unwrap().into();
        assert!(theirs.redirected("http://example.com/").is_err());
    }
}
