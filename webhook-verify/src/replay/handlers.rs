//! Runs handlers on a server, each in a task of its own that continues when the sender hangs up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use derive_where::derive_where;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::dead_letter::{CountedClaim, DeadLetter, DeadLetterGuard};
use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, ReplayGuard};
use super::heartbeat::Heartbeat;
use super::run::{ClaimHandle, HandleError, Handled};
use super::supervise::{Failure, LastRun, OnExhausted, RenewingClaim, log_dead_letter, run_task, step, warn};
use super::transaction::{InTransaction, TransactionalInbox, once_in_transaction};
use crate::meter;
use crate::setters::setters;

/// Far longer than any handler should run, and short enough that the service still repeats the event for most
/// of a day.
const DEFAULT_MAX_RUN_TIME: Duration = Duration::from_secs(60 * 60);

/// Runs handlers once for each event, each in a task of its own. Create it in `main`; clones share
/// everything.
///
/// The service hangs up after 10 seconds without a response and tries again, and most servers
/// then drop the request's future. The task continues: an attempt that comes meanwhile gets 409,
/// one that comes after it 200. The claim of a slow handler is renewed until its end has been
/// recorded, but no longer than [`max_run_time`](Self::max_run_time).
/// [`shutdown`](Self::shutdown) waits for running handlers. The README of this crate has a
/// complete server.
///
/// # Logs
///
/// Each run that fails, panics or is cancelled is an error in `tracing`, with the handler's error, and each
/// step of the guard that fails is a warning, both with the endpoint, the event's id and its type.
///
/// # Handlers that block
///
/// A handler should not block its thread: use `tokio::task::spawn_blocking`. One that does keeps its claim as
/// long as the runtime has another thread to renew it on; without one it can be overtaken. A late renewal is
/// logged as a warning.
#[derive_where(Clone, Debug)]
pub struct Handlers<G> {
    #[derive_where(skip(Debug))]
    pub(super) shared: Arc<Shared<G>>,
    #[derive_where(skip(Debug))]
    pub(super) settings: Settings,
}

#[derive(Clone)]
pub(super) struct Settings {
    on_store_error: OnStoreError,
    pub(super) max_run_time: Duration,
    pub(super) max_attempts: Option<MaxAttempts>,
    pub(super) on_exhausted: OnExhausted,
}

pub(super) struct Shared<G> {
    pub(super) guard: Arc<G>,
    pub(super) tasks: TaskTracker,
    runtime: Option<Handle>,
    heartbeat: Heartbeat,
}

/// The limit, and the guard that counts.
#[derive(Clone)]
pub(super) struct MaxAttempts {
    pub(super) runs: u32,
    pub(super) guard: Arc<dyn DeadLetterGuard>,
}

impl MaxAttempts {
    /// Counts a run that had no claim. Returns whether its event is a dead letter now.
    async fn count(&self, delivery: &Delivery, text: &str) -> bool {
        let counting = step(delivery, "count", async {
            let counted = self.guard.claim_run(delivery).await?;
            let Claim::Granted(fence) = counted.claim else { return Ok(false) };
            if counted.run < self.runs {
                return self.guard.release(delivery, fence).await.map(|_: ClaimStatus| false);
            }
            let letter = DeadLetter::new(delivery.clone(), counted.run, text);
            let is_buried = self.guard.bury(&letter, fence).await? == ClaimStatus::Held;
            if is_buried {
                log_dead_letter(&letter);
            }
            Ok(is_buried)
        });
        counting.await.unwrap_or(false)
    }
}

/// What to do with an event while the guard's store is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnStoreError {
    /// Does not handle it: [`HandleError::Guard`], 503, and the service tries again, for about a day. The
    /// safe choice.
    #[default]
    Reject,
    /// Handles it without a claim and without a record: [`Handled::RanUnrecorded`], 200. For handlers that
    /// may run twice, or at the same time. Their [`ClaimHandle`] has the fencing token 0, which is smaller
    /// than any of a store.
    LetThrough,
}

impl<G> Handlers<G> {
    /// Creates handlers with this [`ReplayGuard`] (also an `Arc<dyn ReplayGuard>`), [`TransactionalInbox`],
    /// or both.
    ///
    /// The tasks run on the runtime in which this is called; outside of one, on the runtime of each call.
    /// With actix-web call it in `main`, because the runtime of a worker ends with the worker.
    #[must_use]
    pub fn new(guard: G) -> Self {
        let runtime = Handle::try_current().ok();
        let tasks = TaskTracker::new();
        let shared = Shared { guard: Arc::new(guard), tasks, runtime, heartbeat: Heartbeat::default() };
        let settings = Settings {
            on_store_error: OnStoreError::default(),
            max_run_time: DEFAULT_MAX_RUN_TIME,
            max_attempts: None,
            on_exhausted: OnExhausted::default(),
        };
        Self { shared: Arc::new(shared), settings }
    }

    setters! {
        /// Sets what to do with an event while the guard's store is unavailable; rejected by default. For
        /// [`once`](Self::once) only: a transaction needs its store.
        on_store_error(settings.on_store_error): OnStoreError;

        /// Sets how long a handler may run: an hour by default. A slower one is cancelled at its next
        /// `await`, its claim is released ([`HandleError::TimedOut`], 500), and the service's next attempt
        /// runs it again. Without a limit, a handler that never ends would get every attempt a 409, and after
        /// a day the service pauses the webhook.
        max_run_time(settings.max_run_time): Duration;

        /// Sets how an event is answered that has become a dead letter: with a success by default.
        on_exhausted(settings.on_exhausted): OnExhausted;
    }

    /// Returns the guard.
    #[must_use]
    pub fn guard(&self) -> &G {
        &self.shared.guard
    }

    /// Returns how many handlers are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.tasks.len()
    }

    /// Starts no more handlers ([`HandleError::ShuttingDown`], 503) and waits for those that run, for `limit`
    /// at most. Call it when the server takes no more requests.
    ///
    /// # Errors
    /// When handlers are still running then. They continue until the program exits, and then their claims
    /// expire.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), StillRunning> {
        self.shared.tasks.close();
        let ended = tokio::time::timeout(limit, self.shared.tasks.wait()).await;
        ended.map_err(|_| StillRunning { handlers: self.running() })
    }

    /// Runs `work` to its end in a task of its own.
    pub(super) async fn spawn<T, E>(
        &self,
        delivery: &Delivery,
        work: impl Future<Output = Result<Handled<T>, HandleError<E>>> + Send + 'static,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        // Taken before the check, so that a shutdown either waits for this handler or is seen by it.
        let counted = self.shared.tasks.token();
        if self.shared.tasks.is_closed() {
            return Err(HandleError::ShuttingDown);
        }
        let work = async move {
            let _counted = counted;
            work.await
        }
        .instrument(span(delivery));
        let task = match &self.shared.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        };
        // It does not panic, so its runtime has ended.
        task.await.unwrap_or(Err(HandleError::ShuttingDown))
    }
}

impl<G: ReplayGuard + 'static> Handlers<G> {
    /// Runs `handler` unless the event has been handled or is being handled. Dropping the returned future
    /// does not stop it.
    ///
    /// The handler gets its [`ClaimHandle`] and must own what it works on.
    ///
    /// # Errors
    /// When the handler fails, panics or takes too long, the guard cannot be reached, or the program is
    /// shutting down.
    pub async fn once<T, E, F>(
        &self,
        delivery: Delivery,
        handler: impl FnOnce(ClaimHandle) -> F + Send + 'static,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: fmt::Display + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let Self { shared, settings } = self.clone();
        let about = delivery.clone();
        let work = async move {
            let claiming = step(&delivery, "claim", async {
                match &settings.max_attempts {
                    Some(limit) => limit.guard.claim_run(&delivery).await,
                    None => shared.guard.claim(&delivery).await.map(CountedClaim::from),
                }
            });
            let CountedClaim { claim, run, has_lapsed } = match claiming.await {
                Ok(claim) => claim,
                Err(error) if settings.on_store_error == OnStoreError::Reject => {
                    return Err(HandleError::Guard(error));
                }
                Err(error) => {
                    let unclaimed = ClaimHandle::new(FencingToken::new(0));
                    let running = async move { handler(unclaimed).await };
                    let ended = run_task(running, &delivery, settings.max_run_time).await;
                    let value = ended.map_err(|failure| failure.error)?;
                    return Ok(Handled::RanUnrecorded(value, error));
                }
            };
            let Claim::Granted(fence) = claim else {
                meter::duplicate(Some(delivery.endpoint()));
                return match claim {
                    Claim::DeadLettered => settings.on_exhausted.answer(HandleError::DeadLettered),
                    Claim::Done => Ok(Handled::AlreadyDone),
                    _ => Ok(Handled::InProgress),
                };
            };
            let claim = ClaimHandle::new(fence);
            let limit = settings.max_attempts.filter(|limit| run >= limit.runs);
            let has_run_last = has_lapsed && limit.as_ref().is_some_and(|limit| run > limit.runs);
            let answer = settings.on_exhausted;
            let last = |run| limit.map(|MaxAttempts { guard, .. }| LastRun { guard, run, answer });
            // The last run that was allowed never ended: its process may have been killed by the event.
            if has_run_last {
                let text = Some(NEVER_ENDED.to_owned());
                let ended = Err(Failure { error: HandleError::DeadLettered, text });
                return shared.hold(delivery, claim).settle(ended, last(run - 1)).await;
            }
            shared.run(delivery, claim, handler, settings.max_run_time, last(run)).await
        };
        self.spawn(&about, work).await
    }
}

/// What a dead letter says when no run has said anything.
const NEVER_ENDED: &str =
    "its last run never ended: the process was killed or stood still for longer than its lease";

/// Returns the span in which an event is handled. Links to the trace of the request by its ids.
fn span(delivery: &Delivery) -> tracing::Span {
    let trace = delivery.trace_context();
    tracing::info_span!(
        "webhook",
        endpoint = delivery.endpoint(),
        event = delivery.event(),
        event_type = delivery.event_type(),
        trace_id = trace.as_ref().map(|trace| trace.trace_id()),
        parent_span_id = trace.as_ref().map(|trace| trace.parent_span_id()),
    )
}

impl<G: ReplayGuard + 'static> Shared<G> {
    /// Keeps a claim that was granted.
    fn hold(&self, delivery: Delivery, claim: ClaimHandle) -> RenewingClaim<G> {
        RenewingClaim::new(Arc::clone(&self.guard), self.tasks.clone(), delivery, claim)
    }

    /// Runs a handler to its end, renews its claim meanwhile, and records how it ended.
    pub(super) async fn run<T, E, F>(
        &self,
        delivery: Delivery,
        claim: ClaimHandle,
        handler: impl FnOnce(ClaimHandle) -> F + Send + 'static,
        max_run_time: Duration,
        last: Option<LastRun>,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: fmt::Display + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.heartbeat.start(Handle::current(), &self.tasks, self.guard.lease_time());
        let mut claimed = self.hold(delivery.clone(), claim.clone());
        let running = async move { handler(claim).await };
        let ended = claimed.renewed_during(run_task(running, &delivery, max_run_time)).await;
        claimed.settle(ended, last).await
    }
}

impl<I: TransactionalInbox + 'static> Handlers<I> {
    /// Runs `handler` inside a transaction that also holds the mark of the event, as [`once_in_transaction`]
    /// does, in a task of its own.
    ///
    /// # Errors
    /// When the handler fails, panics or takes too long, the store fails, or the program is shutting down.
    pub async fn once_in_transaction<T, E>(
        &self,
        delivery: Delivery,
        handler: impl for<'t> FnOnce(&'t mut I::Transaction) -> InTransaction<'t, T, E> + Send + 'static,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: fmt::Display + Send + 'static,
    {
        let Self { shared, settings } = self.clone();
        let about = delivery.clone();
        let work = async move {
            let within = delivery.clone();
            let transaction = async move {
                let outcome = once_in_transaction(&*shared.guard, &within, handler).await;
                // Other failures are not the handler's.
                match outcome {
                    Err(HandleError::Handler(error)) => Err(error),
                    other => Ok(other),
                }
            };
            let answer = settings.on_exhausted;
            match run_task(transaction, &delivery, settings.max_run_time).await {
                Ok(Ok(seen @ (Handled::AlreadyDone | Handled::InProgress | Handled::DeadLettered))) => {
                    meter::duplicate(Some(delivery.endpoint()));
                    match seen {
                        Handled::DeadLettered => answer.answer(HandleError::DeadLettered),
                        _ => Ok(seen),
                    }
                }
                Ok(outcome) => outcome.inspect_err(|error| warn(&delivery, "transaction", error)),
                Err(Failure { error, text }) => match (&settings.max_attempts, text) {
                    (Some(limit), Some(text)) if limit.count(&delivery, &text).await => answer.answer(error),
                    _ => Err(error),
                },
            }
        };
        self.spawn(&about, work).await
    }
}

/// An error returned when handlers are still running after the limit of [`Handlers::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{handlers} webhook handlers are still running: their events come again if they are cut off now")]
#[non_exhaustive]
pub struct StillRunning {
    /// How many are running.
    pub handlers: usize,
}
