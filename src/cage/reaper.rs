//! What of ours is left in the engine, and whose is it?
//!
//! A cage removes itself when its init ends, and init ends when its launcher does. What is left over all the
//! same was created and never started, or outlived an engine that was killed. Every cage is labelled with the
//! state directory and the launch that made it, and a launch holds a lock for as long as it lives: so what may be
//! taken is known without guessing from ages or names.
//!
//! Invariant: a cage of another state directory, a copy of this one included, or of a launch that lives, is never
//! touched.

use super::engine::{Engine, Labels, label};
use crate::failure::Failure;
use crate::state::{Home, Launch, LaunchId};

/// Removes every cage of this state directory whose launch is over. Gives how many there were.
pub async fn sweep(engine: &dyn Engine, home: &Home) -> Result<usize, Failure> {
    let mut swept = 0;
    for cage in engine.cages(&of(home)?).await? {
        // without a readable launch label it cannot be held by anybody
        let launch = cage.labels.get(label::LAUNCH).and_then(|launch| launch.parse::<LaunchId>().ok());
        let alive = match launch {
            Some(launch) => Launch::alive(home, &launch)?,
            None => false,
        };
        if !alive {
            engine.remove(&cage.handle).await?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Removes every cage of this launch, which is about to end. Gives how many there were.
pub async fn discard(engine: &dyn Engine, home: &Home, launch: &LaunchId) -> Result<usize, Failure> {
    let mut own = of(home)?;
    own.insert(label::LAUNCH.into(), launch.to_string());
    let cages = engine.cages(&own).await?;
    for cage in &cages {
        engine.remove(&cage.handle).await?;
    }
    Ok(cages.len())
}

/// What every cage of this state directory is labelled with.
fn of(home: &Home) -> Result<Labels, Failure> {
    Ok(Labels::from([
        (label::MARK.into(), "cage".into()),
        (label::STATE.into(), home.id()?.as_str().to_owned()),
        (label::PLACE.into(), home.place()?),
    ]))
}

#[cfg(test)]
mod tests;
