//! A call from first to last: the rate limit, the attempts, the waits between them.

use std::time::{Duration, Instant};

use http::StatusCode;
use tracing::Instrument;

use super::attempts::{Budget, Next, next};
use super::core::Core;
use super::wire::{HttpResponse, Outgoing};
use crate::Idempotency;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::{AcquireRequest, Options, Permit};

/// How long a service is tried to connect to that was never reached.
const FIRST_CONTACT_TIMEOUT: Duration = Duration::from_secs(3);
/// No attempt takes longer, whatever its time.
const LONGEST: Duration = Duration::from_secs(86_400);

impl Core {
    /// Sends until it is answered, or nothing more can be done.
    pub(crate) async fn run(&self, out: &Outgoing, options: &Options) -> Result<HttpResponse> {
        let span = tracing::info_span!("shared_inbox.call", otel.name = %out.label, otel.kind = "internal");
        async {
            let mut budget = self.budget(options);
            let mut certainty = Certainty::NotSent;
            loop {
                let error = match self.send(out, options, &mut budget).await {
                    Ok(response) => return Ok(HttpResponse { attempts: budget.attempts(), ..response }),
                    Err(error) => error,
                };
                certainty = certainty.max(error.certainty());
                let pause = match next(&error, out.repeat) {
                    Next::Again => self.pause_after(&error, &mut budget),
                    Next::Look | Next::Stop => None,
                };
                let Some(pause) = pause else {
                    let error = error.repeatable(out.repeat == Idempotency::Harmless).at_least(certainty);
                    return Err(error.for_call(&out.label, budget.attempts()));
                };
                self.pause(&error, pause).await;
            }
        }
        .instrument(span)
        .await
    }

    pub(crate) fn budget(&self, options: &Options) -> Budget {
        let clock = &self.clock;
        Budget::new(options.retry, clock.clone(), options.ends(clock.now()))
    }

    /// How long to wait after this failure; none when another attempt would not help or has no time.
    pub(crate) fn pause_after(&self, error: &Error, budget: &mut Budget) -> Option<Duration> {
        let pause = budget.pause_after(error)?;
        let is_outage = self.contact.was_ever_made() || !error.is_connect();
        (is_outage || budget.elapsed() + pause < FIRST_CONTACT_TIMEOUT).then_some(pause)
    }

    pub(crate) async fn pause(&self, error: &Error, pause: Duration) {
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(wait_ms, "error.type" = %error.error_type(), "trying again");
        self.clock.sleep(pause).await;
    }

    /// One attempt: waits for the rate limit, and sends.
    pub(crate) async fn send(
        &self,
        out: &Outgoing,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<HttpResponse> {
        let place = self.place(options, budget, Duration::ZERO).await?;
        self.send_in(place, out, options, budget).await
    }

    /// Waits for a place in the rate limit. It can be held for a while before something is sent in it.
    pub(crate) async fn place(&self, options: &Options, budget: &Budget, held: Duration) -> Result<Place> {
        if let Some(problem) = &options.headers.problem {
            return Err(Error::config("header", problem));
        }
        let left = budget.left();
        if left.is_zero() {
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        let patience = left.min(options.max_wait);
        let lasts = held.saturating_add(options.timeout).min(LONGEST);
        let ask = AcquireRequest::new(options.priority).max_wait(patience).max_hold(lasts).key(self.key);
        let not_sent = |error| Error::new(Cause::Limit(error), Certainty::NotSent);
        let permit = self.limiter.acquire(ask).await.map_err(not_sent)?;
        Ok(Place { permit, ends: self.clock.now() + lasts })
    }

    /// Sends in this place, and tells the limiter what came of it. When dropped on the way, the place counts as used.
    pub(crate) async fn send_in(
        &self,
        place: Place,
        out: &Outgoing,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<HttpResponse> {
        let good_for = place.ends.saturating_duration_since(self.clock.now());
        let timeout = options.timeout.min(budget.left()).min(good_for);
        if timeout.is_zero() {
            place.give_up();
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        let result = self.attempt(out, &options.headers.map, timeout, budget.attempts()).await;
        budget.spend_attempt();
        match &result {
            Err(error) if error.status() == Some(StatusCode::TOO_MANY_REQUESTS) => {
                place.permit.throttled(budget.asked(error));
            }
            _ => place.permit.finished(),
        }
        result
    }
}

/// A place in the rate limit, and until when something can be sent in it.
pub(crate) struct Place {
    permit: Permit,
    ends: Instant,
}

impl Place {
    /// Nothing will be sent in it.
    pub(crate) fn give_up(self) {
        self.permit.give_up();
    }
}
