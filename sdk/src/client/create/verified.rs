//! Verified creates: a create is never repeated blindly. After a lost answer the conversation is read until the item shows,
//! or until it would have shown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::builder::{Create, Created};
use super::expected::{id, ids};
use super::ledger::Ledger;
use super::look::{Sighting, author, judge, ledger_of, read_for};
use crate::client::call::{check_scope, invalid, outgoing};
use crate::client::engine::{Budget, Next, Outgoing, decode, next};
use crate::client::error::{Certainty, Error, Expected, Result, Unconfirmed};
use crate::client::policy::{Lane, Options, RetryPolicy, Verification};
use crate::{Repeat, Scope};

/// The first wait before a read-back; doubles up to [`SLOWEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_millis(500);
const SLOWEST_LOOK: Duration = Duration::from_secs(4);

impl<I, O: DeserializeOwned> Create<I, O> {
    pub(super) async fn create(mut self, label: String) -> Result<Created<O>> {
        let payload = (self.kind.prepare)(&self.input).map_err(|problems| invalid(problems, &label))?;
        self.options = self.options.started(self.core.clock.now());
        let mut budget = self.core.budget(&self.options);
        let scope = self.scope();
        let before_sending = |error: Error| error.before_sending().for_call(&label, 0);
        let checked = check_scope(&self.core, self.kind.operation, scope, &self.options).await;
        checked.map_err(before_sending)?;
        let out = outgoing(&self.core, self.kind.operation, Some(&self.conversation), payload, scope)?;

        let clock = &self.core.clock;
        let ledger = ledger_of(&self.core, &self.ledgers, &self.conversation, budget.left()).await;
        let mut ledger = ledger.map_err(before_sending)?;
        let expected = (self.kind.expect)(&self.input);
        let before = self.before(&mut ledger).await.map_err(before_sending)?;

        let mut certainty = Certainty::NotSent;
        loop {
            let error = match self.send(&out, &mut budget).await {
                Ok(answer) => {
                    let id = (self.kind.id)(&answer);
                    ledger.record(expected, before, id, clock.now());
                    return Ok(Created { answer, recovered: false });
                }
                Err(error) => error,
            };
            certainty = certainty.max(error.certainty());
            let give_up = |error: Error| {
                let error = error.at_least(certainty);
                if certainty == Certainty::Unknown {
                    error.with_unconfirmed(Unconfirmed::new(&self.conversation, &expected, before.as_deref()))
                } else {
                    error
                }
            };
            match (next(&error, out.repeat), &before) {
                (Next::Again, _) => match budget.pause_after(&error) {
                    Some(pause) => self.core.pause(&error, pause).await,
                    None => return Err(give_up(error).for_call(&label, budget.attempts())),
                },
                (Next::Look, Some(before)) => {
                    let sighting = self.look(&expected, before, &mut ledger, &budget).await;
                    if let Some(Sighting::Found(item)) = &sighting
                        && let Some(answer) = (self.kind.recover)(item)
                    {
                        let id = id(item).map(str::to_owned);
                        ledger.record(expected, Some(Arc::clone(before)), id, clock.now());
                        return Ok(Created { answer, recovered: true });
                    }
                    // An answer in the 200s means that it was done, even if it is not there to be seen.
                    let done = error.status().is_some_and(|status| status.is_success());
                    if sighting != Some(Sighting::NotFound) || done || !budget.may_send_again() {
                        return Err(give_up(error).for_call(&label, budget.attempts()));
                    }
                    tracing::debug!("error.type" = %error.kind(), "not in the conversation; sending again");
                }
                (Next::Look | Next::Stop, _) => {
                    return Err(give_up(error).for_call(&label, budget.attempts()));
                }
            }
        }
    }

    fn scope(&self) -> &'static Scope {
        let operation = self.kind.operation;
        let sending = operation.scope_when_sending().filter(|_| (self.kind.sends)(&self.input));
        sending.unwrap_or(operation.scope())
    }

    async fn send(&self, out: &Outgoing, budget: &mut Budget) -> Result<O> {
        let answer = self.core.send(out, &self.options, budget).await?;
        decode(&answer)
    }

    /// What is in the conversation before the create; none when nobody will look.
    async fn before(&self, ledger: &mut Ledger) -> Result<Option<Arc<BTreeSet<String>>>> {
        if self.options.verification == Verification::Never {
            return Ok(None);
        }
        if let Some(seen) = &self.seen {
            return Ok(Some(Arc::new(seen.clone())));
        }
        let conversation = read_for(&self.core, &self.conversation, &self.options, ledger).await?;
        Ok(Some(Arc::new(ids(&conversation))))
    }

    /// Reads the conversation until the item is there, or the time is over in which it would show. None when no read
    /// could tell before the call's time was up.
    async fn look(
        &self,
        expected: &Expected,
        before: &BTreeSet<String>,
        ledger: &mut Ledger,
        budget: &Budget,
    ) -> Option<Sighting> {
        let clock = &self.core.clock;
        let started = clock.now();
        let mut delay = FIRST_LOOK;
        loop {
            let settling = self.options.settle.saturating_sub(clock.now().saturating_duration_since(started));
            let pause = if settling.is_zero() { delay } else { delay.min(settling) };
            if pause >= budget.left() {
                return None;
            }
            clock.sleep(pause).await;
            delay = (delay * 2).min(SLOWEST_LOOK);
            match self.sight(expected, before, ledger).await {
                Ok(found @ Sighting::Found(_)) => return Some(found),
                Ok(sighting) => {
                    if clock.now().saturating_duration_since(started) >= self.options.settle {
                        return Some(sighting);
                    }
                }
                Err(error) if next(&error, Repeat::Harmless) == Next::Again => {
                    tracing::debug!("error.type" = %error.kind(), "the read-back failed");
                }
                // The conversation, or the key, is gone: no later read will tell more.
                Err(_) => return None,
            }
        }
    }

    /// One read-back, with the capacity that is kept for them.
    async fn sight(
        &self,
        expected: &Expected,
        before: &BTreeSet<String>,
        ledger: &mut Ledger,
    ) -> Result<Sighting> {
        let options =
            Options { lane: Lane::ReadBack, retry: RetryPolicy::never(), wait: true, ..self.options.clone() };
        let conversation = read_for(&self.core, &self.conversation, &options, ledger).await?;
        let author = author(&self.core, expected, &options).await?;
        Ok(judge(&conversation, before, expected, author, ledger))
    }
}
