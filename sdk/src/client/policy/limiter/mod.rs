//! The rate limit, kept on this side: the service allows 120 requests a minute for each key, and a client that keeps to it
//! never sees a 429. The trait is asynchronous and fallible so that processes can share one count elsewhere.

mod memory;

use std::fmt;
use std::time::Duration;

use crate::client::policy::clock::BoxFuture;

pub use memory::MemoryLimiter;

/// How urgent a request is, most urgent first.
///
/// ```
/// use shared_inbox::Lane;
///
/// assert!(Lane::ReadBack < Lane::Interactive && Lane::Interactive < Lane::Bulk);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lane {
    /// Reads that settle whether an earlier request took effect. May use the whole limit.
    ReadBack,
    /// Somebody is waiting. The lane of every call unless it says otherwise. Leaves a little for read-backs.
    Interactive,
    /// Background work. Goes after all others, and leaves a part of the limit for them; what has waited for more than a
    /// minute gets a turn now and then.
    Bulk,
}

/// Decides when a request may be sent.
///
/// [`MemoryLimiter`] counts within one process. Implement this trait to share a count between processes or machines that
/// use the same key.
///
/// An implementation must hold for *any* 60 seconds, not for each minute of the clock, and must not lose or keep a place
/// when the future of [`acquire`](Self::acquire) is dropped.
///
/// ```
/// use shared_inbox::{BoxFuture, Lane, LimitError, MemoryLimiter, RateLimiter};
/// use std::time::Duration;
///
/// /// Keeps background work out altogether.
/// #[derive(Debug)]
/// struct NoBulk(MemoryLimiter);
///
/// impl RateLimiter for NoBulk {
///     fn acquire(&self, lane: Lane, patience: Duration) -> BoxFuture<'_, Result<(), LimitError>> {
///         if lane == Lane::Bulk {
///             return Box::pin(async { Err(LimitError::busy(Duration::from_secs(3600))) });
///         }
///         self.0.acquire(lane, patience)
///     }
///     fn throttled(&self, retry_after: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>> {
///         self.0.throttled(retry_after)
///     }
///     fn finished(&self, took: Duration) {
///         self.0.finished(took);
///     }
/// }
/// ```
pub trait RateLimiter: fmt::Debug + Send + Sync + 'static {
    /// Completes when a request of this lane may be sent; the request is then counted.
    ///
    /// If that takes longer than `patience`, the answer is [`LimitError::Busy`] with the wait, as early as it is known.
    /// A `patience` of zero never waits.
    fn acquire(&self, lane: Lane, patience: Duration) -> BoxFuture<'_, Result<(), LimitError>>;

    /// The service answered 429 although the limit was kept: others use the key too. `retry_after` is what the service
    /// asked for, if it did.
    fn throttled(&self, retry_after: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>>;

    /// A request was answered, failed or was given up, this long after it was let through. It had to connect first and may
    /// have reached the service as late as now, so one that took long is to be counted from now on.
    ///
    /// Must not block. Does nothing unless implemented.
    fn finished(&self, took: Duration) {
        let _ = took;
    }
}

/// Why no request may be sent now.
///
/// ```
/// use shared_inbox::LimitError;
/// use std::time::Duration;
///
/// let busy = LimitError::busy(Duration::from_secs(2));
/// assert_eq!(busy.to_string(), "the rate limit is used up; try again in 2000 ms");
/// ```
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
