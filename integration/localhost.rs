//! What does `--egress-private` open, and what not?
//!
//! One port of this machine or of a host of its network, under its own name, to a server that was mounted so; for
//! every other server, name, port and address the cage is as closed as without it. Every listener here is a real one on
//! this machine.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::mounted;
use crate::package::Package;
use crate::pinfold::Home;
use crate::tests;

tests![
    the_opened_port_of_this_machine_is_localhost_in_the_cage_and_nothing_else_is_open,
    a_listener_on_ipv6_alone_is_reached_too,
    a_host_of_the_network_is_reached_under_its_name_alone,
    a_server_without_the_option_reaches_none_of_it,
    what_nobody_may_open_is_refused_with_what_to_do,
    an_open_port_that_nobody_listens_on_is_told_with_the_reason,
    a_server_that_wants_the_same_port_for_itself_is_told_what_takes_it,
    what_was_tried_in_vain_is_listed_with_the_command_that_allows_it,
];

/// A web server on this machine, for as long as these tests run.
pub struct Listener {
    pub port: u16,
    heard: Arc<AtomicU32>,
}

impl Listener {
    pub fn on(address: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&heard);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream
                        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
                });
            }
        });
        Self { port, heard }
    }

    /// How many connections there were.
    pub fn heard(&self) -> u32 {
        self.heard.load(Ordering::SeqCst)
    }
}

fn get(host: &str, port: u16) -> Value {
    json!({"host": host, "port": port, "say": "GET / HTTP/1.0\r\n\r\n"})
}

fn answered(came: &Value) -> bool {
    came["ok"].as_str().is_some_and(|text| text.ends_with("hello"))
}

fn the_opened_port_of_this_machine_is_localhost_in_the_cage_and_nothing_else_is_open() {
    let (open, other) = (Listener::on("127.0.0.1"), Listener::on("0.0.0.0"));
    let rule = format!("localhost:{}", open.port);
    let server = mounted::probe_with("probe-local", &["--egress-private", &rule], &[]);
    let plan = server.home().run(["--json", "pins", "show", "probe-local"]).ended(0).json();
    assert_eq!(plan["plan"]["egress_private"], json!([rule]));
    assert_eq!(plan["plan"]["egress"], json!([]));

    let mut session = server.session();
    let before = open.heard();
    // by fetch, which takes the name apart for itself, by the C library's look-up, and by c-ares
    let came = session.data("fetch", json!({"url": format!("http://localhost:{}/", open.port)}));
    assert_eq!(came["ok"], 200, "{came}");
    let came = session.data("fetch", json!({"url": format!("http://127.0.0.1:{}/", open.port)}));
    assert_eq!(came["ok"], 200, "{came}");
    let came = session.data("resolve", json!({"name": "localhost"}));
    for way in ["lookup", "family4"] {
        assert!(
            ["127.0.0.1", "::1"].contains(&came[way]["ok"]["address"].as_str().unwrap_or_default()),
            "{came}"
        );
    }
    assert_eq!(came["resolve4"]["ok"][0], "127.0.0.1", "{came}");
    for host in ["localhost", "127.0.0.1", "LOCALHOST"] {
        let came = session.data("connect", get(host, open.port));
        assert!(answered(&came), "{host}: {came}");
    }
    // a cage may be without IPv6; where it has one, ::1 is localhost as well
    let came = session.data("connect", get("::1", open.port));
    assert!(answered(&came) || came["error"] == "EADDRNOTAVAIL", "{came}");
    let all = open.heard() - before;
    assert!((5..=6).contains(&all), "{all} connections came");

    for (host, port) in [
        // the same port by any other name or address of this machine
        ("127.0.0.2", open.port),
        ("127.64.0.1", open.port),
        ("0.0.0.0", other.port),
        ("172.17.0.1", open.port),
        ("host.docker.internal", open.port),
        // another port
        ("localhost", other.port),
        ("127.0.0.1", other.port),
        ("172.17.0.1", other.port),
    ] {
        let came = session.data("connect", get(host, port));
        assert!(came["error"].is_string(), "{host}:{port} was reached: {came}");
    }
    assert_eq!(other.heard(), 0, "another port was reached");
    let (code, stderr) = session.finish();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains(&format!("localhost:{} ", open.port)), "{stderr}");
}

fn a_listener_on_ipv6_alone_is_reached_too() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        // a machine without IPv6 has no such listener
        return;
    }
    let open = Listener::on("::1");
    let rule = format!("[::1]:{}", open.port);
    let server = mounted::probe_with("probe-six", &["--egress-private", &rule], &[]);
    let came = server.session().data("fetch", json!({"url": format!("http://localhost:{}/", open.port)}));
    assert_eq!((&came["ok"], open.heard()), (&json!(200), 1), "{came}");
}

/// This machine's own name, which its hosts file or name server knows.
fn own_name() -> String {
    let asked = Command::new("hostname").output().unwrap();
    let name = String::from_utf8(asked.stdout).unwrap().trim().to_ascii_lowercase();
    assert!(
        std::net::ToSocketAddrs::to_socket_addrs(&(name.as_str(), 0))
            .is_ok_and(|mut all| all.next().is_some()),
        "these tests need a name of the local network, and this machine's own, {name}, leads nowhere"
    );
    name
}

fn a_host_of_the_network_is_reached_under_its_name_alone() {
    let open = Listener::on("0.0.0.0");
    let name = own_name();
    let rule = format!("{name}:{}", open.port);
    let server = mounted::probe_with("probe-lan", &["--egress-private", &rule], &[]);
    let mut session = server.session();
    let came = session.data("resolve", json!({"name": name}));
    let invented = came["resolve4"]["ok"][0].as_str().unwrap_or_default();
    assert!(invented.starts_with("127.64."), "{came}");
    let came = session.data("connect", get(invented, open.port));
    assert!(answered(&came), "{came}");
    let before = open.heard();
    for host in ["localhost", "127.0.0.1", "172.17.0.1", "other-host"] {
        let came = session.data("connect", get(host, open.port));
        assert!(came["error"].is_string(), "{host} was reached: {came}");
    }
    assert_eq!(open.heard(), before);
    let (_, stderr) = session.finish();
    // what its own port led to under another name is told, and how it would be opened
    assert!(stderr.contains(&format!("--egress-private localhost:{}", open.port)), "{stderr}");
}

fn a_server_without_the_option_reaches_none_of_it() {
    let open = Listener::on("0.0.0.0");
    let name = own_name();
    for server in [mounted::probe(), mounted::probe_with("probe-public", &["--egress", "public"], &[])] {
        let mut session = server.session();
        for host in ["localhost", "127.0.0.1", "::1", "127.0.0.2", "172.17.0.1", &name] {
            let came = session.data("connect", get(host, open.port));
            assert!(came["error"].is_string(), "{host} was reached: {came}");
        }
        for port in [80, 443] {
            let came = session.data("connect", get("127.0.0.1", port));
            assert!(came["error"].is_string(), "{came}");
        }
    }
    assert_eq!(open.heard(), 0);
}

fn what_nobody_may_open_is_refused_with_what_to_do() {
    let home = Home::new();
    for (rule, said) in [
        ("192.168.1.20:5432", "/etc/hosts"),
        ("127.0.0.2:5432", "/etc/hosts"),
        ("[fd00::1]:5432", "/etc/hosts"),
        ("169.254.169.254:80", "/etc/hosts"),
        ("metadata.google.internal:80", "no option"),
        ("host.docker.internal:5432", "localhost:PORT"),
        ("localhost:2375", "no option"),
        ("localhost", "localhost:5432"),
        ("*.lan:80", "name each host"),
        ("public", "name each host"),
        ("http://localhost:80/", "localhost:5432"),
    ] {
        let ran =
            home.run(["--json", "show", "npm:@modelcontextprotocol/server-memory", "--egress-private", rule]);
        let ran = ran.failed(11, "egress-refused");
        assert!(ran.error()["hint"].as_str().unwrap().contains(said), "{rule}: {ran}");
    }
    // and the option for public hosts opens none of this network
    let ran =
        home.run(["--json", "show", "npm:@modelcontextprotocol/server-memory", "--egress", "localhost:5432"]);
    let ran = ran.failed(11, "egress-refused");
    assert!(ran.error()["hint"].as_str().unwrap().contains("--egress-private"), "{ran}");
}

fn an_open_port_that_nobody_listens_on_is_told_with_the_reason() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rule = format!("localhost:{port}");
    let server = mounted::probe_with("probe-nobody", &["--egress-private", &rule], &[]);
    let mut session = server.session();
    let came = session.data("connect", get("localhost", port));
    assert_eq!(came["error"], "ECONNRESET", "{came}");
    let (_, stderr) = session.finish();
    assert!(stderr.contains(&format!("localhost:{port} is open to it")), "{stderr}");
    assert!(stderr.contains("refused"), "{stderr}");
    let listed = server.home().run(["--json", "egress", "probe-nobody"]).ended(0).json();
    assert_eq!(
        (&listed["failed"][0]["name"], &listed["failed"][0]["port"]),
        (&json!("localhost"), &json!(port))
    );
}

fn a_server_that_wants_the_same_port_for_itself_is_told_what_takes_it() {
    let home = Home::new();
    let package = Package::new(json!({"name": "listens-itself", "bin": "server.js"})).write(
        "server.js",
        "#!/usr/bin/env node\nrequire('node:net').createServer().listen(5432, '127.0.0.1');\n",
    );
    let spec = package.tarball();
    let options = ["--egress-private", "localhost:5432"];
    let shown = home.run([&["--json", "show", &spec], &options[..]].concat()).ended(0).json();
    let digest = shown["digest"].as_str().unwrap();
    let ran = home.run([&["--json", "mount", &spec, "--consent", digest], &options[..]].concat());
    let ran = ran.failed(16, "server-failed");
    let hint = ran.error()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("taken (localhost:5432)"), "{ran}");
}

fn what_was_tried_in_vain_is_listed_with_the_command_that_allows_it() {
    let home = Home::new();
    let package = Package::probe();
    let spec = package.spec();
    let options = ["--egress", "api.example.com", "--env", "PROBE_MODE=a b", "--", "--handshake-only"];
    mounted::mount(&home, &spec, &options);
    let listed = home.run(["--json", "egress", "probe"]).ended(0).json();
    assert_eq!(listed["egress"], json!(["api.example.com:443"]), "{listed}");
    assert_eq!(listed["denied"], json!([]), "{listed}");
    for _ in 0..2 {
        let (mut session, _) = crate::session::Session::handshake(home.command(["run", "probe"]), json!({}));
        session.data("resolve", json!({"name": "telemetry.example.org"}));
        session.data("resolve", json!({"name": "nas.lan"}));
        session.data("resolve", json!({"name": "metadata.google.internal"}));
        session.finish();
    }
    let listed = home.run(["--json", "egress", "probe"]).ended(0).json();
    let denied = |name: &str| -> Value {
        let all = listed["denied"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {listed}")).clone()
    };
    // kept over sessions, with the whole command
    let telemetry = denied("telemetry.example.org");
    assert!(telemetry["times"].as_u64().unwrap() >= 4, "{telemetry}");
    let allow = telemetry["allow"].as_str().unwrap();
    assert!(allow.starts_with(&format!("pinfold mount {spec} ")), "{allow}");
    assert!(
        allow.ends_with(
            "--env 'PROBE_MODE=a b' --egress api.example.com:443 --egress telemetry.example.org -- --handshake-only"
        ),
        "{allow}"
    );
    let nas = denied("nas.lan");
    assert!(nas["allow"].as_str().unwrap().contains("--egress-private nas.lan:PORT"), "{nas}");
    assert!(denied("metadata.google.internal")["allow"].is_null());
    // the same for a person, and the command it gives draws a plan
    let text = home.run(["egress", "probe"]).ended(0).stdout;
    assert!(text.contains("to allow it: ") && text.contains(allow), "{text}");
    let again = [&["--json", "show", &spec, "--egress", "telemetry.example.org"], &options[..]].concat();
    let plan = home.run(again).ended(0).json();
    assert_eq!(plan["plan"]["egress"], json!(["api.example.com:443", "telemetry.example.org:443"]));
    let file = home.file("state/egress/probe.json");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o777, 0o600);
    home.run(["unmount", "probe"]).ended(0);
    assert!(!file.exists());
}
