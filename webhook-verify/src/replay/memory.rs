//! A replay guard in the memory of one process, with a bounded size.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
use super::{LEASE, RETRY_WINDOW};
use crate::clock;

type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// How many events share a lock, up to [`MAX_SHARDS`] locks.
const EVENTS_PER_SHARD: usize = 8192;
const MAX_SHARDS: usize = 64;

/// Remembers events in this process. Share one between all handlers, in an `Arc` or inside [`Handlers`](super).
///
/// **It forgets when the process ends**: an event that is repeated across a restart is handled again. A handler whose effects
/// must not be repeated even then needs a guard on a persistent store, or a [transaction](super::TransactionalInbox). A full
/// guard forgets handled events early, oldest first ([`forgotten_early`](Self::forgotten_early) counts them), and refuses a claim
/// only when none is left to forget. Above 16,384 events it has up to 64 parts, each with its own limit.
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
    shards: Vec<Mutex<Shard>>,
    /// The fence of the last claim.
    last: AtomicU64,
    forgotten_early: AtomicU64,
}

type Shard = HashMap<Key, Entry>;

/// Half of the SHA-256 of a delivery, which is unique.
type Key = u128;

fn key(delivery: &Delivery) -> Key {
    // The length separates the endpoint from the event.
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

impl Entry {
    fn is_over(&self, now: Duration) -> bool {
        self.until <= now
    }

    /// An expired claim is kept for a while: its holder may still commit it.
    fn is_due(&self, now: Duration, retention: Duration) -> bool {
        self.is_over(now) && (self.done || self.until.saturating_add(retention) <= now)
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
            shards: shards(Self::CAPACITY),
            last: AtomicU64::new(0),
            forgotten_early: AtomicU64::new(0),
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

    /// Sets how many events are remembered at most, one at least. An event takes some 150 bytes.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        for shard in std::mem::replace(&mut self.shards, shards(self.capacity)) {
            for (key, entry) in shard.into_inner().unwrap_or_else(PoisonError::into_inner) {
                self.shard(key).insert(key, entry);
            }
        }
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
        let live = |shard| lock(shard).values().filter(|entry| !entry.is_over(now)).count();
        self.shards.iter().map(live).sum()
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
        self.forgotten_early.load(Relaxed)
    }

    fn now(&self) -> Result<Duration, GuardError> {
        let clock = self.clock.as_ref().ok_or_else(|| GuardError::new(clock::NoClock))?;
        Ok(clock())
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(key % self.shards.len() as Key) as usize])
    }

    fn claim_now(&self, delivery: &Delivery) -> Result<Claim, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut shard = self.shard(key);
        match shard.get(&key) {
            Some(entry) if !entry.is_over(now) => {
                return Ok(if entry.done { Claim::Done } else { Claim::InProgress });
            }
            Some(_) => {}
            None => self.make_room(&mut shard, now)?,
        }
        let fence = FencingToken(self.last.fetch_add(1, Relaxed) + 1);
        shard.insert(key, Entry { fence, done: false, until: now.saturating_add(self.lease) });
        Ok(Claim::Granted(fence))
    }

    /// Makes room for one entry: removes expired entries before the map grows, and the oldest ones when it is full.
    fn make_room(&self, shard: &mut Shard, now: Duration) -> Result<(), GuardError> {
        let capacity = self.capacity / self.shards.len();
        if shard.len() < shard.capacity().min(capacity) {
            return Ok(());
        }
        shard.retain(|_, entry| !entry.is_due(now, self.retention));
        if shard.len() < capacity {
            return Ok(());
        }
        // Expired claims first, then the oldest events; several at a time, because all entries have to be scanned.
        let spare = shard.iter().filter(|(_, entry)| entry.done || entry.is_over(now));
        let mut spare: Vec<_> =
            spare.map(|(key, entry)| (entry.done, entry.until, entry.fence, *key)).collect();
        let several = (capacity / 1024).clamp(1, spare.len().max(1));
        if spare.is_empty() {
            return Err(GuardError::new(MemoryFull));
        }
        spare.select_nth_unstable(several - 1);
        for (done, .., key) in &spare[..several] {
            shard.remove(key);
            self.forgotten_early.fetch_add(u64::from(*done), Relaxed);
        }
        Ok(())
    }

    /// Changes the entry with this fence, if there is one and `change` returns true.
    fn change(
        &self,
        delivery: &Delivery,
        fence: FencingToken,
        change: impl FnOnce(&mut Entry, Duration) -> bool,
    ) -> Result<ClaimStatus, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut shard = self.shard(key);
        let held = shard.get_mut(&key).filter(|entry| entry.fence == fence);
        let changed = held.is_some_and(|entry| change(entry, now));
        Ok(if changed { ClaimStatus::Held } else { ClaimStatus::Lost })
    }

    fn remove_if(
        &self,
        delivery: &Delivery,
        condition: impl FnOnce(&Entry, Duration) -> bool,
    ) -> Result<bool, GuardError> {
        let (now, key) = (self.now()?, key(delivery));
        let mut shard = self.shard(key);
        let removed = shard.get(&key).is_some_and(|entry| condition(entry, now));
        if removed {
            shard.remove(&key);
        }
        Ok(removed)
    }

    fn release_now(&self, delivery: &Delivery, fence: FencingToken) -> Result<ClaimStatus, GuardError> {
        let released = self.remove_if(delivery, |entry, _| entry.fence == fence && !entry.done)?;
        Ok(if released { ClaimStatus::Held } else { ClaimStatus::Lost })
    }
}

fn shards(capacity: usize) -> Vec<Mutex<Shard>> {
    std::iter::repeat_with(Mutex::default).take((capacity / EVENTS_PER_SHARD).clamp(1, MAX_SHARDS)).collect()
}

/// Locks a shard. A panic while the lock is held leaves the map consistent.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReplayGuard for MemoryGuard {
    fn lease_time(&self) -> Duration {
        self.lease
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(ready(self.claim_now(delivery)))
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let renewed = self.change(delivery, fence, |entry, now| {
            entry.until = if entry.done { entry.until } else { now.saturating_add(self.lease) };
            !entry.done
        });
        Box::pin(ready(renewed))
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        let committed = self.change(delivery, fence, |entry, now| {
            (entry.done, entry.until) = (true, now.saturating_add(self.retention));
            true
        });
        Box::pin(ready(committed))
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(ready(self.release_now(delivery, fence)))
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        Box::pin(ready(self.remove_if(delivery, |entry, now| entry.done && !entry.is_over(now))))
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
