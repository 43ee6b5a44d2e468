//! Executes a create, which is never repeated blindly. After a lost response the conversation is read until
//! the item shows, or until it would have shown. When nothing new could be the item then, the create is sent
//! again at once, and never a third time.

use std::time::{Duration, Instant};

use super::builder::{CreateRequest, keys};
use super::input::{CreateInput, Created};
use super::lease::Lease;
use super::read_back::{FIRST_LOOK_INTERVAL, Lookup, MAX_LOOK_INTERVAL, look, read_back, recent_creates};
use crate::client::call::{Response, body, check_scope, invalid, outgoing};
use crate::client::create_state::{Baseline, Expected, RecentCreates, UnconfirmedCreate};
use crate::client::engine::{Budget, HeldPermit, Outgoing, RetryDecision, decide_retry, decode};
use crate::client::error::{Certainty, Result};
use crate::client::policy::{Options, Priority, RetryPolicy, Verification, after};
use crate::{Problem, Problems, Scope, operation::Idempotency};

/// How long a permit is held for the read before it is used.
const MAX_HOLD_TIME: Duration = Duration::from_secs(120);
/// How long to wait for a second permit while holding one: a permit is free again after more than a minute,
/// so a shorter wait never waits for the held one.
const MAX_WAIT_WITH_PERMIT: Duration = Duration::from_secs(60);
/// An older read does not show what was in the conversation when the request was sent.
const MAX_READ_AGE: Duration = Duration::from_secs(1);

/// The progress of a create.
struct Progress {
    create: UnconfirmedCreate,
    /// When it was last sent.
    sent_at: Option<Instant>,
    /// How many requests were lost.
    lost: u32,
    certainty: Certainty,
}

/// The outcome of the read-backs after a lost response.
enum Outcome<O> {
    Found(O),
    /// Nothing was found; with a permit to send it again.
    SendAgain(HeldPermit),
    /// Unclear, or it may not be sent again.
    Unknown,
}

impl<I: CreateInput> CreateRequest<I> {
    pub(super) async fn create(mut self, label: String) -> Result<Response<I::Output>> {
        let payload = body(&self.input).and_then(|payload| self.check_options().map(|()| payload));
        let payload = payload.map_err(|problems| invalid(problems, &label))?;
        self.options = self.options.started(self.core.clock.now());
        let mut budget = self.core.budget(&self.options);
        let scope = self.scope();
        let checked = check_scope(&self.core, I::OPERATION, scope, &self.options).await;
        checked.map_err(|error| error.before(&label))?;
        let out = outgoing(&self.core, I::OPERATION, Some(&self.conversation), payload, scope)?;
        let result = match &self.once {
            Some(key) => self.create_once(key, &out, &mut budget).await,
            None => return self.create_now(&out, &mut budget, None).await,
        };
        result.map_err(|error| error.repeatable(true).for_call(&label, budget.attempts()))
    }

    /// Creates it, with a lease where it has a key.
    pub(super) async fn create_now(
        &self,
        out: &Outgoing,
        budget: &mut Budget,
        lease: Option<&Lease>,
    ) -> Result<Response<I::Output>> {
        let label = &out.label;
        let recent = recent_creates(&self.core, &self.conversation, budget.left()).await;
        let mut recent = recent.map_err(|error| error.before(label))?;
        recent.begin(self.core.clock.now());
        let (create, certainty) = (self.unconfirmed_since(Baseline::default()), Certainty::NotSent);
        let mut progress = Progress { create, sent_at: None, lost: 0, certainty };
        let result = self.execute(out, &mut progress, budget, &mut recent, lease).await;
        result.map_err(|error| {
            if progress.certainty < Certainty::Unknown {
                recent.cancel();
                return error.for_call(label, budget.attempts());
            }
            recent.begin(self.core.clock.now());
            let clock = &self.core.service_clock;
            let baseline = progress.create.baseline.updated(clock);
            let sent_by = clock.reading().zip(progress.sent_at).map(|(reading, at)| reading.latest(at));
            error
                .at_least(Certainty::Unknown)
                .with_unconfirmed(UnconfirmedCreate { baseline, sent_by, ..progress.create })
                .for_call(label, budget.attempts())
        })
    }

    async fn execute(
        &self,
        out: &Outgoing,
        progress: &mut Progress,
        budget: &mut Budget,
        recent: &mut RecentCreates,
        lease: Option<&Lease>,
    ) -> Result<Response<I::Output>> {
        let mut reserved = None;
        loop {
            let permit = match reserved.take() {
                Some(permit) => permit,
                None => self.reserve(out, progress, budget, recent).await?,
            };
            if let Some(lease) = lease {
                lease.ensure(self.options.timeout).await?;
            }
            recent.send(&progress.create, self.core.clock.now());
            let response = self.core.send_with(permit, out, &self.options, budget).await;
            progress.sent_at = Some(self.core.clock.now());
            let error = match response.and_then(|response| Ok((decode::<I::Output>(&response)?, response))) {
                Ok((value, response)) => {
                    match value.item_id() {
                        Some(id) => recent.found(&progress.create.expected, id, self.core.clock.now()),
                        None => recent.confirm(progress.create.baseline.updated(&self.core.service_clock)),
                    }
                    return Ok(Response::received(value, response, budget.attempts()));
                }
                Err(error) => error,
            };
            progress.certainty = progress.certainty.max(error.certainty());
            progress.lost += u32::from(error.certainty() == Certainty::Unknown);
            let pause = match decide_retry(&error, out.repeat) {
                RetryDecision::Again => match self.core.pause_after(&error, budget) {
                    Some(pause) => pause,
                    None => return Err(error),
                },
                RetryDecision::Look if self.options.verification != Verification::Never => {
                    self.options.visibility_timeout.max(budget.retry_after(&error).unwrap_or_default())
                }
                RetryDecision::Look | RetryDecision::Stop => return Err(error),
            };
            if progress.lost == 0 {
                self.core.pause(&error, pause).await;
                continue;
            }
            // A permanent failure, or a response in the 200s that cannot be read, is looked up and never
            // repeated.
            let again =
                progress.lost == 1 && decide_retry(&error, Idempotency::Harmless) == RetryDecision::Again;
            match self.recover(progress, recent, budget, pause, again).await {
                Outcome::Found(value) => return Ok(Response::read_back(value, budget.attempts())),
                Outcome::SendAgain(free) => {
                    tracing::debug!("error.type" = %error.error_type(), "not in the conversation; sending again");
                    reserved = Some(free);
                }
                Outcome::Unknown => return Err(error),
            }
        }
    }

    fn scope(&self) -> &'static Scope {
        let sends = matches!(self.input.expected(), Expected::Message { send: true, .. });
        I::OPERATION.scope_when_sending().filter(|_| sends).unwrap_or(I::OPERATION.scope())
    }

    /// Refuses a read of another conversation, and an empty key.
    fn check_options(&self) -> Result<(), Problems> {
        match &self.seen {
            Some(seen) if seen.conversation != self.conversation => {
                Err(Problem::new("seen", "must be a read of the conversation in which this is created")
                    .into())
            }
            _ if self.once.as_deref() == Some("") => Err(Problem::new("once", "must not be empty").into()),
            _ => Ok(()),
        }
    }

    /// Waits for a permit. Reads the conversation first when the verification requires it, when the service
    /// sends no `Date`, and when an item with the same text by this client has not shown yet.
    async fn reserve(
        &self,
        out: &Outgoing,
        progress: &mut Progress,
        budget: &Budget,
        recent: &mut RecentCreates,
    ) -> Result<HeldPermit> {
        let clock = &self.core.clock;
        let expected = &progress.create.expected;
        let reads_first = match self.options.verification {
            Verification::Never => false,
            Verification::ReadFirst => true,
            Verification::ReadAfterLoss => self.core.service_clock.is_silent() || recent.may_own(expected, 0),
        };
        let hold_time = if reads_first { MAX_HOLD_TIME } else { Duration::ZERO };
        let mut permit = self.core.acquire(&self.options, budget, hold_time).await?;
        if !reads_first {
            progress.create.baseline =
                Baseline::new(self.seen_keys(), false, clock.now(), &self.core.service_clock);
            return Ok(permit);
        }
        let options =
            Options { max_wait: self.options.max_wait.min(MAX_WAIT_WITH_PERMIT), ..self.options.clone() };
        let (conversation, read_at) =
            match read_back(&self.core, &self.conversation, expected, &options, recent).await {
                Ok(conversation) => (conversation, clock.now()),
                // There is no second permit beside this one, so they are acquired one after the other.
                Err(error) if error.is_rate_limited_locally() && options.max_wait < self.options.max_wait => {
                    drop(permit);
                    let read =
                        read_back(&self.core, &self.conversation, expected, &self.options, recent).await;
                    let read = (read.map_err(|error| error.before(&out.label))?, clock.now());
                    permit = self.core.acquire(&self.options, budget, MAX_HOLD_TIME).await?;
                    read
                }
                Err(error) => return Err(error.before(&out.label)),
            };
        let now = clock.now();
        recent.forget(read_at, self.options.visibility_timeout);
        let is_complete = now.saturating_duration_since(read_at) < MAX_READ_AGE;
        progress.create.baseline =
            Baseline::new(keys(&conversation), is_complete, now, &self.core.service_clock);
        Ok(permit)
    }

    /// Reads the conversation until the item shows, or would have shown. A permit for sending it `again` is
    /// acquired after the last of these reads; if that takes a while, the conversation is read once more with
    /// the permit in hand.
    async fn recover(
        &self,
        progress: &Progress,
        recent: &mut RecentCreates,
        budget: &Budget,
        until: Duration,
        again: bool,
    ) -> Outcome<I::Output> {
        let clock = &self.core.clock;
        let until = after(clock.now(), until);
        let mut interval = FIRST_LOOK_INTERVAL;
        // Uses the capacity that is kept for read-backs.
        let options = Options {
            priority: Priority::ReadBack,
            retry: RetryPolicy::never(),
            max_wait: Duration::MAX,
            ..self.options.clone()
        };
        loop {
            let left = until.saturating_duration_since(clock.now());
            let pause = if left.is_zero() { interval } else { interval.min(left) };
            if pause >= budget.left() {
                return Outcome::Unknown;
            }
            clock.sleep(pause).await;
            interval = (interval * 2).min(MAX_LOOK_INTERVAL);
            let is_last = clock.now() >= until;
            let mut lookup = look(&self.core, &progress.create, &options, recent, 0, None).await;
            if again && is_last && budget.may_send_again() && matches!(lookup, Ok(Lookup::NotFound)) {
                let looked_at = clock.now();
                let Ok(permit) = self.core.acquire(&self.options, budget, MAX_HOLD_TIME).await else {
                    return Outcome::Unknown;
                };
                // It may have shown while this waited for the permit.
                if clock.now().saturating_duration_since(looked_at) >= MAX_READ_AGE {
                    let options = Options { max_wait: MAX_WAIT_WITH_PERMIT, ..options.clone() };
                    lookup = look(&self.core, &progress.create, &options, recent, 0, None).await;
                }
                if let Ok(Lookup::NotFound) = lookup {
                    return Outcome::SendAgain(permit);
                }
            }
            match lookup {
                Ok(Lookup::Found(item)) => {
                    return I::Output::recover(&item).map_or(Outcome::Unknown, Outcome::Found);
                }
                Ok(_) if is_last => return Outcome::Unknown,
                Ok(_) => {}
                // An unreadable response may be the error page of a proxy.
                Err(error)
                    if decide_retry(&error, Idempotency::Harmless) == RetryDecision::Again
                        || (error.is_unreadable() && !is_last) =>
                {
                    tracing::debug!("error.type" = %error.error_type(), "the read-back failed");
                }
                // The conversation, or the key, is gone: later reads will not help.
                Err(_) => return Outcome::Unknown,
            }
        }
    }
}
