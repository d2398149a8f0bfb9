//! What may Pinfold itself connect to, and how?
//!
//! Every connection the launcher makes, for itself or for a cage, is decided here. A host that somebody else named
//! must be public, each of its addresses, at the moment of the connection; a host that the operator named may be
//! anywhere. Which of the two it is, is a type ([`target`]).
//!
//! Invariants: [`address`] and [`names`] do no I/O; addresses to connect to come from [`Resolver`] alone.

pub mod address;
pub mod client;
pub mod names;
pub(crate) mod own;
pub mod resolver;
pub mod roots;
pub mod target;
#[cfg(test)]
pub(crate) mod testing;

use std::time::Duration;

pub use address::RefusedAddress;
pub use client::{Client, Downloaded, Limits};
pub use names::{HostName, NotAHostName, RefusedName};
pub use resolver::{Addresses, Resolver};
pub use roots::{NoRoots, Roots};
pub use target::{OperatorHost, OperatorUrl, Target, ThirdPartyUrl, UrlRefused};

use crate::failure::{Code, Failure};
use crate::text::Shown;

/// Why a host was not asked, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The name only means this machine or its network.
    #[error(transparent)]
    Name(#[from] RefusedName),
    /// The URL is of a refused kind.
    #[error(transparent)]
    Url(#[from] UrlRefused),
    /// One of the name's addresses is not public.
    #[error("{host} leads to an address that is not public: {refused}")]
    NotPublic {
        /// The name.
        host: Shown,
        /// The address and its class.
        refused: RefusedAddress,
    },
    /// One of the addresses of a name that the user chose is one that nothing in a cage reaches.
    #[error("{host} leads to an address that no option opens: {refused}")]
    NeverReached {
        /// The name.
        host: Shown,
        /// The address and its class.
        refused: RefusedAddress,
    },
    /// A container engine of this machine would take orders there.
    #[error(
        "{host} leads to this machine, where port {port} is a container engine's: whoever speaks to it is root"
    )]
    Engine {
        /// The name.
        host: Shown,
        /// The port.
        port: u16,
    },
    /// A host answered with a redirect that is not followed.
    #[error("{host} redirects to where it must not: {why}")]
    Redirect {
        /// The host that answered.
        host: Shown,
        /// What is wrong with where it points.
        why: UrlRefused,
    },
    /// The redirects do not end.
    #[error("{host} redirects more than {limit} times")]
    TooManyRedirects {
        /// The last host.
        host: Shown,
        /// How many were followed.
        limit: u8,
    },
    /// The name has no address.
    #[error("{host} cannot be resolved: {why}")]
    Unresolvable {
        /// The name.
        host: Shown,
        /// The name server's words.
        why: Shown,
    },
    /// No connection.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host.
        host: Shown,
        /// The last address's reason.
        why: Shown,
    },
    /// The answer broke off or is not HTTP.
    #[error("the answer of {host} broke off: {why}")]
    Broken {
        /// The host.
        host: Shown,
        /// What the library saw.
        why: Shown,
    },
    /// An answer that is not a 2xx one.
    #[error("{host} answered with status {status}")]
    Status {
        /// The host.
        host: Shown,
        /// The HTTP status.
        status: u16,
    },
    /// The body is larger than it may be.
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge {
        /// The host.
        host: Shown,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The whole took too long.
    #[error("{host} did not finish within {} seconds", limit.as_secs())]
    TooSlow {
        /// The host first asked.
        host: Shown,
        /// The limit.
        limit: Duration,
    },
    /// No TLS can be spoken on this machine.
    #[error("TLS cannot be set up: {0}")]
    Tls(Shown),
    /// The body could not be stored.
    #[error("the answer could not be written: {0}")]
    Write(Shown),
}

impl NetError {
    /// Whether the guard refused, rather than the network or the other side failing.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Name(_)
                | Self::Url(_)
                | Self::NotPublic { .. }
                | Self::NeverReached { .. }
                | Self::Engine { .. }
                | Self::Redirect { .. }
        )
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Self {
        if error.is_refusal() {
            return Failure::new(
                Code::EgressRefused,
                "a host was not asked",
                &error,
                "only public hosts over https are asked on somebody else's word; a host of your own is named in your own configuration",
            );
        }
        Failure::new(
            Code::Other,
            "a host could not be asked",
            &error,
            "check this machine's network, name servers and certificates, then try again",
        )
    }
}
