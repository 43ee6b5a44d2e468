//! The trait of replay guards: a record of events with claims that expire, in this process or in a shared
//! store.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use derive_where::derive_where;

use crate::trace_context::TraceContext;

/// One event at one endpoint, the key of a replay guard. Clones are cheap, and what else it knows of the
/// event is ignored in comparisons.
///
/// [`Verified::delivery`](crate::Verified::delivery) makes one from a verified request.
#[derive(Clone)]
#[derive_where(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delivery {
    // The event first, because it decides most comparisons.
    event: Arc<str>,
    endpoint: Arc<str>,
    #[derive_where(skip(EqHashOrd))]
    event_type: Option<Arc<str>>,
    #[derive_where(skip)]
    trace: Option<TraceContext>,
    #[derive_where(skip)]
    body: Option<Arc<[u8]>>,
}

impl Delivery {
    /// Creates a delivery. `endpoint` distinguishes the receiver's endpoints (an id, a path), as two of them
    /// may get the same event; `event` is the event's id, from
    /// [`MatchedSignature::id`](crate::MatchedSignature::id).
    #[must_use]
    pub fn new(endpoint: impl Into<Arc<str>>, event: impl Into<Arc<str>>) -> Self {
        let (event, endpoint) = (event.into(), endpoint.into());
        Self { event, endpoint, event_type: None, trace: None, body: None }
    }

    /// Sets the event's type, such as `client.replied`, for logs.
    #[must_use]
    pub fn with_event_type(mut self, event_type: impl Into<Arc<str>>) -> Self {
        self.event_type = Some(event_type.into());
        self
    }

    /// Sets the trace that the request belongs to, for spans.
    #[must_use]
    pub fn with_trace_context(mut self, trace: TraceContext) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Sets the body, to be kept should the event's handler fail too often.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Arc<[u8]>>) -> Self {
        self.body = Some(body.into());
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

    /// Returns the trace that the request belongs to, where it is known.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.trace
    }

    /// Returns the body, where it is known.
    #[must_use]
    pub fn body(&self) -> Option<&[u8]> {
        self.body.as_deref()
    }
}

/// The number of a claim. Each claim of a delivery has a larger number than those before it.
///
/// A store that keeps the largest number it has seen, and rejects writes with a smaller one, is safe from a
/// handler that was overtaken without noticing.
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
    /// The event's handler failed too often: it is a dead letter, and only a retry runs it again.
    DeadLettered,
}

/// Whether a claim is still held by the owner of its fencing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a claim that was lost must not be acted on"]
pub enum ClaimStatus {
    /// You hold it.
    Held,
    /// You do not hold it, or no longer: it expired and another attempt took it, or it was released. Nothing
    /// was changed.
    Lost,
}

impl ClaimStatus {
    pub(super) fn held_if(is_held: bool) -> Self {
        if is_held { Self::Held } else { Self::Lost }
    }
}

/// The boxed future that a guard's methods return, so that a guard can be an `Arc<dyn ReplayGuard>`.
pub type GuardFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, GuardError>> + Send + 'a>>;

/// A record of events, in this process ([`MemoryGuard`](super::MemoryGuard)) or in a store that many machines
/// share.
///
/// The rules of every guard:
///
/// - A claim is one atomic step: of many at once, one is granted.
/// - A claim that is not renewed expires after [`lease_time`](Self::lease_time), so that a machine that died
///   does not block an event for good. Its holder keeps it until another attempt takes it: a late commit
///   counts if no other claim came between.
/// - Fencing tokens of one delivery grow. A step with an older one returns [`ClaimStatus::Lost`] and changes
///   nothing.
/// - A commit is kept for at least [`RETRY_WINDOW`](super::RETRY_WINDOW).
/// - After an error the step may or may not have happened. Every step may be repeated.
pub trait ReplayGuard: Send + Sync {
    /// Returns how long a claim lasts unless it is renewed.
    fn lease_time(&self) -> Duration;

    /// Claims a delivery, in one atomic step.
    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim>;

    /// Extends a claim by a lease from now.
    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Records that the event has been handled. Committing again with the same fence returns
    /// [`ClaimStatus::Held`] too: the first response may have been lost.
    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Releases the claim, so that the next attempt is handled.
    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Forgets that an event was handled, so that its next delivery is handled again, and returns whether it
    /// was remembered. For an event that is redelivered by hand, which keeps its id. An event in progress is
    /// not changed.
    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool>;

    /// Called when a handler was dropped midway and a release cannot be awaited. Must not block. By default
    /// the claim expires.
    fn abandon(&self, _delivery: &Delivery, _fence: FencingToken) {}
}

impl<G: ReplayGuard + ?Sized> ReplayGuard for Arc<G> {
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

/// An error returned when the store behind a guard could not be reached or could not respond, or the guard
/// panicked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the replay guard's store failed: {0}")]
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
