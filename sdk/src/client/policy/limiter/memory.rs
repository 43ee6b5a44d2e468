//! The limiter of one process.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::acquire::{Slots, acquire};
use super::schedule::{Refusal, Rules, Schedule, Slot};
use super::{AcquireRequest, LimitError, Permit, PermitOutcome, RateLimiter};
use crate::client::policy::clock::{BoxFuture, Clock, TokioClock};
use crate::limits;

/// The longest pause, and the longest request.
const MAX_PAUSE: Duration = Duration::from_secs(86_400);

/// Keeps the limit in any 60 seconds, for all clones of a client together.
///
/// A call that cannot be sent at once gets a slot, first come, first served, or fails at once if the slot
/// would be too late. Calls that wait are evenly spaced, at most twice as fast as the limit allows on
/// average. Of a limit of 120, read-backs may use all, interactive calls 110 and bulk calls 90. Bulk calls
/// reserve only a few seconds ahead, after all others, and leave them the last 20 free places; 10 places in
/// any minute are guaranteed to bulk calls.
///
/// A request counts from its slot, or from its end if it took more than a second: it may have reached the
/// service that late.
///
/// After a 429 nothing is sent for a while, and then three quarters of what this process sent in the minute
/// before. A tenth of the limit is restored every minute.
#[derive(Debug)]
pub struct MemoryLimiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    rules: Rules,
    /// The origin of all times in milliseconds.
    start: Instant,
    state: Mutex<State>,
    bulk: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    schedule: Schedule,
    /// Until when each sent request counts, and its id. A slow one counts longer than its place was reserved.
    counted: BTreeSet<(u64, u64)>,
    /// Requests in flight, and when each has ended at the latest.
    running: HashMap<u64, (Slot, u64)>,
    /// When slow requests are next checked.
    next_look: u64,
    permits: u64,
}

impl State {
    /// Counts requests in flight from now on: they may not have reached the service yet.
    fn count_running(&mut self, rules: Rules, now: u64) {
        if now >= self.next_look {
            self.next_look = now + rules.slack() / 4;
            let Self { schedule, counted, running, .. } = self;
            running.retain(|id, (slot, latest)| {
                if now > slot.at + rules.slack() {
                    count_from(schedule, counted, rules, *id, slot, now.min(*latest));
                }
                now < *latest
            });
        }
        while self.counted.first().is_some_and(|(until, _)| *until <= now) {
            self.counted.pop_first();
        }
    }
}

/// Counts the request of a slot from `at`.
fn count_from(
    schedule: &mut Schedule,
    counted: &mut BTreeSet<(u64, u64)>,
    rules: Rules,
    id: u64,
    slot: &mut Slot,
    at: u64,
) {
    let at = at.max(slot.at);
    schedule.keep_until(*slot, at + rules.span());
    counted.remove(&(slot.at + rules.span(), id));
    counted.insert((at + rules.span(), id));
    slot.at = at;
}

impl MemoryLimiter {
    /// Creates a limiter that allows `limit` requests in any 60 seconds: at least one, and at most 100,000. A
    /// client needs 2.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self::with_clock(limit, Arc::new(TokioClock))
    }

    /// Creates a limiter with another clock.
    #[must_use]
    pub fn with_clock(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self::with_rules(Rules::new(limit, limits::RATE_WINDOW), clock)
    }

    /// Creates a limiter for another window than 60 seconds, as for a mock that counts over less.
    #[must_use]
    pub fn with_window(limit: u32, window: Duration) -> Self {
        Self::with_rules(Rules::new(limit, window), Arc::new(TokioClock))
    }

    fn with_rules(rules: Rules, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            schedule: Schedule::new(rules),
            counted: BTreeSet::new(),
            running: HashMap::new(),
            next_look: 0,
            permits: 0,
        };
        let start = clock.now();
        Self(Arc::new(Shared { clock, rules, start, state: Mutex::new(state), bulk: Default::default() }))
    }

    /// Lets no request go before `until`, by the limiter's clock. For a limiter of yours that falls back to
    /// this one, and knows of requests that it has not counted.
    pub fn pause_until(&self, until: Instant) {
        let until = self.0.millis(until);
        self.0.now().0.schedule.close_until(until);
    }
}

impl Shared {
    fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start);
        self.rules.span() + u64::try_from(since.as_millis()).unwrap_or(u64::MAX / 4)
    }

    /// Returns the state as of now, and the time.
    fn now(&self) -> (MutexGuard<'_, State>, u64) {
        // No code panics while it holds the lock, so a poisoned state is consistent.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.millis(self.clock.now());
        state.count_running(self.rules, now);
        (state, now)
    }

    fn end(&self, id: u64, outcome: PermitOutcome) {
        let (mut state, now) = self.now();
        let State { schedule, counted, running, .. } = &mut *state;
        if let Some((mut slot, _)) = running.remove(&id) {
            if outcome == PermitOutcome::GivenUp {
                counted.remove(&(slot.at + self.rules.span(), id));
                schedule.give_back(slot);
            } else if now > slot.at + self.rules.slack() {
                count_from(schedule, counted, self.rules, id, &mut slot, now);
            }
        }
        if let PermitOutcome::Throttled { retry_after } = outcome {
            schedule.throttle(retry_after.map(millis), now);
        }
    }
}

/// A slot. Dropping it gives it back unless it was used.
struct ReservedSlot {
    limiter: Arc<Shared>,
    slot: Option<Slot>,
}

impl Drop for ReservedSlot {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.limiter.now().0.schedule.give_back(slot);
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.min(MAX_PAUSE).as_millis()).unwrap_or(u64::MAX / 4)
}

impl Slots for Arc<Shared> {
    type Slot = ReservedSlot;

    async fn reserve(&self, request: &AcquireRequest, ends: Instant) -> Result<ReservedSlot, Refusal> {
        let (mut state, now) = self.now();
        let left = millis(ends.saturating_duration_since(self.clock.now()));
        let slot = state.schedule.reserve(request.priority, now, left)?;
        Ok(ReservedSlot { limiter: Self::clone(self), slot: Some(slot) })
    }

    async fn claim(&self, mut held: ReservedSlot, request: &AcquireRequest, ends: Instant) -> Option<Permit> {
        loop {
            let wait = held.slot?.at.saturating_sub(self.now().1);
            if wait > 0 {
                self.clock.sleep(Duration::from_millis(wait)).await;
            }
            let (mut state, now) = self.now();
            let slot = held.slot.as_mut()?;
            if now < slot.at {
                continue;
            }
            let (span, slack) = (self.rules.span(), self.rules.slack());
            if now > slot.at + slack || state.schedule.closed_until() > now {
                drop(state);
                return None;
            }
            let full = state.counted.len() >= self.rules.limit;
            if let Some((until, _)) = state.counted.first().copied().filter(|_| full) {
                // Slow requests still count, and keep this place longer.
                if until > self.millis(ends).min(now + self.rules.near()) {
                    state.schedule.keep_until(*slot, until);
                    held.slot = None;
                    return None;
                }
                state.schedule.keep_until(*slot, until + span);
                slot.at = until;
                continue;
            }
            let id = state.permits;
            state.permits += 1;
            state.counted.insert((slot.at + span, id));
            state.running.insert(id, (*slot, now.saturating_add(millis(request.max_hold))));
            held.slot = None;
            let limiter = Self::clone(self);
            return Some(Permit::new(move |outcome| limiter.end(id, outcome)));
        }
    }

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn bulk_queue(&self) -> &tokio::sync::Mutex<()> {
        &self.bulk
    }
}

impl RateLimiter for MemoryLimiter {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(acquire(&self.0, request))
    }
}
