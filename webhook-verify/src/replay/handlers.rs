//! Handlers on a server: each in a task of its own, so that one that has begun ends, whoever hangs up.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::guard::{Claim, Delivery, Fence, ReplayGuard, Standing};
use super::run::{Once, OnceError, Ticket, settle};
use super::transaction::{InTransaction, TransactionalInbox, once_in_transaction};

/// Runs handlers once for each event, each in a task of its own. Make one in `main`; clones share everything.
///
/// A service that hears nothing for 10 seconds hangs up and tries again, and most servers drop the request's future then.
/// The task goes on: a try that comes meanwhile hears 409, one that comes after it 200. A handler that takes longer than
/// the guard's lease keeps its claim, which is renewed as long as it runs. [`shutdown`](Self::shutdown) waits for what
/// has begun.
///
#[cfg_attr(feature = "axum", doc = "```no_run")]
#[cfg_attr(not(feature = "axum"), doc = "```ignore")]
/// use std::time::Duration;
/// use axum::{Router, extract::{FromRef, State}, response::IntoResponse, routing::post};
/// use shared_inbox_webhooks::replay::{Handlers, MemoryGuard};
/// use shared_inbox_webhooks::{Event, Receiver, Secret, Verifier, Webhook};
///
/// #[derive(Clone, FromRef)]
/// struct App { receiver: Receiver, handlers: Handlers<MemoryGuard> }
///
/// async fn hook(State(app): State<App>, Webhook(event): Webhook<Event>) -> impl IntoResponse {
///     let delivery = event.delivery("/hook");
///     app.handlers.once(delivery, async move |_| store(&event).await).await
/// }
///
/// async fn store(event: &Event) -> Result<(), std::io::Error> {
/// #   let _ = event;
///     Ok(()) // whatever must happen once; it may take its time
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let secret = Secret::parse(&std::env::var("SHARED_INBOX_WEBHOOK_SECRET")?)?;
///     let handlers = Handlers::new(MemoryGuard::new());
///     let app = App { receiver: Receiver::new(Verifier::new([secret])), handlers: handlers.clone() };
///     let router = Router::new().route("/hook", post(hook)).with_state(app);
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
///     let stop = async { _ = tokio::signal::ctrl_c().await };
///     axum::serve(listener, router).with_graceful_shutdown(stop).await?;
///     handlers.shutdown(Duration::from_secs(30)).await?;
///     Ok(())
/// }
/// ```
///
/// What goes wrong with the store while nobody listens is told through `tracing`, as a warning with the event's id.
pub struct Handlers<G> {
    shared: Arc<Shared<G>>,
    away: StoreAway,
}

struct Shared<G> {
    guard: G,
    tasks: TaskTracker,
    runtime: Option<Handle>,
}

impl<G> Clone for Handlers<G> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), away: self.away }
    }
}

/// What becomes of an event while the guard's store cannot be asked whether it is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreAway {
    /// It is not handled: [`OnceError::Guard`], 503, and the service tries again, for about a day. The safe choice.
    #[default]
    Refuse,
    /// It is handled, unguarded and noted nowhere: [`Once::RanUnrecorded`], 200. Its tries may be handled side by side or
    /// once more, so this is for handlers that may run twice. Their [`Ticket`] has the fence 0, which is smaller than any that a
    /// store gives.
    LetThrough,
}

impl<G> Handlers<G> {
    /// Handlers that go by this guard (a [`ReplayGuard`], also as an `Arc<dyn ReplayGuard>`), this
    /// [`TransactionalInbox`], or one that is both.
    ///
    /// The tasks run on the runtime in which this is called; outside of one, on the runtime of each call. With actix-web make
    /// it in `main`, because the runtime of a worker ends with the worker.
    #[must_use]
    pub fn new(guard: G) -> Self {
        let shared = Shared { guard, tasks: TaskTracker::new(), runtime: Handle::try_current().ok() };
        Self { shared: Arc::new(shared), away: StoreAway::default() }
    }

    /// Sets what becomes of an event while the guard's store is away; refused unless set. Holds for [`once`](Self::once): a
    /// transaction cannot do without its store.
    ///
    /// ```
    /// use shared_inbox_webhooks::replay::{Handlers, MemoryGuard, StoreAway};
    ///
    /// let handlers = Handlers::new(MemoryGuard::new()).when_store_is_away(StoreAway::LetThrough);
    /// # let _ = handlers;
    /// ```
    #[must_use]
    pub fn when_store_is_away(mut self, away: StoreAway) -> Self {
        self.away = away;
        self
    }

    /// The guard.
    #[must_use]
    pub fn guard(&self) -> &G {
        &self.shared.guard
    }

    /// How many handlers are at work.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.tasks.len()
    }

    /// Begins nothing new ([`OnceError::ShuttingDown`], 503) and waits until everything that has begun has ended, for
    /// `limit` at most. Call it when the server takes no more requests.
    ///
    /// # Errors
    /// When something is still running then. It goes on as long as the program does; the claims of what is cut off run
    /// out.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), StillRunning> {
        self.shared.tasks.close();
        let ended = tokio::time::timeout(limit, self.shared.tasks.wait()).await;
        ended.map_err(|_| StillRunning { handlers: self.running() })
    }

    /// Runs `work` to its end in a task of its own.
    async fn spawn<T, E>(
        &self,
        work: impl Future<Output = Result<Once<T>, OnceError<E>>> + Send + 'static,
    ) -> Result<Once<T>, OnceError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        // Taken before the look, so that a shutdown either waits for this one or is seen by it.
        let counted = self.shared.tasks.token();
        if self.shared.tasks.is_closed() {
            return Err(OnceError::ShuttingDown);
        }
        let work = async move {
            let _counted = counted;
            work.await
        };
        let task = match &self.shared.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        };
        // What panicked was either caught, or has been undone with its transaction.
        task.await.unwrap_or(Err(OnceError::Panicked))
    }
}

impl<G: ReplayGuard + 'static> Handlers<G> {
    /// Runs `handler` unless the event has been handled or is being handled. Dropping the future that this gives changes
    /// nothing: what has begun ends.
    ///
    /// The handler gets its [`Ticket`] and must own what it works on.
    ///
    /// # Errors
    /// When the handler fails or panics, the guard cannot be asked, or the program is shutting down.
    pub async fn once<T, E, F>(
        &self,
        delivery: Delivery,
        handler: impl FnOnce(Ticket) -> F + Send + 'static,
    ) -> Result<Once<T>, OnceError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.spawn(run(Arc::clone(&self.shared), self.away, delivery, handler)).await
    }
}

impl<I: TransactionalInbox + 'static> Handlers<I> {
    /// Runs `handler` inside a transaction that also holds the mark of the event, as [`once_in_transaction`] does, in a
    /// task of its own.
    ///
    /// # Errors
    /// When the handler fails or panics, the store fails, or the program is shutting down.
    pub async fn once_in_transaction<T, E>(
        &self,
        delivery: Delivery,
        handler: impl for<'t> FnOnce(&'t mut I::Transaction) -> InTransaction<'t, T, E> + Send + 'static,
    ) -> Result<Once<T>, OnceError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        self.spawn(async move { once_in_transaction(&shared.guard, &delivery, handler).await }).await
    }
}

impl<G> fmt::Debug for Handlers<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("running", &self.running()).finish_non_exhaustive()
    }
}

async fn run<G, T, E, F>(
    shared: Arc<Shared<G>>,
    away: StoreAway,
    delivery: Delivery,
    handler: impl FnOnce(Ticket) -> F,
) -> Result<Once<T>, OnceError<E>>
where
    G: ReplayGuard + 'static,
    F: Future<Output = Result<T, E>>,
{
    let fence = match shared.guard.claim(&delivery).await {
        Ok(Claim::Granted(fence)) => fence,
        Ok(Claim::InProgress) => return Ok(Once::InProgress),
        Ok(Claim::Done) => return Ok(Once::AlreadyDone),
        Err(error) => {
            warn(&delivery, "claim", &error);
            return match away {
                StoreAway::Refuse => Err(OnceError::Guard(error)),
                StoreAway::LetThrough => match caught(async { handler(Ticket::new(Fence(0))).await }).await {
                    None => Err(OnceError::Panicked),
                    Some(Err(failure)) => Err(OnceError::Handler(failure)),
                    Some(Ok(value)) => Ok(Once::RanUnrecorded(value, error)),
                },
            };
        }
    };
    let ticket = Ticket::new(fence);
    // A task of its own, so that a handler that keeps its thread busy does not keep its claim from being renewed.
    let renewing = tokio::spawn(renew(Arc::clone(&shared), delivery.clone(), ticket.clone()));
    let renewing = AbortOnDropHandle::new(renewing);
    let outcome = caught(async { handler(ticket).await }).await;
    drop(renewing);
    let Some(outcome) = outcome else {
        if let Err(error) = shared.guard.release(&delivery, fence).await {
            warn(&delivery, "release", &error);
        }
        return Err(OnceError::Panicked);
    };
    let settled = settle(&shared.guard, &delivery, fence, outcome).await;
    match &settled {
        Ok(Once::RanUnrecorded(_, error)) => warn(&delivery, "commit", error),
        Ok(Once::Overtaken(_)) => warn(&delivery, "commit", &"the claim had gone to another try"),
        Err(OnceError::HandlerUnreleased(_, error)) => warn(&delivery, "release", error),
        _ => {}
    }
    settled
}

/// What a handler ends with; nothing when it panics.
async fn caught<T>(handler: impl Future<Output = T>) -> Option<T> {
    let mut handler = pin!(handler);
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

/// Renews a claim until it is lost, or this is dropped. Three times in a lease, and more often when the store fails.
async fn renew<G: ReplayGuard>(shared: Arc<Shared<G>>, delivery: Delivery, ticket: Ticket) {
    let lease = shared.guard.lease_time().max(Duration::from_millis(12));
    let mut pause = lease / 3;
    loop {
        tokio::time::sleep(pause).await;
        match shared.guard.renew(&delivery, ticket.fence()).await {
            Ok(Standing::Held) => pause = lease / 3,
            Ok(Standing::Lost) => {
                ticket.lose();
                return warn(&delivery, "renew", &"the claim has gone to another try");
            }
            Err(error) => {
                warn(&delivery, "renew", &error);
                pause = lease / 12;
            }
        }
    }
}

fn warn(delivery: &Delivery, step: &'static str, error: &dyn fmt::Display) {
    let (endpoint, event) = (delivery.endpoint(), delivery.event());
    tracing::warn!(endpoint, event, step, %error, "a webhook's claim");
}

/// Handlers were still at work when [`Handlers::shutdown`] had waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{handlers} webhook handlers are still running: their events come again if they are cut off now")]
#[non_exhaustive]
pub struct StillRunning {
    /// How many.
    pub handlers: usize,
}
