//! The limiter of one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::acquire::{BulkQueue, Reservation, Slots, acquire};
use super::places::{Answer, Claim, Places, Rules, Slot};

use super::{AcquireRequest, LimitError, Permit, PermitOutcome, RateLimiter};
use crate::client::policy::clock::{BoxFuture, Clock, TokioClock};

/// No pause and no request lasts longer.
const MAX_PAUSE: Duration = Duration::from_secs(86_400);

/// Never more than the limit in any 60 seconds, for all clones of a client together.
///
/// A call that cannot be sent at once is given a slot, first come, first served, or is refused at once if the slot would come
/// too late. Calls that wait go evenly spaced, at most twice as fast as the limit allows on average. Of a limit of 120,
/// read-backs may use all, interactive calls 110 and bulk calls 90, so that a long background job neither keeps a person
/// waiting for a minute nor leaves a lost response unsettled. Bulk calls reserve only a few seconds ahead and go after
/// all others; but 10 in any minute are theirs, however many others wait.
///
/// A request counts from its slot, or from its end if it took more than a second: it may have reached the service as late as
/// that.
///
/// After a 429 nothing is sent for a while, and then three quarters of what this process had sent in the minute before; a
/// tenth of the limit comes back with every minute.
///
/// ```
/// use shared_inbox::{AcquireRequest, LimitError, MemoryLimiter, Priority, RateLimiter};
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limiter = MemoryLimiter::new(2);
/// limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap().finished();
/// limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap().finished();
/// let third = limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await;
/// let Err(LimitError::Busy { wait, .. }) = third else { panic!() };
/// assert!(wait > Duration::from_secs(59));
/// # });
/// ```
#[derive(Debug)]
pub struct MemoryLimiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    rules: Rules,
    /// Times are counted from here.
    start: Instant,
    state: Mutex<State>,
    bulk: BulkQueue,
}

#[derive(Debug)]
struct State {
    places: Places,
    /// Requests that have not ended, and when they will have at the latest.
    running: HashMap<u64, (Slot, u64)>,
    permits: u64,
}

impl MemoryLimiter {
    /// Creates a limiter that allows `limit` requests in any 60 seconds: at least one, and at most 100,000.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self::with_clock(limit, Arc::new(TokioClock))
    }

    /// Creates a limiter with another clock.
    #[must_use]
    pub fn with_clock(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self::with_rules(Rules::per_minute(limit), clock)
    }

    pub(super) fn with_rules(rules: Rules, clock: Arc<dyn Clock>) -> Self {
        let state = State { places: Places::new(rules), running: HashMap::new(), permits: 0 };
        let start = clock.now();
        Self(Arc::new(Shared { clock, rules, start, state: Mutex::new(state), bulk: BulkQueue::default() }))
    }

    /// Sends nothing before then.
    #[cfg(feature = "redis")]
    pub(super) fn close_until(&self, until: Instant) {
        let until = self.0.millis(until);
        self.0.now().0.places.close_until(until);
    }
}

impl Shared {
    fn millis(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start);
        self.rules.span() + u64::try_from(since.as_millis()).unwrap_or(u64::MAX / 4)
    }

    /// The state as of now, and the time. Requests that are still running have not arrived yet, for all that is known.
    fn now(&self) -> (MutexGuard<'_, State>, u64) {
        // No code panics while it holds the lock, so the state behind a poisoned one is whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.millis(self.clock.now());
        let State { places, running, .. } = &mut *state;
        let slack = self.rules.slack();
        running.retain(|_, (slot, latest)| {
            if now > slot.at + slack {
                places.postpone(slot, now.min(*latest));
            }
            now < *latest
        });
        (state, now)
    }

    fn end(&self, id: u64, outcome: PermitOutcome) {
        let (mut state, now) = self.now();
        let running = state.running.remove(&id);
        if let (PermitOutcome::GivenUp, Some((slot, _))) = (outcome, running) {
            state.places.release(slot, now);
        }
        if let PermitOutcome::Throttled { retry_after } = outcome {
            state.places.throttle(retry_after.map(millis), now);
        }
    }
}

/// A slot that is given back unless it is used.
struct Held {
    limiter: Arc<Shared>,
    slot: Option<Slot>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            let (mut state, now) = self.limiter.now();
            state.places.give_back(slot, now);
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.min(MAX_PAUSE).as_millis()).unwrap_or(u64::MAX / 4)
}

impl Slots for Arc<Shared> {
    type Slot = Held;

    async fn reserve(
        &self,
        request: &AcquireRequest,
        ends: Instant,
    ) -> Result<Reservation<Held>, LimitError> {
        let (mut state, now) = self.now();
        let left = millis(ends.saturating_duration_since(self.clock.now()));
        Ok(match state.places.reserve(request.priority, now, left) {
            Answer::Reserved(slot) => {
                Reservation::Reserved(Held { limiter: Self::clone(self), slot: Some(slot) })
            }
            Answer::TooLong { wait } => Reservation::TooLong { wait: Duration::from_millis(wait) },
            Answer::ComeBack { after } => Reservation::ComeBack { after: Duration::from_millis(after) },
        })
    }

    async fn claim(&self, mut held: Held, request: &AcquireRequest) -> Option<Permit> {
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
            match state.places.claim(slot, now) {
                Claim::Delayed => continue,
                Claim::Lost => held.slot = None,
                Claim::Ready => {
                    let id = state.permits;
                    state.permits += 1;
                    state.running.insert(id, (*slot, now.saturating_add(millis(request.max_hold))));
                    held.slot = None;
                    let limiter = Self::clone(self);
                    return Some(Permit::new(move |outcome| limiter.end(id, outcome)));
                }
            }
            return None;
        }
    }

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn bulk_queue(&self) -> &BulkQueue {
        &self.bulk
    }
}

impl RateLimiter for MemoryLimiter {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(acquire(&self.0, request))
    }
}
