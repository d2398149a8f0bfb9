//! Which certificate authorities does this host trust?
//!
//! Those of its own store and those that its user added for a network that looks into TLS. Both ends need all of them:
//! the launcher for its own questions, and a cage, whose image knows nothing of this host. Most programs that are given
//! a file take it *instead* of what they have built in, so a cage gets one file with everything in it.
//!
//! Invariants: no I/O here; nothing but certificates is passed on, whatever else a file holds, so a private key that lies
//! beside its certificate stays where it is.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Bytes of base64 a line. Source: RFC 7468 2.
const LINE: usize = 64;

/// Certificates that this host trusts.
#[derive(Clone, Default)]
pub struct Roots {
    all: Vec<CertificateDer<'static>>,
    seen: HashSet<Vec<u8>>,
    /// Where in `all` those begin that the system's own store lacks.
    own: usize,
}

/// A file of certificates that its user named and that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoots {
    /// Nothing in it is a certificate.
    #[error("it holds no certificate in PEM form (RFC 7468)")]
    None,
    /// One of them is damaged.
    #[error("certificate {0} in it cannot be read")]
    Damaged(usize),
}

impl Roots {
    /// The system's store. A certificate in it that cannot be read is trusted by nobody, here neither.
    pub fn of_system(pem: &[u8]) -> Self {
        let mut roots = Self::default();
        CertificateDer::pem_slice_iter(pem).flatten().for_each(|one| roots.add(one));
        roots.own = roots.all.len();
        roots
    }

    /// And those of a file that the user named.
    ///
    /// # Errors
    /// [`NoRoots`]: a setting that adds nothing is one that its owner believes in.
    pub fn and(mut self, pem: &[u8]) -> Result<Self, NoRoots> {
        let mut found = 0;
        for one in CertificateDer::pem_slice_iter(pem) {
            found += 1;
            self.add(one.map_err(|_| NoRoots::Damaged(found))?);
        }
        if found == 0 { Err(NoRoots::None) } else { Ok(self) }
    }

    fn add(&mut self, one: CertificateDer<'static>) {
        if self.seen.insert(one.to_vec()) {
            self.all.push(one);
        }
    }

    /// Whether there is none at all.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that the system's store lacks.
    pub fn added(&self) -> &[CertificateDer<'static>] {
        &self.all[self.own..]
    }

    /// All of them as one PEM file.
    pub fn pem(&self) -> Vec<u8> {
        let mut pem = Vec::new();
        for one in &self.all {
            pem.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n");
            for line in STANDARD.encode(one).as_bytes().chunks(LINE) {
                pem.extend_from_slice(line);
                pem.push(b'\n');
            }
            pem.extend_from_slice(b"-----END CERTIFICATE-----\n");
        }
        pem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["x.example".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn everything_is_in_one_file_and_each_once() {
        let ((a, _), (b, _)) = (certificate(), certificate());
        let roots = Roots::of_system(a.as_bytes()).and(format!("# note\n{b}{a}").as_bytes()).unwrap();
        let text = String::from_utf8(roots.pem()).unwrap();
        assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!((roots.added().len(), Roots::of_system(&roots.pem()).all.len()), (1, 2));
        // what a program reads is what was there
        assert_eq!(Roots::of_system(a.as_bytes()).pem(), a.replace("\r\n", "\n").into_bytes());
    }

    #[test]
    fn a_key_that_lies_beside_a_certificate_is_not_passed_on() {
        let (certificate, key) = certificate();
        let roots = Roots::default().and(format!("{key}{certificate}").as_bytes()).unwrap();
        let text = String::from_utf8(roots.pem()).unwrap();
        assert!(text.contains("BEGIN CERTIFICATE") && !text.contains("KEY"), "{text}");
    }

    #[test]
    fn refuses_a_file_of_the_users_without_a_certificate() {
        let (_, key) = certificate();
        for bad in ["", "nothing", &key] {
            assert_eq!(Roots::default().and(bad.as_bytes()).err(), Some(NoRoots::None));
        }
        let damaged = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
        assert_eq!(Roots::default().and(damaged.as_bytes()).err(), Some(NoRoots::Damaged(1)));
        assert!(Roots::of_system(damaged.as_bytes()).is_empty());
    }
}
