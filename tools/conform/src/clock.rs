//! The time that a run waits by.

use std::{
    fmt,
    pin::Pin,
    time::{Duration, Instant},
};

/// A boxed future, as in `futures`.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Measures and spends the waits of a run, where no control API can move the time of the service.
///
/// Real time unless [`Conform::clock`](crate::Conform::clock) sets another. A test that can move the time of
/// its service implements it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the time now.
    fn now(&self) -> Instant;

    /// Completes when this time has passed.
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Real time.
#[derive(Debug)]
pub(crate) struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}
