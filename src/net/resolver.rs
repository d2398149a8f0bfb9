//! Which addresses may be connected to for this name?
//!
//! Those of one look-up, all of them judged, and no other: [`Addresses`] is made only here and is what a connection
//! is made to, so there is no second look-up that could answer otherwise (DNS rebinding). One address that is not
//! public refuses the whole name, because which of them a client picks is luck.
//!
//! A name that somebody else chose goes through [`Resolver::vetted`]; only a name of the operator's own gets
//! [`Resolver::operator`] or [`Resolver::private`], which the type system keeps apart (see [`super::target`]). All use
//! the system's name servers and its hosts file. Search lists, and whatever else this system resolves names by
//! (multicast DNS, a directory), serve the operator's names only.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::NetError;
use super::address;
use super::names::HostName;
use super::own;
use super::target::{OperatorHost, OperatorUrl, Target};
use crate::text::Shown;

/// The longest a look-up may take, name servers' own retries included.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(10);
/// The longest one address may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How many of a name's addresses are tried; all are judged.
const ADDRESSES_TRIED: usize = 4;

/// Where names are looked up.
pub(crate) trait LookUp: Send + Sync + 'static {
    /// Every address of a name, or why there is none. `searched` also tries the system's search list.
    fn look_up(&self, name: HostName, searched: bool) -> BoxFuture<'_, Result<Vec<IpAddr>, String>>;
}

/// Turns names into addresses that may be connected to. Cheap to clone.
#[derive(Clone)]
pub struct Resolver {
    names: Arc<dyn LookUp>,
    within: Duration,
}

impl Resolver {
    /// The system's name servers and hosts file, read at the first look-up.
    pub fn system() -> Self {
        Self::over(System::default())
    }

    pub(crate) fn over(names: impl LookUp) -> Self {
        Self { names: Arc::new(names), within: LOOK_UP_WITHIN }
    }

    /// Addresses for a name that somebody else chose: all of them public, or none.
    ///
    /// # Errors
    /// The name is of a refused kind, has no address within 10 s, or has one that is not public.
    pub async fn vetted(&self, name: &HostName) -> Result<Addresses, NetError> {
        name.third_party()?;
        let found = self.find(name, false).await?;
        for address in &found.addresses {
            address::check(*address)
                .map_err(|refused| NetError::NotPublic { host: Shown::from(name), refused })?;
        }
        Ok(found)
    }

    /// Addresses for a host that the operator chose, whatever they are.
    ///
    /// # Errors
    /// It has no address within 10 s.
    pub async fn operator(&self, host: &OperatorHost) -> Result<Addresses, NetError> {
        match (host.name(), host.address()) {
            (Some(name), _) => self.find(name, true).await,
            (None, Some(address)) => Ok(Addresses { host: host.to_string(), addresses: vec![address] }),
            (None, None) => Err(NetError::Unresolvable { host: Shown::default(), why: Shown::default() }),
        }
    }

    /// Addresses for a host of this machine or its network that the user opened to a cage.
    ///
    /// `localhost`, and a name under it, is this machine's loopback in both families, without a look-up. Any other
    /// name may lead to whatever address but those of [`address::NEVER`].
    ///
    /// # Errors
    /// It has no address within 10 s, or one that no option opens.
    pub async fn private(&self, host: &OperatorHost) -> Result<Addresses, NetError> {
        if host.name().is_some_and(HostName::is_this_machine) {
            let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            return Ok(Addresses { host: host.to_string(), addresses });
        }
        let found = self.operator(host).await?;
        for address in &found.addresses {
            address::check_private(*address)
                .map_err(|refused| NetError::NeverReached { host: Shown::new(&host.to_string()), refused })?;
        }
        Ok(found)
    }

    /// Who stands for a file that a page of the operator's package index names, on whatever host the index keeps it.
    ///
    /// Within the index's own origin the file is the operator's, as the page is. On another host it depends on where
    /// the index itself lives: if that is public, so must its files' host be, since a page of a public index is no
    /// word of the operator's; if it is on a private address, it is a mirror of the operator's, and so is the host it
    /// keeps its files on. Either way by `https` and by name: an address in a page leads nowhere.
    ///
    /// # Errors
    /// The URL is refused, or the index's own name has no address within 10 s.
    pub async fn file_of(&self, index: &OperatorUrl, location: &str) -> Result<Target, NetError> {
        if let Ok(target @ Target::Operator(_)) = index.leads_to(location) {
            return Ok(target);
        }
        // Read before the look-up: a URL that is refused either way needs none.
        let lent = index.lends_its_standing(location)?;
        let public =
            |addresses: &Addresses| addresses.addresses.iter().all(|one| address::check(*one).is_ok());
        match public(&self.operator(index.host()).await?) {
            true => Ok(index.leads_to(location)?),
            false => Ok(lent.into()),
        }
    }

    async fn find(&self, name: &HostName, searched: bool) -> Result<Addresses, NetError> {
        let unresolvable =
            |why: &str| NetError::Unresolvable { host: Shown::from(name), why: Shown::new(why) };
        let addresses = timeout(self.within, self.names.look_up(name.clone(), searched))
            .await
            .map_err(|_| unresolvable("no name server answered in time"))?
            .map_err(|why| unresolvable(&why))?;
        if addresses.is_empty() {
            return Err(unresolvable("it has no address"));
        }
        Ok(Addresses { host: name.to_string(), addresses })
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// The addresses of one look-up, at least one, each of them allowed to be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    host: String,
    addresses: Vec<IpAddr>,
}

impl Addresses {
    /// The addresses, in the order of the look-up.
    pub fn as_slice(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The first few as socket addresses, in the order they are worth trying in.
    pub fn to_try(&self, port: u16) -> impl Iterator<Item = SocketAddr> + '_ {
        self.addresses.iter().take(ADDRESSES_TRIED).map(move |address| SocketAddr::new(*address, port))
    }

    /// Keeps whoever asks from a container engine of this machine's, whatever name leads there.
    ///
    /// # Errors
    /// [`NetError::Engine`] if the port is an engine's and one of the addresses is this machine's own.
    pub(crate) fn no_engine(self, port: u16) -> Result<Self, NetError> {
        match self.addresses.iter().any(|address| own::is_an_engine(*address, port)) {
            true => Err(NetError::Engine { host: Shown::new(&self.host), port }),
            false => Ok(self),
        }
    }

    /// Connects to the first address that accepts: at most four are tried in turn, 5 s each.
    ///
    /// # Errors
    /// None of them accepted; the reason is the last one's.
    pub async fn connect(&self, port: u16) -> Result<TcpStream, NetError> {
        self.connect_by(port, TcpStream::connect).await
    }

    /// As [`Addresses::connect`], by another way of connecting to one address.
    pub(crate) async fn connect_by<T, F>(
        &self,
        port: u16,
        mut to_one: impl FnMut(SocketAddr) -> F,
    ) -> Result<T, NetError>
    where
        F: Future<Output = io::Result<T>>,
    {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for to in self.to_try(port) {
            last = match timeout(CONNECT_WITHIN, to_one(to)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error,
                Err(_) => io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 seconds"),
            };
        }
        Err(NetError::Unreachable { host: Shown::new(&self.host), why: Shown::new(&last.to_string()) })
    }
}

/// The system's own configuration.
#[derive(Default)]
struct System(OnceLock<Result<TokioResolver, String>>);

impl LookUp for System {
    fn look_up(&self, name: HostName, searched: bool) -> BoxFuture<'_, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            let resolver = self.0.get_or_init(|| {
                let mut builder = TokioResolver::builder_tokio().map_err(|e| e.to_string())?;
                // Both families, so that all of a name's addresses are judged.
                builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
                builder.build().map_err(|e| e.to_string())
            });
            let resolver = resolver.as_ref().map_err(Clone::clone)?;
            // A trailing dot keeps the search list out.
            let asked = if searched { name.to_string() } else { format!("{name}.") };
            match resolver.lookup_ip(asked).await {
                Ok(found) => Ok(found.iter().collect()),
                // What this system knows by other means than the DNS, such as `printer.local`, is the operator's.
                Err(error) if searched => {
                    let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                    found.map(|found| found.map(|to| to.ip()).collect()).map_err(|_| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Answers each look-up with the next of its answers, and then with the last again.
    pub(crate) struct Scripted {
        answers: Vec<Vec<IpAddr>>,
        asked: Arc<AtomicUsize>,
    }

    impl Scripted {
        pub(crate) fn new(answers: &[&[&str]]) -> Self {
            let read = |answer: &&[&str]| answer.iter().map(|a| a.parse().unwrap()).collect();
            Self { answers: answers.iter().map(read).collect(), asked: Arc::default() }
        }

        pub(crate) fn asked(&self) -> Arc<AtomicUsize> {
            self.asked.clone()
        }
    }

    impl LookUp for Scripted {
        fn look_up(&self, _: HostName, _: bool) -> BoxFuture<'_, Result<Vec<IpAddr>, String>> {
            let turn = self.asked.fetch_add(1, Ordering::SeqCst);
            let answer = self.answers.get(turn).or(self.answers.last()).cloned();
            Box::pin(async move { answer.ok_or_else(|| "no such name".to_owned()) })
        }
    }

    struct Silent;

    impl LookUp for Silent {
        fn look_up(&self, _: HostName, _: bool) -> BoxFuture<'_, Result<Vec<IpAddr>, String>> {
            Box::pin(std::future::pending())
        }
    }

    fn host(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn accepts_a_name_whose_addresses_are_all_public() {
        let resolver = Resolver::over(Scripted::new(&[&["9.9.9.9", "2606:4700::1111"]]));
        let found = resolver.vetted(&host("api.example.com")).await.unwrap();
        assert_eq!(found.as_slice().len(), 2);
    }

    #[tokio::test]
    async fn refuses_a_name_with_one_private_address_among_public_ones() {
        for private in ["10.0.0.1", "127.0.0.1", "::1", "169.254.169.254", "::ffff:192.168.0.1", "fd00::1"] {
            let resolver = Resolver::over(Scripted::new(&[&["9.9.9.9", private]]));
            let refused = resolver.vetted(&host("api.example.com")).await.unwrap_err();
            assert!(matches!(refused, NetError::NotPublic { .. }), "{private}: {refused}");
        }
    }

    #[tokio::test]
    async fn refuses_an_internal_name_without_asking() {
        let names = Scripted::new(&[&["9.9.9.9"]]);
        let asked = names.asked();
        let refused = Resolver::over(names).vetted(&host("metadata.google.internal")).await.unwrap_err();
        assert!(matches!(refused, NetError::Name(_)), "{refused}");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn refuses_a_name_without_an_address() {
        for answers in [&[] as &[&[&str]], &[&[]]] {
            let resolver = Resolver::over(Scripted::new(answers));
            let refused = resolver.vetted(&host("gone.example.com")).await.unwrap_err();
            assert!(matches!(refused, NetError::Unresolvable { .. }), "{refused}");
        }
    }

    #[tokio::test]
    async fn refuses_a_name_whose_servers_never_answer() {
        let resolver = Resolver { within: Duration::from_millis(10), ..Resolver::over(Silent) };
        let refused = resolver.vetted(&host("slow.example.com")).await.unwrap_err();
        assert!(matches!(refused, NetError::Unresolvable { .. }), "{refused}");
    }

    #[tokio::test]
    async fn accepts_a_private_address_for_a_host_of_the_operators() {
        let resolver = Resolver::over(Scripted::new(&[&["10.0.0.1"]]));
        let ours = OperatorHost::chosen_by_operator(host("registry.corp"));
        assert_eq!(
            resolver.operator(&ours).await.unwrap().as_slice(),
            ["10.0.0.1".parse::<IpAddr>().unwrap()]
        );
    }

    #[tokio::test]
    async fn a_private_name_leads_to_its_network_and_never_to_metadata() {
        let nas = OperatorHost::chosen_by_operator(host("nas"));
        for good in ["192.168.1.20", "10.0.0.1", "fd00::7", "127.0.0.1", "9.9.9.9"] {
            let resolver = Resolver::over(Scripted::new(&[&[good]]));
            assert!(resolver.private(&nas).await.is_ok(), "{good}");
        }
        for bad in ["169.254.169.254", "fe80::1", "100.100.100.200", "::ffff:169.254.169.254"] {
            let resolver = Resolver::over(Scripted::new(&[&["192.168.1.20", bad]]));
            let refused = resolver.private(&nas).await.unwrap_err();
            assert!(
                refused.is_refusal() && refused.to_string().contains("no option opens"),
                "{bad}: {refused}"
            );
        }
    }

    #[tokio::test]
    async fn localhost_is_this_machines_loopback_whatever_a_name_server_says() {
        for name in ["localhost", "app.localhost"] {
            let names = Scripted::new(&[&["10.0.0.1"]]);
            let asked = names.asked();
            let here = OperatorHost::chosen_by_operator(host(name));
            let found = Resolver::over(names).private(&here).await.unwrap();
            let found: Vec<_> = found.as_slice().iter().map(ToString::to_string).collect();
            assert_eq!(found, ["127.0.0.1", "::1"], "{name}");
            assert_eq!(asked.load(Ordering::SeqCst), 0);
        }
    }

    fn index(url: &str) -> OperatorUrl {
        OperatorUrl::chosen_by_operator(url).unwrap()
    }

    #[tokio::test]
    async fn a_file_of_a_public_index_must_be_public_itself() {
        let resolver = Resolver::over(Scripted::new(&[&["9.9.9.9"]]));
        let page = index("https://index.example/simple/x/");
        let file = resolver.file_of(&page, "https://files.example.com:8443/x.whl#sha256=0").await.unwrap();
        assert!(matches!(&file, Target::ThirdParty(_)), "{file:?}");
        assert_eq!((file.name(), file.port()), (Some(host("files.example.com")), 8443));
        for private in
            ["https://localhost/x.whl", "https://files.corp/x.whl", "https://metadata.google.internal/x"]
        {
            assert!(resolver.file_of(&page, private).await.is_err(), "{private}");
        }
    }

    #[tokio::test]
    async fn a_file_of_an_index_on_a_private_address_is_the_operators_too() {
        for private in ["10.0.0.1", "127.0.0.1", "203.0.113.80", "fd00::1"] {
            // One address that is not public is enough: the index is not one that everybody has.
            let resolver = Resolver::over(Scripted::new(&[&["9.9.9.9", private]]));
            let page = index("https://index.example/simple/x/");
            for file in ["https://files.example.com/x.whl", "https://files.corp:8443/x.whl"] {
                let target = resolver.file_of(&page, file).await.unwrap();
                assert!(matches!(target, Target::Operator(_)), "{private}: {target:?}");
            }
        }
        let by_address = index("http://10.0.0.1:3141/simple/x/");
        let resolver = Resolver::over(Scripted::new(&[]));
        let target = resolver.file_of(&by_address, "https://files.corp/x.whl").await.unwrap();
        assert!(matches!(target, Target::Operator(_)), "{target:?}");
    }

    #[tokio::test]
    async fn a_file_within_the_indexs_own_origin_is_the_operators_without_a_look_up() {
        let names = Scripted::new(&[&["9.9.9.9"]]);
        let asked = names.asked();
        let resolver = Resolver::over(names);
        let page = index("http://localhost:3141/simple/x/");
        for file in ["../../files/x.whl", "/f/x.whl", "http://localhost:3141/x.whl"] {
            let target = resolver.file_of(&page, file).await.unwrap();
            assert!(matches!(&target, Target::Operator(_)), "{file}: {target:?}");
            assert_eq!((target.name(), target.port()), (Some(host("localhost")), 3141));
        }
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn refuses_a_file_by_address_or_weaker_than_https_wherever_the_index_is() {
        for answer in [&["9.9.9.9"][..], &["10.0.0.1"][..]] {
            let names = Scripted::new(&[answer]);
            let asked = names.asked();
            let resolver = Resolver::over(names);
            let page = index("https://index.example/simple/x/");
            for bad in [
                "http://files.example.com/x.whl",
                "http://index.example/x.whl",
                "ftp://files.example.com/x",
                "file:///etc/passwd",
                "https://u:p@files.example.com/x",
                "https://u@index.example/x",
                "https://9.9.9.9/x.whl",
                "https://10.0.0.7/x.whl",
                "https://[fd00::1]/x.whl",
                "https://2130706433/x.whl",
                "//169.254.169.254/x",
                "data:,x",
            ] {
                assert!(resolver.file_of(&page, bad).await.is_err(), "{bad}");
            }
            assert_eq!(asked.load(Ordering::SeqCst), 0);
        }
    }

    #[tokio::test]
    async fn refuses_a_file_where_nobody_knows_where_the_index_is() {
        let resolver = Resolver::over(Scripted::new(&[]));
        let refused = resolver.file_of(&index("https://index.example/"), "https://files.example.com/x").await;
        assert!(matches!(refused, Err(NetError::Unresolvable { .. })), "{refused:?}");
    }

    #[tokio::test]
    async fn finds_a_host_of_the_hosts_file() {
        let ours = OperatorHost::chosen_by_operator(host("localhost"));
        let found = Resolver::system().operator(&ours).await.unwrap();
        assert!(found.as_slice().iter().all(|address| address.is_loopback()), "{found:?}");
    }
}
