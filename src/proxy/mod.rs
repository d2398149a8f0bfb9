//! How does an AI client talk to a caged server, so that neither can tell it apart from talking directly, and yet
//! nothing that fails the screen gets through?
//!
//! By re-modelling nothing: an SDK's typed handlers drop what they do not know and rewrite ids. Here a line's
//! envelope is read (`envelope`, over `scan`), the rules decide (`referee`, and `from_server` for what the adversary
//! wrote), and what no rule reads passes as the bytes that came. The client's own opener decides the era; nothing is ever asked on its
//! connection that could decide it otherwise.
//!
//! - [`session()`] carries one client and one server.
//! - [`opener::refuse`] speaks in the place of a server that could not be started.
//! - [`Peer`] is a client of ours, for trial starts, `tools` and `call`; [`Survey`] what one finds out with it.
//!
//! Invariants: standard output carries protocol only; a verdict is about the very item that is passed on; every
//! request gets one answer at most from us or from the server; no queue without a bound.

mod answer;
mod envelope;
mod from_server;
mod gate;
mod ledger;
pub mod lines;
mod lists;
pub mod opener;
mod peer;
mod referee;
mod scan;
mod session;
mod sightings;
mod survey;
mod table;

pub use gate::{Gatekeeper, Ruling, ScreenOnly};
pub use lists::List;
pub use peer::{Era, Peer, PeerError};
pub use scan::DEPTH;
pub use session::{Counts, Denied, Dropped, Ending, Event, Flaw, Left, Policy, ServerEnd, Streams, session};
pub use sightings::{Sighted, Sightings};
pub use survey::{Entry, Item, Surface, Survey};
