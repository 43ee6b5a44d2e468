//! Operations on whole worlds: starting, resetting, writing and restoring.
//!
//! Slow work blocks nobody: documents are read and written, and worlds dropped, by the world's worker,
//! outside the lock and on copies, which are cheap.

use std::{
    mem,
    sync::{Arc, MutexGuard},
};

use bytes::Bytes;

use super::{
    MAX_JOBS_PER_LOCK, State, WorldRuntime,
    change::Cause,
    clock::{Clock, ClockMode},
    config::{DocumentWorld, LARGE_DOCUMENT, LARGE_WORLD, WorldConfig},
    document::Origin,
    worker::Worker,
};
use crate::{
    faults::Faults,
    world::{Refusal, Result, World},
};

impl WorldRuntime {
    /// Builds the world and starts its driver.
    pub(crate) fn start(config: WorldConfig, origin: Origin, worker: Arc<Worker>) -> Result<Arc<Self>> {
        let (beginning, world, clock) = config.begin(origin)?;
        let runtime = Arc::new(Self::new(config, beginning, world, clock, worker));
        runtime.config.settings.memory.journals.add_world(&runtime);
        runtime.drive();
        runtime.index_in_background();
        Ok(runtime)
    }

    /// Runs work on the thread of the world's worker if it may take long.
    pub(crate) async fn offload_if<R: Send + 'static>(
        &self,
        long: bool,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R> {
        if !long {
            return Ok(work());
        }
        let worker = Arc::clone(&self.lock().worker);
        worker.run(work).await
    }

    /// Indexes the words of a large world before the first search.
    pub(super) fn index_in_background(&self) {
        let state = self.lock();
        if let Some(read) = state.world.pending_search_index() {
            state.worker.submit(read);
        }
    }

    /// Waits for the index of words, so that a search does not build it under the lock.
    pub(crate) async fn wait_until_searchable(&self) {
        let unread = self.lock().world.pending_search_index();
        if let Some(read) = unread {
            let _ = self.offload_if(true, read).await;
        }
    }

    /// Resets the world and its clock to the start, and clears faults and journal.
    pub(crate) fn reset(self: &Arc<Self>) -> Result<()> {
        let (world, clock) = self.config.restart(&self.beginning)?;
        let mut state = self.lock();
        state.faults = Faults::default();
        state.journal.clear();
        state.vacuous_expectations.clear();
        self.replace(state, world, None, clock, Arc::default(), "reset");
        Ok(())
    }

    /// Returns the whole world as one document.
    pub(crate) async fn document(self: &Arc<Self>) -> Result<Vec<u8>> {
        let world = self.enter(|world, now| world.data(now));
        let written = self.offload_if(world.size() > LARGE_WORLD, move || serde_json::to_vec(&world)).await?;
        written.map_err(|error| Refusal::new(500, format!("The world could not be written: {error}.")))
    }

    /// Replaces the world by that of a document. A manual clock is set to the document's time, a real one
    /// only advanced to it.
    pub(crate) async fn restore(self: &Arc<Self>, document: Bytes) -> Result<()> {
        let runtime = Arc::clone(self);
        let long = document.len() > LARGE_DOCUMENT;
        let known: Vec<_> =
            self.beginning.document().cloned().into_iter().chain(self.lock().document.clone()).collect();
        let read = move || runtime.config.read(&document, &known);
        let worker = Arc::<Worker>::default();
        let read = if long { worker.run(read).await?? } else { read()? };
        let world = read.world.clone();
        let mut state = self.lock();
        let now = state.clock.now();
        let start = match (state.clock.mode, read.saved) {
            (ClockMode::Manual, Some(saved)) => saved,
            (_, saved) => saved.map_or(now, |saved| saved.max(now)),
        };
        let clock = Clock::new(self.config.settings.clock, start);
        self.replace(state, world, Some(read), clock, worker, "restore");
        self.index_in_background();
        Ok(())
    }

    fn replace(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        world: World,
        document: Option<Arc<DocumentWorld>>,
        clock: Clock,
        worker: Arc<Worker>,
        what: &str,
    ) {
        let old = mem::replace(&mut state.world, world);
        let old_document = mem::replace(&mut state.document, document);
        let worker = mem::replace(&mut state.worker, worker);
        state.clock = clock;
        state.epoch += 1;
        state.fired = None;
        state.planned = None;
        self.notify_change(&mut state, Cause::State, what);
        let now = state.clock.now();
        let attempts = self.run_due(&mut state, now, MAX_JOBS_PER_LOCK);
        self.leave(state, attempts);
        self.attempt_ended.notify_waiters();
        worker.drop_world(old.size(), (old, old_document));
    }
}
