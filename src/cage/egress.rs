//! May this connection leave the cage?
//!
//! A cage has no network; what its processes reach, they reach through here. The plan's rules name hosts, never
//! addresses. At the moment of a connection the name is checked against the rules, resolved once, every address of
//! the answer judged, and one of those very addresses connected to: between the check and the connection there is
//! no second look-up, so rebinding a name gains nothing. TLS stays end to end between the server and its host.
//!
//! Ways out are kept apart by type. A name that an [`EgressRule`] allows goes through [`Resolver::vetted`] and must be
//! public. A host of the operator's, such as the registry of a resolve or install cage, may be anywhere and is
//! reachable under its own name and port alone. So is a [`PrivateWay`] of the plan's, typed by the user as
//! `--egress-private`: through [`Resolver::private`], which takes an [`OperatorHost`]. A name that the cage asks for is a
//! [`HostName`], and there is no way from that to the other.
//!
//! Invariants: no rule, nothing leaves; literal addresses are no names and never pass; what is recorded is bounded
//! whatever the cage asks for, and holds no credential that the server was given.

mod history;
mod record;
mod rule;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::history::{History, Keeper, Tried, Used};
pub use self::record::{Denied, Failed, Mark, Reached, Remedy, Tally};
use self::rule::DEFAULT_PORT;
pub use self::rule::{EgressRule, NotARule};
use super::gate::{Duplex, Gate, GateRefused};
use crate::failure::{Code, Failure};
use crate::net::{HostName, NetError, OperatorHost, Resolver, Target};
use crate::plan::PrivateWay;
use crate::secret::Mask;
use crate::source::{Registries, Registry};
use crate::text::Shown;

/// The most connections of one cage that are open or being opened.
const CONNECTIONS: usize = 256;

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
            "set the registry by a host name, `localhost` included, in your own configuration of npm, pip or uv",
        )
    }
}

type Connector = Box<dyn Fn(SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Duplex>>> + Send + Sync>;

/// What one cage may reach, and what it reached and tried to.
pub struct Egress {
    rules: Vec<EgressRule>,
    operator: Vec<(OperatorHost, u16)>,
    private: Vec<(OperatorHost, u16)>,
    resolver: Resolver,
    connector: Connector,
    slots: Arc<Semaphore>,
    record: Mutex<Tally>,
    shut: AtomicBool,
    mask: Arc<Mask>,
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
            private: Vec::new(),
            resolver,
            connector: Box::new(|to| Box::pin(tcp(to))),
            slots: Arc::new(Semaphore::new(CONNECTIONS)),
            record: Mutex::default(),
            shut: AtomicBool::new(false),
            mask: Arc::default(),
        }
    }

    /// From now on nothing leaves, whatever the rules say; what is tried is recorded. Connections that are open stay
    /// so: for a cage in which what opened them has ended.
    pub fn shut(&self) {
        self.shut.store(true, Ordering::Release);
    }

    /// These ways to this machine and its network too, which the user typed.
    #[must_use]
    pub fn and_private<'a>(mut self, ways: impl IntoIterator<Item = &'a PrivateWay>) -> Self {
        self.private.extend(ways.into_iter().map(|way| (way.host(), way.port())));
        self
    }

    /// With these credentials left out of what is recorded and said: a server can put one in a name.
    #[must_use]
    pub fn without(mut self, mask: Arc<Mask>) -> Self {
        self.mask = mask;
        self
    }

    /// The operator's npm registries and nothing else, for a resolve or install cage.
    ///
    /// # Errors
    /// One of them is set by an address instead of a name.
    pub fn registries(resolver: Resolver, registries: &Registries) -> Result<Self, RegistryWithoutName> {
        let mut egress = Self::none(resolver);
        for registry in registries.all() {
            egress.open_registry(registry)?;
        }
        Ok(egress)
    }

    /// The operator's index of Python packages, where it keeps its files, and nothing else, for a resolve or install
    /// cage. Whether a file's host is the operator's or has to be public was settled by [`Resolver::file_of`], which
    /// alone makes such a target the operator's.
    ///
    /// # Errors
    /// The index, or a host of its files, is no name.
    pub fn index(
        resolver: Resolver,
        index: &Registry,
        files: &[Target],
    ) -> Result<Self, RegistryWithoutName> {
        let mut egress = Self::none(resolver);
        egress.open_registry(index)?;
        for file in files {
            let unnamed = || RegistryWithoutName { registry: Shown::new(&file.to_string()) };
            let (name, port) = (file.name().ok_or_else(unnamed)?, file.port());
            match file {
                Target::Operator(url) => egress.operator.push((url.host().clone(), port)),
                Target::ThirdParty(_) => {
                    egress.rules.push(EgressRule::host(name, port).map_err(|_| unnamed())?);
                }
            }
        }
        Ok(egress)
    }

    fn open_registry(&mut self, registry: &Registry) -> Result<(), RegistryWithoutName> {
        let (host, port) = (registry.url().host(), registry.url().port());
        if host.name().is_none() {
            return Err(RegistryWithoutName { registry: Shown::new(&registry.to_string()) });
        }
        self.operator.push((host.clone(), port));
        Ok(())
    }

    /// Every name a connection was opened to, with how many there were.
    pub fn reached(&self) -> Vec<Reached> {
        self.record().reached().cloned().collect()
    }

    /// Every name that was refused.
    pub fn denied(&self) -> Vec<Denied> {
        self.denied_since(Mark::default())
    }

    /// The names that were refused after `mark`, the known ones included if they were tried again.
    pub fn denied_since(&self, mark: Mark) -> Vec<Denied> {
        self.record().denied_since(mark).cloned().collect()
    }

    /// The hosts that are allowed and could not be connected to.
    pub fn failed(&self) -> Vec<Failed> {
        self.record().failed().cloned().collect()
    }

    /// This moment, for [`Egress::denied_since`].
    pub fn mark(&self) -> Mark {
        self.record().mark()
    }

    /// How many more names there were than are remembered.
    pub fn forgotten(&self) -> u64 {
        self.record().forgotten()
    }

    /// All of it, as of now.
    pub fn tally(&self) -> Tally {
        self.record().clone()
    }

    /// The record holds counters alone, so it is sound even after a panic in another thread.
    fn record(&self) -> MutexGuard<'_, Tally> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By which way a name is let out, on any port or on this one.
    fn way(&self, name: &HostName, port: Option<u16>) -> Option<Way<'_>> {
        if self.shut.load(Ordering::Acquire) {
            return None;
        }
        let on = |ports: &[u16]| port.is_none_or(|port| ports.contains(&port));
        let of = |ways: &'_ [(OperatorHost, u16)]| -> Option<usize> {
            ways.iter().position(|(host, open)| host.name() == Some(name) && on(&[*open]))
        };
        if let Some(at) = of(&self.operator) {
            return Some(Way::Operator(&self.operator[at].0));
        }
        // before the rules: a name may be both, and then this is the wider
        if let Some(at) = of(&self.private) {
            return Some(Way::Private(&self.private[at].0));
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
            let name = self.told(name.as_str());
            GateRefused::new(format_args!("{name}:{port}: {CONNECTIONS} connections are open already"))
        })?;
        let addresses = match way {
            Way::Operator(host) => self.resolver.operator(host).await,
            Way::Private(host) => self.resolver.private(host).await,
            Way::ThirdParty => self.resolver.vetted(&name).await,
        };
        let opened = match addresses.and_then(|addresses| addresses.no_engine(port)) {
            Ok(addresses) => addresses.connect_by(port, &self.connector).await,
            Err(error) => Err(error),
        };
        match opened {
            Ok(stream) => {
                self.record().reach(self.told(name.as_str()), port, 1);
                Ok(Box::new(Held { stream, _slot: slot }))
            }
            Err(error) if error.is_refusal() => {
                let remedy = own_name(&error).then(|| Remedy::private(&name, Some(port))).flatten();
                Err(self.deny(name.as_str(), Some(port), remedy, &error))
            }
            Err(error) => {
                let why = self.told(&error.to_string());
                self.record().fail(self.told(name.as_str()), port, why.clone(), 1);
                Err(GateRefused::new(why))
            }
        }
    }

    fn deny_unlisted(&self, name: &HostName, port: Option<u16>) -> GateRefused {
        match EgressRule::host(name.clone(), port.unwrap_or(DEFAULT_PORT)) {
            Ok(rule) => {
                self.deny(name.as_str(), port, Some(Remedy::Public(rule)), &"the plan does not list it")
            }
            Err(why) => {
                let remedy = Remedy::private(name, port);
                self.deny(name.as_str(), port, remedy, &why)
            }
        }
    }

    fn deny(
        &self,
        name: &str,
        port: Option<u16>,
        remedy: Option<Remedy>,
        why: &dyn fmt::Display,
    ) -> GateRefused {
        // A name is at most 253 bytes in the DNS; what is longer comes from a cage that plays games.
        // Cut when its credentials are out: half of one would not be found.
        let hidden = self.mask.hide(name);
        let told: String = hidden.as_deref().unwrap_or(name).chars().take(253).collect();
        let (name, why) = (Shown::new(&told), self.told(&why.to_string()));
        // a way that would be opened has the whole name, the credential in it too
        let remedy = remedy.filter(|_| hidden.is_none());
        let refused = match port {
            Some(port) => GateRefused::new(format_args!("{name}:{port}: {why}")),
            None => GateRefused::new(format_args!("{name}: {why}")),
        };
        self.record().deny(name, port, remedy, why, 1);
        refused
    }

    /// A name, or words about one, as it is recorded and said.
    fn told(&self, text: &str) -> Shown {
        Shown::new(self.mask.hide(text).as_deref().unwrap_or(text))
    }
}

impl Gate for Egress {
    fn ports(&self) -> Vec<u16> {
        let of_rules = self.rules.iter().flat_map(|rule| rule.ports().iter().copied());
        let of_hosts = self.operator.iter().chain(&self.private).map(|(_, port)| *port);
        let mut ports: Vec<u16> = of_rules.chain(of_hosts).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    fn localhost(&self) -> Vec<u16> {
        let hosts = self.operator.iter().chain(&self.private);
        let here = hosts.filter(|(host, _)| host.name().is_some_and(|name| name.as_str() == "localhost"));
        let mut ports: Vec<u16> = here.map(|(_, port)| *port).collect();
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
    Private(&'a OperatorHost),
    ThirdParty,
}

/// Whether a host was refused for an address that the user could open, if it is theirs.
fn own_name(error: &NetError) -> bool {
    matches!(error, NetError::NotPublic { refused, .. }
        if crate::net::address::check_private(refused.address()).is_ok())
}

async fn tcp(to: SocketAddr) -> io::Result<Box<dyn Duplex>> {
    let stream = TcpStream::connect(to).await?;
    // The server's own choice is lost on the way; small requests must not wait for each other.
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
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
