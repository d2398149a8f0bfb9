use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::net::resolver::tests::Scripted;
use crate::net::testing;
use crate::source::{NpmConfig, PipConfig, PipSurroundings, Surroundings};

fn rule(text: &str) -> EgressRule {
    text.parse().unwrap()
}

/// An egress whose connections go nowhere and are noted down instead.
struct Watched {
    egress: Egress,
    connected: Arc<Mutex<Vec<SocketAddr>>>,
    looked_up: Arc<AtomicUsize>,
}

fn watched(rules: &[&str], answers: &[&[&str]]) -> Watched {
    let names = Scripted::new(answers);
    let looked_up = names.asked();
    let egress = Egress::rules(Resolver::over(names), rules.iter().map(|text| rule(text)).collect());
    watch(egress, looked_up)
}

/// Connections are noted, and made to nobody.
fn watch(mut egress: Egress, looked_up: Arc<AtomicUsize>) -> Watched {
    let connected = Arc::new(Mutex::new(Vec::new()));
    let noted = connected.clone();
    egress.connector = Box::new(move |to| {
        noted.lock().unwrap().push(to);
        let (here, _there) = tokio::io::duplex(64);
        Box::pin(std::future::ready(Ok(Box::new(here) as Box<dyn Duplex>)))
    });
    Watched { egress, connected, looked_up }
}

impl Watched {
    fn connected(&self) -> Vec<String> {
        self.connected.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

fn registries(url: &str) -> Registries {
    let around = Surroundings { config: Some(url.to_owned()), ..Surroundings::default() };
    NpmConfig::read(&around).unwrap().registries(None).unwrap()
}

#[test]
fn accepts_rules_in_their_three_forms() {
    for (text, shown) in [
        ("api.example.com", "api.example.com"),
        ("API.Example.com.", "api.example.com"),
        ("api.example.com:443", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("*.example.com", "*.example.com"),
        ("*.example.com:5432", "*.example.com:5432"),
        ("public", "public"),
    ] {
        assert_eq!(rule(text).to_string(), shown);
        assert_eq!(rule(shown), rule(text));
    }
}

#[test]
fn refuses_what_is_no_rule() {
    for bad in [
        "",
        " ",
        ":443",
        "*",
        "*.",
        "*.com",
        "*.*.example.com",
        "a.*.com",
        "*example.com",
        "a.example:0",
        "a.example:",
        "a.example:65536",
        "a.example:+1",
        "a.example:x",
        "a.example:1:2",
        "https://a.example",
        "a.example/x",
        "Public",
        "a b.example",
        "a.example,b.example",
        "-a.example",
        "10.0.0.1",
        "127.1",
        "2130706433",
        "[::1]:443",
        "::1",
        "*.10.0.0.1",
        "localhost",
        "localhost:5432",
        "*.localhost",
        "db.local",
        "*.internal",
        "host.docker.internal",
        "router",
        "metadata",
        "*.a.internal",
    ] {
        let refused = bad.parse::<EgressRule>().unwrap_err();
        assert_eq!(Failure::from(refused).code(), Code::EgressRefused, "{bad}");
    }
}

#[tokio::test]
async fn a_name_exists_in_the_cage_where_a_rule_holds_it() {
    let all = watched(&["api.example.com:8443", "*.cdn.example.com"], &[]);
    for (name, known) in [
        ("api.example.com", true),
        ("API.EXAMPLE.COM.", true),
        ("example.com", false),
        ("x.api.example.com", false),
        ("cdn.example.com", false),
        ("a.cdn.example.com", true),
        ("a.b.cdn.example.com", true),
        ("evilcdn.example.com", false),
        ("localhost", false),
        ("9.9.9.9", false),
        ("", false),
        ("a\0b", false),
    ] {
        assert_eq!(all.egress.name(name).await, known, "{name:?}");
    }
    assert_eq!(all.looked_up.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn public_holds_public_names_only() {
    let public = watched(&["public"], &[]);
    assert_eq!(public.egress.ports(), [80, 443]);
    assert!(public.egress.name("anything.example.com").await);
    for private in ["localhost", "db.local", "metadata.google.internal", "router", "10.0.0.1"] {
        assert!(!public.egress.name(private).await, "{private}");
    }
}

#[test]
fn ports_are_listed_once_and_in_order() {
    let several =
        watched(&["a.example.com:8443", "b.example.com", "*.c.example.com", "d.example.com:22"], &[]);
    assert_eq!(several.egress.ports(), [22, 443, 8443]);
    assert!(watched(&[], &[]).egress.ports().is_empty());
}

#[tokio::test]
async fn connects_to_the_very_address_that_was_judged() {
    // A name that is public at the first look-up and this machine at every later one.
    let one = watched(&["api.example.com"], &[&["9.9.9.9"], &["127.0.0.1"]]);
    assert!(one.egress.connect("Api.Example.Com", 443).await.is_ok());
    assert_eq!(one.connected(), ["9.9.9.9:443"]);
    assert_eq!(one.looked_up.load(Ordering::SeqCst), 1);

    let again = one.egress.connect("api.example.com", 443).await.map(drop).unwrap_err();
    assert!(again.to_string().contains("loopback"), "{again}");
    assert_eq!(one.connected().len(), 1);
}

#[tokio::test]
async fn refuses_an_allowed_name_that_leads_to_a_private_address() {
    for private in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"] {
        let one = watched(&["api.example.com", "public"], &[&["9.9.9.9", private]]);
        assert!(one.egress.connect("api.example.com", 443).await.is_err(), "{private}");
        assert!(one.connected().is_empty(), "{private}");
        let denied = one.egress.denied();
        assert_eq!((denied.len(), denied[0].port), (1, Some(443)), "{private}");
        // a name of a company's may well lead there: its people can open it, but for metadata
        let own = Remedy::Private("api.example.com".parse().unwrap(), Some(443));
        let metadata = private == "169.254.169.254";
        assert_eq!(denied[0].remedy, (!metadata).then_some(own), "{private}");
    }
}

#[tokio::test]
async fn refuses_a_port_or_name_that_no_rule_lists() {
    let one = watched(&["api.example.com"], &[&["9.9.9.9"]]);
    for (name, port) in
        [("api.example.com", 80), ("other.example.com", 443), ("9.9.9.9", 443), ("localhost", 443)]
    {
        assert!(one.egress.connect(name, port).await.is_err(), "{name}:{port}");
    }
    assert_eq!(one.looked_up.load(Ordering::SeqCst), 0);
    assert!(one.connected().is_empty());
}

#[tokio::test]
async fn a_denied_name_comes_with_the_rule_that_would_allow_it() {
    let none = watched(&[], &[]);
    none.egress.name("api.example.com").await;
    let mark = none.egress.mark();
    let _ = none.egress.connect("db.example.com", 5432).await;
    let since = none.egress.denied_since(mark);
    assert_eq!(since.len(), 1);
    assert_eq!(since[0].remedy, Some(Remedy::Public(rule("db.example.com:5432"))));
    none.egress.name("api.example.com").await;
    let again: Vec<_> =
        none.egress.denied_since(mark).into_iter().map(|d| (d.name.to_string(), d.times)).collect();
    assert_eq!(again, [("api.example.com".to_owned(), 2), ("db.example.com".to_owned(), 1)]);
}

#[tokio::test]
async fn a_denied_name_of_ones_own_network_comes_with_the_other_option_and_metadata_with_none() {
    let none = watched(&["public"], &[]);
    let _ = none.egress.connect("localhost", 443).await;
    none.egress.name("nas.lan").await;
    none.egress.name("metadata.google.internal").await;
    none.egress.name("10.0.0.1").await;
    let remedies: Vec<_> = none
        .egress
        .denied()
        .into_iter()
        .map(|d| (d.name.to_string(), d.remedy.map(|remedy| remedy.to_string())))
        .collect();
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(
        remedies,
        [
            ("10.0.0.1".to_owned(), None),
            ("localhost".to_owned(), said("--egress-private localhost:443")),
            ("metadata.google.internal".to_owned(), None),
            ("nas.lan".to_owned(), said("--egress-private nas.lan:PORT")),
        ]
    );
}

fn private(typed: &[&str], rules: &[&str], answers: &[&[&str]]) -> Watched {
    let ways: Vec<_> = typed.iter().map(|text| PrivateWay::typed(text).unwrap()).collect();
    let mut all = watched(rules, answers);
    all.egress = all.egress.and_private(&ways);
    all
}

#[tokio::test]
async fn a_private_way_is_open_under_its_own_name_and_port_alone() {
    let one = private(&["localhost:5432", "nas.lan:8080"], &["api.example.com"], &[&["192.168.1.20"]]);
    assert_eq!(one.egress.ports(), [443, 5432, 8080]);
    assert_eq!(one.egress.localhost(), [5432]);
    assert!(one.egress.name("nas.lan").await && !one.egress.name("other.lan").await);
    assert!(one.egress.connect("localhost", 5432).await.is_ok());
    assert!(one.egress.connect("nas.lan", 8080).await.is_ok());
    assert_eq!(one.connected(), ["127.0.0.1:5432", "192.168.1.20:8080"]);
    for (name, port) in [
        ("localhost", 8080),
        ("localhost", 443),
        ("nas.lan", 5432),
        ("nas.lan", 443),
        ("x.localhost", 5432),
        ("192.168.1.20", 8080),
        ("127.0.0.1", 5432),
        // allowed, and still a stranger's: the private way does not lend its standing to it
        ("api.example.com", 443),
    ] {
        assert!(one.egress.connect(name, port).await.is_err(), "{name}:{port}");
    }
    assert_eq!(one.connected().len(), 2);
}

#[tokio::test]
async fn localhost_is_tried_in_both_families() {
    let mut one = private(&["localhost:5432"], &[], &[]);
    one.egress.connector = Box::new(|to| {
        let (here, _there) = tokio::io::duplex(64);
        Box::pin(std::future::ready(match to.is_ipv4() {
            true => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            false => Ok(Box::new(here) as Box<dyn Duplex>),
        }))
    });
    assert!(one.egress.connect("localhost", 5432).await.is_ok());
    assert_eq!(one.looked_up.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_private_name_is_resolved_at_each_connection_and_never_leads_to_metadata() {
    let one = private(&["db.corp:5432"], &[], &[&["10.0.0.1"], &["10.0.0.2"], &["169.254.169.254"]]);
    for _ in 0..2 {
        assert!(one.egress.connect("db.corp", 5432).await.is_ok());
    }
    let refused = one.egress.connect("db.corp", 5432).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("credentials"), "{refused}");
    assert_eq!(one.connected(), ["10.0.0.1:5432", "10.0.0.2:5432"]);
    assert_eq!(one.egress.denied()[0].remedy, None);
}

#[tokio::test]
async fn a_credential_in_a_name_is_neither_recorded_nor_said() {
    let token = "ghp_16c7e42f292c6912e7710c838347ae178b4a";
    let given = crate::secret::tests::given(&[("TOKEN", token)]);
    let one = watched(&["*.open.example", "*.down.example"], &[&["9.9.9.9"], &["9.9.9.9"], &["10.0.0.1"]]);
    let mut egress = one.egress.without(Arc::new(given.mask()));
    let _ = egress.name(&format!("{token}.evil.example")).await;
    let _ = egress.name(&format!("{token}!.evil.example")).await;
    let cut = egress.connect(&format!("{}{token}", "-".repeat(253 - 12)), 443).await.map(drop).unwrap_err();
    assert!(!cut.to_string().contains(&token[..8]), "{cut}");
    assert!(egress.connect(&format!("{token}.open.example"), 443).await.is_ok());
    egress.connector =
        Box::new(|_| Box::pin(std::future::ready(Err(io::Error::from(io::ErrorKind::ConnectionRefused)))));
    let mut said = Vec::new();
    for host in ["down.example", "open.example"] {
        said.push(egress.connect(&format!("{token}.{host}"), 443).await.map(drop).unwrap_err().to_string());
    }
    let tally = egress.tally();
    said.extend(tally.reached().map(|one| format!("{one:?}")));
    said.extend(tally.failed().map(|one| format!("{one:?}")));
    said.extend(tally.denied().map(|one| format!("{one:?}")));
    assert_eq!(said.len(), 2 + 1 + 1 + 4, "{said:#?}");
    for said in &said {
        assert!(said.contains("[TOKEN]") && !said.contains("16c7e42f"), "{said}");
    }
    assert!(tally.denied().all(|denied| denied.remedy.is_none()), "what would open it has the name in it");
}

#[tokio::test]
async fn the_host_of_an_address_with_a_password_is_told_with_what_would_allow_it() {
    let host = "db7.abc123xyz.us-east-1.rds.amazonaws.com";
    let url = format!("postgres://app7:sesame-0pen@{host}:5432/shop");
    let given = crate::secret::tests::given(&[("DATABASE_URL", &url)]);
    let egress = watched(&[], &[]).egress.without(Arc::new(given.mask()));
    let refused = egress.connect(host, 5432).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains(host), "{refused}");
    let remedy = egress.denied()[0].remedy.as_ref().map(ToString::to_string);
    assert_eq!(remedy, Some(format!("--egress {host}:5432")));
}

#[tokio::test]
async fn no_name_leads_to_an_engine_of_this_machines() {
    for (here, there) in [("127.0.0.1", "198.51.100.7"), ("::1", "fd00::7")] {
        let one = private(&["me.corp:2375", "me.corp:5432"], &[], &[&[there, here]]);
        let refused = one.egress.connect("me.corp", 2375).await.map(drop).unwrap_err();
        assert!(refused.to_string().contains("whoever speaks to it is root"), "{refused}");
        assert_eq!(one.egress.denied()[0].remedy, None);
        assert!(one.egress.connect("me.corp", 5432).await.is_ok(), "any other port is");
        let other = private(&["you.corp:2375"], &[], &[&[there]]);
        assert!(other.egress.connect("you.corp", 2375).await.is_ok(), "and another machine's");
    }
}

#[tokio::test]
async fn what_the_option_refuses_is_not_advised() {
    let none = watched(&["public"], &[&["127.0.0.1"]]);
    for (name, port) in
        [("localhost", 2375), ("localhost", 2376), ("host.docker.internal", 80), ("localhost", 2377)]
    {
        assert!(none.egress.connect(name, port).await.is_err());
    }
    let advised: Vec<_> = none.egress.denied().into_iter().filter_map(|denied| denied.remedy).collect();
    assert_eq!(
        advised.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["--egress-private localhost:2377"]
    );
}

#[tokio::test]
async fn an_allowed_host_that_cannot_be_connected_to_is_remembered_with_the_reason() {
    let mut one = watched(&["api.example.com"], &[&["9.9.9.9"]]);
    one.egress.connector =
        Box::new(|_| Box::pin(std::future::ready(Err(io::Error::from(io::ErrorKind::ConnectionRefused)))));
    for _ in 0..3 {
        assert!(one.egress.connect("api.example.com", 443).await.is_err());
    }
    let failed = one.egress.failed();
    assert_eq!((failed.len(), failed[0].port, failed[0].times), (1, 443, 3));
    assert!(failed[0].why.to_string().contains("refused"), "{:?}", failed[0]);
    assert!(one.egress.denied().is_empty() && one.egress.reached().is_empty());
    let gone = watched(&["gone.example.com"], &[]);
    assert!(gone.egress.connect("gone.example.com", 443).await.is_err());
    assert!(gone.egress.failed()[0].why.to_string().contains("no such name"));
}

#[tokio::test]
async fn the_record_stays_bounded_whatever_a_cage_asks_for() {
    let none = watched(&[], &[]);
    for n in 0..1_500 {
        none.egress.name(&format!("n{n}.example.com")).await;
    }
    none.egress.name(&"\u{1b}é".repeat(100_000)).await;
    assert_eq!(none.egress.denied().len(), 1_000);
    assert_eq!(none.egress.forgotten(), 501);
    let long = watched(&[], &[]);
    long.egress.name(&"é".repeat(100_000)).await;
    assert!(long.egress.denied()[0].name.to_string().chars().count() <= 253);
}

#[tokio::test]
async fn connections_are_bounded_and_come_free_again() {
    let one = watched(&["api.example.com"], &[&["9.9.9.9"]]);
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(one.egress.connect("api.example.com", 443).await.unwrap());
    }
    assert!(one.egress.connect("api.example.com", 443).await.is_err());
    open.pop();
    assert!(one.egress.connect("api.example.com", 443).await.is_ok());
    assert_eq!(one.egress.reached()[0].times, 257);
}

#[tokio::test]
async fn tries_the_next_address_when_one_does_not_accept() {
    let mut one = watched(&["api.example.com"], &[&["9.9.9.9", "1.1.1.1"]]);
    one.egress.connector = Box::new(|to| {
        let refused = to.ip() == "9.9.9.9".parse::<IpAddr>().unwrap();
        let (here, _there) = tokio::io::duplex(64);
        Box::pin(std::future::ready(match refused {
            true => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            false => Ok(Box::new(here) as Box<dyn Duplex>),
        }))
    });
    assert!(one.egress.connect("api.example.com", 443).await.is_ok());
}

#[tokio::test]
async fn a_registrys_cage_reaches_that_registry_and_nothing_else() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let url = format!("http://{}:{port}/", testing::HOST);
    let egress = Egress::registries(testing::names(), &registries(&url)).unwrap();
    assert_eq!(egress.ports(), [port]);
    assert!(egress.name(testing::HOST).await);
    assert!(!egress.name("evil.example.com").await);
    assert!(egress.connect(testing::HOST, port.wrapping_add(1)).await.is_err());
    assert!(egress.connect("evil.example.com", port).await.is_err());

    let mut cage = egress.connect(testing::HOST, port).await.unwrap();
    let (mut there, _) = server.accept().await.unwrap();
    cage.write_all(b"ping").await.unwrap();
    cage.shutdown().await.unwrap();
    let mut heard = String::new();
    there.read_to_string(&mut heard).await.unwrap();
    there.write_all(b"pong").await.unwrap();
    drop(there);
    let mut back = String::new();
    cage.read_to_string(&mut back).await.unwrap();
    assert_eq!((heard.as_str(), back.as_str()), ("ping", "pong"));
    assert_eq!(egress.reached().len(), 1);
}

#[tokio::test]
async fn a_rule_does_not_lend_the_registrys_standing_to_another_port() {
    // The registry is the operator's on its own port; on another one its name is like any other.
    let url = format!("https://{}/", testing::HOST);
    let mut egress = Egress::registries(testing::names(), &registries(&url)).unwrap();
    egress.rules = vec![rule("registry.example:8443")];
    let refused = egress.connect(testing::HOST, 8443).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("loopback"), "{refused}");
}

#[test]
fn refuses_a_registry_set_by_address() {
    let refused = Egress::registries(testing::names(), &registries("http://127.0.0.1:4873/")).err().unwrap();
    assert_eq!(Failure::from(refused).code(), Code::EgressRefused);
}

/// The egress of an index of Python packages that lives at `at` and keeps this file.
async fn of_an_index(at: &str, file: &str, answers: &[&[&str]]) -> Watched {
    let around = PipSurroundings { config: Some(at.to_owned()), ..PipSurroundings::default() };
    let index = PipConfig::read(&around).unwrap().index(None).unwrap();
    let names = Scripted::new(answers);
    let looked_up = names.asked();
    let resolver = Resolver::over(names);
    let file = resolver.file_of(index.registry().url(), file).await.unwrap();
    watch(Egress::index(resolver, index.registry(), &[file]).unwrap(), looked_up)
}

#[tokio::test]
async fn files_of_a_public_index_are_reached_on_public_addresses_alone() {
    let (at, file) = ("https://index.example/simple", "https://files.example.com/x.whl");
    // The index, then its files' host at two connections.
    let one = of_an_index(at, file, &[&["9.9.9.9"], &["1.1.1.1"], &["10.0.0.1"]]).await;
    assert_eq!(one.egress.ports(), [443]);
    assert!(one.egress.connect("files.example.com", 443).await.is_ok());
    assert_eq!(one.connected(), ["1.1.1.1:443"]);
    assert!(one.egress.connect("files.example.com", 443).await.is_err());
    assert_eq!((one.connected().len(), one.looked_up.load(Ordering::SeqCst)), (1, 3));
    for (name, port) in [("files.example.com", 80), ("other.example.com", 443), ("x.files.example.com", 443)]
    {
        assert!(one.egress.connect(name, port).await.is_err(), "{name}:{port}");
    }
}

#[tokio::test]
async fn files_of_an_index_on_a_private_address_may_be_on_one_too() {
    let (at, file) = ("https://index.corp/simple", "https://files.corp:8443/x.whl");
    let one = of_an_index(at, file, &[&["10.0.0.1"], &["10.0.0.2"]]).await;
    assert!(one.egress.connect("files.corp", 8443).await.is_ok());
    assert_eq!(one.connected(), ["10.0.0.2:8443"]);
    assert!(one.egress.connect("index.corp", 443).await.is_ok());
    for (name, port) in [("files.corp", 443), ("index.corp", 8443), ("other.corp", 443)] {
        assert!(one.egress.connect(name, port).await.is_err(), "{name}:{port}");
    }
}

#[test]
fn refuses_an_index_set_by_address() {
    let around =
        PipSurroundings { config: Some("http://127.0.0.1:3141/".to_owned()), ..PipSurroundings::default() };
    let index = PipConfig::read(&around).unwrap().index(None).unwrap();
    let refused = Egress::index(testing::names(), index.registry(), &[]).err().unwrap();
    assert_eq!(Failure::from(refused).code(), Code::EgressRefused);
}

proptest! {
    #[test]
    fn an_accepted_rule_reads_back_the_same(text in "(\\*\\.)?[-a-z0-9.*:\\[\\]/A]{0,30}") {
        if let Ok(rule) = text.parse::<EgressRule>() {
            prop_assert_eq!(rule.to_string().parse::<EgressRule>(), Ok(rule.clone()));
        }
    }

    #[test]
    fn no_text_makes_a_rule_panic(text in "\\PC{0,60}") {
        let _ = text.parse::<EgressRule>();
    }
}

#[tokio::test]
async fn what_is_shut_lets_nothing_out_whatever_its_rules() {
    let one = private(&["nas.lan:8080"], &["api.example.com"], &[&["93.184.216.34"], &["192.168.1.20"]]);
    assert!(one.egress.connect("api.example.com", 443).await.is_ok());
    one.egress.shut();
    for (name, port) in [("api.example.com", 443), ("nas.lan", 8080)] {
        assert!(one.egress.connect(name, port).await.is_err(), "{name}");
        assert!(!one.egress.name(name).await, "{name}");
    }
    assert_eq!(one.connected(), ["93.184.216.34:443"]);
    assert_eq!(one.looked_up.load(Ordering::SeqCst), 1, "not even looked up");
    assert_eq!(one.egress.denied().len(), 4, "each name, and each with its port");
}
