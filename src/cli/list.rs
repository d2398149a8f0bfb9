//! `pinfold list`: what is mounted?

use std::process::ExitCode;

use serde_json::json;

use super::host::Host;
use super::out::Out;
use crate::failure::Failure;
use crate::pin::LocalFacts;

pub fn run(host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pins = host.store()?.all()?;
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
        out.document(&json!({"servers": servers}));
        return Ok(ExitCode::SUCCESS);
    }
    if pins.is_empty() {
        out.note("nothing is mounted; `pinfold mount npm:NAME` mounts a server");
    }
    let width = pins.iter().map(|pin| pin.name().as_str().len()).max().unwrap_or(0);
    for pin in &pins {
        let kept = if pin.plan().persists() { ", and keeps what it writes in its home" } else { "" };
        out.line(format!("{:width$}  {}{kept}", pin.name().as_str(), pin.plan().release().id()));
    }
    Ok(ExitCode::SUCCESS)
}
