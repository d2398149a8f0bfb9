//! Where can a caged server go?
//!
//! Without egress rules, nowhere: no address of this machine, its network or the world has a route, no name an address.
//! With a rule, to that name and port, unmodified, and still nowhere else.

use std::net::{TcpListener, ToSocketAddrs, UdpSocket};
use std::process::Command;

use serde_json::{Value, json};

use crate::mounted;
use crate::pinfold::Home;
use crate::tests;

tests![
    a_server_on_this_machine_is_out_of_reach,
    no_address_has_a_route,
    no_name_has_an_address_and_the_attempt_is_told,
    a_name_that_is_allowed_is_reached_by_every_way_of_looking_it_up,
    a_rule_is_for_its_name_and_port_alone,
    rules_that_are_no_public_name_are_refused,
];

/// This machine's addresses as others see it.
fn own_addresses() -> Vec<String> {
    let mut all = vec!["127.0.0.1".to_owned(), "172.17.0.1".to_owned(), "host.docker.internal".to_owned()];
    // connecting a datagram socket sends nothing; it picks the address that would be sent from
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.1:9").is_ok() {
        all.push(socket.local_addr().unwrap().ip().to_string());
    }
    all
}

fn a_server_on_this_machine_is_out_of_reach() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut session = mounted::probe().session();
    for host in own_addresses() {
        let came = session.data("connect", json!({"host": host, "port": port}));
        assert!(came["error"].is_string(), "{host}:{port} was reached: {came}");
    }
    assert!(listener.accept().is_err(), "somebody connected");
}

fn no_address_has_a_route() {
    let mut session = mounted::probe().session();
    for host in [
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "1.1.1.1",
        "2606:4700:4700::1111",
        "fd00::1",
        "100.64.0.1",
    ] {
        let came = session.data("connect", json!({"host": host, "port": 80}));
        let why = came["error"].as_str().unwrap_or_default();
        assert!(["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL"].contains(&why), "{host}: {came}");
    }
    // an address that could stand for a name stands for none
    let came = session.data("connect", json!({"host": "127.64.0.1", "port": 443}));
    assert!(came["error"].is_string(), "{came}");
}

fn no_name_has_an_address_and_the_attempt_is_told() {
    let mut session = mounted::probe().session();
    for name in ["host.docker.internal", "metadata.google.internal", "registry.example", "wpad"] {
        let came = session.data("resolve", json!({"name": name}));
        for (way, answer) in came.as_object().unwrap() {
            assert!(answer["ok"].is_null() && answer["error"].is_string(), "{name} by {way}: {came}");
        }
    }
    let came = session.data("fetch", json!({"url": "https://registry.example/"}));
    assert_eq!(came["error"], "ENOTFOUND", "{came}");
    let (_, stderr) = session.finish();
    assert!(stderr.contains("registry.example") && stderr.contains("--egress"), "{stderr}");
}

/// The host of the package registry this machine uses: a name that is known to be reachable from here.
fn reachable() -> String {
    let asked = Command::new("npm").args(["config", "get", "registry"]).current_dir("/").output().unwrap();
    let url = String::from_utf8(asked.stdout).unwrap();
    let host = url.trim().strip_prefix("https://").and_then(|rest| rest.split('/').next());
    let host = host.unwrap_or_else(|| panic!("these tests need an https registry, and npm is set to {url}"));
    assert!(!host.contains(':'), "these tests need a registry on port 443, and npm is set to {url}");
    host.to_owned()
}

fn allowed() -> (mounted::Server, String) {
    let host = reachable();
    (mounted::probe_with("probe-out", &["--egress", &host], &[]), host)
}

fn a_name_that_is_allowed_is_reached_by_every_way_of_looking_it_up() {
    let (server, host) = allowed();
    let mut session = server.session();
    let came = session.data("resolve", json!({"name": host}));
    let invented = |answer: &Value| answer.as_str().is_some_and(|address| address.starts_with("127.64."));
    assert!(invented(&came["lookup"]["ok"]["address"]), "{came}");
    assert!(invented(&came["resolve4"]["ok"][0]), "{came}");
    assert!(invented(&came["family4"]["ok"]["address"]), "{came}");
    assert!(came["resolve6"]["error"].is_string(), "{came}");
    let came = session.data("fetch", json!({"url": format!("https://{host}/")}));
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
    let mut addresses = (host.as_str(), 443).to_socket_addrs().unwrap();
    if addresses.all(|address| pinfold::net::address::check(address.ip()).is_ok()) {
        assert!(came["ok"].is_u64(), "{came}");
        assert!(!stderr.contains("out of reach"), "{stderr}");
    } else {
        // a network that answers for the registry by itself: its own address is no stranger's to reach
        assert_eq!(came["error"], "ECONNRESET", "{came}");
        assert!(stderr.contains(&host) && stderr.contains("not public"), "{stderr}");
    }
}

fn a_rule_is_for_its_name_and_port_alone() {
    let (server, host) = allowed();
    let mut session = server.session();
    for name in [format!("www.{host}"), "registry.example".to_owned()] {
        let came = session.data("resolve", json!({"name": name}));
        assert!(came["lookup"]["error"].is_string(), "{name}: {came}");
    }
    for port in [80, 22, 8443] {
        let came = session.data("connect", json!({"host": host, "port": port}));
        assert!(came["error"].is_string(), "{host}:{port} was reached: {came}");
    }
    // an invented address that stands for nothing is nobody
    let came = session.data("connect", json!({"host": "127.64.9.9", "port": 443, "say": "x"}));
    assert!(came["error"].is_string(), "{came}");
}

fn rules_that_are_no_public_name_are_refused() {
    let home = Home::new();
    for rule in [
        "127.0.0.1",
        "10.0.0.1:80",
        "[::1]:443",
        "169.254.169.254",
        "localhost",
        "localhost:5432",
        "*.localhost",
        "metadata.google.internal",
        "host.docker.internal",
        "*",
        "*.com",
        "https://registry.example",
        "registry.example/x",
        "registry.example:0",
        "registry.example:99999",
        "0x7f.1",
        "2130706433",
        "a b",
    ] {
        let ran = home.run(["--json", "show", "npm:@modelcontextprotocol/server-memory", "--egress", rule]);
        assert_eq!(ran.code, Some(11), "{rule}: {ran}");
        assert_eq!(ran.error()["code"], "egress-refused", "{rule}: {ran}");
    }
}
