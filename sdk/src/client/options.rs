//! What can be set for a client as a whole and overridden for a single call.

use std::time::{Duration, Instant};

use super::limiter::Lane;
use super::retry::RetryPolicy;
use super::verify::Verification;

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) lane: Lane,
    /// For one attempt.
    pub(crate) timeout: Duration,
    /// For the call as a whole, waits included.
    pub(crate) deadline: Duration,
    /// When the call that this one is a part of must be over.
    pub(crate) must_end: Option<Instant>,
    pub(crate) retry: RetryPolicy,
    /// Whether to wait for the client's own rate limit.
    pub(crate) wait: bool,
    pub(crate) verification: Verification,
    /// How long a create may take to show in the timeline.
    pub(crate) settle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lane: Lane::Interactive,
            timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(120),
            must_end: None,
            retry: RetryPolicy::default(),
            wait: true,
            verification: Verification::Verified,
            settle: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// When a call that starts now must be over.
    pub(crate) fn ends(&self, now: Instant) -> Instant {
        // A time beyond what the clock can hold is as good as a year.
        let own = now.checked_add(self.deadline).unwrap_or_else(|| now + Duration::from_secs(365 * 86_400));
        self.must_end.map_or(own, |ends| ends.min(own))
    }

    /// The same for all parts of one call: the time that one takes is gone for the others.
    pub(crate) fn started(mut self, now: Instant) -> Self {
        self.must_end = Some(self.ends(now));
        self
    }
}

/// The overrides that every call has.
macro_rules! call_options {
    () => {
        /// Background work: goes after interactive calls and leaves a part of the rate limit for them.
        pub fn bulk(mut self) -> Self {
            self.options.lane = $crate::client::Lane::Bulk;
            self
        }

        /// The time for one attempt, instead of the client's.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.options.timeout = timeout;
            self
        }

        /// The time for the call as a whole, retries and waits included, instead of the client's.
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.options.deadline = deadline;
            self
        }

        /// How often to repeat, instead of the client's policy.
        pub fn retry(mut self, policy: $crate::client::RetryPolicy) -> Self {
            self.options.retry = policy;
            self
        }

        /// Fails at once when the client's own rate limit is used up, with an error that names the wait, instead of
        /// waiting.
        pub fn no_wait(mut self) -> Self {
            self.options.wait = false;
            self
        }
    };
}
pub(crate) use call_options;
