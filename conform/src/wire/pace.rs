//! The pace of the suite: the one place that knows the SDK's rate limiter, and the clock that everything waits by.

use std::{fmt, sync::Arc, time::Duration};

use shared_inbox::{
    rate_limit::{AcquireRequest, MemoryLimiter, Permit, Priority, RateLimiter},
    retry::Clock,
};

use crate::conform::stop::Stop;

/// How long a request waits for its place in the limit.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Keeps the requests of one key below the rate limit.
pub(crate) struct Pace {
    limiter: MemoryLimiter,
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").finish_non_exhaustive()
    }
}

/// Leave to send one request.
pub(crate) struct Turn(Permit);

impl Turn {
    /// The request was answered, or failed on the way.
    pub(crate) fn done(self) {
        self.0.finished();
    }

    /// The service answered 429.
    pub(crate) fn throttled(self, retry_after: Option<Duration>) {
        self.0.throttled(retry_after);
    }
}

impl Pace {
    pub(crate) fn new(budget: u32, clock: Arc<dyn Clock>) -> Self {
        Self { limiter: MemoryLimiter::with_clock(budget, clock) }
    }

    /// Waits until a request may be sent.
    pub(crate) async fn turn(&self) -> Result<Turn, Stop> {
        let request = AcquireRequest::new(Priority::ReadBack).max_wait(MAX_WAIT);
        let permit = self.limiter.acquire(request).await;
        permit.map(Turn).map_err(|error| Stop::Gone(format!("the rate limit leaves no room: {error}")))
    }

    /// Waits until so many requests can follow each other without a wait, for checks in which time matters.
    pub(crate) async fn reserve(&self, requests: usize) -> Result<(), Stop> {
        let mut turns = Vec::with_capacity(requests);
        for _ in 0..requests {
            turns.push(self.turn().await?);
        }
        turns.into_iter().for_each(|turn| turn.0.give_up());
        Ok(())
    }
}
