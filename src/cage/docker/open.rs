//! What may still be in the engine of what this launch made?
//!
//! Kept beside the requests themselves, since a request can be dropped, or never be answered: what it asked for may be
//! there all the same. So a launch knows at its end, without asking anybody, whether there is something to clear away.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cage::engine::EngineError;

/// What was made, or may have been, and is not known to be gone.
#[derive(Default)]
pub(super) struct Open(Mutex<Known>);

#[derive(Default)]
struct Known {
    cages: BTreeSet<String>,
    /// Requests of which it is not known what came of them.
    unanswered: usize,
}

impl Open {
    /// A request that makes or removes something. It counts as unanswered until it is answered: for ever, if it is
    /// dropped on the way or the engine is gone.
    pub(super) async fn asking<T>(
        &self,
        request: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        self.known().unanswered += 1;
        let answer = request.await;
        if !matches!(answer, Err(EngineError::Gone { .. })) {
            self.known().unanswered -= 1;
        }
        answer
    }

    /// A cage was made.
    pub(super) fn made(&self, cage: &str) {
        self.known().cages.insert(cage.to_owned());
    }

    /// A cage is gone.
    pub(super) fn gone(&self, cage: &str) {
        self.known().cages.remove(cage);
    }

    /// Whether nothing can be left.
    pub(super) fn is_empty(&self) -> bool {
        let known = self.known();
        known.cages.is_empty() && known.unanswered == 0
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // whole after every line above
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::text::Shown;

    #[tokio::test]
    async fn a_cage_that_was_made_and_removed_is_not_open() {
        let open = Open::default();
        assert!(open.is_empty());
        open.made("a");
        open.made("b");
        open.gone("a");
        assert!(!open.is_empty());
        open.gone("b");
        open.gone("another launch's");
        assert!(open.is_empty());
    }

    #[tokio::test]
    async fn a_request_that_is_answered_leaves_nothing_open() {
        let open = Open::default();
        let no = EngineError::Refused { doing: "create a container", said: Shown::new("no") };
        open.asking(async { Ok(()) }).await.unwrap();
        open.asking(async { Err::<(), _>(no) }).await.unwrap_err();
        assert!(open.is_empty());
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_or_never_answered_may_have_left_something() {
        let open = Open::default();
        assert!(open.asking(std::future::pending::<Result<(), _>>()).now_or_never().is_none());
        assert!(!open.is_empty());
        let open = Open::default();
        let gone = EngineError::Gone { doing: "create a container", said: Shown::new("reset") };
        open.asking(async { Err::<(), _>(gone) }).await.unwrap_err();
        assert!(!open.is_empty());
    }
}
