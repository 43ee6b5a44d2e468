//! A service of one conversation, a clock on which waiting takes no time, and ways to lose a response.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses its own part")]

pub mod losses;
pub mod rewrites;
pub mod service;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use shared_inbox::{
    ConversationId,
    clock::{BoxFuture, Clock},
};
use tokio::sync::Notify;

pub use service::{KINDS, Kind, Outcome, Service, create};

/// Waiting moves its hands, up to a limit: longer waits are for others' leaps to pass, so that a time limit (minutes) does
/// not go off while something else (seconds) is awaited.
#[derive(Debug)]
pub struct LeapClock {
    now: Mutex<Instant>,
    moved: Notify,
    slept: Mutex<Vec<Duration>>,
}

const LONGEST_LEAP: Duration = Duration::from_secs(90);

impl LeapClock {
    pub fn new() -> Arc<Self> {
        let now = Mutex::new(Instant::now());
        Arc::new(Self { now, moved: Notify::new(), slept: Mutex::default() })
    }

    pub fn leap(&self, by: Duration) {
        *self.now.lock().unwrap() += by;
        self.moved.notify_waiters();
    }

    /// Every wait that was leapt over.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }
}

impl Clock for LeapClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if wait <= LONGEST_LEAP {
                self.slept.lock().unwrap().push(wait);
                // Lets whoever else is ready go first, as a real wait would.
                tokio::task::yield_now().await;
                return self.leap(wait);
            }
            let until = self.now() + wait;
            loop {
                let moved = self.moved.notified();
                if self.now() >= until {
                    return;
                }
                moved.await;
            }
        })
    }
}

pub fn key() -> String {
    format!("rk_test_{}", "a1".repeat(24))
}

pub fn conversation_id() -> ConversationId {
    "cnv_1".parse().unwrap()
}

/// How many cases a property is tried with: few, unless `PROPTEST_CASES` asks for more.
pub fn cases(few: u32) -> proptest::test_runner::Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    proptest::test_runner::Config::with_cases(asked.unwrap_or(few))
}
