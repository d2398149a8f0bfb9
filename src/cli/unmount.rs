//! `pinfold unmount`: forget a server, whole.

use std::process::ExitCode;

use serde_json::json;

use super::host::Host;
use super::out::Out;
use super::start;
use crate::cage::egress::History;
use crate::cage::engine::{Labels, label};
use crate::cage::image::Image;
use crate::failure::{Code, Failure};
use crate::pin::{LocalFacts, Pin};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mounted server's name
    name: String,
}

pub async fn run(args: &Args, host: &Host, out: &Out) -> Result<ExitCode, Failure> {
    let pin = start::pin(host, &args.name)?;
    host.sweep().await?;
    if !shares_its_image(host, &pin)? && is_running(host, &pin).await? {
        // the engine keeps an image that a cage runs on, and without its pin nothing would ever name it again
        return Err(Failure::new(
            Code::Other,
            format!("{} cannot be unmounted now", pin.name()),
            "a client has a session with it, and its image is in use",
            "close that session in the client, or the client, then unmount it",
        ));
    }
    // the pin first: an image without one is found and removed by the next mount that fails, a pin without its
    // image would be in force
    host.store()?.remove(pin.name())?;
    LocalFacts::forget(host.home(), pin.name())?;
    History::forget(host.home(), pin.name())?;
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
    if shares_its_image(host, pin)? {
        return Ok(0);
    }
    Ok(Image::forget(host.engine().await?.as_ref(), &host.stamp()?, pin.plan().tree_digest()).await?)
}

/// Whether another pin has the same tree.
fn shares_its_image(host: &Host, pin: &Pin) -> Result<bool, Failure> {
    let (name, tree) = (pin.name(), pin.plan().tree_digest());
    Ok(host.store()?.all()?.iter().any(|other| other.name() != name && other.plan().tree_digest() == tree))
}

/// Whether a launch of this state directory has a cage of the pin's tree.
async fn is_running(host: &Host, pin: &Pin) -> Result<bool, Failure> {
    let cages = Labels::from([
        (label::MARK.into(), "cage".into()),
        (label::STATE.into(), host.home().id()?.as_str().to_owned()),
        (label::TREE.into(), pin.plan().tree_digest().to_string()),
    ]);
    Ok(!host.engine().await?.cages(&cages).await?.is_empty())
}
