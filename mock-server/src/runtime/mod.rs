//! A world at run time: its clock, faults and journal, and the driver that runs jobs when they are due.
//!
//! [`WorldRuntime::enter`] is the only access to the world. It runs due jobs first, so a response never shows a world that is
//! behind its clock, however late the driver wakes up. Webhook attempts are made outside the lock, and their
//! outcomes are recorded under it.
//!
//! Slow work on a large world blocks nobody: see `state` for whole worlds and `advance` for the clock.

pub(crate) mod advance;
pub(crate) mod change;
pub(crate) mod clock;
pub(crate) mod config;
pub(crate) mod delivery;
pub(crate) mod document;
pub(crate) mod journal;
pub(crate) mod memory;
pub(crate) mod registry;
pub(crate) mod snapshots;
mod state;
pub(crate) mod targets;
mod worker;

use std::{
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::HeaderValue;
use shared_inbox::{AgentId, Timestamp};
use tokio::sync::{Notify, broadcast, futures::Notified, watch};

use self::{
    change::{Cause, Change},
    clock::{Clock, ClockMode, HttpDate},
    config::{DocumentWorld, InitialState, WorldConfig},
    journal::{Journal, RecordedRequest, RecordedResponse},
    snapshots::Snapshots,
    worker::Worker,
};
use crate::{
    faults::{FaultAction, FaultMatch, Faults, RequestParts},
    world::{AttemptRequest, FiredJob, Initiator, JobOutcome, KeyHash, Refusal, Result, World},
};

/// How long a swapped webhook waits for the next one.
const SWAP_TIMEOUT: Duration = Duration::from_secs(60);
/// How many due jobs are run under one lock: a world in which many fell due at once holds up no other.
const MAX_JOBS_PER_LOCK: usize = 32;
/// How many changes a follower may be behind.
const MAX_CHANGES_BEHIND: usize = 1_024;

pub(crate) struct WorldRuntime {
    pub(crate) config: WorldConfig,
    beginning: InitialState,
    state: Mutex<State>,
    /// How many threads wait for the lock.
    waiting: AtomicUsize,
    /// Created for the first follower: its buffer is many times larger than an empty world.
    changes: OnceLock<broadcast::Sender<Change>>,
    /// How many requests have ended, for followers of the journal.
    ended: OnceLock<watch::Sender<u64>>,
    /// Wakes the driver when a job is due earlier than it expects.
    wake: Arc<Notify>,
    /// Wakes an advance of the clock when a webhook attempt has ended.
    attempt_ended: Notify,
    /// Wakes waiting calls when the world has changed or a request has ended.
    woken: Notify,
    /// Held by the one advance of the clock that is under way.
    moving: tokio::sync::Mutex<()>,
}

struct State {
    world: World,
    /// What the world was copied from, if a document was put.
    document: Option<Arc<DocumentWorld>>,
    worker: Arc<Worker>,
    clock: Clock,
    /// Counts how often the world was replaced.
    epoch: u64,
    /// The jobs that ran since the clock began to advance, while it does.
    fired: Option<Vec<FiredJob>>,
    /// When the driver wants to wake up.
    planned: Option<Timestamp>,
    changes: u64,
    faults: Faults,
    journal: Journal,
    snapshots: Snapshots,
    /// Expectations of none that nothing could have met, a sentence each.
    vacuous_expectations: Vec<String>,
    date: HttpDate,
}

impl State {
    /// Returns whether a job is due that has not run. While the clock is being advanced, the advance runs
    /// them.
    fn is_behind(&mut self) -> bool {
        let now = self.clock.now();
        self.fired.is_none() && self.world.next_due().is_some_and(|due| due <= now)
    }
}

/// Attempts to deliver webhooks that are due, each with the fault that strikes it.
type Attempts = Vec<(AttemptRequest, Option<FaultMatch>)>;

impl WorldRuntime {
    fn new(
        config: WorldConfig,
        beginning: InitialState,
        world: World,
        clock: Clock,
        worker: Arc<Worker>,
    ) -> Self {
        let state = State {
            world,
            document: None,
            worker,
            clock,
            epoch: 0,
            fired: None,
            planned: None,
            changes: 0,
            faults: Faults::default(),
            journal: Journal::new(&config.settings.memory.journals),
            snapshots: Snapshots::new(&config.settings.memory.snapshots),
            vacuous_expectations: Vec::new(),
            date: HttpDate::default(),
        };
        Self {
            config,
            beginning,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            changes: OnceLock::new(),
            ended: OnceLock::new(),
            wake: Arc::default(),
            attempt_ended: Notify::new(),
            woken: Notify::new(),
            moving: tokio::sync::Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic becomes a 500; the world stays usable for the test that inspects it.
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                state
            }
        }
    }

    /// Runs due jobs, then `act`, then the jobs that became due. Many due jobs are run a few under each lock;
    /// a task of the server awaits [`catch_up`](Self::catch_up) first, so that its thread is not held up.
    pub(crate) fn enter<R>(self: &Arc<Self>, act: impl FnOnce(&mut World, Timestamp) -> R) -> R {
        // Whatever does not depend on `act` is compiled once.
        let (mut state, now, attempts) = self.lock_caught_up();
        let result = act(&mut state.world, now);
        self.leave_changed(state, now, attempts);
        result
    }

    /// Locks the world once everything that is due has run.
    fn lock_caught_up(self: &Arc<Self>) -> (MutexGuard<'_, State>, Timestamp, Attempts) {
        loop {
            let mut state = self.lock();
            let now = state.clock.now();
            let attempts = self.run_due(&mut state, now, MAX_JOBS_PER_LOCK);
            if !state.is_behind() {
                return (state, now, attempts);
            }
            self.leave(state, attempts);
            std::thread::yield_now();
        }
    }

    /// Runs the jobs that a change made due, and unlocks the world.
    fn leave_changed(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        now: Timestamp,
        mut attempts: Attempts,
    ) {
        let most = if state.fired.is_some() { MAX_JOBS_PER_LOCK } else { usize::MAX };
        attempts.extend(self.run_due(&mut state, now, most));
        self.leave(state, attempts);
    }

    /// Draws the next number in the order of everything that happens in the world.
    pub(crate) fn draw_number(&self) -> u64 {
        self.lock().world.draw_number()
    }

    /// Calls `act` with the hashes of the world's keys, which do not change meanwhile. Runs no due jobs.
    pub(crate) fn with_key_hashes(&self, act: impl FnOnce(Vec<KeyHash>)) {
        let state = self.lock();
        act(state.world.key_hashes().collect());
    }

    /// Enters the world on behalf of an initiator, and notifies followers if it succeeds.
    pub(crate) fn change<R>(
        self: &Arc<Self>,
        initiator: Initiator,
        act: impl FnOnce(&mut World, Timestamp) -> Result<R>,
    ) -> Result<R> {
        let (cause, what) = match initiator {
            Initiator::Request(_, what) => (Cause::Request, what),
            Initiator::Control(what) | Initiator::Step(_, what) => (Cause::Control, what),
        };
        let result = self.enter(|world, now| {
            world.begin_cause(initiator);
            let result = act(world, now);
            world.end_cause();
            result
        });
        if result.is_ok() {
            self.notify_change(&mut self.lock(), cause, what);
        }
        result
    }

    fn leave(self: &Arc<Self>, state: MutexGuard<'_, State>, attempts: Attempts) {
        let sooner = match (state.world.next_due(), state.planned) {
            (Some(due), Some(planned)) => due < planned,
            (due, _) => due.is_some(),
        };
        drop(state);
        if sooner {
            self.wake.notify_one();
        }
        for (request, fault) in attempts {
            let runtime = Arc::clone(self);
            self.config.settings.runtime.spawn(async move {
                let due = request.due;
                let outcome = runtime
                    .config
                    .settings
                    .deliverer
                    .perform(request, fault, || runtime.attempt_time(due))
                    .await;
                runtime.catch_up().await;
                runtime.enter(|world, _| world.finish_attempt(outcome));
                runtime.notify_change(&mut runtime.lock(), Cause::Job, "webhook-attempt-ended");
                runtime.attempt_ended.notify_waiters();
            });
        }
    }

    /// Runs due jobs, each at its own time, and returns the webhook attempts among them.
    fn run_due(&self, state: &mut State, now: Timestamp, most: usize) -> Attempts {
        let mut attempts = Vec::new();
        for _ in 0..most {
            let Some(fired) = state.world.run_due(now) else { break };
            let job = match fired {
                JobOutcome::Ran(job) => job,
                JobOutcome::Attempt(job, request) => {
                    match state.faults.match_delivery(&request, job.at) {
                        Some(FaultMatch { act: FaultAction::Late(by), .. }) => {
                            state.world.hold_attempt(&request, by, false);
                            continue;
                        }
                        Some(FaultMatch { act: FaultAction::Swap, .. }) => {
                            state.world.hold_attempt(&request, SWAP_TIMEOUT, true);
                            continue;
                        }
                        fault => attempts.push((*request, fault)),
                    }
                    job
                }
            };
            self.notify_change(state, Cause::Job, &job.job);
            if let Some(log) = &mut state.fired {
                log.push(job);
            }
        }
        attempts
    }

    fn notify_change(&self, state: &mut State, cause: Cause, what: &str) {
        state.changes += 1;
        self.woken.notify_waiters();
        if let Some(changes) = self.changes.get().filter(|changes| changes.receiver_count() > 0) {
            let at = state.clock.now();
            let _ = changes.send(Change { number: state.changes, at, cause, what: what.to_owned() });
        }
    }

    /// Notifies followers of a change to the faults or the journal.
    pub(crate) fn notify_control_change(&self, what: &'static str) {
        self.notify_change(&mut self.lock(), Cause::Control, what);
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Change> {
        self.changes.get_or_init(|| broadcast::Sender::new(MAX_CHANGES_BEHIND)).subscribe()
    }

    /// Returns the number of requests that have ended, as it changes.
    pub(crate) fn follow_journal(&self) -> watch::Receiver<u64> {
        self.ended.get_or_init(watch::Sender::default).subscribe()
    }

    /// Returns the time of an attempt: that of a running clock, or else when it was due.
    fn attempt_time(&self, due: Timestamp) -> Timestamp {
        let mut state = self.lock();
        match state.clock.mode {
            ClockMode::Real if state.fired.is_none() => state.clock.now(),
            _ => due,
        }
    }

    /// Runs a future to completion on the server's own runtime, whatever runtime it is awaited on.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        // Boxed, so that the machinery of a task is compiled once for each result and not for each work.
        let work: Pin<Box<dyn Future<Output = Result<T>> + Send>> = Box::pin(work);
        let done = self.config.settings.runtime.spawn(work).await;
        done.unwrap_or_else(|_| Err(Refusal::new(500, "The server is stopping.")))
    }

    /// Completes when the world changes or a request ends.
    pub(crate) fn woken(&self) -> Notified<'_> {
        self.woken.notified()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.lock().world.next_due()
    }

    /// Returns the fault that applies to a request, if any.
    pub(crate) fn match_fault(&self, request: &RequestParts<'_>) -> Option<FaultMatch> {
        let mut state = self.lock();
        if state.faults.rules.is_empty() {
            return None;
        }
        let now = state.clock.now();
        state.faults.match_request(request, now)
    }

    pub(crate) fn faults<R>(&self, act: impl FnOnce(&mut Faults, Timestamp) -> R) -> R {
        let mut state = self.lock();
        let now = state.clock.now();
        act(&mut state.faults, now)
    }

    pub(crate) fn snapshots<R>(&self, act: impl FnOnce(&mut Snapshots) -> R) -> R {
        act(&mut self.lock().snapshots)
    }

    pub(crate) fn vacuous_expectations<R>(&self, act: impl FnOnce(&mut Vec<String>) -> R) -> R {
        act(&mut self.lock().vacuous_expectations)
    }

    pub(crate) fn journal<R>(&self, act: impl FnOnce(&mut Journal) -> R) -> R {
        act(&mut self.lock().journal)
    }

    /// Begins a request without a valid key; returns its number in the journal, and the time.
    pub(crate) fn begin_request(&self) -> (u64, Timestamp) {
        let mut state = self.lock();
        (state.journal.begin(), state.clock.now())
    }

    /// Begins a request with a key; returns the key's agent too, or `None` if the key is not valid here.
    pub(crate) fn begin_authenticated_request(&self, key: &KeyHash) -> Option<(AgentId, u64, Timestamp)> {
        let mut state = self.lock();
        let agent = state.world.authenticate(key)?;
        Some((agent, state.journal.begin(), state.clock.now()))
    }

    /// Returns the clock's time as an HTTP date; `None` outside the years that HTTP can write.
    pub(crate) fn http_date(&self) -> Option<HeaderValue> {
        let mut state = self.lock();
        let now = state.clock.now();
        state.date.format(now)
    }

    /// Records a request that has ended, and notifies its followers.
    pub(crate) fn record_request(&self, mut entry: RecordedRequest, response: Option<RecordedResponse>) {
        let mut state = self.lock();
        entry.order.get_or_insert_with(|| state.world.draw_number());
        state.journal.push(entry, response);
        drop(state);
        self.woken.notify_waiters();
        if let Some(ended) = self.ended.get() {
            ended.send_modify(|ended| *ended += 1);
        }
        self.config.settings.memory.journals.shorten_journals();
    }
}

impl Drop for WorldRuntime {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let world = mem::take(&mut state.world);
        let beginning = mem::replace(&mut self.beginning, InitialState::Empty);
        for document in beginning.document().cloned().into_iter().chain(state.document.take()) {
            state.worker.drop_world(document.world.size(), document);
        }
        state.worker.drop_world(world.size(), world);
        // The driver then sees that the world is gone.
        self.wake.notify_one();
    }
}
