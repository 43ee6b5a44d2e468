//! The whole shared-inbox service in memory, for tests and CI: REST, MCP, webhooks, a clock you can move,
//! faults you can switch on.
//!
//! In a test, start one, give its [`client`](MockServer::client) to the code under test, and play everyone
//! else through its [`control`](MockServer::control):
//!
//! ```
//! use std::time::Duration;
//! use shared_inbox_mock::{Effect, FaultRule, MockServer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mock = MockServer::builder().manual_clock().start().await;
//! let inbox = mock.client();
//!
//! // The note is accepted, then the connection closes without a response. The client checks before it retries.
//! let lost = FaultRule::new(Effect::drop_after()).method("POST").path("/conversations/*/notes");
//! mock.control().add_fault(lost).await?;
//! let first = &inbox.conversations().await?[0];
//! let note = inbox.conversation(&first.id).add_note("Refund is approved");
//! assert!(note.await?.recovered());
//!
//! // Ten minutes pass at once.
//! mock.control().advance(Duration::from_secs(600)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The MCP endpoint, [`mcp_url`](MockServer::mcp_url), needs the feature `mcp`.
//!
//! The program `shared-inbox-mock` (the crate `shared-inbox-mock-cli`) is the same server for programs in any
//! language.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// Implements `Debug` with these fields alone: the others may hold an email's words, names, addresses or
/// secrets.
macro_rules! redacted_debug {
    ($name:ident { $($field:ident),* }) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

/// Writes setters of a builder: `name(arguments) => field = value;` takes the builder and returns it with the
/// field set, `name(arguments) => field.push(value);` with something added to the field.
macro_rules! setters {
    ($(
        $(#[$meta:meta])*
        $name:ident($($arg:ident: $type:ty),*) => $field:ident $(.$add:ident($($item:expr),*))? $(= $value:expr)?;
    )*) => {$(
        $(#[$meta])*
        pub fn $name(mut self, $($arg: $type),*) -> Self {
            self.$field $(.$add($($item),*))? $(= $value)?;
            self
        }
    )*};
}

mod bound;
mod builder;
mod control;
pub mod faults;
mod http;
mod json;
mod ready;
mod receiver_check;
mod runtime;
pub mod world;

use std::{io::Write, thread::JoinHandle};

use shared_inbox::Client;
use tokio::sync::{oneshot, watch};

pub use bound::BoundServer;
pub use builder::{MockServerBuilder, StartError};
pub use control::{Control, NewWorld};
pub use ready::Ready;
pub use runtime::document::world_schema;
pub use world::{LIVE_KEY, ReadyKeys, Refusal, Result, TEST_KEY};

// What nearly every test uses, so that one line imports it.
#[doc(no_inline)]
pub use expect::Expectation;
#[doc(no_inline)]
pub use faults::{Effect, FaultRule};
#[doc(no_inline)]
pub use webhooks::CreateWebhook;
#[doc(no_inline)]
pub use world::{Approval, InboundMail, NewKey};

/// The material for `examples/write_documents`, which writes the documents that this crate embeds.
#[cfg(feature = "schemas")]
#[doc(hidden)]
pub mod __schemas {
    pub use crate::http::control::{
        catalogue::{CallDescription, control_calls},
        describe::{InputSchema, OutputSchema},
    };
}

/// The clock of a world, and what falls due as it moves.
pub mod clock {
    pub use crate::runtime::{
        advance::{ClockAdvance, ClockReading},
        clock::ClockMode,
    };
    pub use crate::world::jobs::{JobDetails, JobEntry};
    pub use crate::world::run::{FiredJob, JobOutcome};
}

/// Expectations: what must happen in a world, and by when.
pub mod expect {
    pub use crate::control::{ExpectTime, Expectation, ExpectationMet, ExpectedKind, Unused, UnusedKind};
}

/// The requests that a world got, and what led to what.
pub mod journal {
    pub use crate::control::Trace;
    pub use crate::runtime::{
        change::{Cause, Change},
        journal::entry::{JournalEntry, RequestFilter, SortOrder, Transport},
    };
    pub use crate::world::trace::{StepKind, TraceDelivery, TraceStep};
}

/// Snapshots of a world, and the difference between two.
pub mod snapshots {
    pub use crate::control::{SnapshotEntry, WorldDifference};
    pub use crate::json::difference::FieldChange;
}

/// Webhook endpoints, their deliveries, and the check of a receiver.
pub mod webhooks {
    pub use crate::receiver_check::{CheckCase, CheckReport};
    pub use crate::runtime::targets::WebhookTargets;
    pub use crate::world::webhooks::{
        Attempt, AttemptDetail, AttemptOutcome, AttemptRequest, CreateWebhook, CreatedWebhook,
        DeliveryDetail, DeliveryFilter, DeliveryOutcome, DeliveryView, RotatedSecret, SignatureHeaders,
        TestEvent, TimestampSource, WebhookScope, WebhookState, WebhookView,
    };
}

use http::connection::Phase;

/// A running mock server. It stops when it is dropped.
///
/// What a test set up in the main world and what had no effect ([`Control::unused`]) is then written to
/// stderr, or fails the test with [`MockServerBuilder::strict`].
///
/// It runs on a thread of its own, so it works whatever runtime the test uses, with blocking clients and with
/// tokio's paused time. Each has its own port; many can run at once.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::MockServer;
///
/// let mock = MockServer::builder().manual_clock().start().await;
/// let open = mock.client().conversations().await?;
/// assert!(!open.is_empty(), "the demo workspace has something to look at");
/// assert_eq!(mock.control().requests().await.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct MockServer {
    ready: Ready,
    control: Control,
    phase: watch::Sender<Phase>,
    ended: Option<oneshot::Receiver<()>>,
    thread: Option<JoinHandle<()>>,
    strict: bool,
}

redacted_debug!(MockServer { ready });

impl MockServer {
    /// Starts with the demo workspace and the real clock, on a free port.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Returns the settings of a server.
    pub fn builder() -> MockServerBuilder {
        MockServerBuilder::default()
    }

    /// Returns the addresses and keys.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Returns the prefix of the REST API.
    pub fn base_url(&self) -> &str {
        &self.ready.base_url
    }

    /// Returns the MCP endpoint. Without the feature `mcp` it responds 404 and says why.
    pub fn mcp_url(&self) -> &str {
        &self.ready.mcp_url
    }

    /// Returns the prefix of the control API.
    pub fn control_url(&self) -> &str {
        &self.ready.control_url
    }

    /// Returns the key for live data; it holds all scopes.
    pub fn live_key(&self) -> &str {
        &self.ready.keys.live
    }

    /// Returns the key for the sandbox; it holds all scopes.
    pub fn test_key(&self) -> &str {
        &self.ready.keys.test
    }

    /// Returns a client with the live key.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> shared_inbox::Result<()> {
    /// let mock = shared_inbox_mock::MockServer::start().await;
    /// assert_eq!(mock.client().me().await?.livemode, Some(true));
    /// # Ok(())
    /// # }
    /// ```
    pub fn client(&self) -> Client {
        self.client_with(self.live_key())
    }

    /// Returns a client with the test key.
    pub fn test_client(&self) -> Client {
        self.client_with(self.test_key())
    }

    /// Returns a client with a key of this server, as [`Control::create_key`] returns one.
    ///
    /// # Panics
    ///
    /// When the key does not have the form of a key.
    pub fn client_with(&self, key: &str) -> Client {
        Client::builder(self.base_url(), key)
            .build()
            .expect("the address is this server's; the key must have a key's form")
    }

    /// Returns the control of the main world: people, customers, time, faults.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Ends the server and waits for the responses of requests under way.
    pub async fn stop(mut self) {
        self.phase.send_replace(Phase::Ending);
        if let Some(ended) = self.ended.take() {
            // An error also means that it has ended.
            let _ = ended.await;
        }
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Over);
        if let Some(thread) = self.thread.take() {
            // Requests are aborted, so this does not block; afterwards the port is free.
            let _ = thread.join();
        }
        if std::thread::panicking() {
            return;
        }
        let unused: Vec<String> = self.control.find_unused().into_iter().map(|it| it.message).collect();
        match (unused.join("; "), self.strict) {
            (unused, _) if unused.is_empty() => {}
            (unused, true) => panic!("the test set up what had no effect: {unused}"),
            (unused, false) => {
                // By the name of the thread, which is the test's. What `eprintln!` writes is shown of tests
                // that fail alone.
                let thread = std::thread::current();
                let test = thread.name().map(|name| format!("{name}: ")).unwrap_or_default();
                let said = format!("shared-inbox-mock: {test}the test set up what had no effect: {unused}\n");
                let _ = std::io::stderr().write_all(said.as_bytes());
            }
        }
    }
}
