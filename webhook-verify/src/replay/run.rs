//! Claim, run, commit or release: in the caller's own future, for places where nothing outlives a request.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, ReplayGuard};

/// How a delivery went, when nothing failed. With the features `axum` and `actix-web` it is a response: the bare
/// [`status`](Self::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "a delivery in progress must not get a success"]
pub enum Handled<T> {
    /// It was handled now.
    Ran(T),
    /// It was handled now, but the store could not note it: respond with success, or it comes again. `Handlers` goes on
    /// trying to note it, in the background.
    RanUnrecorded(T, GuardError),
    /// It was handled now, but its claim had run out and gone to another try, which may have handled it too. Nothing was
    /// noted: what is right is for that other try to say.
    Overtaken(T),
    /// It had been handled before.
    AlreadyDone,
    /// Another try is being handled: not a success yet.
    InProgress,
}

impl<T> Handled<T> {
    /// Returns the HTTP status to respond with: 200, or 409 where it is not known to be done, so that the service tries again in
    /// case the other try fails.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Ran(_) | Self::RanUnrecorded(..) | Self::AlreadyDone => 200,
            Self::InProgress | Self::Overtaken(_) => 409,
        }
    }
}

/// Why a delivery was not handled. Respond with [`status`](Self::status), so that the service tries again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HandleError<E> {
    /// The handler failed; the claim was given back.
    Handler(E),
    /// The handler failed, and the store could not take the claim back: tries get "in progress" until it runs out.
    HandlerUnreleased(E, GuardError),
    /// The handler panicked; the claim was given back, or runs out.
    Panicked,
    /// The handler ran for longer than this, which is the longest that it may, and was cancelled; the claim was given
    /// back, or runs out.
    TimedOut(Duration),
    /// The store could not say whether the event is new; the handler did not run.
    Guard(GuardError),
    /// The program is about to end and begins nothing new; the handler did not run.
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

/// What a handler knows about its claim.
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

    /// The number of this claim, larger than those of earlier claims of the same event.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.fence
    }

    /// Whether the claim is known to have gone to another try: what is done from now on is done twice. Learnt when the
    /// claim is renewed, which [`Handlers`](super) does by itself.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    #[cfg(feature = "tokio")]
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Notes that the handler has ended.
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
/// For platforms on which nothing outlives a request. On a server use [`Handlers`](super) instead: there a sender that
/// hangs up makes most frameworks drop the future half-way, and a claim that nobody renews runs out under a slow
/// handler. Here the claim is given back when the handler fails, panics or is dropped.
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
    // Once the handler has done its work the event must not be given back, also when this future is dropped while the
    // store is slow.
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

/// Abandons the claim unless the delivery came to an end.
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
