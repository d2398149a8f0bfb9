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
    let ours = Labels::from([
        (label::MARK.into(), "cage".into()),
        (label::STATE.into(), home.id()?.as_str().to_owned()),
        (label::PLACE.into(), home.place()?),
    ]);
    let mut swept = 0;
    for cage in engine.cages(&ours).await? {
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
