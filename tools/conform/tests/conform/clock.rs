//! Clocks that wait without waiting.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use shared_inbox_conform::Clock;
use shared_inbox_mock::{Control, MockServer};

/// Waits by moving its own hands.
#[derive(Debug)]
pub(crate) struct Leaping(Mutex<Instant>);

impl Default for Leaping {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Clock for Leaping {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move { *self.0.lock().unwrap() += wait })
    }
}

/// Waits by moving the clock of a mock, as if minutes passed.
#[derive(Debug)]
pub(crate) struct MockClock(Control, Leaping);

impl MockClock {
    pub(crate) fn new(mock: &MockServer) -> Arc<Self> {
        Arc::new(Self(mock.control().clone(), Leaping::default()))
    }
}

impl Clock for MockClock {
    fn now(&self) -> Instant {
        self.1.now()
    }

    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            self.0.advance(wait).await.expect("the clock moves");
            self.1.sleep(wait).await;
        })
    }
}
