//! Batches, which a session of 2025-03-26 may send: the answers to one go out together, when the last is there.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;

pub(super) const MAX_BATCH: usize = 256;

/// The batches that have not been answered.
#[derive(Default)]
pub(super) struct Batches(Mutex<State>);

#[derive(Default)]
struct State {
    allowed: bool,
    open: Vec<Batch>,
}

struct Batch {
    waiting: HashSet<RequestId>,
    answers: Vec<String>,
}

/// What becomes of an answer.
pub(super) enum Outgoing {
    Now(String),
    /// It waits for the others of its batch.
    Later,
}

impl Batches {
    /// Notes that the session is one that may send batches.
    pub(super) fn allow(&self) {
        self.lock().allowed = true;
    }

    pub(super) fn are_allowed(&self) -> bool {
        self.lock().allowed
    }

    /// Adds a batch with these requests, of which some have a response already. Returns the response if all have one.
    pub(super) fn open(&self, waiting: HashSet<RequestId>, answers: Vec<String>) -> Option<String> {
        let batch = Batch { waiting, answers };
        if batch.waiting.is_empty() {
            return batch.answer();
        }
        self.lock().open.push(batch);
        None
    }

    /// Takes the answer to a request.
    pub(super) fn take(&self, id: &RequestId, answer: String) -> Outgoing {
        let mut state = self.lock();
        let Some(batch) = state.open.iter_mut().find(|batch| batch.waiting.contains(id)) else {
            return Outgoing::Now(answer);
        };
        batch.answers.push(answer);
        state.close(id).map_or(Outgoing::Later, Outgoing::Now)
    }

    /// Removes a request that gets no response. Returns the response of a batch that is complete without it.
    pub(super) fn forget(&self, id: &RequestId) -> Option<String> {
        self.lock().close(id)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self, id: &RequestId) -> Option<String> {
        let at = self.open.iter_mut().position(|batch| batch.waiting.remove(id))?;
        if !self.open[at].waiting.is_empty() {
            return None;
        }
        self.open.swap_remove(at).answer()
    }
}

impl Batch {
    fn answer(self) -> Option<String> {
        (!self.answers.is_empty()).then(|| format!("[{}]", self.answers.join(",")))
    }
}
