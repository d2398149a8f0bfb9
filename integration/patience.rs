//! How long is something waited for?
//!
//! Until it is so, at most for a stated time; a test never waits for a time as such.

use std::time::{Duration, Instant};

/// How often what cannot be waited for is looked at.
const STEP: Duration = Duration::from_millis(20);

/// What `look` comes to see within `limit`.
///
/// # Panics
/// If it never does, with `what` was waited for.
pub fn within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(STEP);
    }
}

/// Seconds, in fewer letters.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
