//! The rate limit, kept on this side: the service allows 120 requests a minute for each key, and a client that keeps to it
//! never sees a 429. The trait is asynchronous and fallible so that processes can share one count elsewhere.

mod acquire;
mod fingerprint;
mod memory;
mod permit;
#[cfg(feature = "redis")]
mod redis;
mod schedule;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::client::policy::clock::BoxFuture;

pub use fingerprint::KeyFingerprint;
pub use memory::MemoryLimiter;
pub use permit::{AcquireRequest, Permit, PermitOutcome};
#[cfg(feature = "redis")]
pub use redis::{RedisLimiter, RedisLimiterBuilder, StoreError};

/// How urgent a request is, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Reads that settle whether an earlier request took effect. May use the whole limit.
    ReadBack,
    /// Somebody is waiting. The priority of every call unless it says otherwise. Leaves a little for read-backs.
    Interactive,
    /// Background work. Goes after all others, and leaves them the last sixth of the limit that is free. A twelfth of the
    /// limit is its own, however many others wait.
    Bulk,
}

/// Decides when a request may be sent.
///
/// [`MemoryLimiter`] counts within one process, `RedisLimiter` (feature `redis`) for all processes and machines that use the
/// same key. Implement this trait to count elsewhere. A caller waits for a [`Permit`], which stands for one request until that
/// is over.
///
/// An implementation must hold for *any* 60 seconds, not for each minute of the clock, and must not lose or keep a place
/// when the future of [`acquire`](Self::acquire) is dropped.
///
/// ```
/// use shared_inbox::{rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, Priority, RateLimiter}, retry::BoxFuture};
/// use std::time::Duration;
///
/// /// Keeps background work out altogether.
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
    /// Completes when the request may be sent; it is then counted, until its permit says otherwise.
    ///
    /// If that takes longer than the [`max_wait`](AcquireRequest::max_wait), the result is [`LimitError::Busy`] with the wait, as
    /// early as it is known. A `max_wait` of zero never waits.
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>>;
}

impl<L: RateLimiter + ?Sized> RateLimiter for Arc<L> {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        (**self).acquire(request)
    }
}

/// Why no request may be sent now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The limit is used up for longer than the caller would wait.
    #[error("the rate limit is used up; try again in {} ms", wait.as_millis())]
    #[non_exhaustive]
    Busy {
        /// How long until a request can be sent, as far as is known now.
        wait: Duration,
    },
    /// The count could not be reached, for a limiter that lives elsewhere.
    #[error("the rate limiter cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl LimitError {
    /// The limit is used up; `wait` says for how long.
    #[must_use]
    pub fn busy(wait: Duration) -> Self {
        Self::Busy { wait }
    }
}
