//! Decides whether a failed attempt is repeated, and after how long. The delays come from `backon`; the cap,
//! the attempt limit, the deadline and the decision are here, because they decide whether a customer gets an
//! email twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use http::StatusCode;

use crate::client::error::{Cause, Certainty, Error};
use crate::client::policy::{Clock, RetryPolicy};
use crate::operation::Idempotency;

/// The attempts and the time that a call has left, and the next delay.
pub(crate) struct Budget {
    policy: RetryPolicy,
    clock: Arc<dyn Clock>,
    started: Instant,
    deadline: Instant,
    delays: ExponentialBackoff,
    attempts: u32,
    /// How long it has waited for the rate limit, in milliseconds.
    waited: AtomicU64,
}

impl Budget {
    pub(crate) fn new(policy: RetryPolicy, clock: Arc<dyn Clock>, deadline: Instant) -> Self {
        // The cap is applied below: backon adds its jitter on top of its own.
        let delays = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(policy.first_delay)
            .with_max_delay(policy.max_delay)
            .without_max_times()
            .build();
        let started = clock.now();
        Self { policy, clock, started, deadline, delays, attempts: 0, waited: AtomicU64::new(0) }
    }

    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock.now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.now().saturating_duration_since(self.started)
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    pub(crate) fn spend_attempt(&mut self) {
        self.attempts += 1;
    }

    /// Adds a wait for the rate limit, and returns all of them together.
    pub(crate) fn add_wait(&self, wait: Duration) -> Duration {
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX / 2);
        Duration::from_millis(self.waited.fetch_add(wait, Ordering::Relaxed).saturating_add(wait))
    }

    pub(crate) fn may_send_again(&self) -> bool {
        self.attempts < self.policy.attempts && !self.left().is_zero()
    }

    /// Returns how long to wait after this failure, or `None` when no attempt or no time is left.
    pub(crate) fn pause_after(&mut self, error: &Error) -> Option<Duration> {
        if !self.may_send_again() {
            return None;
        }
        let own = self.delays.next().unwrap_or(self.policy.max_delay).min(self.policy.max_delay);
        let pause = self.retry_after(error).map_or(own, |asked| own.max(asked));
        (pause < self.left()).then_some(pause)
    }

    /// Returns the `Retry-After` of a failure, capped.
    pub(crate) fn retry_after(&self, error: &Error) -> Option<Duration> {
        let Cause::Status(response) = error.cause() else { return None };
        response.retry_after().map(|wait| wait.min(self.policy.max_retry_after))
    }
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Send it again.
    Again,
    /// It may have taken effect: look first.
    Look,
    /// Neither helps.
    Stop,
}

/// Decides what to do after this failure: the retry rule.
pub(crate) fn decide_retry(error: &Error, repeat: Idempotency) -> RetryDecision {
    let passing = match error.cause() {
        // Refused before it took effect, or never sent: every operation can be sent again.
        Cause::Connect(..) => return RetryDecision::Again,
        Cause::Status(response) if response.status == StatusCode::TOO_MANY_REQUESTS => {
            return RetryDecision::Again;
        }
        Cause::Status(response) => response.can_pass(),
        Cause::Timeout(..) | Cause::Dropped(..) => true,
        // Another server responds at this address, and would again.
        Cause::Redirected(_) => return RetryDecision::Stop,
        _ => false,
    };
    match repeat {
        Idempotency::Harmless if passing => RetryDecision::Again,
        Idempotency::Verify if error.certainty() == Certainty::Unknown => RetryDecision::Look,
        _ => RetryDecision::Stop,
    }
}
