//! How does a locked tree become an image that runs?
//!
//! In cages of its own, with the ecosystem's own client: resolving reads metadata before consent, installing lays
//! the locked bytes down after it, and the result is sealed as an image that is never changed again. No package
//! manager runs when the server does.
//!
//! Invariants: install scripts never run; a tree is installed only from a [`Pin`](crate::pin::Pin), so only after a
//! consent to it.

mod error;
pub mod npm;
pub mod pypi;
pub mod runtime;
mod tool;

pub use error::{GaveUp, InstallError, Manager};
use tool::Tool;

use crate::cage::egress::Egress;
use crate::text::Shown;

/// Where slow work says how far it is.
pub trait Progress: Send + Sync {
    /// The next step begins; a clause without a full stop.
    fn step(&self, what: &str);
}

/// The names that were asked for in vain.
fn denied(egress: &Egress) -> Vec<Shown> {
    egress.denied().into_iter().map(|denied| denied.name).collect()
}
