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
