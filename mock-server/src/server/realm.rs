//! A world and what surrounds it: its clock, its faults, its journal, and the driver that makes things happen when
//! they fall due.
//!
//! [`Realm::enter`] is the one door to the world. Whoever goes in first lets happen what has fallen due by then, so an
//! answer never shows a world that is behind its clock, however late the driver wakes up. Webhook tries are made
//! outside the lock, and what came of them is taken back in.
//!
//! Nobody waits for what takes long with a large world. Reading a document, writing one and taking a world down are done
//! on another thread and outside the lock, on copies, which cost nothing; a clock that is moved lets others in between.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use shared_inbox::Timestamp;
use tokio::{
    runtime::Handle,
    sync::{Notify, broadcast, futures::Notified, watch},
};

use super::{
    clock::{Clock, ClockMode},
    deliver::Deliverer,
    document::{self, Origin},
    faults::{Act, Faults, Struck},
    journal::{Entry, Journal},
    snapshots::Snapshots,
    sse::{Cause, Change},
};
use crate::world::{Behalf, Fired, FiredJob, Keys, Refusal, TryRequest, World};

/// A suspended machine does not run its timers; look at the clock now and then.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// How long a webhook that is to come after the next one waits for that.
const SWAPPED_FOR: Duration = Duration::from_secs(60);
/// A world of more conversations and documents, or a document of more bytes, is dealt with on another thread.
const LARGE_WORLD: usize = 1_000;
pub(crate) const LARGE_DOCUMENT: usize = 256 << 10;
/// How long a clock that is moved keeps others out of its world, and how many jobs of one moment it runs in one go.
const TURN: Duration = Duration::from_millis(1);
const JOBS_IN_ONE_GO: usize = 32;
/// Changes that a follower may be behind.
const FOLLOWED: usize = 1_024;

/// Where the clock stands after it was moved, and what happened on the way.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use shared_inbox_mock::MockServer;
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let id = mock.client().conversations().await?[0].id.clone();
/// mock.client().conversation(&id).reply("On its way.").and_send().await?;
/// let moved = mock.control().advance(Duration::from_secs(600)).await?;
/// assert!(moved.fired.iter().any(|fired| fired.job == "send"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Advanced {
    /// What the clock shows now.
    pub now: Timestamp,
    /// What happened, in order.
    pub fired: Vec<FiredJob>,
}

/// What the clock shows, and how it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ClockReading {
    /// What it shows.
    pub now: Timestamp,
    /// How it runs.
    pub mode: ClockMode,
}

/// How far a clock is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// By so much.
    By(Duration),
    /// To this time.
    Time(Timestamp),
    /// To the time of the next job; nowhere when there is none.
    NextJob,
}

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
enum Beginning {
    Demo,
    Empty,
    /// That of a document, with the time at which it was written.
    Read(Box<World>, Option<Timestamp>),
}

pub(crate) struct Realm {
    plan: Plan,
    beginning: Beginning,
    state: Mutex<State>,
    /// How many wait for the lock.
    waiting: AtomicUsize,
    /// Made for the first follower: its room for changes is many times what an empty world takes.
    changes: OnceLock<broadcast::Sender<Change>>,
    /// How many requests have ended, for those who follow the journal.
    ended: OnceLock<watch::Sender<u64>>,
    /// Tells the driver that something falls due earlier than it thinks.
    wake: Arc<Notify>,
    /// Tells a moving clock that a webhook try has ended.
    try_ended: Notify,
    /// Tells those who wait for something that the world has changed or a request has ended.
    stirred: Notify,
    /// One move of the clock at a time.
    moving: tokio::sync::Mutex<()>,
}

struct State {
    world: World,
    clock: Clock,
    /// Counts how often the world was replaced.
    epoch: u64,
    /// What has happened since the clock began to move, while it does.
    fired: Option<Vec<FiredJob>>,
    /// When the driver wants to wake up.
    planned: Option<Timestamp>,
    changes: u64,
    faults: Faults,
    journal: Journal,
    snapshots: Snapshots,
}

impl Realm {
    /// Builds the world and starts its driver.
    pub(crate) fn new(plan: Plan, origin: Origin) -> Result<Arc<Self>, Refusal> {
        let beginning = match origin {
            Origin::Demo => Beginning::Demo,
            Origin::Empty => Beginning::Empty,
            Origin::Document(document) => {
                let (world, saved) = plan.read(&document)?;
                Beginning::Read(Box::new(world), saved)
            }
        };
        let (world, clock) = plan.begin(&beginning)?;
        let state = State {
            world,
            clock,
            epoch: 0,
            fired: None,
            planned: None,
            changes: 0,
            faults: Faults::default(),
            journal: Journal::default(),
            snapshots: Snapshots::default(),
        };
        let realm = Arc::new(Self {
            plan,
            beginning,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            changes: OnceLock::new(),
            ended: OnceLock::new(),
            wake: Arc::default(),
            try_ended: Notify::new(),
            stirred: Notify::new(),
            moving: tokio::sync::Mutex::default(),
        });
        realm.drive();
        realm.read_ahead();
        Ok(realm)
    }

    pub(crate) fn number(&self) -> u64 {
        self.plan.number
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.plan.keys
    }

    pub(crate) fn deliverer(&self) -> &Deliverer {
        &self.plan.deliverer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic is answered with a 500; the world stays usable for the test that wants to look at it.
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

    /// Does what may take long on another thread.
    async fn apart<R: Send + 'static>(
        &self,
        long: bool,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        if !long {
            return Ok(work());
        }
        let done = self.plan.runtime.spawn_blocking(work).await;
        done.map_err(|_| Refusal::new(500, "Try again shortly."))
    }

    /// Takes a world down.
    fn take_down(&self, world: World) {
        if world.size() > LARGE_WORLD {
            self.plan.runtime.spawn_blocking(move || drop(world));
        }
    }

    /// Reads what the first search needs, before it comes.
    fn read_ahead(&self) {
        if let Some(read) = self.lock().world.unread() {
            self.plan.runtime.spawn_blocking(read);
        }
    }

    /// Waits until everything is read that a search needs, so that it does not keep others waiting.
    pub(crate) async fn searchable(&self) {
        let unread = self.lock().world.unread();
        if let Some(read) = unread {
            let _ = self.apart(true, read).await;
        }
    }

    /// Lets happen what has fallen due, then acts, then lets happen what is due because of that.
    pub(crate) fn enter<R>(self: &Arc<Self>, act: impl FnOnce(&mut World, Timestamp) -> R) -> R {
        let mut state = self.lock();
        let mut tries = self.run_due(&mut state);
        let now = state.clock.now();
        let result = act(&mut state.world, now);
        tries.extend(self.run_due(&mut state));
        self.leave(state, tries);
        result
    }

    /// The same on someone's behalf, and tells the followers when it was done.
    pub(crate) fn change<R>(
        self: &Arc<Self>,
        behalf: Behalf,
        act: impl FnOnce(&mut World, Timestamp) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let (cause, what) = match behalf {
            Behalf::Request(_, what) => (Cause::Request, what),
            Behalf::Control(what) => (Cause::Control, what),
        };
        let result = self.enter(|world, now| {
            world.begin(behalf);
            let result = act(world, now);
            world.end();
            result
        });
        if result.is_ok() {
            self.tell(&mut self.lock(), cause, what);
        }
        result
    }

    fn leave(self: &Arc<Self>, state: MutexGuard<'_, State>, tries: Vec<(TryRequest, Option<Struck>)>) {
        let sooner = match (state.world.next_due(), state.planned) {
            (Some(due), Some(planned)) => due < planned,
            (due, _) => due.is_some(),
        };
        drop(state);
        if sooner {
            self.wake.notify_one();
        }
        for (request, struck) in tries {
            let realm = Arc::clone(self);
            self.plan.runtime.spawn(async move {
                let due = request.due;
                let outcome = realm.plan.deliverer.perform(request, struck, || realm.try_time(due)).await;
                realm.enter(|world, _| world.finish_try(outcome));
                realm.tell(&mut realm.lock(), Cause::Job, "webhook-try-ended");
                realm.try_ended.notify_waiters();
            });
        }
    }

    /// Runs all jobs that are due, each at its own time; gives out the webhook tries among them. While the clock is being
    /// moved it is no more than a few at a time: whoever moves it comes for the rest.
    fn run_due(&self, state: &mut State) -> Vec<(TryRequest, Option<Struck>)> {
        let now = state.clock.now();
        let most = if state.fired.is_some() { JOBS_IN_ONE_GO } else { usize::MAX };
        let mut tries = Vec::new();
        for _ in 0..most {
            let Some(fired) = state.world.run_due(now) else { break };
            let job = match fired {
                Fired::Done(job) => job,
                Fired::Try(job, request) => {
                    match state.faults.strike(&request, job.at) {
                        Some(Struck { act: Act::Late(by), .. }) => {
                            state.world.hold_try(&request, by, false);
                            continue;
                        }
                        Some(Struck { act: Act::Swap, .. }) => {
                            state.world.hold_try(&request, SWAPPED_FOR, true);
                            continue;
                        }
                        struck => tries.push((request, struck)),
                    }
                    job
                }
            };
            self.tell(state, Cause::Job, &job.job);
            if let Some(log) = &mut state.fired {
                log.push(job);
            }
        }
        tries
    }

    fn tell(&self, state: &mut State, cause: Cause, what: &str) {
        state.changes += 1;
        self.stirred.notify_waiters();
        if let Some(changes) = self.changes.get().filter(|changes| changes.receiver_count() > 0) {
            let at = state.clock.now();
            let _ = changes.send(Change { number: state.changes, at, cause, what: what.to_owned() });
        }
    }

    /// Tells the followers of something that is beside the world: its faults, its journal.
    pub(crate) fn say(&self, what: &'static str) {
        self.tell(&mut self.lock(), Cause::Control, what);
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Change> {
        self.changes.get_or_init(|| broadcast::Sender::new(FOLLOWED)).subscribe()
    }

    /// The number of the last request that has ended, as it changes.
    pub(crate) fn follow_journal(&self) -> watch::Receiver<u64> {
        self.ended.get_or_init(watch::Sender::default).subscribe()
    }

    /// The time at which a try is made: the clock's, or when it fell due while the clock stands or is being moved.
    fn try_time(&self, due: Timestamp) -> Timestamp {
        let mut state = self.lock();
        match state.clock.mode() {
            ClockMode::Real if state.fired.is_none() => state.clock.now(),
            _ => due,
        }
    }

    fn drive(self: &Arc<Self>) {
        let (realm, wake) = (Arc::downgrade(self), Arc::clone(&self.wake));
        self.plan.runtime.spawn(async move {
            loop {
                let Some(wait) = realm.upgrade().map(|realm| realm.tick()) else { return };
                match wait {
                    Some(wait) => drop(tokio::time::timeout(wait.min(LONGEST_SLEEP), wake.notified()).await),
                    None => wake.notified().await,
                }
            }
        });
    }

    /// Lets happen what is due; says how long to wait for the next.
    fn tick(self: &Arc<Self>) -> Option<Duration> {
        let mut state = self.lock();
        let tries = self.run_due(&mut state);
        let next = state.world.next_due();
        state.planned = next;
        let wait = next.and_then(|due| state.clock.until(due));
        self.leave(state, tries);
        wait
    }

    pub(crate) fn clock(&self) -> ClockReading {
        let mut state = self.lock();
        ClockReading { now: state.clock.now(), mode: state.clock.mode() }
    }

    /// Moves the clock ahead; everything that falls due on the way happens at its own time, and every webhook try
    /// that fell due or was under way has ended.
    ///
    /// Runs to its end even when nobody waits for it any more.
    pub(crate) async fn advance(self: &Arc<Self>, until: Until) -> Result<Advanced, Refusal> {
        let realm = Arc::clone(self);
        self.run(async move { realm.advance_now(until).await }).await
    }

    /// Runs something on the server's own runtime, to its end, whatever runtime it is asked for on.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let done = self.plan.runtime.spawn(work).await;
        done.unwrap_or_else(|_| Err(Refusal::new(500, "The server is stopping.")))
    }

    /// Ends when the world changes or a request ends.
    pub(crate) fn stirred(&self) -> Notified<'_> {
        self.stirred.notified()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.lock().world.next_due()
    }

    async fn advance_now(self: &Arc<Self>, until: Until) -> Result<Advanced, Refusal> {
        let _turn = self.moving.lock().await;
        let (target, epoch) = {
            let mut state = self.lock();
            let now = state.clock.now();
            let target = match until {
                Until::By(by) => now + by,
                Until::Time(time) if time < now => {
                    return Err(Refusal::field("to", format!("has passed: the clock shows {now}")));
                }
                Until::Time(time) => time,
                Until::NextJob => now,
            };
            state.fired = Some(Vec::new());
            (target, state.epoch)
        };
        self.walk(target, epoch).await?;
        if until == Until::NextJob {
            // Only now: a try that was under way may have put something before all others.
            let next = self.next_due();
            self.walk(next.unwrap_or(target), epoch).await?;
        }
        let mut state = self.lock();
        let mut fired = state.fired.take().unwrap_or_default();
        // Tries that waited for a slow receiver come after what fell due later.
        fired.sort_by_key(|job| job.at);
        self.tell(&mut state, Cause::Clock, "advance");
        Ok(Advanced { now: state.clock.now(), fired })
    }

    async fn walk(self: &Arc<Self>, target: Timestamp, epoch: u64) -> Result<(), Refusal> {
        let mut began = Instant::now();
        loop {
            let mut ended = std::pin::pin!(self.try_ended.notified());
            ended.as_mut().enable();
            match self.step(target, epoch) {
                Step::Ran if began.elapsed() < TURN => {}
                Step::Ran => {
                    tokio::task::yield_now().await;
                    if self.waiting.load(Ordering::Relaxed) > 0 {
                        // The lock goes to whoever asks first, and that would be us.
                        tokio::time::sleep(TURN).await;
                    }
                    began = Instant::now();
                }
                Step::Wait => ended.await,
                Step::Arrived => return Ok(()),
                Step::Replaced => {
                    return Err(Refusal::new(409, "The world was replaced while its clock was being moved."));
                }
            }
        }
    }

    /// One step on the way to `target`: to the next job, unless a try under way could still cause something earlier.
    fn step(self: &Arc<Self>, target: Timestamp, epoch: u64) -> Step {
        let mut state = self.lock();
        if state.epoch != epoch {
            return Step::Replaced;
        }
        let horizon = state.world.webhooks_horizon();
        match state.world.next_due() {
            Some(due) if due <= target && horizon.is_none_or(|horizon| due < horizon) => {
                state.clock.move_to(due);
                let tries = self.run_due(&mut state);
                self.leave(state, tries);
                Step::Ran
            }
            _ if horizon.is_some() => Step::Wait,
            _ => {
                state.clock.move_to(target);
                Step::Arrived
            }
        }
    }

    /// The world as it was at the start, its clock too; no faults, an empty journal.
    pub(crate) fn reset(self: &Arc<Self>) -> Result<(), Refusal> {
        let (world, clock) = self.plan.begin(&self.beginning)?;
        let mut state = self.lock();
        state.faults = Faults::default();
        state.journal.clear();
        self.replace(state, world, clock, "reset");
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
            let (mut world, saved) = realm.plan.read(&document)?;
            drop(document);
            let old = realm.enter(|world, now| world.data(now));
            world.share_with(&old);
            Ok::<_, Refusal>((world, saved))
        };
        let (world, saved) = self.apart(long, read).await??;
        let mut state = self.lock();
        let now = state.clock.now();
        let start = match (state.clock.mode(), saved) {
            (ClockMode::Manual, Some(saved)) => saved,
            (_, saved) => saved.map_or(now, |saved| saved.max(now)),
        };
        let clock = Clock::starting(self.plan.clock, start);
        self.replace(state, world, clock, "restore");
        self.read_ahead();
        Ok(())
    }

    fn replace(self: &Arc<Self>, mut state: MutexGuard<'_, State>, world: World, clock: Clock, what: &str) {
        let old = mem::replace(&mut state.world, world);
        state.clock = clock;
        state.epoch += 1;
        state.fired = None;
        state.planned = None;
        self.tell(&mut state, Cause::State, what);
        let tries = self.run_due(&mut state);
        self.leave(state, tries);
        self.try_ended.notify_waiters();
        self.take_down(old);
    }

    pub(crate) fn faults<R>(&self, act: impl FnOnce(&mut Faults, Timestamp) -> R) -> R {
        let mut state = self.lock();
        let now = state.clock.now();
        act(&mut state.faults, now)
    }

    pub(crate) fn snapshots<R>(&self, act: impl FnOnce(&mut Snapshots) -> R) -> R {
        act(&mut self.lock().snapshots)
    }

    pub(crate) fn journal<R>(&self, act: impl FnOnce(&mut Journal) -> R) -> R {
        act(&mut self.lock().journal)
    }

    /// Enters a request that is over, and tells those who wait for one or follow them.
    pub(crate) fn enter_in_journal(&self, entry: Entry) {
        self.lock().journal.push(entry);
        self.stirred.notify_waiters();
        if let Some(ended) = self.ended.get() {
            ended.send_modify(|ended| *ended += 1);
        }
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let world = mem::replace(&mut state.world, World::nothing());
        if let Beginning::Read(world, _) = mem::replace(&mut self.beginning, Beginning::Empty) {
            self.take_down(*world);
        }
        self.take_down(world);
        // So that the driver sees that there is nothing left to drive.
        self.wake.notify_one();
    }
}

enum Step {
    Ran,
    Wait,
    Arrived,
    Replaced,
}

impl Plan {
    /// The world at its start, and its clock.
    fn begin(&self, beginning: &Beginning) -> Result<(World, Clock), Refusal> {
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

    fn read(&self, document: &[u8]) -> Result<(World, Option<Timestamp>), Refusal> {
        self.prepared(document::read(document)?, document)
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
