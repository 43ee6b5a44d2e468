//! Runs handlers on a server, each in a task of its own that continues when the sender hangs up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::guard::{Claim, Delivery, FencingToken, ReplayGuard};
use super::heartbeat::Heartbeat;
use super::run::{ClaimGuard, HandleError, Handled};
use super::supervise::{self, Held};
use super::transaction::{InTransaction, TransactionalInbox, once_in_transaction};

/// Far longer than any handler should run, and short enough that the service still repeats the event for most of a day.
const DEFAULT_MAX_RUN_TIME: Duration = Duration::from_secs(60 * 60);

/// Runs handlers once for each event, each in a task of its own. Create it in `main`; clones share everything.
///
/// The service hangs up after 10 seconds without a response and tries again, and most servers then drop the request's future.
/// The task continues: an attempt that comes meanwhile gets 409, one that comes after it 200. The claim of a slow handler is
/// renewed until its end has been recorded, but no longer than [`max_run_time`](Self::max_run_time).
/// [`shutdown`](Self::shutdown) waits for running handlers. The README of this crate has a complete server.
///
/// ```no_run
/// use std::time::Duration;
/// use shared_inbox_webhooks::replay::{Delivery, Handlers, MemoryGuard};
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handlers = Handlers::new(MemoryGuard::new());
/// // For each verified event; `event.delivery("/hook")` makes the delivery.
/// let handled = handlers.once(Delivery::new("/hook", "evt_1"), async |_| Ok::<_, std::io::Error>(())).await?;
/// assert_eq!(handled.status(), 200);
/// handlers.shutdown(Duration::from_secs(30)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Logs
///
/// Each run that fails, panics or is cancelled is an error in `tracing`, with the endpoint, the event's id and type and the
/// handler's error. Each step of the guard that fails is a warning. Handlers and these lines are in the span of the call.
///
/// # Handlers that block
///
/// A handler should not block its thread: use `tokio::task::spawn_blocking`. One that does keeps its claim as long as the
/// runtime has another thread to renew it on, which a thread of `Handlers` wakes six times in a lease. On a runtime of one
/// thread, or with all threads blocked, a handler that blocks for longer than the lease can be overtaken. A late renewal is
/// logged as a warning.
pub struct Handlers<G> {
    shared: Arc<Shared<G>>,
    away: OnStoreError,
    max_run_time: Duration,
}

struct Shared<G> {
    guard: Arc<G>,
    tasks: TaskTracker,
    runtime: Option<Handle>,
    heartbeat: Heartbeat,
}

impl<G> Clone for Handlers<G> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..*self }
    }
}

/// What to do with an event while the guard's store is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnStoreError {
    /// Does not handle it: [`HandleError::Guard`], 503, and the service tries again, for about a day. The safe choice.
    #[default]
    Reject,
    /// Handles it without a claim and without a record: [`Handled::RanUnrecorded`], 200. Its attempts may be handled at the same
    /// time or again, so this is for handlers that may run twice. Their [`ClaimGuard`] has the fencing token 0, which is smaller
    /// than any of a store.
    LetThrough,
}

impl<G> Handlers<G> {
    /// Creates handlers with this [`ReplayGuard`] (also an `Arc<dyn ReplayGuard>`), [`TransactionalInbox`], or both.
    ///
    /// The tasks run on the runtime in which this is called; outside of one, on the runtime of each call. With actix-web call it
    /// in `main`, because the runtime of a worker ends with the worker.
    #[must_use]
    pub fn new(guard: G) -> Self {
        let runtime = Handle::try_current().ok();
        let tasks = TaskTracker::new();
        let shared = Shared { guard: Arc::new(guard), tasks, runtime, heartbeat: Heartbeat::default() };
        let (away, max_run_time) = (OnStoreError::default(), DEFAULT_MAX_RUN_TIME);
        Self { shared: Arc::new(shared), away, max_run_time }
    }

    /// Sets what to do with an event while the guard's store is unavailable; rejected by default. For [`once`](Self::once) only: a
    /// transaction needs its store.
    #[must_use]
    pub fn on_store_error(mut self, away: OnStoreError) -> Self {
        self.away = away;
        self
    }

    /// Sets how long a handler may run: an hour by default. A slower one is cancelled at its next `await`, its claim is released
    /// ([`HandleError::TimedOut`], 500), and the service's next attempt runs it again. Without a limit, a handler that never ends
    /// would get every attempt a 409, and after a day the service pauses the webhook.
    #[must_use]
    pub fn max_run_time(mut self, time: Duration) -> Self {
        self.max_run_time = time;
        self
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

    /// Starts no more handlers ([`HandleError::ShuttingDown`], 503) and waits for those that run, for `limit` at most. Call it
    /// when the server takes no more requests.
    ///
    /// # Errors
    /// When handlers are still running then. They continue until the program exits, and then their claims expire.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), StillRunning> {
        self.shared.tasks.close();
        let ended = tokio::time::timeout(limit, self.shared.tasks.wait()).await;
        ended.map_err(|_| StillRunning { handlers: self.running() })
    }

    /// Runs `work` to its end in a task of its own.
    async fn spawn<T, E>(
        &self,
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
        .in_current_span();
        let task = match &self.shared.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        };
        // It does not panic, so its runtime has ended.
        task.await.unwrap_or(Err(HandleError::ShuttingDown))
    }
}

impl<G: ReplayGuard + 'static> Handlers<G> {
    /// Runs `handler` unless the event has been handled or is being handled. Dropping the returned future does not stop it.
    ///
    /// The handler gets its [`ClaimGuard`] and must own what it works on.
    ///
    /// # Errors
    /// When the handler fails, panics or takes too long, the guard cannot be reached, or the program is shutting down.
    pub async fn once<T, E, F>(
        &self,
        delivery: Delivery,
        handler: impl FnOnce(ClaimGuard) -> F + Send + 'static,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: fmt::Display + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let Self { shared, away, max_run_time } = self.clone();
        let lease = shared.guard.lease_time();
        let start = move |claim| tokio::spawn(async move { handler(claim).await }.in_current_span());
        let work = async move {
            let fence = match supervise::step(async { shared.guard.claim(&delivery).await }).await {
                Ok(Claim::Granted(fence)) => fence,
                Ok(Claim::InProgress) => return Ok(Handled::InProgress),
                Ok(Claim::Done) => return Ok(Handled::AlreadyDone),
                Err(error) => {
                    supervise::warn(&delivery, "claim", &error);
                    if away == OnStoreError::Reject {
                        return Err(HandleError::Guard(error));
                    }
                    let run =
                        supervise::end(start(ClaimGuard::new(FencingToken::new(0))), &delivery, max_run_time)
                            .await;
                    return run.map(|value| Handled::RanUnrecorded(value, error));
                }
            };
            shared.heartbeat.start(Handle::current(), &shared.tasks, lease);
            let claim = ClaimGuard::new(fence);
            let mut held = Held::new(Arc::clone(&shared.guard), delivery.clone(), claim.clone(), lease);
            match held.renewed_during(supervise::end(start(claim), &delivery, max_run_time)).await {
                Ok(value) => Ok(held.commit(value, shared.tasks.token()).await),
                Err(error) => Err(held.release(error).await),
            }
        };
        self.spawn(work).await
    }
}

impl<I: TransactionalInbox + 'static> Handlers<I> {
    /// Runs `handler` inside a transaction that also holds the mark of the event, as [`once_in_transaction`] does, in a
    /// task of its own.
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
        let Self { shared, max_run_time, .. } = self.clone();
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
            let task = tokio::spawn(transaction.in_current_span());
            let outcome = supervise::end(task, &delivery, max_run_time).await?;
            if let Err(error) = &outcome {
                supervise::warn(&delivery, "transaction", error);
            }
            outcome
        };
        self.spawn(work).await
    }
}

impl<G> fmt::Debug for Handlers<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("running", &self.running()).finish_non_exhaustive()
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
