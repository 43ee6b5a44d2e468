//! A world as a whole: where it starts, its document, and putting another in its place.
//!
//! Nobody waits for what takes long with a large one. Reading a document, writing one and taking a world down are done
//! by the world's worker and outside the lock, on copies, which cost nothing.

use std::{
    mem,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use shared_inbox::Timestamp;
use tokio::runtime::Handle;

use super::{Realm, State};
use crate::{
    server::{
        clock::{Clock, ClockMode},
        deliver::Deliverer,
        document::{self, Origin},
        faults::Faults,
        sse::Cause,
        worker::Worker,
    },
    world::{Keys, Refusal, World},
};

/// A world of more conversations and documents, or a document of more bytes, is dealt with apart.
const LARGE_WORLD: usize = 1_000;
pub(crate) const LARGE_DOCUMENT: usize = 256 << 10;

/// What a realm is made of.
pub(crate) struct Plan {
    /// 0 is the main world.
    pub(crate) number: u64,
    pub(crate) keys: Keys,
    pub(crate) clock: ClockMode,
    pub(crate) start: Timestamp,
    pub(crate) rate_limit: Option<u32>,
    pub(crate) rate_window: Duration,
    pub(crate) deliverer: Deliverer,
    pub(crate) runtime: Handle,
}

/// The world at its start.
pub(super) enum Beginning {
    Demo,
    Empty,
    /// That of a document, with the time at which it was written.
    Read(Box<World>, Option<Timestamp>),
}

impl Plan {
    /// The world at its start, a first copy of it, and its clock.
    pub(super) fn begin(&self, origin: Origin) -> Result<(Beginning, World, Clock), Refusal> {
        let beginning = match origin {
            Origin::Demo => Beginning::Demo,
            Origin::Empty => Beginning::Empty,
            Origin::Document(document) => {
                let (world, saved) = self.read(document, &World::nothing())?;
                Beginning::Read(Box::new(world), saved)
            }
        };
        let (world, clock) = self.begin_again(&beginning)?;
        Ok((beginning, world, clock))
    }

    fn begin_again(&self, beginning: &Beginning) -> Result<(World, Clock), Refusal> {
        let (world, saved) = match beginning {
            Beginning::Demo => self.prepared(World::demo(self.start), b"")?,
            Beginning::Empty => self.prepared(World::empty(), b"")?,
            Beginning::Read(world, saved) => (World::clone(world), *saved),
        };
        let start = match self.clock {
            ClockMode::Manual => saved.unwrap_or(self.start),
            ClockMode::Real => saved.map_or(self.start, |saved| saved.max(self.start)),
        };
        Ok((world, Clock::starting(self.clock, start)))
    }

    /// The world of a document. What `like` has in the same place is kept once.
    fn read(&self, document: Bytes, like: &World) -> Result<(World, Option<Timestamp>), Refusal> {
        let (mut world, saved) = self.prepared(document::read(&document, like)?, &document)?;
        world.share_words(like);
        Ok((world, saved))
    }

    /// The world with this realm's keys and limits, and the time that its document was written at.
    fn prepared(&self, mut world: World, document: &[u8]) -> Result<(World, Option<Timestamp>), Refusal> {
        let saved = world.now.take();
        world.prepare_with(&self.keys).map_err(|invalid| document::unsound(document, &invalid))?;
        world.set_rate_limit(self.rate_limit);
        world.set_rate_window(self.rate_window);
        Ok((world, saved))
    }
}

impl Realm {
    /// Does what may take long on the thread of the world's worker.
    pub(crate) async fn apart<R: Send + 'static>(
        &self,
        long: bool,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        if !long {
            return Ok(work());
        }
        let worker = Arc::clone(&self.lock().worker);
        worker.run(work).await
    }

    /// Reads what the first search needs, before it comes.
    pub(super) fn read_ahead(&self) {
        let state = self.lock();
        if let Some(read) = state.world.unread() {
            state.worker.begin(read);
        }
    }

    /// Waits until everything is read that a search needs, so that it does not keep others waiting.
    pub(crate) async fn searchable(&self) {
        let unread = self.lock().world.unread();
        if let Some(read) = unread {
            let _ = self.apart(true, read).await;
        }
    }

    /// The world as it was at the start, its clock too; no faults, an empty journal.
    pub(crate) fn reset(self: &Arc<Self>) -> Result<(), Refusal> {
        let (world, clock) = self.plan.begin_again(&self.beginning)?;
        let mut state = self.lock();
        state.faults = Faults::default();
        state.journal.clear();
        self.replace(state, world, clock, Arc::default(), "reset");
        Ok(())
    }

    /// The whole world as one document.
    pub(crate) async fn document(self: &Arc<Self>) -> Result<Vec<u8>, Refusal> {
        let world = self.enter(|world, now| world.data(now));
        let written = self.apart(world.size() > LARGE_WORLD, move || serde_json::to_vec(&world)).await?;
        written.map_err(|error| Refusal::new(500, format!("The world could not be written: {error}.")))
    }

    /// The world becomes what the document says. A manual clock goes to the document's time, a real one only ahead.
    pub(crate) async fn restore(self: &Arc<Self>, document: Bytes) -> Result<(), Refusal> {
        let realm = Arc::clone(self);
        let long = document.len() > LARGE_DOCUMENT;
        let read = move || {
            let old = realm.enter(|world, now| world.data(now));
            realm.plan.read(document, &old)
        };
        let worker = Arc::<Worker>::default();
        let (world, saved) = if long { worker.run(read).await?? } else { read()? };
        let mut state = self.lock();
        let now = state.clock.now();
        let start = match (state.clock.mode(), saved) {
            (ClockMode::Manual, Some(saved)) => saved,
            (_, saved) => saved.map_or(now, |saved| saved.max(now)),
        };
        let clock = Clock::starting(self.plan.clock, start);
        self.replace(state, world, clock, worker, "restore");
        self.read_ahead();
        Ok(())
    }

    fn replace(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        world: World,
        clock: Clock,
        worker: Arc<Worker>,
        what: &str,
    ) {
        let old = mem::replace(&mut state.world, world);
        let worker = mem::replace(&mut state.worker, worker);
        state.clock = clock;
        state.epoch += 1;
        state.fired = None;
        state.planned = None;
        self.tell(&mut state, Cause::State, what);
        let now = state.clock.now();
        let tries = self.run_due(&mut state, now);
        self.leave(state, tries);
        self.try_ended.notify_waiters();
        take_down(old, &worker);
    }
}

/// Takes a world down.
pub(super) fn take_down(world: World, worker: &Worker) {
    if world.size() > LARGE_WORLD {
        worker.begin(move || drop(world));
    }
}
