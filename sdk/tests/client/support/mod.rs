//! A service of one conversation, a clock on which waiting takes no time, and ways to lose a response.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses its own part")]

pub mod losses;
pub mod rewrites;
pub mod service;

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shared_inbox::{
    Certainty, Client, ClientBuilder, ConversationId, Error,
    clock::{BoxFuture, Clock},
};
use tokio::sync::Notify;
use wiremock::{Mock, MockServer, Respond, matchers::any};

pub use service::{KINDS, Kind, Outcome, Service, create, create_with};

/// Waiting moves its hands, up to a limit: longer waits are for others' leaps to pass, so that a time limit
/// (minutes) does not go off while something else (seconds) is awaited.
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

/// Asserts that what a caller learned fits what was stored.
#[track_caller]
pub fn assert_honest(result: &Result<bool, Error>, stored: usize, case: impl Display) {
    match result {
        Ok(_) => assert_eq!(stored, 1, "{case}: success"),
        Err(error) if error.certainty() == Certainty::Unknown => {
            assert!(stored <= 1, "{case}: unknown, and there are {stored}");
            assert!(error.unconfirmed().is_some(), "{case}: what is needed to look later");
        }
        Err(error) => assert_eq!(stored, 0, "{case}: {error}"),
    }
}

/// A server that gives this response to every request, and a client of it.
pub async fn responding(response: impl Respond + 'static) -> (MockServer, ClientBuilder) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).mount(&server).await;
    let client = Client::builder(format!("{}/api/v1", server.uri()), key());
    (server, client)
}

/// The base URL of a service to which nobody can connect.
pub fn unreachable_url() -> String {
    // Bound and not listened on: whoever connects is refused, and nobody else is given the port.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://{}/api/v1", socket.local_addr().unwrap());
    std::mem::forget(socket);
    url
}

/// A conversation as lists show it.
pub fn summary(number: impl Display) -> Value {
    json!({"id": format!("cnv_{number}"), "subject": "s", "snippet": "t", "status": "open",
           "contact": {"name": null, "email": null}, "mailbox": "Help", "lastMessageAt": "2026-03-01T09:30:00.000Z",
           "messageCount": 1, "assignee": null, "tags": [], "topic": null, "urgency": null, "risk": null})
}

pub fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// How many cases a property is tried with: few, unless `PROPTEST_CASES` asks for more.
pub fn cases(few: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config::with_cases(from_env("PROPTEST_CASES", few.into()) as u32)
}
