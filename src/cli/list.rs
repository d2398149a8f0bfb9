//! `pinfold list`: what is mounted?
//!
//! Everything that can be read is listed, also where something cannot: the person who has to see to a bad file needs to
//! know which it is, and that the others are well. The command fails all the same, since such a list is not whole.

use std::process::ExitCode;

use serde_json::json;

use super::host::Host;
use super::out::{Out, counted};
use crate::failure::Failure;
use crate::pin::{LocalFacts, PinError};
use crate::text::Shown;

pub fn run(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let (pins, unusable) = host.store()?.survey()?;
    if out.is_json() {
        let servers: Vec<_> = pins
            .iter()
            .map(|pin| {
                let plan = pin.plan();
                let last_run = LocalFacts::load(host.home(), pin.name())?.last_run;
                Ok(json!({
                    "name": pin.name(),
                    "source": plan.source(),
                    "version": plan.release().package().version(),
                    "digest": plan.digest(),
                    "mounts": plan.mounts(),
                    "persist": plan.persists(),
                    "last_run": last_run,
                }))
            })
            .collect::<Result<_, Failure>>()?;
        let unusable: Vec<_> = unusable.iter().map(ToString::to_string).collect();
        out.document(&json!({"servers": servers, "unusable": unusable}));
    } else {
        if pins.is_empty() && unusable.is_empty() {
            out.note("nothing is mounted; `pinfold mount npm:NAME` or `pypi:NAME` mounts a server");
        }
        let width = pins.iter().map(|pin| pin.name().as_str().len()).max().unwrap_or(0);
        for pin in &pins {
            let kept = if pin.plan().persists() { ", and keeps what it writes in its home" } else { "" };
            out.line(format!("{:width$}  {}{kept}", pin.name().as_str(), pin.plan().release().id()));
        }
    }
    whole(unusable)
}

/// Fails where a pin could not be used; each is named.
fn whole(unusable: Vec<PinError>) -> Result<ExitCode, Failure> {
    let told: Vec<Shown> = unusable.iter().map(|error| Shown::new(&error.to_string())).collect();
    let mut failures = unusable.into_iter().map(Failure::from);
    match (failures.next(), failures.len()) {
        (None, _) => Ok(ExitCode::SUCCESS),
        (Some(only), 0) => Err(only),
        (Some(first), _) => {
            let what = format!("{} cannot be used", counted(told.len(), "pin"));
            let hint = format!("see to each; for the first: {}", first.hint());
            Err(Failure::new(first.code(), what, "they are named below", hint).with_last_words(told))
        }
    }
}
