//! `pinfold unmount`: forget a server, whole.

use std::process::ExitCode;

use serde_json::json;

use super::host::Host;
use super::out::Out;
use super::start;
use crate::cage::image::Image;
use crate::failure::Failure;
use crate::pin::{LocalFacts, Pin};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = start::pin(host, &args.name)?;
    host.sweep().await?;
    // the pin first: an image without one is found and removed by the next mount that fails, a pin without its
    // image would be in force
    host.store()?.remove(pin.name())?;
    LocalFacts::forget(host.home(), pin.name())?;
    let removed = forget_image(host, &pin).await?;
    if out.is_json() {
        out.document(&json!({"name": pin.name(), "images": removed}));
    } else {
        // none: it serves another mount, or was gone already
        let gone = if removed == 0 { "its pin is gone" } else { "its pin and its image are gone" };
        out.line(format!("unmounted {}: {gone}", pin.name()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes the sealed image of a pin, unless another pin has the same tree. Gives how many there were.
pub async fn forget_image(host: &Host, pin: &Pin) -> Result<usize, Failure> {
    let tree = pin.plan().tree_digest();
    let shared = host.store()?.all()?.iter().any(|other| other.plan().tree_digest() == tree);
    if shared {
        return Ok(0);
    }
    Ok(Image::forget(host.engine().await?.as_ref(), &host.stamp()?, tree).await?)
}
