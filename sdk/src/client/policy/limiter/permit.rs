//! A permit stands for one request, and reports to its limiter how that request ended.

use std::fmt;
use std::time::Duration;

use super::{KeyFingerprint, Priority};
use crate::model::setters;

/// A request for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcquireRequest {
    /// How urgent it is.
    pub priority: Priority,
    /// How long the caller waits: not at all, unless set.
    pub max_wait: Duration,
    /// How long the permit is held at most: 30 seconds unless set. A request whose permit has not ended by
    /// then (its process may have died) counts as sent at that time.
    pub max_hold: Duration,
    /// The key that the request is made with, for a limiter that counts for several. Set by the client.
    pub key: Option<KeyFingerprint>,
}

impl AcquireRequest {
    /// Creates a request of this priority that does not wait.
    #[must_use]
    pub fn new(priority: Priority) -> Self {
        Self { priority, max_wait: Duration::ZERO, max_hold: Duration::from_secs(30), key: None }
    }

    setters! {
        /// Sets how long the caller waits.
        #[must_use]
        max_wait(max_wait: Duration) max_wait = max_wait;
        /// Sets how long the permit is held at most.
        #[must_use]
        max_hold(max_hold: Duration) max_hold = max_hold;
        /// Sets the key that the request is made with.
        #[must_use]
        key(key: KeyFingerprint) key = Some(key);
    }
}

/// How the request of a permit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermitOutcome {
    /// It has a response, or failed. It may have reached the service as late as now, so a slow one counts
    /// from now on.
    Finished,
    /// It was not sent: the place is free again.
    GivenUp,
    /// The service responded with 429 although the limit was kept: others use the key too.
    #[non_exhaustive]
    Throttled {
        /// The `Retry-After` of the response, if it has one.
        retry_after: Option<Duration>,
    },
    /// The permit was dropped. The request may have been sent, as late as now.
    Dropped,
}

/// Permission to send one request; made by a [`RateLimiter`](crate::rate_limit::RateLimiter).
///
/// The request must have ended within [`max_hold`](AcquireRequest::max_hold). Call one of the methods to
/// report how it ended; a permit that is dropped counts as sent.
#[must_use = "a permit that is dropped counts as sent"]
pub struct Permit(Option<Box<dyn FnOnce(PermitOutcome) + Send + Sync>>);

impl Permit {
    /// Creates a permit that calls `on_end` once, when it ends. For limiters. `on_end` must not block.
    pub fn new(on_end: impl FnOnce(PermitOutcome) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(on_end)))
    }

    /// Ends the permit of a request that has a response, or failed on the way.
    pub fn finished(self) {
        self.end(PermitOutcome::Finished);
    }

    /// Ends the permit of a request that was not sent and will not be.
    pub fn give_up(self) {
        self.end(PermitOutcome::GivenUp);
    }

    /// Ends the permit of a request to which the service responded with 429; `retry_after` is its
    /// `Retry-After`.
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
