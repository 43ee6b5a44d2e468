//! The rate limit, kept by the client: the service allows 120 requests a minute for each key, and a client
//! that keeps to it never gets a 429. The trait is asynchronous and fallible so that processes can share a
//! count in a store.

mod acquire;
mod fingerprint;
mod memory;
mod permit;
mod schedule;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::policy::clock::BoxFuture;

pub use fingerprint::KeyFingerprint;
pub use memory::MemoryLimiter;
pub use permit::{AcquireRequest, Permit, PermitOutcome};

/// The smallest limit of a client: a request that was lost is sent again only together with the read right
/// before it.
pub(crate) const MIN_LIMIT: u32 = 2;

/// How urgent a request is, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Reads that find out whether an earlier request took effect. May use all of the limit.
    ReadBack,
    /// Calls that someone waits for: the default. Leaves a little for read-backs.
    Interactive,
    /// Background work. Queues last, and leaves the last sixth of the limit to others; a twelfth of the limit
    /// is guaranteed.
    Bulk,
}

/// Decides when a request may be sent.
///
/// [`MemoryLimiter`] counts within one process, the limiter of the crate `shared-inbox-stores` for all processes and machines that
/// use the same key. Implement this trait to count elsewhere. A [`Permit`] stands for one request until that
/// has ended.
///
/// The limit must hold for *any* 60 seconds, not for each minute of the clock. Dropping the future of
/// [`acquire`](Self::acquire) must neither lose nor keep a place.
///
/// ```
/// use shared_inbox::{rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, Priority, RateLimiter}, clock::BoxFuture};
/// use std::time::Duration;
///
/// /// Refuses background work.
/// #[derive(Debug)]
/// struct NoBulk(MemoryLimiter);
///
/// impl RateLimiter for NoBulk {
///     fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
///         if request.priority == Priority::Bulk {
///             return Box::pin(async { Err(LimitError::busy(Duration::from_secs(3600))) });
///         }
///         self.0.acquire(request)
///     }
/// }
/// ```
pub trait RateLimiter: fmt::Debug + Send + Sync + 'static {
    /// Completes when the request may be sent. The request counts from then on, until its permit is given up.
    ///
    /// # Errors
    ///
    /// [`LimitError::Busy`], as early as it is known, when the wait is longer than [`max_wait`](AcquireRequest::max_wait). A
    /// `max_wait` of zero never waits.
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>>;
}

impl<L: RateLimiter + ?Sized> RateLimiter for Arc<L> {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        (**self).acquire(request)
    }
}

/// An error returned when no request may be sent now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The limit is used up for longer than the caller would wait.
    #[error("the rate limit is used up; try again in {} ms", wait.as_millis())]
    #[non_exhaustive]
    Busy {
        /// How long until the next slot for a request of this priority, as far as is known now. Calls that
        /// already wait for it are not counted, so behind a queue it takes longer.
        wait: Duration,
    },
    /// The store of the limiter could not be reached.
    #[error("the rate limiter cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl LimitError {
    /// Returns the error of a limit that is used up for `wait`.
    #[must_use]
    pub fn busy(wait: Duration) -> Self {
        Self::Busy { wait }
    }
}
