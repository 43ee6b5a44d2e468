//! Claims, runs, and commits or releases in the caller's own future, for platforms on which nothing outlives
//! a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, ReplayGuard};

/// The outcome of a delivery that did not fail. With the features `axum` and `actix-web` it is a response:
/// the bare [`status`](Self::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a delivery in progress must not get a success"]
pub enum Handled<T> {
    /// It was handled now.
    Ran(T),
    /// It was handled now, but the store could not record it: respond with success, or it comes again.
    /// `Handlers` repeats the commit in the background.
    RanUnrecorded(T, GuardError),
    /// It was handled now, but its claim had expired and another attempt took it, which may have handled it
    /// too. Nothing was recorded.
    Overtaken(T),
    /// It had been handled before.
    AlreadyDone,
    /// Another attempt is being handled: not a success yet.
    InProgress,
    /// Its handler failed too often, now or before: it is a dead letter. Respond with success, so that the
    /// service does not repeat it.
    DeadLettered,
}

impl<T> Handled<T> {
    /// Returns the HTTP status to respond with: 200, or 409 where another attempt may still fail, so that the
    /// service tries again.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Ran(_) | Self::RanUnrecorded(..) | Self::AlreadyDone | Self::DeadLettered => 200,
            Self::InProgress | Self::Overtaken(_) => 409,
        }
    }
}

/// An error returned when a delivery was not handled. Respond with [`status`](Self::status), so that the
/// service tries again.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError<E> {
    /// The handler failed; the claim was released.
    #[error("the handler of the event failed")]
    Handler(#[source] E),
    /// The handler failed, and the claim could not be released: attempts get "in progress" until it expires.
    #[error("the handler of the event failed, and its claim could not be given back: {1}")]
    HandlerUnreleased(#[source] E, GuardError),
    /// The handler panicked; the claim was released, or expires.
    #[error("the handler of the event panicked")]
    Panicked,
    /// The handler ran for longer than this limit and was cancelled; the claim was released, or expires.
    #[error("the handler of the event was cancelled after {0:?}")]
    TimedOut(Duration),
    /// The store was unavailable; the handler did not run.
    #[error("the event was not handled: {0}")]
    Guard(#[source] GuardError),
    /// The event is a dead letter, and its attempts are to fail; the handler did not run.
    #[error("the event is a dead letter: its handler failed too often")]
    DeadLettered,
    /// There is no such dead letter to retry, or it is being retried now; the handler did not run.
    #[error("there is no such dead letter, or it is being retried now")]
    NoDeadLetter,
    /// The program is shutting down; the handler did not run, or ended with its runtime.
    #[error("the event was not handled: the program is shutting down")]
    ShuttingDown,
}

impl<E> HandleError<E> {
    /// Returns the HTTP status to respond with: 500 where a handler failed, 503 where none ran, 404 where
    /// there is nothing to retry.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NoDeadLetter => 404,
            Self::Guard(_) | Self::ShuttingDown => 503,
            _ => 500,
        }
    }
}

/// The claim of a running handler.
#[derive(Clone, Debug)]
pub struct ClaimHandle {
    fence: FencingToken,
    lost: Arc<AtomicBool>,
}

impl ClaimHandle {
    pub(super) fn new(fence: FencingToken) -> Self {
        Self { fence, lost: Arc::default() }
    }

    /// Returns the number of this claim, larger than those of earlier claims of the same event.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.fence
    }

    /// Returns whether another attempt is known to have taken the claim: what is done from now on is done
    /// twice. Known after a renewal, which [`Handlers`](super) does by itself.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Marks it as lost. Returns whether that was not known before.
    #[cfg(feature = "tokio")]
    pub(super) fn lose(&self) -> bool {
        !self.lost.swap(true, Ordering::Relaxed)
    }
}

/// Runs `handler` unless the event has been handled or is being handled, in the caller's own future.
///
/// For platforms on which nothing outlives a request. On a server use [`Handlers`](super) instead: most
/// frameworks drop the future when the sender hangs up, and this does not renew the claim of a slow handler.
/// The claim is released when the handler fails, panics or is dropped.
///
/// ```
/// use shared_inbox_webhooks::replay::{Delivery, MemoryGuard, Handled, once};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let guard = MemoryGuard::new();
/// let delivery = Delivery::new("orders", "evt_1");
///
/// let failed = once(&guard, &delivery, |_| async { Err::<(), _>("database down") }).await;
/// assert_eq!(failed.unwrap_err().status(), 500);         // the service tries again
/// let retried = once(&guard, &delivery, |_| async { Ok::<_, &str>("stored") }).await;
/// assert!(matches!(retried, Ok(Handled::Ran("stored"))));
/// let again = once(&guard, &delivery, |_| async { Ok::<_, &str>("stored twice?") }).await;
/// assert!(matches!(again, Ok(Handled::AlreadyDone)));
/// # }
/// ```
///
/// # Errors
/// When the handler fails, or the guard cannot be reached.
pub async fn once<G, T, E, F>(
    guard: &G,
    delivery: &Delivery,
    handler: impl FnOnce(ClaimHandle) -> F,
) -> Result<Handled<T>, HandleError<E>>
where
    G: ReplayGuard + ?Sized,
    F: Future<Output = Result<T, E>>,
{
    let fence = match guard.claim(delivery).await.map_err(HandleError::Guard)? {
        Claim::Granted(fence) => fence,
        Claim::InProgress => return Ok(Handled::InProgress),
        Claim::Done => return Ok(Handled::AlreadyDone),
        Claim::DeadLettered => return Ok(Handled::DeadLettered),
    };
    let mut abandon = AbandonOnDrop { guard, delivery, fence, ended: false };
    let outcome = handler(ClaimHandle::new(fence)).await;
    // After the handler's success the claim must not be released, also when this future is dropped while the
    // store is slow.
    abandon.ended = outcome.is_ok();
    let outcome = match outcome {
        Ok(value) => Ok(match guard.commit(delivery, fence).await {
            Ok(ClaimStatus::Held) => Handled::Ran(value),
            Ok(ClaimStatus::Lost) => Handled::Overtaken(value),
            Err(error) => Handled::RanUnrecorded(value, error),
        }),
        Err(error) => Err(match guard.release(delivery, fence).await {
            Ok(ClaimStatus::Held | ClaimStatus::Lost) => HandleError::Handler(error),
            Err(guard) => HandleError::HandlerUnreleased(error, guard),
        }),
    };
    abandon.ended = true;
    outcome
}

/// Abandons the claim when dropped before the end.
struct AbandonOnDrop<'a, G: ReplayGuard + ?Sized> {
    guard: &'a G,
    delivery: &'a Delivery,
    fence: FencingToken,
    ended: bool,
}

impl<G: ReplayGuard + ?Sized> Drop for AbandonOnDrop<'_, G> {
    fn drop(&mut self) {
        if !self.ended {
            self.guard.abandon(self.delivery, self.fence);
        }
    }
}
