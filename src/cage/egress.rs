//! May this connection leave the cage?
//!
//! A cage has no network; what its processes reach, they reach through here. The plan's rules name hosts, never
//! addresses. At the moment of a connection the name is checked against the rules, resolved once, every address of
//! the answer judged, and one of those very addresses connected to: between the check and the connection there is
//! no second look-up, so rebinding a name gains nothing. TLS stays end to end between the server and its host.
//!
//! Two ways out, kept apart by type: a name that a rule allows goes through [`Resolver::vetted`] and must be public;
//! a host of the operator's, such as the registry of a resolve or install cage, may be anywhere and is reachable
//! under its own name and port alone. `--egress-private` will add to the second way, as a rule of a type of its
//! own: no text that parses as an [`EgressRule`] can ever name a private host.
//!
//! Invariants: no rule, nothing leaves; literal addresses are no names and never pass; what is recorded is bounded
//! whatever the cage asks for.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::gate::{Duplex, Gate, GateRefused};
use crate::failure::{Code, Failure};
use crate::net::{HostName, NotAHostName, OperatorHost, RefusedName, Resolver};
use crate::source::Registries;
use crate::text::Shown;

/// The most connections of one cage that are open or being opened.
const CONNECTIONS: usize = 256;
/// The most names that are remembered as reached, and as denied.
const REMEMBERED: usize = 1_000;
/// The port of a rule that names none.
const DEFAULT_PORT: u16 = 443;
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

    fn holds(&self, name: &HostName) -> bool {
        match &self.0 {
            Rule::Host(host, _) => host == name,
            Rule::Under(domain, _) => name.is_under(domain.as_str()),
            Rule::Public => name.third_party().is_ok(),
        }
    }

    fn ports(&self) -> &[u16] {
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
                "`--egress` opens public hosts by name; this machine and the local network stay closed to it"
            }
            _ => "write for example `--egress api.example.com` or `--egress \"*.example.com:8443\"`",
        };
        Failure::new(Code::EgressRefused, "the egress rule is refused", &error, hint)
    }
}

/// A registry that a cage cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry {registry} is set by address, and a cage reaches hosts by name alone")]
pub struct RegistryWithoutName {
    registry: Shown,
}

impl From<RegistryWithoutName> for Failure {
    fn from(error: RegistryWithoutName) -> Self {
        Failure::new(
            Code::EgressRefused,
            "the registry cannot be reached from a cage",
            &error,
            "set the registry by a host name, `localhost` included, in your npm configuration",
        )
    }
}

type Connector = Box<dyn Fn(SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Duplex>>> + Send + Sync>;

/// What one cage may reach, and what it reached and tried to.
pub struct Egress {
    rules: Vec<EgressRule>,
    operator: Vec<(OperatorHost, u16)>,
    resolver: Resolver,
    connector: Connector,
    slots: Arc<Semaphore>,
    record: Mutex<Record>,
}

impl Egress {
    /// Nothing leaves; what is tried is recorded.
    pub fn none(resolver: Resolver) -> Self {
        Self::rules(resolver, Vec::new())
    }

    /// What these rules of a plan allow.
    pub fn rules(resolver: Resolver, rules: Vec<EgressRule>) -> Self {
        Self {
            rules,
            operator: Vec::new(),
            resolver,
            connector: Box::new(|to| Box::pin(tcp(to))),
            slots: Arc::new(Semaphore::new(CONNECTIONS)),
            record: Mutex::default(),
        }
    }

    /// The operator's registries and nothing else, for a resolve or install cage.
    ///
    /// # Errors
    /// One of them is set by an address instead of a name.
    pub fn registries(resolver: Resolver, registries: &Registries) -> Result<Self, RegistryWithoutName> {
        let mut egress = Self::none(resolver);
        for registry in registries.all() {
            let (host, port) = (registry.url().host(), registry.url().port());
            if host.name().is_none() {
                return Err(RegistryWithoutName { registry: Shown::new(&registry.to_string()) });
            }
            egress.operator.push((host.clone(), port));
        }
        Ok(egress)
    }

    /// Every name a connection was opened to, with how many there were.
    pub fn reached(&self) -> Vec<Reached> {
        let record = self.record();
        let entry = |((name, port), times): (&(String, u16), &u64)| Reached {
            name: Shown::new(name),
            port: *port,
            times: *times,
        };
        record.reached.iter().map(entry).collect()
    }

    /// Every name that was refused.
    pub fn denied(&self) -> Vec<Denied> {
        self.denied_since(Mark::default())
    }

    /// The names that were refused after `mark`, the known ones included if they were tried again.
    pub fn denied_since(&self, mark: Mark) -> Vec<Denied> {
        self.record().denied.values().filter(|denied| denied.last > mark.0).cloned().collect()
    }

    /// This moment, for [`Egress::denied_since`].
    pub fn mark(&self) -> Mark {
        Mark(self.record().clock)
    }

    /// How many more names there were than are remembered.
    pub fn forgotten(&self) -> u64 {
        self.record().forgotten
    }

    /// The record holds counters alone, so it is sound even after a panic in another thread.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By which way a name is let out, on any port or on this one.
    fn way(&self, name: &HostName, port: Option<u16>) -> Option<Way<'_>> {
        let on = |ports: &[u16]| port.is_none_or(|port| ports.contains(&port));
        let ours = self.operator.iter().find(|(host, open)| host.name() == Some(name) && on(&[*open]));
        if let Some((host, _)) = ours {
            return Some(Way::Operator(host));
        }
        self.rules.iter().any(|rule| rule.holds(name) && on(rule.ports())).then_some(Way::ThirdParty)
    }

    async fn open(&self, asked: &str, port: u16) -> Result<Box<dyn Duplex>, GateRefused> {
        let name: HostName = asked.parse().map_err(|why| self.deny(asked, Some(port), None, &why))?;
        let Some(way) = self.way(&name, Some(port)) else {
            return Err(self.deny_unlisted(&name, Some(port)));
        };
        // Taken before the look-up, so that slow name servers are bounded too.
        let slot = self.slots.clone().try_acquire_owned().map_err(|_| {
            GateRefused::new(format_args!("{name}:{port}: {CONNECTIONS} connections are open already"))
        })?;
        let addresses = match way {
            Way::Operator(host) => self.resolver.operator(host).await,
            Way::ThirdParty => self.resolver.vetted(&name).await,
        };
        let opened = match addresses {
            Ok(addresses) => addresses.connect_by(port, &self.connector).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(stream) => {
                self.record().reach(&name, port);
                Ok(Box::new(Held { stream, _slot: slot }))
            }
            Err(error) if error.is_refusal() => Err(self.deny(name.as_str(), Some(port), None, &error)),
            Err(error) => Err(GateRefused::new(error)),
        }
    }

    fn deny_unlisted(&self, name: &HostName, port: Option<u16>) -> GateRefused {
        match EgressRule::host(name.clone(), port.unwrap_or(DEFAULT_PORT)) {
            Ok(rule) => self.deny(name.as_str(), port, Some(rule), &"the plan does not list it"),
            Err(why) => self.deny(name.as_str(), port, None, &why),
        }
    }

    fn deny(
        &self,
        name: &str,
        port: Option<u16>,
        remedy: Option<EgressRule>,
        why: &dyn fmt::Display,
    ) -> GateRefused {
        // A name is at most 253 bytes in the DNS; what is longer comes from a cage that plays games.
        let name = Shown::new(&name.chars().take(253).collect::<String>());
        let refused = match port {
            Some(port) => GateRefused::new(format_args!("{name}:{port}: {why}")),
            None => GateRefused::new(format_args!("{name}: {why}")),
        };
        self.record().deny(name, port, remedy, Shown::new(&why.to_string()));
        refused
    }
}

impl Gate for Egress {
    fn ports(&self) -> Vec<u16> {
        let of_rules = self.rules.iter().flat_map(|rule| rule.ports().iter().copied());
        let mut ports: Vec<u16> = of_rules.chain(self.operator.iter().map(|(_, port)| *port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    fn name(&self, name: &str) -> BoxFuture<'_, bool> {
        let known = match name.parse::<HostName>() {
            Ok(host) => {
                let known = self.way(&host, None).is_some();
                if !known {
                    self.deny_unlisted(&host, None);
                }
                known
            }
            Err(why) => {
                self.deny(name, None, None, &why);
                false
            }
        };
        Box::pin(std::future::ready(known))
    }

    fn connect(&self, name: &str, port: u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>> {
        let name = name.to_owned();
        Box::pin(async move { self.open(&name, port).await })
    }
}

enum Way<'a> {
    Operator(&'a OperatorHost),
    ThirdParty,
}

async fn tcp(to: SocketAddr) -> io::Result<Box<dyn Duplex>> {
    let stream = TcpStream::connect(to).await?;
    // The server's own choice is lost on the way; small requests must not wait for each other.
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// A moment in an [`Egress`]'s record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(u64);

/// A name a cage was connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The name.
    pub name: Shown,
    /// The TCP port.
    pub port: u16,
    /// How many connections were opened.
    pub times: u64,
}

/// A name a cage asked for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The name as it was asked for, its first 253 characters.
    pub name: Shown,
    /// The TCP port; none where already the name was not resolved.
    pub port: Option<u16>,
    /// Why, in a clause.
    pub why: Shown,
    /// The rule that would allow it, unless none can.
    pub remedy: Option<EgressRule>,
    /// How often it was asked for.
    pub times: u64,
    last: u64,
}

#[derive(Default)]
struct Record {
    clock: u64,
    reached: BTreeMap<(String, u16), u64>,
    denied: BTreeMap<(String, Option<u16>), Denied>,
    forgotten: u64,
}

impl Record {
    fn reach(&mut self, name: &HostName, port: u16) {
        let key = (name.to_string(), port);
        if let Some(times) = self.reached.get_mut(&key) {
            *times += 1;
        } else if self.reached.len() < REMEMBERED {
            self.reached.insert(key, 1);
        } else {
            self.forgotten += 1;
        }
    }

    fn deny(&mut self, name: Shown, port: Option<u16>, remedy: Option<EgressRule>, why: Shown) {
        self.clock += 1;
        let key = (name.to_string(), port);
        if let Some(known) = self.denied.get_mut(&key) {
            (known.times, known.last) = (known.times + 1, self.clock);
        } else if self.denied.len() < REMEMBERED {
            self.denied.insert(key, Denied { name, port, why, remedy, times: 1, last: self.clock });
        } else {
            self.forgotten += 1;
        }
    }
}

/// A connection that counts against the cage's limit for as long as it lives.
struct Held {
    stream: Box<dyn Duplex>,
    _slot: OwnedSemaphorePermit,
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Held {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
