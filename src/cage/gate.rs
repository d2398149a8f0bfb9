//! What does a cage's link ask before anything leaves the cage?
//!
//! A [`Gate`]: which ports init listens on, whether a name exists in there, and for the way out itself. The link
//! carries bytes and knows no policy; the gate holds the policy and knows no frames. Both sides of this trait treat
//! names as hostile text, for they were asked for inside the cage.

use std::fmt;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::text::Shown;

/// A two-way stream of bytes.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Decides what a cage may reach, and opens the connections it allows.
pub trait Gate: Send + Sync + 'static {
    /// The TCP ports init listens on, each once, in ascending order; empty where nothing may leave.
    fn ports(&self) -> Vec<u16>;

    /// Those of the ports on which `localhost` leads out of the cage, in ascending order.
    fn localhost(&self) -> Vec<u16>;

    /// Whether `name`, as asked for in the cage's DNS, gets an address in there. No look-up is made outside.
    fn name(&self, name: &str) -> BoxFuture<'_, bool>;

    /// Resolves `name`, checks every address, and connects to a checked one.
    fn connect(&self, name: &str, port: u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>>;
}

/// Why a connection did not leave the cage, in a few words for a log line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct GateRefused {
    reason: Shown,
}

impl GateRefused {
    /// A refusal for this reason: a short clause without a full stop.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self { reason: Shown::new(&reason.to_string()) }
    }

    /// The reason.
    pub fn reason(&self) -> &Shown {
        &self.reason
    }
}
