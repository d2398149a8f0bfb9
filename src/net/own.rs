//! Is this address this machine's own, whatever name led to it?
//!
//! Asked of the system, at the moment of a connection: an address to which a socket can be bound is one of this
//! machine's interfaces', and no list has to be read that could be old or of another form. Where the system lets any
//! address be bound (`net.ipv4.ip_nonlocal_bind`), every address counts as its own, which refuses too much rather than
//! too little.
//!
//! Not seen: an address of another machine, a router or a container that forwards to this one.

use std::net::{IpAddr, UdpSocket};

/// Ports on which a container engine takes orders, where it listens at all: whoever speaks to it there is root on this
/// machine. Source: the IANA registry, `docker` and `docker-s`.
pub(crate) const ENGINE_PORTS: [u16; 2] = [2375, 2376];

/// Whether an engine of this machine's would answer on this port of this address.
pub(super) fn is_an_engine(address: IpAddr, port: u16) -> bool {
    // an IPv4 address in the form of an IPv6 one is the IPv4 address
    let address = address.to_canonical();
    // a port that the system chooses, of a protocol on which nobody listens
    ENGINE_PORTS.contains(&port) && (address.is_loopback() || UdpSocket::bind((address, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_this_machines_addresses_from_others_on_an_engines_ports() {
        // the address that this machine speaks from, if it speaks to anybody
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        let own = socket.connect(("198.51.100.7", 9)).and_then(|()| socket.local_addr());
        let own = own.map(|own| own.ip().to_string()).unwrap_or("127.0.0.1".to_owned());
        for here in ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::ffff:127.0.0.1", "::ffff:0.0.0.0", &own] {
            let address = here.parse().unwrap();
            assert!(is_an_engine(address, 2375) && is_an_engine(address, 2376), "{here}");
            assert!(!is_an_engine(address, 2374) && !is_an_engine(address, 2377), "{here}");
        }
        for other in ["198.51.100.7", "10.255.255.254", "2606:4700::1111"] {
            assert!(!is_an_engine(other.parse().unwrap(), 2375), "{other}");
        }
    }
}
