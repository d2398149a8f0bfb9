//! Whom does a program in a cage trust?
//!
//! Whom this host trusts. The certificates are put into the cage when it has opened, in memory, and each family of
//! programs is told of them by the variable that it reads. Not at seal: an image is the same for every host, and a
//! certificate that was taken back must not live on in it. A cage that nothing can leave needs none.

use super::{Cage, CageError};

/// Where they are.
const PATH: &str = "/tmp/pinfold/roots.pem";

/// A variable that names the file, and who reads it.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Who reads it.
    pub reader: &'static str,
    /// Whether the file is added to what the program has built in, or stands instead of it.
    pub adds: bool,
}

macro_rules! variable {
    ($name:literal, $reader:literal, $adds:literal) => {
        Variable { name: $name, reader: $reader, adds: $adds }
    };
}

/// The variables that are set, where there are certificates. No plan may set one of these itself.
#[rustfmt::skip]
pub const VARIABLES: &[Variable] = &[
    variable!("NODE_EXTRA_CA_CERTS", "Node", true),
    variable!("SSL_CERT_FILE", "OpenSSL and what is built on it (Python's ssl, aiohttp, httpx), Go, rustls, uv", false),
    variable!("REQUESTS_CA_BUNDLE", "Python's requests, pip", false),
    variable!("CURL_CA_BUNDLE", "curl, and requests where the former is not set", false),
    variable!("GIT_SSL_CAINFO", "git", false),
    variable!("AWS_CA_BUNDLE", "the AWS SDKs", false),
    variable!("HTTPLIB2_CA_CERTS", "httplib2, which Google's Python client uses", false),
    variable!("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "gRPC", false),
];

/// Puts the certificates into a cage.
///
/// # Errors
/// [`CageError`] if the cage does not take the file.
pub async fn put(cage: &Cage, pem: &[u8]) -> Result<(), CageError> {
    cage.put(PATH, 0o444, pem).await
}

/// The variables with their values, for a cage that [`put`] was done to.
pub fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    VARIABLES.iter().map(|variable| (variable.name, PATH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::EnvName;

    #[test]
    fn no_plan_sets_what_the_cage_sets() {
        for variable in VARIABLES {
            assert!(variable.name.parse::<EnvName>().is_err(), "{}", variable.name);
        }
    }
}
