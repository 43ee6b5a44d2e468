//! The clock of everything that waits (retries, the rate limiter, read-backs, polling), so that tests need
//! not wait.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of time that can wait.
///
/// The default, [`TokioClock`], follows tokio's timer. Pass another to
/// [`ClientBuilder::clock`](crate::ClientBuilder::clock) to run hours of retries or polling in a test without
/// waiting:
///
/// ```
/// use shared_inbox::{clock::{BoxFuture, Clock}};
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
///
/// /// Waits by advancing its own time.
/// #[derive(Debug)]
/// struct Leaping(Mutex<Instant>);
///
/// impl Clock for Leaping {
///     fn now(&self) -> Instant {
///         *self.0.lock().unwrap()
///     }
///     fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
///         Box::pin(async move { *self.0.lock().unwrap() += wait })
///     }
/// }
/// ```
///
/// The time limit of a single attempt ([`timeout`](crate::ClientBuilder::timeout)) is real time in any case:
/// it belongs to the socket.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the present moment. Must never go back.
    fn now(&self) -> Instant;

    /// Completes when `wait` has passed. Dropping the future must be harmless.
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()>;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        (**self).sleep(wait)
    }
}

/// Returns the moment after `wait`, or a year from `now` if that is beyond what a clock can hold.
pub(crate) fn after(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(365 * 86_400))
}

/// The clock of the tokio runtime; stands still under `tokio::time::pause`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}
