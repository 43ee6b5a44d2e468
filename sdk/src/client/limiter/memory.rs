//! The limiter of one process: a log of the last send times. A token bucket would let twice the limit through in its first
//! minute; a log is exact, and at 120 entries it is small.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Lane, LimitError, RateLimiter};
use crate::client::clock::{BoxFuture, Clock, TokioClock};
use crate::limits;

/// Requests can arrive closer together than they left (the first of them had to connect), so each is remembered a little
/// longer than the service's minute.
const SLACK: Duration = Duration::from_secs(1);
const SPAN: Duration = limits::RATE_WINDOW.saturating_add(SLACK);
/// The first pause after a 429 that does not say how long; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Never more than the limit in any 60 seconds, for all clones of a client together.
///
/// Urgent lanes go first; within a lane, first come, first served. Of a limit of 120, read-backs may use all, interactive
/// calls 110 and bulk calls 90, so that a long background job neither keeps a person waiting for a minute nor leaves a
/// lost answer unsettled.
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
    /// Who waits, in the order in which they may go. Only the first watches the time; it wakes the next.
    queue: BTreeMap<(Lane, u64), Arc<Notify>>,
    tickets: u64,
    /// What a 429 left of the limit.
    capacity: u32,
    /// Nothing is sent before this.
    closed_until: Option<Instant>,
    /// 429s without a quiet span between them.
    strikes: u32,
    /// When the capacity last changed.
    learned_at: Option<Instant>,
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
            tickets: 0,
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

    /// Sends at once if nobody is ahead, else takes a place in the queue.
    fn enter(&self, lane: Lane, patience: Duration) -> Result<Option<Place<'_>>, LimitError> {
        let mut state = self.state();
        let now = self.clock.now();
        state.refresh(now, self.limit);
        let ahead = state.queue.range(..(lane, u64::MAX)).count();
        let wait = state.wait(now, lane, ahead);
        if ahead == 0 && wait.is_zero() {
            state.sent.push_back(now);
            return Ok(None);
        }
        if wait > patience || patience.is_zero() {
            return Err(LimitError::Busy { wait });
        }
        let key = (lane, state.tickets);
        state.tickets += 1;
        let turn = Arc::new(Notify::new());
        state.queue.insert(key, Arc::clone(&turn));
        Ok(Some(Place { limiter: self, key, turn }))
    }

    /// What the holder of a place can do now.
    fn step(&self, place: &Place<'_>) -> Step {
        let mut state = self.state();
        let now = self.clock.now();
        state.refresh(now, self.limit);
        let ahead = state.queue.range(..place.key).count();
        let wait = state.wait(now, place.key.0, ahead);
        if ahead > 0 {
            return Step::Queued { wait };
        }
        if wait.is_zero() {
            // Counted and out of the queue under one lock: dropping the future can neither lose nor keep a place.
            state.sent.push_back(now);
            state.leave(place.key);
            return Step::Go;
        }
        Step::First { wait }
    }
}

enum Step {
    Go,
    /// The first in the queue: goes when this has passed.
    First {
        wait: Duration,
    },
    /// Others go first: will be woken.
    Queued {
        wait: Duration,
    },
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

    fn leave(&mut self, key: (Lane, u64)) {
        let was_first = self.queue.first_key_value().is_some_and(|(first, _)| *first == key);
        self.queue.remove(&key);
        if was_first && let Some((_, next)) = self.queue.first_key_value() {
            next.notify_one();
        }
    }
}

/// A place in the queue; given up when dropped.
struct Place<'a> {
    limiter: &'a MemoryLimiter,
    key: (Lane, u64),
    turn: Arc<Notify>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.limiter.state().leave(self.key);
    }
}

impl RateLimiter for MemoryLimiter {
    fn acquire(&self, lane: Lane, patience: Duration) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async move {
            let started = self.clock.now();
            let Some(place) = self.enter(lane, patience)? else { return Ok(()) };
            loop {
                let (first, wait) = match self.step(&place) {
                    Step::Go => return Ok(()),
                    Step::First { wait } => (true, wait),
                    Step::Queued { wait } => (false, wait),
                };
                let left = patience.saturating_sub(self.clock.now().saturating_duration_since(started));
                if left.is_zero() {
                    return Err(LimitError::Busy { wait });
                }
                let pause = if first { wait.min(left) } else { left };
                tokio::select! {
                    () = place.turn.notified() => {}
                    () = self.clock.sleep(pause) => {}
                }
            }
        })
    }

    fn throttled(&self, retry_after: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async move {
            let mut state = self.state();
            let now = self.clock.now();
            state.refresh(now, self.limit);
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
}
