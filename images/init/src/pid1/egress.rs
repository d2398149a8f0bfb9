//! Where does a connection inside the cage go?
//!
//! To the launcher, under the name whose invented address it was made to. 127.0.0.1 and ::1 are `localhost`: programs
//! find that name in the hosts file before they ask for it. A connection to any other address is reset at once, and so
//! is one that the launcher refuses or that breaks half-way: a program must not take it for an ordered end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use pinfold_init::HostName;
use pinfold_init::message;
use pinfold_init::mux::Opener;
use pinfold_init::protocol::{Asking, Connected, MAX_CONNECTIONS};
use pinfold_init::relay::relay;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::addresses::Addresses;

/// How long to wait when no connection can be taken (out of descriptors) before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens on `ports`, and for those of `localhost` on ::1 as well; all of them or none.
pub async fn serve(
    ports: &[u16],
    localhost: &[u16],
    opener: Opener,
    addresses: Arc<Addresses>,
) -> io::Result<()> {
    let mut listeners = Vec::new();
    let failed = |port, error: io::Error| io::Error::new(error.kind(), format!("port {port}: {error}"));
    for port in ports {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await;
        listeners.push((*port, listener.map_err(|error| failed(port, error))?));
    }
    for port in localhost {
        match TcpListener::bind((Ipv6Addr::LOCALHOST, *port)).await {
            Ok(listener) => listeners.push((*port, listener)),
            // A cage without IPv6 has no ::1 that a program could connect to.
            Err(error) if is_without_ipv6(&error) => {}
            Err(error) => return Err(failed(port, error)),
        }
    }
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    for (port, listener) in listeners {
        tokio::spawn(accept(listener, port, opener.clone(), addresses.clone(), room.clone()));
    }
    Ok(())
}

/// EADDRNOTAVAIL where IPv6 is switched off for `lo`, EAFNOSUPPORT where the kernel has none.
fn is_without_ipv6(error: &io::Error) -> bool {
    let none = [rustix::io::Errno::ADDRNOTAVAIL, rustix::io::Errno::AFNOSUPPORT];
    error.raw_os_error().is_some_and(|raw| none.iter().any(|errno| errno.raw_os_error() == raw))
}

async fn accept(
    listener: TcpListener,
    port: u16,
    opener: Opener,
    addresses: Arc<Addresses>,
    room: Arc<Semaphore>,
) {
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Dropped without more, it is reset.
        let _ = connection.set_zero_linger();
        let name = match connection.local_addr().map(|local| local.ip()) {
            Ok(IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST)) => "localhost".parse().ok(),
            Ok(IpAddr::V4(local)) => addresses.name(local),
            _ => None,
        };
        let (Some(name), Ok(room)) = (name, room.clone().try_acquire_owned()) else { continue };
        let opener = opener.clone();
        tokio::spawn(async move {
            // Every error means the same, a reset, which dropping the connection brings about.
            let _ = carry(connection, name, port, &opener).await;
            drop(room);
        });
    }
}

async fn carry(connection: TcpStream, name: HostName, port: u16, opener: &Opener) -> io::Result<()> {
    // What the launcher passes on is whole writes of the other side's.
    connection.set_nodelay(true)?;
    let mut stream = opener.open().await.map_err(io::Error::other)?;
    message::write(&mut stream, &Asking::Connect { name, port }).await?;
    let Connected { open } = message::read(&mut stream, 64).await.map_err(io::Error::other)?;
    if !open {
        return Ok(());
    }
    // Both directions ended in order when this returns without an error, so there is nothing left to reset.
    relay(connection, stream).await
}
