//! Names and connections.

use super::*;

/// A DNS question for `name`; RFC 1035 §4.1.
fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut packet = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        packet.push(label.len() as u8);
        packet.extend_from_slice(label.as_bytes());
    }
    packet.push(0);
    packet.extend_from_slice(&kind.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    packet
}

/// Response code and, if there is an answer, its last four bytes.
fn answer(packet: &[u8]) -> (u8, Option<[u8; 4]>) {
    assert_eq!(packet[..2], [0x12, 0x34]);
    (packet[3] & 15, (packet[7] > 0).then(|| packet[packet.len() - 4..].try_into().unwrap()))
}

async fn cage_with_dns(gate: Arc<TestGate>) -> (Cage, u16) {
    let cage = cage_with(gate).await;
    let port = cage.link.facts().dns_port;
    (cage, port)
}

async fn ask(port: u16, name: &str, kind: u16) -> (u8, Option<[u8; 4]>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question(name, kind), ("127.0.0.1", port)).await.unwrap();
    let mut packet = [0; 512];
    let length = timeout(LONG, socket.recv(&mut packet)).await.unwrap().unwrap();
    answer(&packet[..length])
}

#[tokio::test]
async fn an_allowed_name_gets_an_address_and_another_does_not() {
    let gate = Arc::new(TestGate { names: vec!["api.example"], ..TestGate::default() });
    let (_cage, port) = cage_with_dns(gate.clone()).await;
    assert_eq!(ask(port, "API.example", 1).await, (0, Some([127, 64, 0, 1])));
    assert_eq!(ask(port, "api.example", 28).await, (0, None), "AAAA: no data");
    assert_eq!(ask(port, "api.example", 65).await, (0, None), "HTTPS: no data");
    assert_eq!(ask(port, "evil.example", 1).await, (3, None));
    assert_eq!(ask(port, "localhost", 1).await, (0, Some([127, 0, 0, 1])));
    // loopback is loopback without asking
    let asked = ["api.example", "api.example", "api.example", "evil.example"];
    assert_eq!(*gate.asked.lock().unwrap(), asked);
}

#[tokio::test]
async fn names_are_answered_over_tcp_too() {
    let gate = Arc::new(TestGate { names: vec!["api.example"], ..TestGate::default() });
    let (_cage, port) = cage_with_dns(gate).await;
    let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    for _ in 0..2 {
        let question = question("api.example", 1);
        connection.write_u16(question.len() as u16).await.unwrap();
        connection.write_all(&question).await.unwrap();
        let mut packet = vec![0; usize::from(timeout(LONG, connection.read_u16()).await.unwrap().unwrap())];
        connection.read_exact(&mut packet).await.unwrap();
        assert_eq!(answer(&packet), (0, Some([127, 64, 0, 1])));
    }
}

/// A port that is free now. Somebody else may take it; nobody here does.
async fn free_port() -> u16 {
    TcpListener::bind("0.0.0.0:0").await.unwrap().local_addr().unwrap().port()
}

/// A gate that lets one name out by one port, to `upstream`.
fn gate_to(upstream: &TcpListener, port: u16, name: &'static str) -> Arc<TestGate> {
    Arc::new(TestGate {
        ports: vec![port],
        names: vec![name],
        upstream: Some(upstream.local_addr().unwrap()),
        ..TestGate::default()
    })
}

#[tokio::test]
async fn a_connection_reaches_its_host_under_its_name_with_both_ends() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free_port().await;
    let gate = gate_to(&upstream, port, "api.example");
    let (_cage, dns) = cage_with_dns(gate.clone()).await;
    let (_, Some(address)) = ask(dns, "api.example", 1).await else { panic!("no address") };

    let mut near = TcpStream::connect((std::net::Ipv4Addr::from(address), port)).await.unwrap();
    let (mut far, _) = timeout(LONG, upstream.accept()).await.unwrap().unwrap();
    near.write_all(&[1; 500_000]).await.unwrap();
    near.shutdown().await.unwrap();
    let mut heard = Vec::new();
    timeout(LONG, far.read_to_end(&mut heard)).await.unwrap().unwrap();
    assert_eq!(heard.len(), 500_000);
    // The other direction is still open.
    far.write_all(b"late").await.unwrap();
    drop(far);
    let mut back = String::new();
    timeout(LONG, near.read_to_string(&mut back)).await.unwrap().unwrap();
    assert_eq!(back, "late");
    assert!(gate.asked.lock().unwrap().contains(&format!("api.example:{port}")));
}

#[tokio::test]
async fn localhost_leads_to_the_launcher_where_it_is_allowed() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free_port().await;
    let gate = gate_to(&upstream, port, "localhost");
    let (_cage, dns) = cage_with_dns(gate.clone()).await;
    assert_eq!(ask(dns, "localhost", 1).await, (0, Some([127, 0, 0, 1])));
    assert_eq!(ask(dns, "other.localhost", 1).await, (0, Some([127, 0, 0, 1])), "the cage itself");
    // the hosts file says either, and most programs look there first
    for address in [std::net::IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
        let mut near = TcpStream::connect((address, port)).await.unwrap();
        near.write_all(b"here").await.unwrap();
        let (mut far, _) = timeout(LONG, upstream.accept()).await.unwrap().unwrap();
        let mut heard = [0; 4];
        timeout(LONG, far.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(&heard, b"here", "{address:?}");
    }
    assert_eq!(
        gate.asked.lock().unwrap().iter().filter(|asked| **asked == format!("localhost:{port}")).count(),
        2
    );
}

#[tokio::test]
async fn the_cage_keeps_its_own_loopback_where_localhost_leads_nowhere() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free_port().await;
    let gate = gate_to(&upstream, port, "api.example");
    let (_cage, _) = cage_with_dns(gate).await;
    // init does not listen there, so a server may
    let own = TcpListener::bind((std::net::Ipv6Addr::LOCALHOST, port)).await.unwrap();
    let (near, far) = tokio::join!(TcpStream::connect((std::net::Ipv6Addr::LOCALHOST, port)), own.accept());
    assert!(near.is_ok() && far.is_ok());
}

#[tokio::test]
async fn a_cut_off_connection_is_reset_not_ended() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free_port().await;
    let gate = gate_to(&upstream, port, "api.example");
    let (_cage, dns) = cage_with_dns(gate).await;
    let (_, Some(address)) = ask(dns, "api.example", 1).await else { panic!("no address") };
    let mut near = TcpStream::connect((std::net::Ipv4Addr::from(address), port)).await.unwrap();
    let (far, _) = timeout(LONG, upstream.accept()).await.unwrap().unwrap();
    far.set_zero_linger().unwrap();
    drop(far);
    let error = timeout(LONG, near.read_to_end(&mut Vec::new())).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn refuses_what_the_gate_refuses_and_addresses_that_stand_for_nothing() {
    let port = free_port().await;
    let gate = Arc::new(TestGate { ports: vec![port], names: vec!["api.example"], ..TestGate::default() });
    let (_cage, dns) = cage_with_dns(gate.clone()).await;
    let (_, Some(address)) = ask(dns, "api.example", 1).await else { panic!("no address") };
    for address in [address, [127, 0, 0, 1], [127, 64, 0, 2], [127, 77, 0, 1]] {
        // A reset, whether it is seen while connecting or only when reading.
        let read = async {
            let mut near = TcpStream::connect((std::net::Ipv4Addr::from(address), port)).await?;
            near.read(&mut [0; 1]).await
        };
        let read = timeout(LONG, read).await.unwrap().map_err(|error| error.kind());
        assert_eq!(read, Err(std::io::ErrorKind::ConnectionReset), "{address:?}");
    }
    let asked = gate.asked.lock().unwrap();
    // an invented address stands for its name, 127.0.0.1 for `localhost`, the others for nothing
    let connections: Vec<&String> = asked.iter().filter(|asked| asked.contains(':')).collect();
    assert_eq!(connections, [&format!("api.example:{port}"), &format!("localhost:{port}")]);
}

#[tokio::test]
async fn a_port_that_cannot_be_served_is_told() {
    let taken = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let gate = TestGate { ports: vec![taken.local_addr().unwrap().port()], ..TestGate::default() };
    let (mut init, stream) = spawned();
    let opened = Link::open_with_dns(stream, Arc::new(gate), 0).await;
    assert!(matches!(opened.map(drop), Err(LinkError::Unable { .. })));
    timeout(LONG, init.wait()).await.unwrap().unwrap();
}
