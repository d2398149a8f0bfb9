//! How do the launcher and the init of a cage talk?
//!
//! Over one byte stream, whatever carries it, cut into many flow-controlled streams by yamux ([`mux`]). The
//! launcher is yamux's client, init its server. Every stream opens with one message that says what it is
//! ([`protocol`]), a 4-byte big-endian length and that many bytes of JSON ([`message`]); the length is checked
//! before anything is allocated. Connections out of the cage are carried by [`relay`], and every host name in
//! either direction is a [`HostName`].
//!
//! | who opens | first message | then |
//! |---|---|---|
//! | launcher | [`protocol::Opening::Hello`], once, first | init: [`protocol::Greeting`] |
//! | launcher | [`protocol::Opening::Run`] | init: [`protocol::Event`]s; launcher: [`protocol::Order`]s |
//! | launcher | [`protocol::Opening::Stream`], three a run | raw bytes, one way |
//! | launcher | [`protocol::Opening::Put`] | launcher: raw bytes; init: [`protocol::Done`] |
//! | launcher | [`protocol::Opening::Get`] | init: [`protocol::Found`], then raw bytes |
//! | init | [`protocol::Asking::Names`], once | init: [`protocol::Question`]s; launcher: a [`protocol::Answer`] each, in order |
//! | init | [`protocol::Asking::Connect`] | launcher: [`protocol::Connected`], then both: [`relay`] chunks |
//!
//! Invariants: init decides nothing, every policy lives in the launcher; the launcher trusts no byte of init's;
//! when either end breaks the protocol the other drops the whole link, and a dropped link ends the cage.

#![forbid(unsafe_code)]

pub mod message;
pub mod mux;
mod name;
pub mod protocol;
mod ration;
pub mod relay;

pub use name::{HostName, NotAHostName};
