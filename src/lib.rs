//! Runs strangers' MCP servers in a cage: what was shown and agreed to, to the byte, with no network, no privileges
//! and no credentials beyond those named.
//!
//! This is the map of the house; `docs/architecture.md` describes it at length. A server takes one way through it, and
//! each station of the way is a type that only its own room can make, from the type of the station before:
//!
//! ```text
//! Spec ─source─▶ Release ─plan─▶ Lock, Plan ─consent─▶ Consent ─pin─▶ Pin ─install─▶ Image ─cage─▶ Server ─proxy─▶ client
//! ```
//!
//! | room | its question | its type |
//! |---|---|---|
//! | [`source`] | Where does a server come from, and exactly which one is it? | [`Spec`](source::Spec), [`Release`](source::Release) |
//! | [`plan`] | What exactly would run? | [`Lock`](plan::Lock), [`Plan`](plan::Plan) |
//! | [`consent`] | Did a person say yes to this very plan? | [`Consent`](consent::Consent) |
//! | [`pin`] | What did this user consent to, and what was it seen to be? | [`Pin`](pin::Pin) |
//! | [`install`] | How does a locked tree become an image that runs? | [`Image`](cage::image::Image) |
//! | [`cage`] | What holds a program in, and what can be asked of it there? | [`Cage`](cage::Cage), [`Server`](cage::server::Server) |
//! | [`proxy`] | How does a client talk to a caged server? | [`session`](proxy::session()) |
//!
//! Beside the way: [`screen`] judges what a server says about itself; [`net`] decides what the launcher may connect to;
//! [`state`] keeps what must be remembered; [`secret`] carries credentials that cannot be printed; [`text`] makes
//! others' words safe to draw; [`digest`] names bytes; [`failure`] is what every error becomes; [`cli`] is the one
//! room that prints to a person or asks one. Init, PID 1 of every cage, and the protocol it speaks are the crate
//! `pinfold_init`.
//!
//! Rules of the house: rooms depend along the way, never back; [`screen`], [`plan`] and [`text`] do no I/O; every type
//! with a station has private fields and one constructor; a Docker type is named in `cage/docker` alone.
//!
//! A plan that nobody agreed to cannot be pinned, and so neither be installed nor started:
//!
//! ```compile_fail
//! use pinfold::plan::{Lock, Plan};
//! fn forced(plan: Plan, lock: Lock) -> pinfold::pin::Pin {
//!     pinfold::pin::Pin::consented(plan, lock).unwrap()
//! }
//! ```
//! ```
//! use pinfold::{consent::Consent, pin::{Pin, PinError}, plan::{Lock, Plan}};
//! fn agreed(plan: Plan, lock: Lock, yes: Consent) -> Result<Pin, PinError> {
//!     Pin::consented(plan, lock, yes)
//! }
//! ```

#![forbid(unsafe_code)]

pub mod cage;
pub mod cli;
pub mod consent;
pub mod digest;
pub mod failure;
pub mod install;
pub mod net;
pub mod pin;
pub mod plan;
pub mod proxy;
pub mod screen;
pub mod secret;
pub mod source;
pub mod state;
pub mod text;
