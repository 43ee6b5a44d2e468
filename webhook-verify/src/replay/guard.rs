//! The trait of replay guards: a record of events with claims that expire, in this process or in a shared store.

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// One event at one endpoint, the key of a replay guard. Clones are cheap.
///
/// [`Verified::delivery`](crate::Verified::delivery) makes one from a verified request.
#[derive(Clone, Debug)]
pub struct Delivery {
    event: Arc<str>,
    endpoint: Arc<str>,
    event_type: Option<Arc<str>>,
}

impl Delivery {
    /// Creates a delivery. `endpoint` distinguishes the receiver's endpoints (an id, a path), as two of them may get the same
    /// event; `event` is the event's id, from [`MatchedSignature::id`](crate::MatchedSignature::id).
    #[must_use]
    pub fn new(endpoint: impl Into<Arc<str>>, event: impl Into<Arc<str>>) -> Self {
        Self { event: event.into(), endpoint: endpoint.into(), event_type: None }
    }

    /// Sets the event's type, such as `client.replied`, for logs. It is ignored when deliveries are compared.
    #[must_use]
    pub fn with_event_type(mut self, event_type: impl Into<Arc<str>>) -> Self {
        self.event_type = Some(event_type.into());
        self
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the event's id.
    #[must_use]
    pub fn event(&self) -> &str {
        &self.event
    }

    /// Returns the event's type, where it is known.
    #[must_use]
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// Returns what it is compared by: the event first, because it decides most comparisons.
    fn key(&self) -> (&str, &str) {
        (&self.event, &self.endpoint)
    }
}

impl PartialEq for Delivery {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Delivery {}

impl PartialOrd for Delivery {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delivery {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Delivery {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The number of a claim. Each claim of a delivery has a larger number than those before it.
///
/// A store that keeps the largest number it has seen, and rejects writes with a smaller one, is safe from a handler that was
/// overtaken without noticing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// Creates a token, for a guard of yours.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number, to hand to a store that rejects smaller ones.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// You hold it: handle the event, then commit or release.
    Granted(FencingToken),
    /// Another attempt of the same event is being handled now.
    InProgress,
    /// The event has been handled.
    Done,
}

/// Whether a claim is still held by the owner of its fencing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a claim that was lost must not be acted on"]
pub enum ClaimStatus {
    /// You hold it.
    Held,
    /// You do not hold it, or no longer: it expired and another attempt took it, or it was released. Nothing was changed.
    Lost,
}

/// The boxed future that a guard's methods return, so that a guard can be an `Arc<dyn ReplayGuard>`.
pub type GuardFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, GuardError>> + Send + 'a>>;

/// A record of events, in this process ([`MemoryGuard`](super::MemoryGuard)) or in a store that many machines share.
///
/// The rules, which [`suite`](super) (feature `suite`) checks on any implementation:
///
/// - A claim is one atomic step: of many at once, one is granted.
/// - A claim that is not renewed expires after [`lease_time`](Self::lease_time), so that a machine that died does not block an
///   event for good. Its holder keeps it until another attempt takes it: a late commit counts if no other claim came between.
/// - Fencing tokens of one delivery grow. A step with an older one returns [`ClaimStatus::Lost`] and changes nothing.
/// - A commit is kept for at least [`RETRY_WINDOW`](super::RETRY_WINDOW).
/// - After an error the step may or may not have happened. Every step may be repeated.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Mutex, PoisonError};
/// use std::time::Duration;
/// use shared_inbox_webhooks::replay::{GuardFuture, Claim, Delivery, FencingToken, ReplayGuard, ClaimStatus};
///
/// /// A sketch: a real store also lets its claims expire, and forgets in the end.
/// #[derive(Default)]
/// struct Table(Mutex<HashMap<Delivery, (FencingToken, State)>>);
///
/// #[derive(Clone, Copy, PartialEq)]
/// enum State { Claimed, Released, Done }
///
/// impl Table {
///     /// Changes the state for the holder of the latest fence.
///     fn step(&self, delivery: &Delivery, fence: FencingToken, from: &[State], to: State) -> ClaimStatus {
///         match self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(delivery) {
///             Some((latest, state)) if *latest == fence && from.contains(state) => {
///                 *state = to;
///                 ClaimStatus::Held
///             }
///             _ => ClaimStatus::Lost,
///         }
///     }
/// }
///
/// impl ReplayGuard for Table {
///     fn lease_time(&self) -> Duration {
///         Duration::from_secs(60)
///     }
///
///     fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
///         Box::pin(async move {
///             let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
///             let (fence, state) = table.entry(delivery.clone()).or_insert((FencingToken::new(0), State::Released));
///             Ok(match state {
///                 State::Done => Claim::Done,
///                 State::Claimed => Claim::InProgress,
///                 State::Released => {
///                     (*fence, *state) = (FencingToken::new(fence.number() + 1), State::Claimed);
///                     Claim::Granted(*fence)
///                 }
///             })
///         })
///     }
///
///     fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
///         Box::pin(async move { Ok(self.step(delivery, fence, &[State::Claimed], State::Claimed)) })
///     }
///
///     fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
///         Box::pin(async move { Ok(self.step(delivery, fence, &[State::Claimed, State::Done], State::Done)) })
///     }
///
///     fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
///         Box::pin(async move { Ok(self.step(delivery, fence, &[State::Claimed], State::Released)) })
///     }
///
///     fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
///         Box::pin(async move {
///             let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
///             let done = table.get_mut(delivery).filter(|(_, state)| *state == State::Done);
///             Ok(done.map(|(_, state)| *state = State::Released).is_some())
///         })
///     }
/// }
/// ```
pub trait ReplayGuard: Send + Sync {
    /// Returns how long a claim lasts unless it is renewed.
    fn lease_time(&self) -> Duration;

    /// Claims a delivery, in one atomic step.
    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim>;

    /// Extends a claim by a lease from now.
    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Records that the event has been handled. Committing again with the same fence returns [`ClaimStatus::Held`] too: the
    /// first response may have been lost.
    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Releases the claim, so that the next attempt is handled.
    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Forgets that an event was handled, so that its next delivery is handled again, and returns whether it was remembered.
    /// For an event that is redelivered by hand, which keeps its id. An event in progress is not changed.
    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool>;

    /// Called when a handler was dropped midway and a release cannot be awaited. Must not block. By default the claim expires.
    fn abandon(&self, _delivery: &Delivery, _fence: FencingToken) {}
}

macro_rules! passes_on {
    ($($pointer:ty),*) => {$(
        impl<G: ReplayGuard + ?Sized> ReplayGuard for $pointer {
            fn lease_time(&self) -> Duration {
                (**self).lease_time()
            }

            fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
                (**self).claim(delivery)
            }

            fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
                (**self).renew(delivery, fence)
            }

            fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
                (**self).commit(delivery, fence)
            }

            fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
                (**self).release(delivery, fence)
            }

            fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
                (**self).forget(delivery)
            }

            fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
                (**self).abandon(delivery, fence);
            }
        }
    )*};
}

passes_on!(&G, Arc<G>, Box<G>);

/// An error returned when the store behind a guard could not be reached or could not respond, or the guard panicked.
#[derive(Clone)]
pub struct GuardError(Arc<dyn Error + Send + Sync>);

impl GuardError {
    /// Wraps the error of the store's client.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(cause.into()))
    }

    /// Returns the error of the store's client, if it has this type.
    #[must_use]
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the replay guard's store failed: {}", self.0)
    }
}

impl fmt::Debug for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GuardError").field(&self.0).finish()
    }
}

impl Error for GuardError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
