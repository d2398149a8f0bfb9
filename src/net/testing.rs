//! Which hosts do the tests talk to?
//!
//! Real servers on this machine's loopback, under names that a made-up name service gives out, with certificates of
//! an authority that only the test's own client trusts.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::serve::Listener;
use futures_util::future::BoxFuture;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::names::HostName;
use super::resolver::LookUp;
use super::{Client, OperatorUrl, Resolver};

/// The name every test server has a certificate for.
pub(crate) const HOST: &str = "registry.example";

/// A server on loopback; it ends with the test's runtime.
pub(crate) struct Site {
    scheme: &'static str,
    port: u16,
    root: CertificateDer<'static>,
    connections: Arc<AtomicUsize>,
}

impl Site {
    pub(crate) async fn https(pages: Router) -> Self {
        Self::start("https", pages).await
    }

    pub(crate) async fn http(pages: Router) -> Self {
        Self::start("http", pages).await
    }

    async fn start(scheme: &'static str, pages: Router) -> Self {
        let made =
            rcgen::generate_simple_self_signed([HOST.to_owned(), "evil.example.com".to_owned()]).unwrap();
        let root = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![root.clone()], key)
                .unwrap();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Counted { tcp, connections: connections.clone() };
        if scheme == "https" {
            let tls = Tls { counted, acceptor: TlsAcceptor::from(Arc::new(config)) };
            tokio::spawn(async move { axum::serve(tls, pages).await });
        } else {
            tokio::spawn(async move { axum::serve(counted, pages).await });
        }
        Self { scheme, port, root, connections }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The base address as an operator would write it.
    pub(crate) fn url(&self) -> OperatorUrl {
        OperatorUrl::chosen_by_operator(&format!("{}://{HOST}:{}/", self.scheme, self.port)).unwrap()
    }

    /// A client that trusts this server's certificate, over [`names`].
    pub(crate) fn client(&self) -> Client {
        Client::trusting(names(), vec![self.root.clone()])
    }

    /// How many connections came in.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A name service: the test servers' name leads to loopback, and so does a stranger's.
pub(crate) fn names() -> Resolver {
    let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
    Resolver::over(Table(BTreeMap::from([(HOST, vec![loopback]), ("evil.example.com", vec![loopback])])))
}

struct Table(BTreeMap<&'static str, Vec<IpAddr>>);

impl LookUp for Table {
    fn look_up(&self, name: HostName, _: bool) -> BoxFuture<'_, Result<Vec<IpAddr>, String>> {
        Box::pin(std::future::ready(
            self.0.get(name.as_str()).cloned().ok_or_else(|| "no such name".to_owned()),
        ))
    }
}

struct Counted {
    tcp: TcpListener,
    connections: Arc<AtomicUsize>,
}

impl Listener for Counted {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let accepted = Listener::accept(&mut self.tcp).await;
        self.connections.fetch_add(1, Ordering::SeqCst);
        accepted
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

struct Tls {
    counted: Counted,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, from) = self.counted.accept().await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.counted.local_addr()
    }
}
