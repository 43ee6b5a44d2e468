//! A replay guard in the memory of one process: bounded, and as exact as one process can be.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Claim, Delivery, ReplayGuard, Ticket};

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Remembers events in this process. Share one between all handlers, in an `Arc` or a `static`.
///
/// It forgets when the process ends; a handler whose effects must not be repeated even then needs a guard on a store that
/// lasts. Full, it forgets the oldest handled event first ([`forgotten_early`](Self::forgotten_early) counts them); only
/// when every place is taken by an event in progress does it refuse a claim.
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
    clock: Clock,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    entries: HashMap<Arc<str>, Entry>,
    /// The same keys in the order in which they fall due: a lease and a retention are each as long for all.
    claimed: VecDeque<(Arc<str>, Entry)>,
    done: VecDeque<(Arc<str>, Entry)>,
    tickets: u128,
    forgotten_early: u64,
}

#[derive(Clone, Copy, PartialEq)]
struct Entry {
    /// None once the event has been handled.
    claim: Option<Ticket>,
    until: Instant,
}

impl MemoryGuard {
    /// How long the service may repeat an event: its eight pauses, each a fifth longer than planned, add up to 27 hours
    /// and a quarter; 28 hours with the tries themselves.
    pub const RETRY_WINDOW: Duration = Duration::from_secs(28 * 60 * 60);
    /// How long a claim lasts unless it ends before.
    pub const LEASE: Duration = Duration::from_secs(60);
    /// How many events are remembered at most.
    pub const CAPACITY: usize = 100_000;

    /// A guard with the three values above.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lease: Self::LEASE,
            retention: Self::RETRY_WINDOW,
            capacity: Self::CAPACITY,
            clock: Arc::new(Instant::now),
            memory: Mutex::default(),
        }
    }

    /// Sets how long a claim lasts. It should be longer than the slowest handler: once it has run out, another try of the
    /// same event is handled side by side.
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

    /// Sets how many events are remembered at most, one at least. An event takes some 300 bytes.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Takes the time from `clock`, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Forgets that an event was handled, so that its next delivery is handled again; says whether it was remembered. For
    /// an event that somebody redelivers by hand because its handler did the wrong thing: it has the id that it always
    /// had. An event in progress is left alone.
    ///
    /// ```
    /// use shared_inbox_webhooks::replay::{Delivery, MemoryGuard, Once, once};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let guard = MemoryGuard::new();
    /// let delivery = Delivery { endpoint: "orders", event: "evt_1" };
    /// let handler = || async { Ok::<_, std::io::Error>(()) };
    /// assert_eq!(once(&guard, delivery, handler()).await.unwrap(), Once::Ran(()));
    /// assert!(guard.forget(delivery));
    /// assert_eq!(once(&guard, delivery, handler()).await.unwrap(), Once::Ran(()));
    /// # }
    /// ```
    pub fn forget(&self, delivery: Delivery<'_>) -> bool {
        let mut memory = self.memory();
        memory.forget_due((self.clock)());
        let key = key(delivery);
        let handled = memory.entries.get(&*key).is_some_and(|entry| entry.claim.is_none());
        if handled {
            memory.entries.remove(&*key);
        }
        handled
    }

    /// How many events are remembered now, handled and in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut memory = self.memory();
        memory.forget_due((self.clock)());
        memory.entries.len()
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

    /// A panic while the lock is held cannot leave half a change behind: every change is a few moves of memory.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, delivery: Delivery<'_>) -> Result<Claim, MemoryFull> {
        let now = (self.clock)();
        let key = key(delivery);
        let mut memory = self.memory();
        memory.forget_due(now);
        match memory.entries.get(&*key) {
            Some(Entry { claim: None, .. }) => return Ok(Claim::Done),
            Some(Entry { claim: Some(_), .. }) => return Ok(Claim::InProgress),
            None => {}
        }
        if memory.entries.len() >= self.capacity && !memory.forget_oldest() {
            return Err(MemoryFull);
        }
        memory.tickets += 1;
        let ticket = Ticket(memory.tickets);
        memory.insert(key, Entry { claim: Some(ticket), until: later(now, self.lease) });
        Ok(Claim::Granted(ticket))
    }

    fn commit_now(&self, delivery: Delivery<'_>) -> Result<(), MemoryFull> {
        let now = (self.clock)();
        let mut memory = self.memory();
        memory.forget_due(now);
        let key = key(delivery);
        // A claim that ran out has lost its place; the fact that the event was handled is worth another's.
        if !memory.entries.contains_key(&*key)
            && memory.entries.len() >= self.capacity
            && !memory.forget_oldest()
        {
            return Err(MemoryFull);
        }
        memory.insert(key, Entry { claim: None, until: later(now, self.retention) });
        Ok(())
    }

    fn release_now(&self, delivery: Delivery<'_>, ticket: Ticket) {
        let mut memory = self.memory();
        let key = key(delivery);
        if memory.entries.get(&*key).is_some_and(|entry| entry.claim == Some(ticket)) {
            memory.entries.remove(&*key);
        }
    }
}

impl Memory {
    fn insert(&mut self, key: Arc<str>, entry: Entry) {
        let order = if entry.claim.is_some() { &mut self.claimed } else { &mut self.done };
        order.push_back((Arc::clone(&key), entry));
        self.entries.insert(key, entry);
        // What was released or replaced stays in line until its turn; not for longer than it is worth.
        if order.len() > 2 * self.entries.len() + 64 {
            order.retain(|(key, entry)| self.entries.get(key) == Some(entry));
        }
    }

    /// Forgets everything whose time has come.
    fn forget_due(&mut self, now: Instant) {
        for order in [&mut self.claimed, &mut self.done] {
            while order
                .front()
                .is_some_and(|(key, entry)| entry.until <= now || self.entries.get(key) != Some(entry))
            {
                if let Some((key, entry)) = order.pop_front() {
                    // A key that was claimed again, or handled since, has another entry by now and keeps it.
                    if self.entries.get(&key) == Some(&entry) {
                        self.entries.remove(&key);
                    }
                }
            }
        }
    }

    /// Makes room by forgetting what was handled longest ago; false when nothing was handled.
    fn forget_oldest(&mut self) -> bool {
        while let Some((key, entry)) = self.done.pop_front() {
            if self.entries.get(&key) == Some(&entry) {
                self.entries.remove(&key);
                self.forgotten_early += 1;
                return true;
            }
        }
        false
    }
}

impl ReplayGuard for MemoryGuard {
    type Error = MemoryFull;

    async fn claim(&self, delivery: Delivery<'_>) -> Result<Claim, MemoryFull> {
        self.claim_now(delivery)
    }

    async fn commit(&self, delivery: Delivery<'_>) -> Result<(), MemoryFull> {
        self.commit_now(delivery)
    }

    async fn release(&self, delivery: Delivery<'_>, ticket: Ticket) -> Result<(), MemoryFull> {
        self.release_now(delivery, ticket);
        Ok(())
    }

    fn abandon(&self, delivery: Delivery<'_>, ticket: Ticket) {
        self.release_now(delivery, ticket);
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

/// The length in front keeps `("a", "bc")` and `("ab", "c")` apart.
fn key(delivery: Delivery<'_>) -> Arc<str> {
    format!("{}:{}{}", delivery.endpoint.len(), delivery.endpoint, delivery.event).into()
}

/// A time too far ahead for the clock to express is as good as a century.
fn later(now: Instant, by: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    now.checked_add(by.min(CENTURY)).unwrap_or(now)
}
