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

pub use error::{GaveUp, InstallError, Manager, Ways};
use tool::Tool;

use crate::cage::egress::Egress;
use crate::cage::engine::EngineError;
use crate::cage::image::Image;
use crate::cage::link::LinkError;
use crate::cage::stamp::Stamp;
use crate::cage::{Cage, CageError};
use crate::pin::Pin;
use crate::text::Shown;

/// Where slow work says how far it is.
pub trait Progress: Send + Sync {
    /// The next step begins; a clause without a full stop.
    fn step(&self, what: &str);
}

/// Ends a cage in which something was done. What failed first is what is told.
async fn leave<T>(cage: Cage, done: Result<T, InstallError>) -> Result<T, InstallError> {
    match (done, cage.end().await) {
        (Ok(done), ended) => Ok(ended.map(|()| done)?),
        (Err(error), ended) => Err(cause(error, ended)),
    }
}

/// Discards a cage in which this went wrong. What failed first is what is told.
async fn discard(cage: Cage, error: InstallError) -> InstallError {
    cause(error, cage.discard().await)
}

/// Seals a cage in which a pinned tree was laid down, or discards it.
async fn seal(
    cage: Cage,
    installed: Result<(), InstallError>,
    pin: &Pin,
    stamp: &Stamp,
    progress: &dyn Progress,
) -> Result<Image, InstallError> {
    if let Err(error) = installed {
        return Err(discard(cage, error).await);
    }
    progress.step("sealing the image");
    Ok(Image::sealed(cage.seal(Image::labels(pin, stamp)).await?, pin))
}

/// What is installed, for a step's words.
fn packages(pin: &Pin) -> String {
    match pin.lock().entries().len() {
        1 => "the package".to_owned(),
        many => format!("{many} packages"),
    }
}

/// Why something went wrong: a link ends with the engine, and then it is the engine that a person has to see to.
fn cause(error: InstallError, ended: Result<(), EngineError>) -> InstallError {
    match (error, ended) {
        (InstallError::Cage(CageError::Ended(LinkError::Broken)), Err(gone @ EngineError::Gone { .. })) => {
            gone.into()
        }
        (error, _) => error,
    }
}

/// What became of a cage's ways out, with the registries it was to ask.
fn ways<T: std::fmt::Display>(egress: &Egress, asked: impl IntoIterator<Item = T>) -> Ways {
    Ways {
        asked: asked.into_iter().map(|place| Shown::new(&place.to_string())).collect(),
        denied: egress.denied().into_iter().map(|denied| denied.name).collect(),
        failed: egress.failed().into_iter().map(|failed| failed.why).collect(),
    }
}
