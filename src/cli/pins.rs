//! `pinfold pins`: what was agreed to?

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::host::Host;
use super::out::{Out, counted};
use super::{list, start};
use crate::cage::egress::History;
use crate::failure::Failure;
use crate::pin::LocalFacts;
use crate::plan::{Exactly, LocalName};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Pins>,
}

#[derive(Debug, Subcommand)]
enum Pins {
    /// The pins there are
    List,
    /// One pin: what was agreed to, when, and what the server was seen to show
    Show {
        /// The mounted server's name
        name: String,
    },
    /// Forget a pin, readable or not; the next mount asks again
    Reset {
        /// The mounted server's name
        name: String,
    },
}

pub fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Pins::List) => list::run(host, out),
        Some(Pins::Show { name }) => show(name, host, out),
        Some(Pins::Reset { name }) => reset(name, host, out),
    }
}

fn show(name: &str, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = start::pin(host, name, &start::NOTHING_THERE)?;
    let (plan, consent) = (pin.plan(), pin.consent());
    if out.is_json() {
        out.document(&json!({
            "name": pin.name(),
            "digest": plan.digest(),
            "tree": plan.tree_digest(),
            "plan": plan,
            "consent": consent,
            "surface": pin.surface(),
            "pinfold": pin.pinfold(),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let row = |label: &str, value: String| out.line(format!("{label:12} {value}"));
    row("name", pin.name().to_string());
    row("package", plan.release().id());
    row("hash", plan.release().package().held_to().to_string());
    row("tree", format!("{}, {}", counted(pin.lock().entries().len(), "package"), plan.tree_digest()));
    row(
        "runtime",
        format!("{} {} ({})", plan.runtime().name(), plan.runtime().version(), plan.runtime().recipe()),
    );
    let argv: Vec<String> = plan.argv().iter().map(ToString::to_string).collect();
    row("command", argv.join(" "));
    for mount in plan.mounts() {
        row("folder", format!("{}, {}", Exactly(mount.path().as_str()), mount.access().word()));
    }
    row("user", plan.user().to_string());
    if plan.persists() {
        row("kept", "what it writes in its home, until it is unmounted".into());
    }
    row("agreed", format!("{} by {} to {}", consent.at(), consent.how().name(), plan.digest()));
    match pin.surface() {
        Some(surface) => {
            row("surface", counted(surface.items().len(), "item"));
            for (key, digest) in surface.items() {
                out.line(format!("{:12} {} {}", "", digest.short(12), key));
            }
            for key in surface.volatile() {
                out.line(format!(
                    "{:12} {:12} {} (differs from one start to the next: screened, not compared)",
                    "", "-", key
                ));
            }
        }
        None => row("surface", "not seen yet".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn reset(name: &str, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    // by name, not by content: this is also the way out when a pin cannot be read
    let store = host.store()?;
    let Ok(parsed) = name.parse::<LocalName>() else {
        return Err(start::no_name(&store, name, &start::NOTHING_THERE));
    };
    store.remove(&parsed).map_err(|error| start::not_mounted(error, &start::NOTHING_THERE))?;
    LocalFacts::forget(host.home(), &parsed)?;
    History::forget(host.home(), &parsed)?;
    if out.is_json() {
        out.document(&json!({"name": parsed, "reset": true}));
    } else {
        out.line(format!("the pin of {parsed} is forgotten; the next mount asks again"));
    }
    Ok(ExitCode::SUCCESS)
}
