//! A clock for the client that moves the mock's clock along: waits take no time, and both agree on what time
//! it is.

use std::{
    fmt,
    sync::Mutex,
    time::{Duration, Instant},
};

use shared_inbox::{
    Client,
    clock::{BoxFuture, Clock},
};
use shared_inbox_mock::{Control, MockServer};

/// Whoever waits moves the time for all.
pub(crate) struct SharedClock {
    control: Control,
    now: Mutex<Instant>,
}

impl SharedClock {
    pub(crate) fn with(mock: &MockServer) -> Self {
        Self { control: mock.control().clone(), now: Mutex::new(Instant::now()) }
    }
}

impl fmt::Debug for SharedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedClock")
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A wait that is raced against something that is ready must lose before it moves the time.
            tokio::task::yield_now().await;
            self.control.advance(wait).await.expect("a manual clock can be moved");
            *self.now.lock().unwrap() += wait;
        })
    }
}

/// A client of `mock` with this key whose waits move the mock's clock.
pub(crate) fn client(mock: &MockServer, key: &str, clock: &std::sync::Arc<SharedClock>) -> Client {
    Client::builder(mock.base_url(), key)
        .clock(clock.clone())
        .build()
        .expect("the mock's address and key are sound")
}
