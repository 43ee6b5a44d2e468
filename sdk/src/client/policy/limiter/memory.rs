//! The limiter of one process: a log of the last send times. A token bucket would let twice the limit through in its first
//! minute; a log is exact, and at 120 entries it is small.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::window::{Measure, Ticket, Window};
use super::{Ask, LimitError, Permit, RateLimiter};
use crate::client::policy::clock::{BoxFuture, Clock, TokioClock};

/// Never more than the limit in any 60 seconds, for all clones of a client together.
///
/// Urgent lanes go first; within a lane, first come, first served. Of a limit of 120, read-backs may use all, interactive
/// calls 110 and bulk calls 90, so that a long background job neither keeps a person waiting for a minute nor leaves a
/// lost answer unsettled. Where interactive calls alone use up the limit, bulk calls that have waited for half a minute go
/// first, 10 in any minute.
///
/// A request counts from when it is let through, or from its end if it took more than a second: it may have reached the
/// service as late as that.
///
/// After a 429 nothing is sent for a while, and the share of the limit that this process uses shrinks to less than it had
/// used when it was refused; it grows back step by step in every quiet minute.
///
/// ```
/// use shared_inbox::{Ask, Lane, LimitError, MemoryLimiter, RateLimiter};
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limiter = MemoryLimiter::new(2);
/// limiter.acquire(Ask::new(Lane::ReadBack)).await.unwrap().finished();
/// limiter.acquire(Ask::new(Lane::ReadBack)).await.unwrap().finished();
/// let Err(LimitError::Busy { wait, .. }) = limiter.acquire(Ask::new(Lane::ReadBack)).await else { panic!() };
/// assert!(wait > Duration::from_secs(59));
/// # });
/// ```
#[derive(Debug)]
pub struct MemoryLimiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    window: Mutex<Window>,
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
        Self::over(Measure::MINUTE, limit, clock)
    }

    /// The same over another span.
    pub(super) fn over(measure: Measure, limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared { clock, window: Mutex::new(Window::new(limit, measure)) }))
    }

    /// Lets nothing through before then.
    #[cfg(feature = "redis")]
    pub(super) fn close_until(&self, until: Instant) {
        self.0.at_present().0.close_until(until);
    }
}

impl Shared {
    /// The window as of now, and the moment.
    fn at_present(&self) -> (MutexGuard<'_, Window>, Instant) {
        // No code panics while it holds the lock, so a poisoned window is still whole.
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        window.refresh(now);
        (window, now)
    }

    /// Sends at once if nobody is ahead, else takes a place in the queue.
    fn enter(&self, ask: Ask) -> Result<Result<Ticket, Place<'_>>, LimitError> {
        let (mut window, now) = self.at_present();
        let (ticket, wait) = window.arrive(ask.lane, now);
        if wait.is_zero() {
            window.send(ticket, ask, now);
            return Ok(Ok(ticket));
        }
        if wait > ask.patience {
            return Err(LimitError::Busy { wait });
        }
        let turn = Arc::new(Notify::new());
        window.queue(ticket, now, &turn);
        Ok(Err(Place { limiter: self, ticket, ask, since: now, turn }))
    }
}

/// A place in the queue; given up when dropped.
struct Place<'a> {
    limiter: &'a Shared,
    ticket: Ticket,
    ask: Ask,
    since: Instant,
    turn: Arc<Notify>,
}

impl Place<'_> {
    fn claim(&self) -> (Result<(), Duration>, Instant) {
        let (mut window, now) = self.limiter.at_present();
        (window.claim(self.ticket, self.ask, self.since, &self.turn, now), now)
    }

    async fn turn(self) -> Result<Ticket, LimitError> {
        let clock = &self.limiter.clock;
        loop {
            let (claimed, now) = self.claim();
            let Err(wait) = claimed else { return Ok(self.ticket) };
            let left = self.ask.patience.saturating_sub(now.saturating_duration_since(self.since));
            if left.is_zero() {
                return Err(LimitError::Busy { wait });
            }
            tokio::select! {
                () = self.turn.notified() => {}
                () = clock.sleep(wait.min(left).max(Duration::from_millis(1))) => {}
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let (mut window, now) = self.limiter.at_present();
        window.leave(self.ticket);
        window.refresh(now);
    }
}

impl RateLimiter for MemoryLimiter {
    fn acquire(&self, ask: Ask) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async move {
            let ticket = match self.0.enter(ask)? {
                Ok(ticket) => ticket,
                Err(place) => place.turn().await?,
            };
            let limiter = Arc::clone(&self.0);
            Ok(Permit::new(move |ending| {
                let (mut window, now) = limiter.at_present();
                window.end(ticket, ending, now);
                window.refresh(now);
            }))
        })
    }
}
