//! When does a pin learn what its server shows, if not at mount?
//!
//! A server whose credential was missing then was not tried. The first command that sees its surface keeps it: whole
//! from `tools`, as far as the client asked from `run`, and from `call` if that saw all there is. A surface that is there
//! is never replaced here: a change of it is for a person to accept.

use super::host::Host;
use super::mount::word;
use super::out::{Out, counted};
use crate::failure::Failure;
use crate::pin::{Pin, Surface};
use crate::proxy::{Sighted, Survey};
use crate::screen::Kind;

/// What surveys saw, for a pin.
pub fn surface(surveys: &[Survey]) -> Surface {
    let mut surface = Surface::new();
    for survey in surveys {
        if let Some(instructions) = survey.instructions() {
            surface = surface.with_instructions(instructions.digest());
        }
        for item in survey.items() {
            surface.add(&key(item.kind(), item.name()), item.digest());
        }
    }
    surface
}

/// What a session saw, for a pin.
pub fn sighted(seen: &Sighted) -> Surface {
    let mut surface = Surface::new();
    if let Some(digest) = seen.instructions {
        surface = surface.with_instructions(digest);
    }
    for (kind, name, digest) in &seen.items {
        surface.add(&key(*kind, name), *digest);
    }
    surface
}

fn key(kind: Kind, name: &str) -> String {
    format!("{}/{name}", word(kind))
}

/// Keeps it, if the pin says nothing of it yet and there is anything to keep. Gives how many items there were, if it did.
pub fn save(host: &Host, pin: &Pin, surface: Surface) -> Result<Option<usize>, Failure> {
    let items = surface.items().len() + surface.volatile().len();
    if pin.surface().is_some() || items == 0 {
        return Ok(None);
    }
    let saved = host.store()?.save_first_surface(pin.name(), pin.plan().digest(), surface)?;
    Ok(saved.map(|_| items))
}

/// Says what became of it. The command it belongs to goes on without: the next one will see it again.
pub fn tell(out: &Out, pin: &Pin, saved: Result<Option<usize>, Failure>) {
    let name = pin.name();
    match saved {
        Ok(None) => {}
        Ok(Some(items)) => {
            out.note(format!("{name} was seen for the first time: {} pinned", counted(items, "item")))
        }
        Err(failure) => out.warn(format!("{name}: what it shows could not be pinned: {failure}")),
    }
}
