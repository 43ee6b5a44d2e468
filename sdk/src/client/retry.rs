//! When a failed attempt is repeated, and after how long. The delays come from `backon`; the cap, the attempt limit, the
//! deadline and the decision are kept here, because they decide whether a customer gets a mail twice.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use http::{HeaderMap, StatusCode, header};

use super::clock::Clock;
use super::error::{Cause, Certainty, Error};
use crate::Repeat;

/// How often and how patiently a call is repeated.
///
/// The waits double each time, with up to as much again of jitter, and never exceed [`max_delay`](Self::max_delay); a
/// `Retry-After` of the service is kept up to [`max_retry_after`](Self::max_retry_after). The call as a whole ends with its
/// [`deadline`](crate::ClientBuilder::deadline).
///
/// ```
/// use shared_inbox::RetryPolicy;
/// use std::time::Duration;
///
/// let patient = RetryPolicy::default().attempts(10).max_delay(Duration::from_secs(60));
/// let once = RetryPolicy::never();
/// # let _ = (patient, once);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
    max_retry_after: Duration,
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
    /// One attempt and no more.
    #[must_use]
    pub fn never() -> Self {
        Self::default().attempts(1)
    }

    /// How often a request is sent at most (at least once).
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The shortest wait before the second attempt.
    #[must_use]
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = delay;
        self
    }

    /// No wait of the client's own choice is longer, jitter included.
    #[must_use]
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// The longest `Retry-After` that is kept; a longer one counts as this.
    #[must_use]
    pub fn max_retry_after(mut self, delay: Duration) -> Self {
        self.max_retry_after = delay;
        self
    }
}

/// What remains to a call: attempts, time, and the next delay.
pub(crate) struct Budget {
    policy: RetryPolicy,
    clock: Arc<dyn Clock>,
    deadline: Instant,
    delays: ExponentialBackoff,
    attempts: u32,
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
        Self { policy, clock, deadline, delays, attempts: 0 }
    }

    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock.now())
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    pub(crate) fn spend_attempt(&mut self) {
        self.attempts += 1;
    }

    pub(crate) fn may_send_again(&self) -> bool {
        self.attempts < self.policy.attempts && !self.left().is_zero()
    }

    /// How long to wait after this failure; none when attempts or time do not suffice for another try.
    pub(crate) fn pause_after(&mut self, error: &Error) -> Option<Duration> {
        if !self.may_send_again() {
            return None;
        }
        let own = self.delays.next().unwrap_or(self.policy.max_delay).min(self.policy.max_delay);
        let pause = self.asked(error).map_or(own, |asked| own.max(asked));
        (pause < self.left()).then_some(pause)
    }

    /// The `Retry-After` of a failure, capped.
    pub(crate) fn asked(&self, error: &Error) -> Option<Duration> {
        match error.cause() {
            Cause::Status(answer) => retry_after(&answer.headers).map(|d| d.min(self.policy.max_retry_after)),
            _ => None,
        }
    }
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send it again.
    Again,
    /// It may have taken effect: look first.
    Look,
    /// Neither helps.
    Stop,
}

/// The retry rule, whole: what failed, and whether a repeat is harmless.
pub(crate) fn next(error: &Error, repeat: Repeat) -> Next {
    let passing = match error.cause() {
        // Refused before it took effect, or never sent: every operation can be sent again.
        Cause::Connect(_) => return Next::Again,
        Cause::Status(answer) if answer.status == StatusCode::TOO_MANY_REQUESTS => return Next::Again,
        Cause::Status(answer) => {
            answer.status == StatusCode::REQUEST_TIMEOUT
                || (answer.status.is_server_error() && answer.status != StatusCode::NOT_IMPLEMENTED)
        }
        Cause::Timeout(_) | Cause::Dropped(_) => true,
        // Somebody else answers at this address; they would again.
        Cause::Redirected(_) => return Next::Stop,
        _ => false,
    };
    match repeat {
        Repeat::Harmless if passing => Next::Again,
        Repeat::Verify if error.certainty() == Certainty::Unknown => Next::Look,
        _ => Next::Stop,
    }
}

/// `Retry-After` as a wait: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More seconds than a number can hold is "very long", which the cap turns into something sane.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    let date = SystemTime::from(date.timestamp());
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}
