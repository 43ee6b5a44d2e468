//! Verified creates: a create is never repeated blindly. After a lost answer the conversation is read until the item shows,
//! or until it would have shown. Then, with its place in the rate limit in hand, one more look decides: when nothing is new
//! that could be it, it is sent again at once, and never a third time.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::builder::Create;
use super::created::Created;
use super::ledger::Ledger;
use super::look::{Sighting, ledger_of, look, whose};
use crate::client::call::{check_scope, invalid, outgoing};
use crate::client::engine::{Budget, Next, Outgoing, Place, decode, keyed, next};
use crate::client::error::{Before, Certainty, Expected, Result, Unconfirmed};
use crate::client::policy::{Options, Priority, RetryPolicy, Verification};
use crate::{Problem, Problems, Repeat, Scope};

/// The first wait before a read-back; doubles up to [`SLOWEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_millis(500);
const SLOWEST_LOOK: Duration = Duration::from_secs(4);
/// How long a place in the rate limit is held for the look before it is used.
const HELD: Duration = Duration::from_secs(120);
/// When the service's time is not known more exactly than this, the conversation is read first.
const TELLS: Duration = Duration::from_secs(8);

/// What a create has come to.
struct Progress {
    expected: Expected,
    before: Before,
    /// When it was sent first, or is about to be.
    sent: Instant,
    /// When its answer came or was lost.
    ended: Instant,
    /// How many sends were lost.
    lost: u32,
    certainty: Certainty,
}

/// What the looks after a lost answer have shown.
enum Looked<O> {
    Found(O),
    /// Nothing; here is a place to send it again.
    Free(Place),
    /// It cannot be told, or it may not be sent again.
    Open,
}

impl<I, O: DeserializeOwned> Create<I, O> {
    pub(super) async fn create(mut self, label: String) -> Result<Created<O>> {
        let payload =
            (self.kind.prepare)(&self.input).and_then(|payload| self.check_seen().map(|()| payload));
        let payload = payload.map_err(|problems| invalid(problems, &label))?;
        self.options = self.options.started(self.core.clock.now());
        let mut budget = self.core.budget(&self.options);
        let scope = self.scope();
        let checked = check_scope(&self.core, self.kind.operation, scope, &self.options).await;
        checked.map_err(|error| error.before(&label))?;
        let out = outgoing(&self.core, self.kind.operation, Some(&self.conversation), payload, scope)?;

        let ledger = ledger_of(&self.core, &self.ledgers, &self.conversation, budget.left()).await;
        let mut ledger = ledger.map_err(|error| error.before(&label))?;
        let now = self.core.clock.now();
        ledger.begin(now);
        let mut progress = Progress {
            expected: (self.kind.expect)(&self.input),
            before: Before::default(),
            sent: now,
            ended: now,
            lost: 0,
            certainty: Certainty::NotSent,
        };
        let result = self.carry_out(&out, &mut progress, &mut budget, &mut ledger).await;
        result.map_err(|error| {
            if progress.certainty < Certainty::Unknown {
                ledger.nothing();
                return error.for_call(&label, budget.attempts());
            }
            ledger.begin(self.core.clock.now());
            let before = self.known(&progress);
            let unconfirmed = Unconfirmed::new(&self.conversation, &progress.expected, before);
            error
                .at_least(Certainty::Unknown)
                .with_unconfirmed(unconfirmed)
                .for_call(&label, budget.attempts())
        })
    }

    async fn carry_out(
        &self,
        out: &Outgoing,
        progress: &mut Progress,
        budget: &mut Budget,
        ledger: &mut Ledger,
    ) -> Result<Created<O>> {
        let mut place = None;
        loop {
            let here = match place.take() {
                Some(place) => place,
                None => self.core.place(&self.options, budget, HELD).await?,
            };
            if progress.lost == 0 {
                let before = self.before(&progress.expected, ledger).await;
                match before {
                    Ok(before) => (progress.before, progress.sent) = (before, self.core.clock.now()),
                    Err(error) => {
                        here.give_up();
                        return Err(error.before(&out.label));
                    }
                }
            }
            ledger.open(&progress.expected, &progress.before);
            let answer = self.core.send_in(here, out, &self.options, budget).await;
            progress.ended = self.core.clock.now();
            let error = match answer.and_then(|answer| Ok((decode(&answer)?, answer))) {
                Ok((value, answer)) => {
                    let now = self.core.clock.now();
                    match (self.kind.id)(&value) {
                        Some(id) => ledger.made(id, now),
                        None => ledger.unseen(self.known(progress), now),
                    }
                    return Ok(Created::answered(value, answer, budget.attempts()));
                }
                Err(error) => error,
            };
            progress.certainty = progress.certainty.max(error.certainty());
            progress.lost += u32::from(error.certainty() == Certainty::Unknown);
            let pause = match next(&error, out.repeat) {
                Next::Again => match budget.pause_after(&error) {
                    Some(pause) => pause,
                    None => return Err(error),
                },
                Next::Look if self.options.verification != Verification::Never => {
                    self.options.settle.max(budget.asked(&error).unwrap_or_default())
                }
                Next::Look | Next::Stop => return Err(error),
            };
            if progress.lost == 0 {
                self.core.pause(&error, pause).await;
                continue;
            }
            // What will not pass, and an answer in the 200s, which says that it was done, are looked into and not repeated.
            let again = progress.lost == 1 && next(&error, Repeat::Harmless) == Next::Again;
            match self.look(progress, ledger, budget, pause, again).await {
                Looked::Found(value) => return Ok(Created::found(value, budget.attempts())),
                Looked::Free(free) => {
                    tracing::debug!("error.type" = %error.kind(), "not in the conversation; sending again");
                    place = Some(free);
                }
                Looked::Open => return Err(error),
            }
        }
    }

    fn scope(&self) -> &'static Scope {
        let operation = self.kind.operation;
        let sending = operation.scope_when_sending().filter(|_| (self.kind.sends)(&self.input));
        sending.unwrap_or(operation.scope())
    }

    /// A read of another conversation says nothing about this one.
    fn check_seen(&self) -> Result<(), Problems> {
        match &self.seen {
            Some(seen) if seen.conversation != self.conversation => {
                Err(Problem::new("seen", "must be a read of the conversation in which this is created")
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// What is known to be in the conversation before the create. Read, where nothing else could tell it afterwards.
    async fn before(&self, expected: &Expected, ledger: &mut Ledger) -> Result<Before> {
        let reading = self.core.service_clock.reading();
        let told = reading.is_some_and(|reading| reading.is_within(TELLS));
        let first = match self.options.verification {
            Verification::Never => false,
            Verification::ReadFirst => true,
            Verification::Verified => {
                !told || !self.core.goes_well() || ledger.has_lost() || ledger.may_own(expected, 0)
            }
        };
        if first {
            let look = look(&self.core, &self.conversation, &self.options, ledger).await?;
            let keys = keyed(&look.0).map(|(key, _)| key).collect();
            return Ok(Before { keys, whole: true, ..Before::default() });
        }
        Ok(Before { keys: self.seen_keys(), ..Before::default() })
    }

    /// What is known now of the time before the create.
    fn known(&self, progress: &Progress) -> Before {
        // The clock must have been heard on both sides of the create.
        let reading = self.core.service_clock.reading();
        let reading = reading.filter(|reading| reading.last >= progress.sent);
        Before {
            sent: reading.map(|reading| reading.earliest(progress.sent)),
            under_way: reading.and_then(|reading| reading.under_way(progress.sent, progress.ended)),
            ..progress.before.clone()
        }
    }

    /// Reads the conversation until the item is there, or the time is over in which it would show. The last look is made
    /// with a place for sending it `again` in hand.
    async fn look(
        &self,
        progress: &Progress,
        ledger: &mut Ledger,
        budget: &Budget,
        until: Duration,
        again: bool,
    ) -> Looked<O> {
        let clock = &self.core.clock;
        let until = clock.now() + until;
        let mut delay = FIRST_LOOK;
        loop {
            let left = until.saturating_duration_since(clock.now());
            let pause = if left.is_zero() { delay } else { delay.min(left) };
            if pause >= budget.left() {
                return Looked::Open;
            }
            clock.sleep(pause).await;
            delay = (delay * 2).min(SLOWEST_LOOK);
            let last = clock.now() >= until;
            let place = match again && last && budget.may_send_again() {
                true => match self.core.place(&self.options, budget, HELD).await {
                    Ok(place) => Some(place),
                    Err(_) => return Looked::Open,
                },
                false => None,
            };
            let sighting = self.sight(progress, ledger).await;
            match (sighting, place) {
                (Ok(Sighting::NotFound), Some(place)) => return Looked::Free(place),
                (sighting, place) => {
                    if let Some(place) = place {
                        place.give_up();
                    }
                    match sighting {
                        Ok(Sighting::Found(item)) => {
                            return (self.kind.recover)(&item).map_or(Looked::Open, Looked::Found);
                        }
                        Ok(_) if last => return Looked::Open,
                        Ok(_) => {}
                        Err(error) if next(&error, Repeat::Harmless) == Next::Again => {
                            tracing::debug!("error.type" = %error.kind(), "the read-back failed");
                        }
                        // The conversation, or the key, is gone: no later read will tell more.
                        Err(_) => return Looked::Open,
                    }
                }
            }
        }
    }

    /// One read-back, with the capacity that is kept for them.
    async fn sight(&self, progress: &Progress, ledger: &mut Ledger) -> Result<Sighting> {
        let options = Options {
            priority: Priority::ReadBack,
            retry: RetryPolicy::never(),
            wait: true,
            ..self.options.clone()
        };
        let expected = &progress.expected;
        let look = look(&self.core, &self.conversation, &options, ledger).await?;
        let me = whose(&self.core, expected, &options).await?;
        let others = ledger.may_own(expected, 0);
        let sighting = look.judge(me, expected, &self.known(progress), ledger, others);
        if let Sighting::Found(item) = &sighting
            && let Some(key) = look.key(item)
        {
            ledger.made(key, self.core.clock.now());
        }
        Ok(sighting)
    }
}
