//! The limiter of one process: a log of the last send times. A token bucket would let twice the limit through in its first
//! minute; a log is exact, and at 120 entries it is small.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Lane, LimitError, RateLimiter};
use crate::client::policy::clock::{BoxFuture, Clock, TokioClock};
use crate::limits;

/// Requests can arrive closer together than they left, so each is remembered a little longer than the service's minute.
/// One that took longer than this to be answered is counted from its answer.
const SLACK: Duration = Duration::from_secs(1);
const SPAN: Duration = limits::RATE_WINDOW.saturating_add(SLACK);
/// The first pause after a 429 that does not say how long; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);
/// A bulk request that has waited for so long goes before interactive ones, at most one in every [`AGED_EVERY`].
const AGED: Duration = Duration::from_secs(75);
const AGED_EVERY: Duration = Duration::from_secs(6);

/// Never more than the limit in any 60 seconds, for all clones of a client together.
///
/// Urgent lanes go first; within a lane, first come, first served. Of a limit of 120, read-backs may use all, interactive
/// calls 110 and bulk calls 90, so that a long background job neither keeps a person waiting for a minute nor leaves a
/// lost answer unsettled. Where interactive calls alone use up the limit, a bulk call that has waited for 75 seconds goes
/// first, one every 6 seconds.
///
/// After a 429 nothing is sent for a while, and the share of the limit that this process uses shrinks to less than it had
/// used when it was refused; it grows back step by step in every quiet minute.
///
/// ```
/// use shared_inbox::{Lane, LimitError, MemoryLimiter, RateLimiter};
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limiter = MemoryLimiter::new(2);
/// limiter.acquire(Lane::Interactive, Duration::ZERO).await.unwrap();
/// limiter.acquire(Lane::Interactive, Duration::ZERO).await.unwrap();
/// let Err(LimitError::Busy { wait, .. }) = limiter.acquire(Lane::Interactive, Duration::ZERO).await else {
///     panic!("three at once");
/// };
/// assert!(wait > Duration::from_secs(59));
/// # });
/// ```
#[derive(Debug)]
pub struct MemoryLimiter {
    limit: u32,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When each request of the last span was sent, oldest first.
    sent: VecDeque<Instant>,
    /// Who waits, in the order in which they may go.
    queue: BTreeMap<Key, Waiter>,
    /// Who may go and has not noticed yet, with when they were counted. Whoever wakes first moves the queue on, so that
    /// nobody depends on the future of another being polled.
    granted: BTreeMap<Key, Instant>,
    tickets: u64,
    /// When a bulk request last went before interactive ones.
    aged_at: Option<Instant>,
    /// What a 429 left of the limit.
    capacity: u32,
    /// Nothing is sent before this.
    closed_until: Option<Instant>,
    /// 429s without a quiet span between them.
    strikes: u32,
    /// When the capacity last changed.
    learned_at: Option<Instant>,
}

type Key = (Lane, u64);

#[derive(Debug)]
struct Waiter {
    since: Instant,
    turn: Arc<Notify>,
}

impl MemoryLimiter {
    /// A limiter that allows `limit` requests in any 60 seconds (at least one).
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self::with_clock(limit, Arc::new(TokioClock))
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(limit: u32, clock: Arc<dyn Clock>) -> Self {
        let limit = limit.max(1);
        let state = State {
            sent: VecDeque::new(),
            queue: BTreeMap::new(),
            granted: BTreeMap::new(),
            tickets: 0,
            aged_at: None,
            capacity: limit,
            closed_until: None,
            strikes: 0,
            learned_at: None,
        };
        Self { limit, clock, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as of now, and the moment.
    fn at_present(&self) -> (MutexGuard<'_, State>, Instant) {
        let mut state = self.state();
        let now = self.clock.now();
        state.refresh(now, self.limit);
        state.advance(now);
        (state, now)
    }

    /// Sends at once if nobody is ahead, else takes a place in the queue.
    fn enter(&self, lane: Lane, patience: Duration) -> Result<Option<Place<'_>>, LimitError> {
        let (mut state, now) = self.at_present();
        let key = (lane, state.tickets);
        let wait = state.wait_of(key, now);
        if wait.is_zero() {
            state.sent.push_back(now);
            return Ok(None);
        }
        if wait > patience {
            return Err(LimitError::Busy { wait });
        }
        state.tickets += 1;
        let turn = Arc::new(Notify::new());
        state.queue.insert(key, Waiter { since: now, turn: Arc::clone(&turn) });
        Ok(Some(Place { limiter: self, key, turn }))
    }

    /// Takes the holder of a place through, or says how long to wait and when to look again.
    fn step(&self, place: &Place<'_>) -> Option<(Duration, Duration)> {
        let (mut state, now) = self.at_present();
        if let Some(at) = state.granted.remove(&place.key) {
            // Sent now, which may be later than it was counted. Out of the log, or after a 429, it has to wait again.
            if state.forget(at) && state.closed_until.is_none() {
                state.sent.push_back(now);
                return None;
            }
            state.queue.insert(place.key, Waiter { since: now, turn: Arc::clone(&place.turn) });
            state.advance(now);
        }
        let wait = state.wait_of(place.key, now);
        let aged = state.aged_bulk().filter(|(key, at)| *key == place.key && *at > now);
        Some((wait, aged.map_or(wait, |(_, at)| wait.min(at - now))))
    }
}

impl State {
    fn refresh(&mut self, now: Instant, limit: u32) {
        while self.sent.front().is_some_and(|at| now.saturating_duration_since(*at) >= SPAN) {
            self.sent.pop_front();
        }
        if self.closed_until.is_some_and(|until| until <= now) {
            self.closed_until = None;
        }
        while let Some(learned) = self.learned_at {
            if now.saturating_duration_since(learned) < SPAN {
                break;
            }
            self.strikes = 0;
            self.capacity = self.capacity.saturating_add((limit / 10).max(1)).min(limit);
            self.learned_at = if self.capacity < limit { Some(learned + SPAN) } else { None };
        }
    }

    /// How many a lane may have in any span.
    fn ceiling(&self, lane: Lane) -> usize {
        let left_for_others = match lane {
            Lane::ReadBack => 0,
            Lane::Interactive => self.capacity / 12,
            Lane::Bulk => self.capacity / 4,
        };
        (self.capacity - left_for_others).max(1) as usize
    }

    /// The bulk request that has waited longest, and when it may go before interactive ones.
    fn aged_bulk(&self) -> Option<(Key, Instant)> {
        let (key, waiter) = self.queue.range((Lane::Bulk, 0)..).next()?;
        let own = waiter.since + AGED;
        Some((*key, self.aged_at.map_or(own, |at| own.max(at + AGED_EVERY))))
    }

    /// Lets through whoever can go, in order.
    fn advance(&mut self, now: Instant) {
        while let Some((first, _)) = self.queue.first_key_value() {
            let aged = self.aged_bulk().filter(|(_, at)| *at <= now && first.0 != Lane::ReadBack);
            let key = aged.map_or(*first, |(key, _)| key);
            if !self.wait_of(key, now).is_zero() {
                return;
            }
            if aged.is_some() {
                self.aged_at = Some(now);
            }
            self.sent.push_back(now);
            self.granted.insert(key, now);
            if let Some(waiter) = self.queue.remove(&key) {
                waiter.turn.notify_one();
            }
        }
    }

    /// Takes a send back out of the log.
    fn forget(&mut self, at: Instant) -> bool {
        self.sent.binary_search(&at).is_ok_and(|index| self.sent.remove(index).is_some())
    }

    /// How long until this one can go.
    fn wait_of(&self, key: Key, now: Instant) -> Duration {
        match self.aged_bulk().filter(|(_, at)| *at <= now) {
            Some((aged, _)) if aged == key => {
                let read_backs = self.queue.range(..(Lane::Interactive, 0)).count();
                self.wait(now, Lane::Interactive, read_backs)
            }
            Some(_) if key.0 == Lane::Interactive => {
                self.wait(now, key.0, self.queue.range(..key).count() + 1)
            }
            _ => self.wait(now, key.0, self.queue.range(..key).count()),
        }
    }

    /// How long until a request of this lane can go, with so many others going before it.
    fn wait(&self, now: Instant, lane: Lane, ahead: usize) -> Duration {
        let closed = self.closed_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let ceiling = self.ceiling(lane);
        let used = self.sent.len();
        let full = if used + ahead < ceiling {
            Duration::ZERO
        } else {
            // The send that must be forgotten first. Beyond the log, every further lap through the limit is one more span.
            let index = used + ahead - ceiling;
            let (laps, index) = if index < used { (0, index) } else { (index / ceiling, index % ceiling) };
            let at = self.sent.get(index).or(self.sent.back()).copied().unwrap_or(now);
            (at + SPAN).saturating_duration_since(now) + SPAN * u32::try_from(laps).unwrap_or(u32::MAX / 128)
        };
        closed.max(full)
    }
}

/// A place in the queue; given up when dropped.
struct Place<'a> {
    limiter: &'a MemoryLimiter,
    key: Key,
    turn: Arc<Notify>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.queue.remove(&self.key);
        if let Some(at) = state.granted.remove(&self.key) {
            state.forget(at);
        }
        state.advance(self.limiter.clock.now());
    }
}

impl RateLimiter for MemoryLimiter {
    fn acquire(&self, lane: Lane, patience: Duration) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async move {
            let started = self.clock.now();
            let Some(place) = self.enter(lane, patience)? else { return Ok(()) };
            while let Some((wait, look_again)) = self.step(&place) {
                let left = patience.saturating_sub(self.clock.now().saturating_duration_since(started));
                if left.is_zero() {
                    return Err(LimitError::Busy { wait });
                }
                tokio::select! {
                    () = place.turn.notified() => {}
                    () = self.clock.sleep(look_again.min(left)) => {}
                }
            }
            Ok(())
        })
    }

    fn throttled(&self, retry_after: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async move {
            let mut state = self.state();
            let now = self.clock.now();
            state.refresh(now, self.limit);
            // Far enough in the future, and not beyond what a clock can hold.
            let retry_after = retry_after.map(|pause| pause.min(LONGEST_PAUSE));
            if let Some(until) = state.closed_until {
                // Requests that were under way together are refused together: one lesson.
                state.closed_until = Some(until.max(now + retry_after.unwrap_or_default()));
                return Ok(());
            }
            let pause = retry_after
                .unwrap_or_else(|| (FIRST_PAUSE * 2_u32.pow(state.strikes.min(6))).min(limits::RATE_WINDOW));
            let used = u32::try_from(state.sent.len()).unwrap_or(u32::MAX);
            state.strikes += 1;
            state.closed_until = Some(now + pause);
            state.capacity = (state.capacity.min(used) * 3 / 4).max((self.limit / 10).max(1));
            state.learned_at = Some(now);
            Ok(())
        })
    }

    fn finished(&self, took: Duration) {
        if took <= SLACK {
            return;
        }
        let (mut state, now) = self.at_present();
        // Its entry is the last one that is not younger than it.
        let let_through =
            now.checked_sub(took).map_or(0, |at| state.sent.partition_point(|sent| *sent <= at));
        if let_through > 0 {
            state.sent.remove(let_through - 1);
        }
        state.sent.push_back(now);
    }
}
