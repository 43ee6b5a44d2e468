//! Claims, runs, and commits or releases in the caller's own future, for platforms on which nothing outlives a request.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, ReplayGuard};

/// The outcome of a delivery that did not fail. With the features `axum` and `actix-web` it is a response: the bare
/// [`status`](Self::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a delivery in progress must not get a success"]
pub enum Handled<T> {
    /// It was handled now.
    Ran(T),
    /// It was handled now, but the store could not record it: respond with success, or it comes again. `Handlers` repeats the
    /// commit in the background.
    RanUnrecorded(T, GuardError),
    /// It was handled now, but its claim had expired and another attempt took it, which may have handled it too. Nothing was
    /// recorded.
    Overtaken(T),
    /// It had been handled before.
    AlreadyDone,
    /// Another attempt is being handled: not a success yet.
    InProgress,
}

impl<T> Handled<T> {
    /// Returns the HTTP status to respond with: 200, or 409 where another attempt may still fail, so that the service tries
    /// again.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Ran(_) | Self::RanUnrecorded(..) | Self::AlreadyDone => 200,
            Self::InProgress | Self::Overtaken(_) => 409,
        }
    }
}

/// An error returned when a delivery was not handled. Respond with [`status`](Self::status), so that the service tries again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HandleError<E> {
    /// The handler failed; the claim was released.
    Handler(E),
    /// The handler failed, and the claim could not be released: attempts get "in progress" until it expires.
    HandlerUnreleased(E, GuardError),
    /// The handler panicked; the claim was released, or expires.
    Panicked,
    /// The handler ran for longer than this limit and was cancelled; the claim was released, or expires.
    TimedOut(Duration),
    /// The store was unavailable; the handler did not run.
    Guard(GuardError),
    /// The program is shutting down; the handler did not run, or ended with its runtime.
    ShuttingDown,
}

impl<E> HandleError<E> {
    /// Returns the HTTP status to respond with: 500 where a handler failed, 503 where none ran.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Handler(_) | Self::HandlerUnreleased(..) | Self::Panicked | Self::TimedOut(_) => 500,
            Self::Guard(_) | Self::ShuttingDown => 503,
        }
    }
}

impl<E> fmt::Display for HandleError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handler(_) => f.write_str("the handler of the event failed"),
            Self::HandlerUnreleased(_, guard) => {
                write!(f, "the handler of the event failed, and its claim could not be given back: {guard}")
            }
            Self::Panicked => f.write_str("the handler of the event panicked"),
            Self::TimedOut(limit) => write!(f, "the handler of the event was cancelled after {limit:?}"),
            Self::Guard(guard) => write!(f, "the event was not handled: {guard}"),
            Self::ShuttingDown => f.write_str("the event was not handled: the program is shutting down"),
        }
    }
}

impl<E: Error + 'static> Error for HandleError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Handler(error) | Self::HandlerUnreleased(error, _) => Some(error),
            Self::Guard(guard) => Some(guard),
            Self::Panicked | Self::TimedOut(_) | Self::ShuttingDown => None,
        }
    }
}

/// The claim of a running handler.
#[derive(Clone, Debug)]
pub struct ClaimGuard {
    fence: FencingToken,
    lost: Arc<AtomicBool>,
    #[cfg(feature = "tokio")]
    settled: Arc<AtomicBool>,
}

impl ClaimGuard {
    pub(super) fn new(fence: FencingToken) -> Self {
        Self {
            fence,
            lost: Arc::default(),
            #[cfg(feature = "tokio")]
            settled: Arc::default(),
        }
    }

    /// Returns the number of this claim, larger than those of earlier claims of the same event.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.fence
    }

    /// Returns whether another attempt is known to have taken the claim: what is done from now on is done twice. Known after a
    /// renewal, which [`Handlers`](super) does by itself.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    #[cfg(feature = "tokio")]
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Records that the handler has ended.
    #[cfg(feature = "tokio")]
    pub(super) fn settle(&self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    #[cfg(feature = "tokio")]
    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Relaxed)
    }
}

/// Runs `handler` unless the event has been handled or is being handled, in the caller's own future.
///
/// For platforms on which nothing outlives a request. On a server use [`Handlers`](super) instead: most frameworks drop the
/// future when the sender hangs up, and this does not renew the claim of a slow handler. The claim is released when the handler
/// fails, panics or is dropped.
///
/// With the features `axum` and `actix-web` the result is a response, the bare status of [`Handled::status`] or
/// [`HandleError::status`]: a route's function returns it as it is.
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
    handler: impl FnOnce(ClaimGuard) -> F,
) -> Result<Handled<T>, HandleError<E>>
where
    G: ReplayGuard + ?Sized,
    F: Future<Output = Result<T, E>>,
{
    let fence = match guard.claim(delivery).await.map_err(HandleError::Guard)? {
        Claim::Granted(fence) => fence,
        Claim::InProgress => return Ok(Handled::InProgress),
        Claim::Done => return Ok(Handled::AlreadyDone),
    };
    let mut held = Held { guard, delivery, fence, ended: false };
    let outcome = handler(ClaimGuard::new(fence)).await;
    // After the handler's success the claim must not be released, also when this future is dropped while the store is slow.
    held.ended = outcome.is_ok();
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
    held.ended = true;
    outcome
}

/// Abandons the claim when dropped before the end.
struct Held<'a, G: ReplayGuard + ?Sized> {
    guard: &'a G,
    delivery: &'a Delivery,
    fence: FencingToken,
    ended: bool,
}

impl<G: ReplayGuard + ?Sized> Drop for Held<'_, G> {
    fn drop(&mut self) {
        if !self.ended {
            self.guard.abandon(self.delivery, self.fence);
        }
    }
}
