//! A place in the rate limit stands for one request. A count that lives elsewhere has to know which request ended, and how;
//! so that is said of the permit.

use std::fmt;
use std::time::Duration;

use super::{KeyFingerprint, Priority};

/// A request for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcquireRequest {
    /// How urgent it is.
    pub priority: Priority,
    /// How long the caller waits for it: not at all, unless set.
    pub max_wait: Duration,
    /// When the permit will have ended at the latest, counted from when it is given: 30 seconds unless set. A request that
    /// nothing more was heard of by then (its process may have died) can have been sent as late as that.
    pub max_hold: Duration,
    /// The key that the request is made with, for a limiter that counts for several. The client says it.
    pub key: Option<KeyFingerprint>,
}

impl AcquireRequest {
    /// A request of this lane, now or not at all.
    #[must_use]
    pub fn new(priority: Priority) -> Self {
        Self { priority, max_wait: Duration::ZERO, max_hold: Duration::from_secs(30), key: None }
    }

    /// Waits this long.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// The permit will have ended after this time.
    #[must_use]
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = max_hold;
        self
    }

    /// The request is made with this key.
    #[must_use]
    pub fn key(mut self, key: KeyFingerprint) -> Self {
        self.key = Some(key);
        self
    }
}

/// How the request of a permit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermitOutcome {
    /// It has a response, or failed on the way. It had to connect first and may have reached the service as late as now, so
    /// one that took long is to be counted from now on.
    Finished,
    /// It was never sent: the place is free again.
    GivenUp,
    /// The service responded with 429 although the limit was kept: others use the key too.
    #[non_exhaustive]
    Throttled {
        /// The `Retry-After` of the response, if it has one.
        retry_after: Option<Duration>,
    },
    /// Nobody said: the call was dropped on the way. It may have been sent, as late as now.
    Dropped,
}

/// Leave to send one request; made by a [`RateLimiter`](crate::rate_limit::RateLimiter).
///
/// It can be held for a while before the request is sent, as long as all of it is over in the time that was
/// [asked for](AcquireRequest::max_hold). What came of the request is said by one of the methods; a permit that is dropped without a word
/// counts as sent.
///
/// ```
/// use shared_inbox::{rate_limit::{AcquireRequest, Priority, LimitError, MemoryLimiter, RateLimiter}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limiter = MemoryLimiter::new(1);
/// let permit = limiter.acquire(AcquireRequest::new(Priority::Interactive)).await?;
/// assert!(limiter.acquire(AcquireRequest::new(Priority::Interactive)).await.is_err());
/// permit.give_up(); // there was nothing to send after all
/// assert!(limiter.acquire(AcquireRequest::new(Priority::Interactive)).await.is_ok());
/// # Ok::<(), LimitError>(())
/// # }).unwrap();
/// ```
#[must_use = "a permit that is dropped counts as sent"]
pub struct Permit(Option<Box<dyn FnOnce(PermitOutcome) + Send + Sync>>);

impl Permit {
    /// For limiters: a permit whose end is told to `on_end`, once. That must not block; a limiter that has to tell others
    /// hands it on.
    pub fn new(on_end: impl FnOnce(PermitOutcome) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(on_end)))
    }

    /// Ends the permit of a request that has a response, or failed on the way.
    pub fn finished(self) {
        self.end(PermitOutcome::Finished);
    }

    /// The request was not sent and will not be.
    pub fn give_up(self) {
        self.end(PermitOutcome::GivenUp);
    }

    /// Ends the permit of a request to which the service responded with 429; `retry_after` is its `Retry-After`.
    pub fn throttled(self, retry_after: Option<Duration>) {
        self.end(PermitOutcome::Throttled { retry_after });
    }

    fn end(mut self, ending: PermitOutcome) {
        if let Some(on_end) = self.0.take() {
            on_end(ending);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(on_end) = self.0.take() {
            on_end(PermitOutcome::Dropped);
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
