//! Whom does a program in a cage trust, and where does it live?
//!
//! A certificate authority that only this host knows signs for a web server on it; a caged server that may reach it
//! trusts it, in whichever of the usual places the authority is named, and not where it is named nowhere. And what time
//! and language mean to this host's user, they mean to the server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mounted;
use crate::package::Package;
use crate::pinfold::Home;
use crate::session::Session;
use crate::tests;

tests![
    an_authority_that_this_host_trusts_is_trusted_in_a_cage,
    every_reader_is_told_where_the_certificates_are,
    a_cage_that_nothing_can_leave_is_told_of_none,
    a_file_of_certificates_that_cannot_be_followed_is_an_error,
    time_zone_and_language_reach_the_server,
];

/// A web server on this machine whose certificate an authority of its own signed.
struct Site {
    port: u16,
    directory: TempDir,
}

static SITE: LazyLock<Site> = LazyLock::new(|| {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.distinguished_name.push(DnType::CommonName, "an authority of this network");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let its_key = KeyPair::generate().unwrap();
    let root = authority.self_signed(&its_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &Issuer::new(authority, its_key))
        .unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![signed.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || {
                let connection = rustls::ServerConnection::new(config).unwrap();
                let mut tls = rustls::StreamOwned::new(connection, stream);
                // a client that does not trust it hangs up before it asks
                if tls.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                    let _ = tls
                        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
                    tls.conn.send_close_notify();
                    let _ = tls.flush();
                }
            });
        }
    });
    let directory = tempfile::Builder::new().prefix("pinfold-authority-").tempdir().unwrap();
    fs::write(directory.path().join("ca.pem"), root.pem()).unwrap();
    // what an administrator would have made of the system's store
    let system = fs::read_to_string("/etc/ssl/certs/ca-certificates.crt").unwrap_or_default();
    fs::write(directory.path().join("all.pem"), format!("{system}\n{}", root.pem())).unwrap();
    Site { port, directory }
});

impl Site {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The variables of this process that name certificates, which a test takes away first.
const NAMING: [&str; 3] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"];

fn asked_with(server: &mounted::Server, set: &[(&str, PathBuf)]) -> Value {
    let mut command = server.command();
    NAMING.iter().for_each(|name| {
        command.env_remove(name);
    });
    set.iter().for_each(|(name, path)| {
        command.env(name, path);
    });
    let (mut session, _) = Session::handshake(command, json!({}));
    session.data("fetch", json!({"url": format!("https://localhost:{}/", SITE.port)}))
}

fn with_a_way_out() -> mounted::Server {
    let rule = format!("localhost:{}", SITE.port);
    mounted::probe_with("probe-trusts", &["--egress-private", &rule], &[])
}

fn an_authority_that_this_host_trusts_is_trusted_in_a_cage() {
    let server = with_a_way_out();
    for (name, file) in
        [("NODE_EXTRA_CA_CERTS", "ca.pem"), ("REQUESTS_CA_BUNDLE", "ca.pem"), ("SSL_CERT_FILE", "all.pem")]
    {
        let came = asked_with(&server, &[(name, SITE.file(file))]);
        assert_eq!(came["ok"], 200, "named by {name}: {came}");
    }
    let came = asked_with(&server, &[]);
    assert!(came["error"].as_str().is_some_and(|why| why.contains("UNABLE_TO_")), "{came}");

    // and by the configuration, in a home of its own
    let home = Home::new();
    let package = Package::probe();
    let rule = format!("localhost:{}", SITE.port);
    fs::DirBuilder::new().create(home.file("config")).ok();
    fs::set_permissions(home.file("config"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let config = format!("extra_ca = \"{}\"\n", SITE.file("ca.pem").display());
    fs::write(home.file("config/config.toml"), config).unwrap();
    mounted::mount(&home, &package.spec(), &["--egress-private", &rule]);
    let (mut session, _) = Session::handshake(home.command(["run", "probe"]), json!({}));
    let came = session.data("fetch", json!({"url": format!("https://localhost:{}/", SITE.port)}));
    assert_eq!(came["ok"], 200, "named in config.toml: {came}");
    session.finish();
    home.run(["unmount", "probe"]).ended(0);
}

fn every_reader_is_told_where_the_certificates_are() {
    let mut session = with_a_way_out().session();
    for variable in pinfold::cage::roots::VARIABLES {
        let seen = session.data("env", json!({"name": variable.name}));
        assert_eq!(seen["value"], "/tmp/pinfold/roots.pem", "{}", variable.name);
    }
}

fn a_cage_that_nothing_can_leave_is_told_of_none() {
    let mut session = mounted::probe().session();
    for variable in pinfold::cage::roots::VARIABLES {
        let seen = session.data("env", json!({"name": variable.name}));
        assert!(seen["value"].is_null(), "{}: {seen}", variable.name);
    }
}

fn a_file_of_certificates_that_cannot_be_followed_is_an_error() {
    let server = with_a_way_out();
    let mut command = server.home().command(["--json", "call", &server.name, "env"]);
    command.env("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem");
    let ran = crate::pinfold::run(command).failed(2, "usage");
    assert!(ran.error().to_string().contains("NODE_EXTRA_CA_CERTS"), "{ran}");
}

fn time_zone_and_language_reach_the_server() {
    let server = mounted::probe();
    for (zone, language, expected) in [
        ("America/Sao_Paulo", "pt_BR.UTF-8", "pt_BR.UTF-8"),
        // the cage speaks UTF-8, whatever its user's terminal does
        ("Asia/Tokyo", "de_DE@euro", "de_DE.UTF-8"),
        (":Europe/Berlin", "C", "C.UTF-8"),
    ] {
        let mut command = server.command();
        command.env("TZ", zone).env("LANG", language).env_remove("LC_ALL");
        let (mut session, _) = Session::handshake(command, json!({}));
        let seen = session.data("place", json!({}));
        let zone = zone.trim_start_matches(':');
        assert_eq!(seen["zone"], zone, "{seen}");
        assert_eq!(session.data("env", json!({"name": "LANG"}))["value"], expected);
        // the interpreter has the zone's data, not its name alone
        let offset = match zone {
            "America/Sao_Paulo" => json!(180),
            "Asia/Tokyo" => json!(-540),
            _ => json!(-60),
        };
        assert_eq!(seen["offset"], offset, "{seen}");
        if language.starts_with("pt") {
            assert_eq!(seen["locale"], "pt-BR", "{seen}");
        }
        let (_, stderr) = session.finish();
        assert!(!stderr.contains("locale"), "a language that the image lacks is complained about: {stderr}");
    }
}
