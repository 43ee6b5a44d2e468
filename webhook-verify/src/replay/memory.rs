//! A replay guard in the memory of one process: bounded, and as exact as one process can be.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::guard::{Answer, Claim, ClaimStatus, Delivery, FencingToken, GuardError, ReplayGuard};
use super::{LEASE, RETRY_WINDOW};
use crate::clock;

type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// How many entries that are due one call forgets on its way: more than it can add, so that they go, and few enough that
/// nobody waits for it.
const AT_ONCE: usize = 32;

/// Remembers events in this process. Share one between all handlers, in an `Arc` or inside [`Handlers`](super).
///
/// **It forgets when the process ends**: an event that is repeated across a restart is handled again. A handler whose
/// effects must not be repeated even then needs a guard on a store that lasts, or a
/// [transaction](super::TransactionalInbox). Full, it forgets the oldest handled event first
/// ([`forgotten_early`](Self::forgotten_early) counts them); only when every place is taken by an event in progress does
/// it refuse a claim.
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
    memory: Mutex<Memory>,
}

/// Trees, not hash tables and queues: no change ever moves or looks through more than a few entries, so that with a
/// million of them no call waits for another. And nothing in them that is allocated by itself: a million small pieces that
/// were given back are gathered by the allocator in one go, within some call's time.
#[derive(Default)]
struct Memory {
    entries: BTreeMap<Key, Entry>,
    /// The claims by when they run out, and the handled ones by when they may be forgotten. Fences make the times unique.
    claimed: BTreeMap<(Duration, FencingToken), Key>,
    done: BTreeMap<(Duration, FencingToken), Key>,
    /// The fence of the last claim of all.
    last: u64,
    forgotten_early: u64,
}

/// Half of the SHA-256 of a delivery, of which no two are found alike.
type Key = u128;

fn key(delivery: &Delivery) -> Key {
    // The length tells where the endpoint ends.
    let endpoint = delivery.endpoint();
    let hash = Sha256::new().chain_update((endpoint.len() as u64).to_le_bytes());
    let hash = hash.chain_update(endpoint).chain_update(delivery.event()).finalize();
    hash.first_chunk().map_or(0, |half| Key::from_le_bytes(*half))
}

#[derive(Clone, Copy)]
struct Entry {
    fence: FencingToken,
    done: bool,
    until: Duration,
}

impl MemoryGuard {
    /// How many events are remembered at most, unless told otherwise.
    pub const CAPACITY: usize = 100_000;

    /// A guard with a lease of a minute ([`LEASE`]) that remembers [`CAPACITY`](Self::CAPACITY) events for 28 hours
    /// ([`RETRY_WINDOW`]).
    #[must_use]
    pub fn new() -> Self {
        Self {
            lease: LEASE,
            retention: RETRY_WINDOW,
            capacity: Self::CAPACITY,
            clock: clock::monotonic().map(|clock| Arc::new(clock) as Clock),
            memory: Mutex::default(),
        }
    }

    /// Sets how long a claim lasts unless it is renewed. Where nobody renews it (see [`once`](super::once)) it should be
    /// longer than the slowest handler: once it has run out, another try of the same event is handled side by side.
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

    /// Sets how many events are remembered at most, one at least. An event takes some 150 bytes.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Takes the time from `clock`: how long it has been since any fixed moment. For tests, and for WebAssembly, which has
    /// no clock of its own: without one every claim is an error there.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use shared_inbox_webhooks::replay::MemoryGuard;
    /// # fn milliseconds_since_1970() -> u64 { UNIX_EPOCH.elapsed().unwrap().as_millis() as u64 }
    ///
    /// let guard = MemoryGuard::new().clock(|| Duration::from_millis(milliseconds_since_1970()));
    /// # let _ = guard;
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// How many events are remembered now, handled and in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        let Ok(now) = self.now() else { return 0 };
        // A few at a time: others have their turn in between.
        while self.memory().forget_due(now, self.retention) == AT_ONCE {}
        let memory = self.memory();
        let claims = memory.claimed.range((now, FencingToken(u64::MAX))..).count();
        memory.done.len() + claims
    }

    /// Whether no event is remembered now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many handled events were forgotten before their time because the guard was full. Anything but 0 means that
    /// the capacity is too small for a day's events.
    #[must_use]
    pub fn forgotten_early(&self) -> u64 {
        self.memory().forgotten_early
    }

    fn now(&self) -> Result<Duration, GuardError> {
        let clock = self.clock.as_ref().ok_or_else(|| GuardError::new(clock::NoClock))?;
        Ok(clock())
    }

    /// A panic while the lock is held cannot leave half a change behind: every change is a few moves of memory.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, delivery: &Delivery) -> Result<Claim, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut memory = self.memory();
        memory.forget_due(now, self.retention);
        match memory.entries.get(&key).copied() {
            Some(entry) if entry.until > now => {
                return Ok(if entry.done { Claim::Done } else { Claim::InProgress });
            }
            Some(_) => memory.remove(key),
            None if memory.entries.len() < self.capacity || memory.make_room(now) => {}
            None => return Err(GuardError::new(MemoryFull)),
        }
        memory.last += 1;
        let fence = FencingToken(memory.last);
        memory.put(key, Entry { fence, done: false, until: now.saturating_add(self.lease) });
        Ok(Claim::Granted(fence))
    }

    /// What an entry becomes for whoever holds it, or held it last.
    fn change(
        &self,
        delivery: &Delivery,
        fence: FencingToken,
        next: impl FnOnce(Entry, Duration) -> Option<Change>,
    ) -> Result<ClaimStatus, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut memory = self.memory();
        memory.forget_due(now, self.retention);
        let held = memory.entries.get(&key).copied().filter(|entry| entry.fence == fence);
        Ok(match held.and_then(|entry| next(entry, now)) {
            None => ClaimStatus::Lost,
            Some(change) => {
                match change {
                    Change::Gone => memory.remove(key),
                    Change::To(entry) => {
                        memory.remove(key);
                        memory.put(key, entry);
                    }
                }
                ClaimStatus::Held
            }
        })
    }

    fn release_now(&self, delivery: &Delivery, fence: FencingToken) -> Result<ClaimStatus, GuardError> {
        self.change(delivery, fence, |entry, _| (!entry.done).then_some(Change::Gone))
    }

    fn forget_now(&self, delivery: &Delivery) -> Result<bool, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut memory = self.memory();
        let handled = memory.entries.get(&key).is_some_and(|entry| entry.done && entry.until > now);
        if handled {
            memory.remove(key);
        }
        Ok(handled)
    }
}

enum Change {
    Gone,
    To(Entry),
}

impl Memory {
    fn put(&mut self, key: Key, entry: Entry) {
        let order = if entry.done { &mut self.done } else { &mut self.claimed };
        order.insert((entry.until, entry.fence), key);
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: Key) {
        if let Some(entry) = self.entries.remove(&key) {
            let order = if entry.done { &mut self.done } else { &mut self.claimed };
            order.remove(&(entry.until, entry.fence));
        }
    }

    /// Forgets some of what is due, and says how many. A claim that ran out stays for a while, for its holder may still
    /// be at work and come to commit it.
    fn forget_due(&mut self, now: Duration, retention: Duration) -> usize {
        let mut forgotten = 0;
        for (order, longer) in [(&mut self.claimed, retention), (&mut self.done, Duration::ZERO)] {
            while forgotten < AT_ONCE
                && let Some(first) = order.first_entry()
                && first.key().0.saturating_add(longer) <= now
            {
                self.entries.remove(&first.remove());
                forgotten += 1;
            }
        }
        forgotten
    }

    /// Makes room for one: a claim that ran out, or else what was handled longest ago. False when there is neither.
    fn make_room(&mut self, now: Duration) -> bool {
        let oldest = match self.claimed.first_entry() {
            Some(claim) if claim.key().0 <= now => claim.remove(),
            _ => {
                let Some(((until, _), key)) = self.done.pop_first() else { return false };
                self.forgotten_early += u64::from(until > now);
                key
            }
        };
        self.entries.remove(&oldest).is_some()
    }
}

impl ReplayGuard for MemoryGuard {
    fn lease_time(&self) -> Duration {
        self.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> Answer<'a, Claim> {
        Box::pin(ready(self.claim_now(delivery)))
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> Answer<'a, ClaimStatus> {
        let longer = |entry: Entry, now: Duration| {
            (!entry.done).then_some(Change::To(Entry { until: now.saturating_add(self.lease), ..entry }))
        };
        Box::pin(ready(self.change(delivery, fence, longer)))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> Answer<'a, ClaimStatus> {
        let done = |entry: Entry, now: Duration| {
            Some(Change::To(Entry { done: true, until: now.saturating_add(self.retention), ..entry }))
        };
        Box::pin(ready(self.change(delivery, fence, done)))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> Answer<'a, ClaimStatus> {
        Box::pin(ready(self.release_now(delivery, fence)))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> Answer<'a, bool> {
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

/// Every place of a [`MemoryGuard`] is taken by an event in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the replay guard is full of events in progress: raise its capacity, or look for handlers that hang")]
pub struct MemoryFull;
