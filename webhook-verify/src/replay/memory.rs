//! A replay guard in the memory of one process, with a bounded size.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::{LEASE, RETRY_WINDOW};
use crate::clock;

type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Remembers events in this process. Share one between all handlers, in an `Arc` or inside [`Handlers`](super).
///
/// **It forgets when the process ends**: an event that is repeated across a restart is handled again. A handler whose effects
/// must not be repeated even then needs a guard on a persistent store, or a [transaction](super::TransactionalInbox). A full
/// guard forgets handled events early, oldest first ([`forgotten_early`](Self::forgotten_early) counts them), and rejects a claim
/// only when none is left to forget.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox_webhooks::replay::MemoryGuard;
///
/// let guard = MemoryGuard::new().capacity(10_000).lease(Duration::from_secs(30));
/// assert!(guard.is_empty());
/// ```
pub struct MemoryGuard {
    lease: Duration,
    retention: Duration,
    capacity: usize,
    clock: Option<Clock>,
    events: Mutex<Events>,
}

/// The events and in which order they go. Maps of a kind that never moves all of its entries at once, so that the lock is
/// held for microseconds.
#[derive(Default)]
struct Events {
    entries: BTreeMap<Key, Entry>,
    /// Those in progress, by when their claims expire.
    claimed: Queue,
    /// Those that were handled, by when they are forgotten.
    handled: Queue,
    /// The number of the last claim.
    last: u64,
    forgotten_early: u64,
}

type Queue = BTreeMap<(Duration, FencingToken), Key>;

/// An event at an endpoint, as one text. With one for each part, the longest claim took 20 ms when a million events had expired:
/// it seems that the allocator merges freed small pieces all at once.
type Key = Arc<str>;

fn key(delivery: &Delivery) -> Key {
    let (endpoint, event) = (delivery.endpoint(), delivery.event());
    // With the length, no two pairs make the same text.
    format!("{}:{endpoint}{event}", endpoint.len()).into()
}

#[derive(Clone, Copy)]
struct Entry {
    fence: FencingToken,
    done: bool,
    until: Duration,
}

impl Entry {
    fn is_over(&self, now: Duration) -> bool {
        self.until <= now
    }
}

impl Events {
    /// Adds an entry, in the place of the one that was there.
    fn insert(&mut self, key: &Key, entry: Entry) {
        self.remove(key);
        self.queue(entry).insert((entry.until, entry.fence), Arc::clone(key));
        self.entries.insert(Arc::clone(key), entry);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.queue(entry).remove(&(entry.until, entry.fence));
        }
    }

    fn queue(&mut self, entry: Entry) -> &mut Queue {
        if entry.done { &mut self.handled } else { &mut self.claimed }
    }

    /// Makes room for one entry. Forgets two at most that have expired, so that no claim pays for all of them, and the oldest
    /// one where there are as many as `capacity`: an expired claim, or else an event that was handled.
    fn make_room(&mut self, capacity: usize, retention: Duration, now: Duration) -> Result<(), MemoryFull> {
        for _ in 0..2 {
            let is_full = self.entries.len() >= capacity;
            // Otherwise an expired claim is kept for a while: its holder may still commit it.
            let kept = if is_full { Duration::ZERO } else { retention };
            let claimed = self.claimed.first_key_value();
            let claimed = claimed.filter(|((until, _), _)| until.saturating_add(kept) <= now);
            let handled = self.handled.first_key_value().filter(|((until, _), _)| is_full || *until <= now);
            let Some(((until, _), key)) = claimed.or(handled) else {
                return if is_full { Err(MemoryFull) } else { Ok(()) };
            };
            self.forgotten_early += u64::from(*until > now);
            let key = Arc::clone(key);
            self.remove(&key);
        }
        Ok(())
    }
}

impl MemoryGuard {
    /// The default capacity.
    pub const CAPACITY: usize = 100_000;

    /// Creates a guard with a lease of a minute ([`LEASE`]) that remembers [`CAPACITY`](Self::CAPACITY) events for 28 hours
    /// ([`RETRY_WINDOW`]).
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

    /// Sets how long a claim lasts unless it is renewed. [`once`](super::once) does not renew it, and then it should be longer
    /// than the slowest handler: when it has expired, another attempt is handled at the same time.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long a handled event is remembered.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets how many events are remembered at most, one at least. An event takes some 400 bytes.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Takes the time since any fixed moment from `clock`. For tests, and for WebAssembly, which has no clock of its own: without
    /// one every claim is an error there.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Returns how many events are remembered, handled and in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        let Ok(now) = self.now() else { return 0 };
        self.lock().entries.values().filter(|entry| !entry.is_over(now)).count()
    }

    /// Returns whether no event is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many handled events were forgotten early because the guard was full. If it is not 0, the capacity is too small
    /// for a day's events.
    #[must_use]
    pub fn forgotten_early(&self) -> u64 {
        self.lock().forgotten_early
    }

    fn now(&self) -> Result<Duration, GuardError> {
        let clock = self.clock.as_ref().ok_or_else(|| GuardError::new(clock::NoClock))?;
        Ok(clock())
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claimed(&self, fence: FencingToken, now: Duration) -> Entry {
        Entry { fence, done: false, until: now.saturating_add(self.lease) }
    }

    fn claim_now(&self, delivery: &Delivery) -> Result<Claim, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut events = self.lock();
        match events.entries.get(&key) {
            Some(entry) if !entry.is_over(now) => {
                return Ok(if entry.done { Claim::Done } else { Claim::InProgress });
            }
            Some(_) => {}
            None => events.make_room(self.capacity, self.retention, now).map_err(GuardError::new)?,
        }
        events.last += 1;
        let fence = FencingToken::new(events.last);
        events.insert(&key, self.claimed(fence, now));
        Ok(Claim::Granted(fence))
    }

    /// Changes the entry with this fence, if there is one and `change` returns true.
    fn change(
        &self,
        delivery: &Delivery,
        fence: FencingToken,
        change: impl FnOnce(&mut Events, &Key, Entry, Duration) -> bool,
    ) -> Result<ClaimStatus, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut events = self.lock();
        let held = events.entries.get(&key).copied().filter(|entry| entry.fence == fence);
        let changed = held.is_some_and(|entry| change(&mut events, &key, entry, now));
        Ok(if changed { ClaimStatus::Held } else { ClaimStatus::Lost })
    }

    fn release_now(&self, delivery: &Delivery, fence: FencingToken) -> Result<ClaimStatus, GuardError> {
        self.change(delivery, fence, |events, key, entry, _| {
            if !entry.done {
                events.remove(key);
            }
            !entry.done
        })
    }

    fn renew_now(&self, delivery: &Delivery, fence: FencingToken) -> Result<ClaimStatus, GuardError> {
        self.change(delivery, fence, |events, key, entry, now| {
            if !entry.done {
                events.insert(key, self.claimed(fence, now));
            }
            !entry.done
        })
    }

    fn commit_now(&self, delivery: &Delivery, fence: FencingToken) -> Result<ClaimStatus, GuardError> {
        self.change(delivery, fence, |events, key, _, now| {
            events.insert(key, Entry { fence, done: true, until: now.saturating_add(self.retention) });
            true
        })
    }

    fn forget_now(&self, delivery: &Delivery) -> Result<bool, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut events = self.lock();
        let handled = events.entries.get(&key).is_some_and(|entry| entry.done && !entry.is_over(now));
        if handled {
            events.remove(&key);
        }
        Ok(handled)
    }
}

impl ReplayGuard for MemoryGuard {
    fn lease_time(&self) -> Duration {
        self.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(ready(self.claim_now(delivery)))
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(ready(self.renew_now(delivery, fence)))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(ready(self.commit_now(delivery, fence)))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(ready(self.release_now(delivery, fence)))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(ready(self.forget_now(delivery)))
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        // Without a clock no claim was granted.
        _ = self.release_now(delivery, fence);
    }
}

impl Default for MemoryGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryGuard")
            .field("lease", &self.lease)
            .field("retention", &self.retention)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// An error returned when a [`MemoryGuard`] is full of events in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the replay guard is full of events in progress: raise its capacity, or look for handlers that hang")]
pub struct MemoryFull;
