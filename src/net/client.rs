//! How does Pinfold ask a host for something over HTTP?
//!
//! Through this one client. Every hop is checked before it is asked, redirects are taken by hand, environment
//! proxies are not consulted, and a connection goes to the very addresses the resolver judged. Time, size and the
//! number of hops are bounded by the caller for each question; a body past its bound is dropped while it arrives.
//!
//! Two connection pools, one for the operator's hosts and one for everybody else's: a connection that was opened on
//! the operator's word is never used for a third party's question.
//!
//! Absences: no cookies, no automatic redirect, no retry, no credential, no `Referer`.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256, Sha512};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::NetError;
use super::names::HostName;
use super::resolver::Resolver;
use super::target::{OperatorHost, Target};
use crate::digest::Digest;
use crate::text::Shown;

const CONNECT_WITHIN: Duration = Duration::from_secs(15);
/// The longest pause between two pieces of a body.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// What one question may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The body's size in bytes, after decompression.
    pub bytes: u64,
    /// The whole time, every hop and the body included.
    pub time: Duration,
    /// How many redirects are followed.
    pub redirects: u8,
}

impl Limits {
    /// A document of a registry: 64 MiB, 60 s, 5 redirects.
    pub const DOCUMENT: Limits = Limits { bytes: 64 << 20, time: Duration::from_secs(60), redirects: 5 };
    /// A package's tarball: 256 MiB, 5 minutes, 5 redirects.
    pub const TARBALL: Limits = Limits { bytes: 256 << 20, time: Duration::from_secs(300), redirects: 5 };
}

/// Finds the certificates that the operator trusts besides the system's, or says why it cannot.
type ExtraRoots = Box<dyn Fn() -> Result<Vec<CertificateDer<'static>>, Shown> + Send + Sync>;

/// The one HTTP client. Set up at the first question, since reading the certificate store takes milliseconds.
pub struct Client {
    resolver: Resolver,
    extra_roots: ExtraRoots,
    tls: OnceLock<Result<rustls::ClientConfig, NetError>>,
    operator: OnceLock<Result<reqwest::Client, NetError>>,
    third_party: OnceLock<Result<reqwest::Client, NetError>>,
}

impl Client {
    /// A client that trusts the system's certificate store (`SSL_CERT_FILE` and `SSL_CERT_DIR` included) and no other.
    pub fn new(resolver: Resolver) -> Self {
        Self::trusting(resolver, Vec::new())
    }

    /// A client that trusts these roots of the operator's besides the system's.
    pub fn trusting(resolver: Resolver, extra_roots: Vec<CertificateDer<'static>>) -> Self {
        Self::finding(resolver, move || Ok(extra_roots.clone()))
    }

    /// As [`Client::trusting`], for roots that are read when the first question is asked. If they cannot be, none is.
    pub fn finding(
        resolver: Resolver,
        extra_roots: impl Fn() -> Result<Vec<CertificateDer<'static>>, Shown> + Send + Sync + 'static,
    ) -> Self {
        let (tls, operator, third_party) = Default::default();
        Self { resolver, extra_roots: Box::new(extra_roots), tls, operator, third_party }
    }

    /// What names are looked up by.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Asks for a document and keeps it in memory.
    ///
    /// # Errors
    /// The guard refused a hop, the host could not be reached, a limit was passed, or the answer is not a 2xx one
    /// ([`NetError::Status`], whose body is not read).
    pub async fn get(
        &self,
        target: impl Into<Target>,
        accept: &'static str,
        limits: Limits,
    ) -> Result<Vec<u8>, NetError> {
        let mut body = Vec::new();
        self.transfer(target.into(), accept, limits, &mut body).await?;
        Ok(body)
    }

    /// Asks for an artifact, writes it to `out` as it arrives, and tells its hashes.
    ///
    /// `out` holds a part of the body after an error.
    ///
    /// # Errors
    /// As [`Client::get`], and when `out` cannot be written.
    pub async fn download(
        &self,
        target: impl Into<Target>,
        limits: Limits,
        out: &mut (impl AsyncWrite + Unpin + Send),
    ) -> Result<Downloaded, NetError> {
        let mut sink = Hashing { out, sha256: Sha256::new(), sha512: Sha512::new() };
        let bytes = self.transfer(target.into(), "*/*", limits, &mut sink).await?;
        sink.out.flush().await.map_err(|e| NetError::Write(Shown::new(&e.to_string())))?;
        Ok(Downloaded {
            bytes,
            sha256: Digest::from_sha256(sink.sha256.finalize().into()),
            sha512: sink.sha512.finalize().into(),
        })
    }

    async fn transfer(
        &self,
        target: Target,
        accept: &'static str,
        limits: Limits,
        sink: &mut impl Sink,
    ) -> Result<u64, NetError> {
        let host = Shown::new(target.url().host_str().unwrap_or_default());
        tokio::time::timeout(limits.time, self.follow(target, accept, limits, sink))
            .await
            .unwrap_or(Err(NetError::TooSlow { host, limit: limits.time }))
    }

    async fn follow(
        &self,
        mut target: Target,
        accept: &'static str,
        limits: Limits,
        sink: &mut impl Sink,
    ) -> Result<u64, NetError> {
        for _ in 0..=limits.redirects {
            let host = Shown::new(target.url().host_str().unwrap_or_default());
            let reply = self
                .pool(&target)?
                .get(target.url().clone())
                .header(ACCEPT, HeaderValue::from_static(accept))
                .send()
                .await
                .map_err(|error| told(&host, &error))?;
            let status = reply.status();
            if is_redirect(status) {
                let location = reply.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                let location =
                    location.ok_or(NetError::Status { host: host.clone(), status: status.as_u16() })?;
                target = target.redirected(location).map_err(|why| NetError::Redirect { host, why })?;
                continue;
            }
            if !status.is_success() {
                return Err(NetError::Status { host, status: status.as_u16() });
            }
            return body(reply, &host, limits.bytes, sink).await;
        }
        let host = Shown::new(target.url().host_str().unwrap_or_default());
        Err(NetError::TooManyRedirects { host, limit: limits.redirects })
    }

    fn pool(&self, target: &Target) -> Result<&reqwest::Client, NetError> {
        let made = match target {
            Target::Operator(_) => self.operator.get_or_init(|| {
                let names = Arc::new(OperatorNames(self.resolver.clone()));
                self.build(reqwest::Client::builder().dns_resolver(names))
            }),
            Target::ThirdParty(_) => self.third_party.get_or_init(|| {
                let names = Arc::new(ThirdPartyNames(self.resolver.clone()));
                self.build(reqwest::Client::builder().dns_resolver(names).https_only(true))
            }),
        };
        made.as_ref().map_err(Clone::clone)
    }

    fn build(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::Client, NetError> {
        let made = || (self.extra_roots)().map_err(NetError::Tls).and_then(|roots| tls(&roots));
        let tls = self.tls.get_or_init(made).clone()?;
        builder
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_WITHIN)
            .read_timeout(READ_WITHIN)
            .user_agent(concat!("pinfold/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| NetError::Tls(Shown::new(&chain(&error))))
    }
}

/// A body that was written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
    /// Its SHA-512, as npm's integrity wants it.
    pub sha512: [u8; 64],
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

async fn body(
    mut reply: reqwest::Response,
    host: &Shown,
    limit: u64,
    sink: &mut impl Sink,
) -> Result<u64, NetError> {
    let too_large = || NetError::TooLarge { host: host.clone(), limit };
    // What the server announces is believed only to refuse sooner; what counts is what arrives.
    if reply.content_length().is_some_and(|announced| announced > limit) {
        return Err(too_large());
    }
    let mut arrived = 0_u64;
    while let Some(piece) = reply.chunk().await.map_err(|error| told(host, &error))? {
        arrived = arrived.saturating_add(piece.len() as u64);
        if arrived > limit {
            return Err(too_large());
        }
        sink.take(&piece).await?;
    }
    Ok(arrived)
}

trait Sink: Send {
    fn take(&mut self, piece: &[u8]) -> impl Future<Output = Result<(), NetError>> + Send;
}

impl Sink for Vec<u8> {
    async fn take(&mut self, piece: &[u8]) -> Result<(), NetError> {
        self.extend_from_slice(piece);
        Ok(())
    }
}

struct Hashing<'a, W> {
    out: &'a mut W,
    sha256: Sha256,
    sha512: Sha512,
}

impl<W: AsyncWrite + Unpin + Send> Sink for Hashing<'_, W> {
    async fn take(&mut self, piece: &[u8]) -> Result<(), NetError> {
        self.sha256.update(piece);
        self.sha512.update(piece);
        self.out.write_all(piece).await.map_err(|e| NetError::Write(Shown::new(&e.to_string())))
    }
}

struct OperatorNames(Resolver);

impl Resolve for OperatorNames {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.0.clone();
        Box::pin(async move {
            let name: HostName = name.as_str().parse()?;
            // This pool is given operator's URLs only and follows nothing by itself.
            let found = resolver.operator(&OperatorHost::chosen_by_operator(name)).await?;
            Ok(addresses(found.to_try(0).collect()))
        })
    }
}

struct ThirdPartyNames(Resolver);

impl Resolve for ThirdPartyNames {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.0.clone();
        Box::pin(async move {
            let name: HostName = name.as_str().parse()?;
            let found = resolver.vetted(&name).await?;
            Ok(addresses(found.to_try(0).collect()))
        })
    }
}

/// Port 0 stands for the URL's own port here.
fn addresses(found: Vec<std::net::SocketAddr>) -> Addrs {
    Box::new(found.into_iter())
}

fn tls(extra_roots: &[CertificateDer<'static>]) -> Result<rustls::ClientConfig, NetError> {
    let broken = |error: rustls::Error| NetError::Tls(Shown::new(&error.to_string()));
    // Handed over explicitly, so that nothing depends on a process-wide default someone else may have set.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(
        extra_roots.iter().cloned(),
        provider.clone(),
    )
    .map_err(broken)?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        // The platform's verifier is a custom one to rustls, whose word for that this is.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Our own refusal where the library wrapped one, else its words.
fn told(host: &Shown, error: &reqwest::Error) -> NetError {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(ours) = inner.downcast_ref::<NetError>() {
            return ours.clone();
        }
        cause = inner.source();
    }
    let why = Shown::new(&chain(error));
    if error.is_connect() {
        NetError::Unreachable { host: host.clone(), why }
    } else {
        NetError::Broken { host: host.clone(), why }
    }
}

/// The innermost cause: the outer ones name layers of the library.
fn chain(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words = inner.to_string();
        cause = inner.source();
    }
    words
}

#[cfg(test)]
mod tests;
