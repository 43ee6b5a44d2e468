//! Runs a call: the rate limit, the attempts, the waits between them.

use std::time::{Duration, Instant};

use http::StatusCode;

use super::attempts::{Budget, RetryDecision, decide_retry};
use super::core::Core;
use super::telemetry;
use super::wire::{HttpResponse, Outgoing};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{AcquireRequest, BoxFuture, Options, Permit};
use crate::operation::Idempotency;

/// The longest attempt, whatever its timeout.
pub(crate) const MAX_ATTEMPT_TIME: Duration = Duration::from_secs(86_400);

impl Core {
    /// Sends until there is a response, or no attempt is left.
    ///
    /// Boxed, so that it is compiled here, and not again in every program that makes a call.
    pub(crate) fn run<'a>(
        &'a self,
        out: &'a Outgoing,
        options: &'a Options,
    ) -> BoxFuture<'a, Result<HttpResponse>> {
        Box::pin(async move {
            let mut budget = self.budget(options);
            let mut certainty = Certainty::NotSent;
            loop {
                let error = match self.send(out, options, &mut budget).await {
                    Ok(response) => return Ok(HttpResponse { attempts: budget.attempts(), ..response }),
                    Err(error) => error,
                };
                certainty = certainty.max(error.certainty());
                let pause = match decide_retry(&error, out.repeat) {
                    RetryDecision::Again => self.pause_after(&error, &mut budget),
                    RetryDecision::Look | RetryDecision::Stop => None,
                };
                let Some(pause) = pause else {
                    let error = error.repeatable(out.repeat == Idempotency::Harmless).at_least(certainty);
                    return Err(error.for_call(&out.label, budget.attempts()));
                };
                self.pause(&error, pause).await;
            }
        })
    }

    pub(crate) fn budget(&self, options: &Options) -> Budget {
        let clock = &self.clock;
        Budget::new(options.retry, clock.clone(), options.ends(clock.now()))
    }

    /// Returns how long to wait after this failure, or `None` when there is no other attempt.
    pub(crate) fn pause_after(&self, error: &Error, budget: &mut Budget) -> Option<Duration> {
        let pause = budget.pause_after(error)?;
        let is_in_time = || budget.elapsed().saturating_add(pause) < self.first_connection_timeout;
        (!self.was_never_reached(error) || is_in_time()).then_some(pause)
    }

    /// Returns whether this is a failed connection to a service that was never reached: a wrong host or port
    /// does not get better.
    pub(crate) fn was_never_reached(&self, error: &Error) -> bool {
        error.is_connect() && !self.contact.was_ever_made()
    }

    pub(crate) async fn pause(&self, error: &Error, pause: Duration) {
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(wait_ms, "error.type" = %error.error_type(), "trying again");
        self.clock.sleep(pause).await;
    }

    /// Makes one attempt: waits for the rate limit, and sends.
    pub(crate) async fn send(
        &self,
        out: &Outgoing,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<HttpResponse> {
        let held = self.acquire(options, budget, Duration::ZERO).await?;
        self.send_with(held, out, options, budget).await
    }

    /// Waits for a permit, which can be held for `hold_time` before a request is sent with it.
    pub(crate) async fn acquire(
        &self,
        options: &Options,
        budget: &Budget,
        hold_time: Duration,
    ) -> Result<HeldPermit> {
        if let Some(problem) = &options.headers.problem {
            return Err(Error::config("header", problem));
        }
        let left = budget.left();
        if left.is_zero() {
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        let max_wait = left.min(options.max_wait);
        let max_hold = hold_time.saturating_add(options.timeout).min(MAX_ATTEMPT_TIME);
        let request =
            AcquireRequest::new(options.priority).max_wait(max_wait).max_hold(max_hold).key(self.key);
        let not_sent = |error| Error::new(Cause::Limit(error), Certainty::NotSent);
        let asked = self.clock.now();
        let permit = self.limiter.acquire(request).await;
        let now = self.clock.now();
        let wait = now.saturating_duration_since(asked);
        telemetry::waited(wait, budget.add_wait(wait), options.priority);
        Ok(HeldPermit { permit: Some(permit.map_err(not_sent)?), ends: now + max_hold })
    }

    /// Sends with this permit, and reports the outcome to the limiter. Dropped midway, the permit counts as
    /// used.
    pub(crate) async fn send_with(
        &self,
        mut held: HeldPermit,
        out: &Outgoing,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<HttpResponse> {
        let left = held.ends.saturating_duration_since(self.clock.now());
        let timeout = options.timeout.min(budget.left()).min(left);
        if timeout.is_zero() {
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        let permit = held.permit.take();
        let result = self.attempt(out, &options.headers.map, timeout, budget.attempts()).await;
        budget.spend_attempt();
        match (permit, &result) {
            (Some(permit), Err(error)) if error.status() == Some(StatusCode::TOO_MANY_REQUESTS) => {
                permit.throttled(budget.retry_after(error));
            }
            (Some(permit), _) => permit.finished(),
            (None, _) => {}
        }
        result
    }
}

/// A permit, and until when a request can be sent with it. Dropped before that, it is given back unused.
pub(crate) struct HeldPermit {
    permit: Option<Permit>,
    ends: Instant,
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            permit.give_up();
        }
    }
}
