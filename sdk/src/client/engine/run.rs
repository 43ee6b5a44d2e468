//! A call from first to last: the rate limit, the attempts, the waits between them.

use std::time::{Duration, Instant};

use http::StatusCode;
use tracing::Instrument;

use super::attempts::{Budget, Next, next};
use super::core::Core;
use super::wire::{Answer, Outgoing};
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::policy::Options;

impl Core {
    /// Sends until it is answered, or nothing more can be done.
    pub(crate) async fn run(&self, out: &Outgoing, options: &Options) -> Result<Answer> {
        let span = tracing::info_span!("shared_inbox.call", otel.name = %out.label, otel.kind = "internal");
        async {
            let mut budget = self.budget(options);
            let mut certainty = Certainty::NotSent;
            loop {
                let error = match self.send(out, options, &mut budget).await {
                    Ok(answer) => return Ok(Answer { attempts: budget.attempts(), ..answer }),
                    Err(error) => error,
                };
                certainty = certainty.max(error.certainty());
                let pause = match next(&error, out.repeat) {
                    Next::Again => budget.pause_after(&error),
                    Next::Look | Next::Stop => None,
                };
                let Some(pause) = pause else {
                    return Err(error.at_least(certainty).for_call(&out.label, budget.attempts()));
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

    pub(crate) async fn pause(&self, error: &Error, pause: Duration) {
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(wait_ms, "error.type" = %error.kind(), "trying again");
        self.clock.sleep(pause).await;
    }

    /// One attempt: waits for the rate limit, sends, and tells the limiter of a 429.
    pub(crate) async fn send(
        &self,
        out: &Outgoing,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<Answer> {
        let left = budget.left();
        if left.is_zero() {
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        let patience = if options.wait { left } else { Duration::ZERO };
        let not_sent = |error| Error::new(Cause::Limit(error), Certainty::NotSent);
        self.limiter.acquire(options.lane, patience).await.map_err(not_sent)?;
        let left = budget.left();
        if left.is_zero() {
            return Err(Error::new(Cause::Deadline, Certainty::NotSent));
        }
        // Told when dropped too: a call that is given up may have been sent.
        let let_through = LetThrough { core: self, at: self.clock.now() };
        let result = self.attempt(out, options.timeout.min(left), budget.attempts()).await;
        drop(let_through);
        budget.spend_attempt();
        if let Err(error) = &result
            && error.status() == Some(StatusCode::TOO_MANY_REQUESTS)
        {
            // A limiter that cannot be reached says so at the next request; the 429 is the news now.
            let told = self.limiter.throttled(budget.asked(error)).await;
            if let Err(error) = told {
                tracing::warn!(%error, "the rate limiter could not be told of a 429");
            }
        }
        result
    }
}

/// A request that the limiter has counted, until it is over.
struct LetThrough<'a> {
    core: &'a Core,
    at: Instant,
}

impl Drop for LetThrough<'_> {
    fn drop(&mut self) {
        let core = self.core;
        core.limiter.finished(core.clock.now().saturating_duration_since(self.at));
    }
}
