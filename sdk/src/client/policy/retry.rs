//! The retry policy.

use std::time::Duration;

use crate::model::setters;

/// How often a call is repeated, and how long it waits in between.
///
/// The waits double each time, with up to as much again of jitter, and never exceed
/// [`max_delay`](Self::max_delay); a `Retry-After` of the service is kept up to
/// [`max_retry_after`](Self::max_retry_after). The call as a whole ends with its
/// [`deadline`](crate::ClientBuilder::deadline).
///
/// ```
/// use shared_inbox::retry::RetryPolicy;
/// use std::time::Duration;
///
/// let persistent = RetryPolicy::default().attempts(10).max_delay(Duration::from_secs(60));
/// let once = RetryPolicy::never();
/// # let _ = (persistent, once);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub(crate) attempts: u32,
    pub(crate) first_delay: Duration,
    pub(crate) max_delay: Duration,
    pub(crate) max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// Five attempts, 0.5 to 20 seconds apart, `Retry-After` up to a minute.
    fn default() -> Self {
        Self {
            attempts: 5,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(20),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns a policy of one attempt.
    #[must_use]
    pub fn never() -> Self {
        Self::default().attempts(1)
    }

    setters! {
        /// Sets how often a request is sent at most, at least once.
        #[must_use]
        attempts(attempts: u32) attempts = attempts.max(1);
        /// Sets the shortest wait before the second attempt.
        #[must_use]
        first_delay(delay: Duration) first_delay = delay;
        /// Sets the longest wait between attempts, with jitter.
        #[must_use]
        max_delay(delay: Duration) max_delay = delay;
        /// Sets the longest `Retry-After` that is honoured; a longer one is cut to this.
        #[must_use]
        max_retry_after(delay: Duration) max_retry_after = delay;
    }
}
