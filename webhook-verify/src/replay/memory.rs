//! A replay guard in the memory of one process, with a bounded size.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use derive_where::derive_where;

use super::dead_letter::{ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard};
use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::{LEASE, RETRY_WINDOW};
use crate::clock;
use crate::setters::setters;

const NO_CLOCK: &str = "there is no clock on this platform: set one with `.clock(…)`";
const TOO_MANY_DEAD_LETTERS: &str =
    "there are too many dead letters in memory: retry or discard some, or keep them in a store";

type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Remembers events in this process. Share one between all handlers, in an `Arc` or inside
/// [`Handlers`](super).
///
/// **It forgets when the process ends**: an event that is repeated across a restart is handled again. A
/// handler whose effects must not be repeated even then needs a guard on a persistent store, or a
/// [transaction](super::TransactionalInbox). A full guard forgets handled events early, oldest first
/// ([`forgotten_early`](Self::forgotten_early) counts them), and rejects a claim only when none is left to
/// forget. Dead letters are kept in memory too, and are gone when the process ends.
#[derive_where(Debug)]
pub struct MemoryGuard {
    lease: Duration,
    retention: Duration,
    capacity: usize,
    #[derive_where(skip)]
    clock: Option<Clock>,
    #[derive_where(skip)]
    events: Mutex<Events>,
}

/// The events and in which order they go. Maps of a kind that never moves all of its entries at once, so that
/// the lock is held for microseconds.
#[derive(Default)]
struct Events {
    entries: BTreeMap<Key, Entry>,
    /// For each state the events in it, by when their claims expire or they are forgotten.
    queues: [BTreeMap<(Duration, FencingToken), Key>; 3],
    /// Dead letters, with the number of the claim that first made each.
    dead: BTreeMap<Key, (FencingToken, DeadLetter)>,
    /// The number of the last claim.
    last: u64,
    forgotten_early: u64,
}

/// An event at an endpoint, as one text. With one for each part, the longest claim took 20 ms when a million
/// events had expired: it seems that the allocator merges freed small pieces all at once.
type Key = Arc<str>;

fn key(delivery: &Delivery) -> Key {
    let (endpoint, event) = (delivery.endpoint(), delivery.event());
    // With the length, no two pairs make the same text.
    format!("{}:{endpoint}{event}", endpoint.len()).into()
}

#[derive(Clone, Copy)]
struct Entry {
    fence: FencingToken,
    state: State,
    /// How many runs were counted.
    runs: u32,
    until: Duration,
}

/// The states of an event, in the order in which events are forgotten when the guard is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its claim was released, and its runs are counted.
    Released,
    Done,
    /// Its handler may be at work, also when its claim has expired.
    Claimed,
}

impl Entry {
    fn is(&self, state: State, now: Duration) -> bool {
        self.state == state && self.until > now
    }
}

impl Events {
    /// Adds an entry, in the place of the one that was there.
    fn insert(&mut self, key: &Key, entry: Entry) {
        self.remove(key);
        self.queues[entry.state as usize].insert((entry.until, entry.fence), Arc::clone(key));
        self.entries.insert(Arc::clone(key), entry);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.queues[entry.state as usize].remove(&(entry.until, entry.fence));
        }
    }

    /// Makes room for one entry. Forgets two at most that have expired, so that no claim pays for all of
    /// them, or the oldest handled one where there are as many as `capacity`.
    fn make_room(&mut self, capacity: usize, retention: Duration, now: Duration) -> Result<(), GuardError> {
        for _ in 0..2 {
            let is_full = self.entries.len() >= capacity;
            let find = |may_go: &dyn Fn(State, Duration) -> bool| {
                [State::Released, State::Done, State::Claimed].into_iter().find_map(|state| {
                    let ((until, _), key) = self.queues[state as usize].first_key_value()?;
                    may_go(state, *until).then(|| (state == State::Done && *until > now, Arc::clone(key)))
                })
            };
            let kept = |state| if state == State::Claimed { retention } else { Duration::ZERO };
            let next = find(&|state, until| until.saturating_add(kept(state)) <= now)
                .or_else(|| find(&|state, until| is_full && (state != State::Claimed || until <= now)));
            let Some((is_early, key)) = next else {
                return if is_full { Err(GuardError::new(MemoryFull)) } else { Ok(()) };
            };
            self.forgotten_early += u64::from(is_early);
            self.remove(&key);
        }
        Ok(())
    }

    /// Claims an event that is free.
    fn grant(&mut self, key: &Key, runs: u32, until: Duration) -> FencingToken {
        self.last += 1;
        let fence = FencingToken::new(self.last);
        self.insert(key, Entry { fence, state: State::Claimed, runs, until });
        fence
    }
}

impl MemoryGuard {
    /// The default capacity.
    pub const CAPACITY: usize = 100_000;

    /// Creates a guard with a lease of a minute ([`LEASE`]) that remembers [`CAPACITY`](Self::CAPACITY)
    /// events for 28 hours ([`RETRY_WINDOW`]).
    #[must_use]
    pub fn new() -> Self {
        Self {
            lease: LEASE,
            retention: RETRY_WINDOW,
            capacity: Self::CAPACITY,
            clock: clock::monotonic().map(|clock| Arc::new(clock) as Clock),
            events: Mutex::default(),
        }
    }

    setters! {
        /// Sets how long a claim lasts unless it is renewed. [`once`](super::once) does not renew it, and
        /// then it should be longer than the slowest handler: when it has expired, another attempt is handled
        /// at the same time.
        lease(lease): Duration;

        /// Sets how long a handled event is remembered.
        retention(retention): Duration;
    }

    /// Sets how many events are remembered at most, one at least. An event takes some 400 bytes.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Takes the time since any fixed moment from `clock`. For tests, and for WebAssembly, which has no clock
    /// of its own: without one every claim is an error there.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Returns how many events are remembered, handled and in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        let Ok(now) = self.now() else { return 0 };
        let is_remembered = |entry: &&Entry| entry.is(State::Claimed, now) || entry.is(State::Done, now);
        self.lock().entries.values().filter(is_remembered).count()
    }

    /// Returns whether no event is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many handled events were forgotten early because the guard was full. If it is not 0, the
    /// capacity is too small for a day's events.
    #[must_use]
    pub fn forgotten_early(&self) -> u64 {
        self.lock().forgotten_early
    }

    fn now(&self) -> Result<Duration, GuardError> {
        let clock = self.clock.as_ref().ok_or_else(|| GuardError::new(NO_CLOCK))?;
        Ok(clock())
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, delivery: &Delivery, is_counted: bool) -> Result<CountedClaim, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut events = self.lock();
        let entry = events.entries.get(&key).copied();
        let live = entry.filter(|entry| entry.until > now);
        match live.map(|entry| entry.state) {
            Some(State::Claimed) => return Ok(Claim::InProgress.into()),
            Some(State::Done) => return Ok(Claim::Done.into()),
            Some(State::Released) | None if events.dead.contains_key(&key) => {
                return Ok(Claim::DeadLettered.into());
            }
            Some(State::Released) | None => {}
        }
        if entry.is_none() {
            events.make_room(self.capacity, self.retention, now)?;
        }
        let lapsed = entry.filter(|entry| entry.state == State::Claimed);
        let runs = live.or(lapsed).map_or(0, |entry| entry.runs).saturating_add(u32::from(is_counted));
        let fence = events.grant(&key, runs, now.saturating_add(self.lease));
        Ok(CountedClaim::granted(fence, runs, lapsed.is_some()))
    }

    /// Changes the entry with this fence, if there is one and `change` returns true.
    fn change<'a>(
        &self,
        delivery: &Delivery,
        fence: FencingToken,
        change: impl FnOnce(&mut Events, &Key, Entry, Duration) -> bool,
    ) -> GuardFuture<'a, ClaimStatus> {
        let changed = self.now().map(|now| {
            let (key, mut events) = (key(delivery), self.lock());
            let held = events.entries.get(&key).copied();
            let held = held.filter(|entry| entry.fence == fence);
            held.is_some_and(|entry| change(&mut events, &key, entry, now))
        });
        done(changed.map(ClaimStatus::held_if))
    }
}

/// Returns the future of a step that has been taken.
fn done<'a, T: Send + 'a>(outcome: Result<T, GuardError>) -> GuardFuture<'a, T> {
    Box::pin(ready(outcome))
}

impl ReplayGuard for MemoryGuard {
    fn lease_time(&self) -> Duration {
        self.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        done(self.claim_now(delivery, false).map(|counted| counted.claim))
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        self.change(delivery, fence, |events, key, entry, now| {
            if entry.state == State::Claimed {
                events.insert(key, Entry { until: now.saturating_add(self.lease), ..entry });
            }
            entry.state == State::Claimed
        })
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        self.change(delivery, fence, |events, key, entry, now| {
            if entry.state != State::Released {
                let until = now.saturating_add(self.retention);
                events.insert(key, Entry { state: State::Done, runs: 0, until, ..entry });
                events.dead.remove(key);
            }
            entry.state != State::Released
        })
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        self.change(delivery, fence, |events, key, entry, now| {
            match entry.state {
                State::Claimed if entry.runs == 0 => events.remove(key),
                State::Claimed => {
                    let until = now.saturating_add(self.retention);
                    events.insert(key, Entry { state: State::Released, until, ..entry });
                }
                State::Released | State::Done => {}
            }
            entry.state == State::Claimed
        })
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        done(self.now().map(|now| {
            let (key, mut events) = (key(delivery), self.lock());
            let is_handled = events.entries.get(&key).is_some_and(|entry| entry.is(State::Done, now));
            if is_handled {
                events.remove(&key);
            }
            is_handled
        }))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        // The step is taken by the call, not by the future.
        drop(self.release(delivery, fence));
    }
}

impl DeadLetterGuard for MemoryGuard {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        done(self.claim_now(delivery, true))
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let mut is_full = false;
        let buried = self.change(letter.delivery(), fence, |events, key, entry, now| {
            let known = events.dead.get(key).map(|(first, _)| *first);
            is_full = known.is_none() && events.dead.len() >= self.capacity;
            // One that is buried again is released already, and is a dead letter.
            if is_full || entry.state != State::Claimed && known.is_none() {
                return false;
            }
            let until = now.saturating_add(self.retention);
            events.insert(key, Entry { state: State::Released, until, ..entry });
            events.dead.insert(Arc::clone(key), (known.unwrap_or(fence), letter.clone()));
            true
        });
        if is_full { done(Err(GuardError::new(TOO_MANY_DEAD_LETTERS))) } else { buried }
    }

    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter> {
        let claim = |now| {
            let (key, mut events) = (key(delivery), self.lock());
            let Some((_, letter)) = events.dead.get(&key).cloned() else { return Ok(None) };
            match events.entries.get(&key) {
                Some(entry) if entry.is(State::Claimed, now) => return Ok(None),
                Some(_) => {}
                None => events.make_room(self.capacity, self.retention, now)?,
            }
            Ok(Some((events.grant(&key, letter.attempts(), now.saturating_add(self.lease)), letter)))
        };
        done(self.now().and_then(claim))
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        let mut letters: Vec<_> = self.lock().dead.values().cloned().collect();
        letters.sort_by_key(|(first, _)| *first);
        done(Ok(letters.into_iter().take(limit).map(|(_, letter)| letter).collect()))
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        done(self.now().map(|now| {
            let (key, mut events) = (key(delivery), self.lock());
            let is_claimed = events.entries.get(&key).is_some_and(|entry| entry.is(State::Claimed, now));
            if is_claimed || events.dead.remove(&key).is_none() {
                return false;
            }
            let fence = events.grant(&key, 0, now);
            let until = now.saturating_add(self.retention);
            events.insert(&key, Entry { fence, state: State::Done, runs: 0, until });
            true
        }))
    }
}

impl Default for MemoryGuard {
    fn default() -> Self {
        Self::new()
    }
}

/// An error returned when a [`MemoryGuard`] is full of events in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the replay guard is full of events in progress: raise its capacity, or look for handlers that hang")]
pub struct MemoryFull;
