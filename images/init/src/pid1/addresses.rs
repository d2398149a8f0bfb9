//! Which invented address stands for which name?
//!
//! 127.64.0.0/10: the cage's loopback answers on all of 127/8, so a connection to such an address arrives, and the address it
//! arrived at tells the name. One address a name for the life of the cage; nothing is ever forgotten or reused,
//! or a late connection would go to another host than was looked up.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use pinfold_init::HostName;
use pinfold_init::protocol::MAX_NAMES;

/// Addresses per third octet: 0 and 255 are left out, which some programs take for a network and a broadcast.
const PER_BLOCK: usize = 254;

/// The names that have an address, in the order they got it.
#[derive(Default)]
pub struct Addresses(Mutex<Names>);

#[derive(Default)]
struct Names {
    by_name: HashMap<HostName, usize>,
    in_order: Vec<HostName>,
}

impl Addresses {
    /// The name's address; invented now if it has none. `None` when there are [`MAX_NAMES`] others.
    pub fn of(&self, name: &HostName) -> Option<Ipv4Addr> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = names.by_name.get(name) {
            return address(*place);
        }
        let place = names.in_order.len();
        if place >= MAX_NAMES {
            return None;
        }
        names.by_name.insert(name.clone(), place);
        names.in_order.push(name.clone());
        address(place)
    }

    /// The name that an address was invented for.
    pub fn name(&self, address: Ipv4Addr) -> Option<HostName> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.in_order.get(place(address)?).cloned()
    }
}

fn address(place: usize) -> Option<Ipv4Addr> {
    let third = u8::try_from(place / PER_BLOCK).ok()?;
    let fourth = u8::try_from(place % PER_BLOCK + 1).ok()?;
    Some(Ipv4Addr::new(127, 64, third, fourth))
}

fn place(address: Ipv4Addr) -> Option<usize> {
    match address.octets() {
        [127, 64, third, fourth @ 1..=254] => Some(usize::from(third) * PER_BLOCK + usize::from(fourth) - 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_a_name_and_back() {
        let addresses = Addresses::default();
        let first = addresses.of(&name("a.example")).unwrap();
        let second = addresses.of(&name("b.example")).unwrap();
        assert_eq!(first, Ipv4Addr::new(127, 64, 0, 1));
        assert_ne!(first, second);
        assert_eq!(addresses.of(&name("A.example.")), Some(first));
        assert_eq!(addresses.name(second), Some(name("b.example")));
    }

    #[test]
    fn refuses_names_beyond_the_bound_and_keeps_those_before() {
        let addresses = Addresses::default();
        for n in 0..MAX_NAMES {
            let name = name(&format!("n{n}.example"));
            let address = addresses.of(&name).unwrap();
            assert!(![0, 255].contains(&address.octets()[3]), "{address}");
            assert_eq!(addresses.name(address), Some(name));
        }
        assert_eq!(addresses.of(&name("more.example")), None);
        assert!(addresses.of(&name("n0.example")).is_some());
    }

    #[test]
    fn refuses_addresses_that_stand_for_nothing() {
        let addresses = Addresses::default();
        addresses.of(&name("a.example"));
        for other in
            ["127.0.0.1", "127.64.0.0", "127.64.0.2", "127.64.0.255", "127.65.0.1", "10.64.0.1", "0.0.0.0"]
        {
            assert_eq!(addresses.name(other.parse().unwrap()), None, "{other}");
        }
    }
}
