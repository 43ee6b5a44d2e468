//! The whole shared-inbox service in memory, for tests and CI: REST, MCP, webhooks, a clock you can move, faults you can switch on.
//!
//! In a test, start one, give its [`client`](MockServer::client) to the code under test, and play everyone else
//! through its [`control`](MockServer::control):
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
//! The program `shared-inbox-mock` (the crate `shared-inbox-mock-cli`) is the same server for programs in any language.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// Implements `Debug` with these fields alone: the others may hold an email's words, names, addresses or secrets.
macro_rules! redacted_debug {
    ($name:ident { $($field:ident),* }) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

/// Writes setters of a builder: `name(arguments) => field = value;` takes the builder and returns it with the field set,
/// `name(arguments) => field.push(value);` with something added to the field.
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
#[cfg(feature = "schemas")]
mod documents;
mod faults;
mod http;
mod json;
mod ready;
mod receiver_check;
mod runtime;
mod world;

use std::thread::JoinHandle;

use shared_inbox::Client;
use tokio::sync::{oneshot, watch};

pub use bound::BoundServer;
pub use builder::{MockServerBuilder, StartError};
pub use control::{
    Control, ExpectTime, Expectation, ExpectationMet, ExpectedKind, NewWorld, SnapshotEntry, Trace,
    WorldDifference,
};
#[cfg(feature = "schemas")]
#[doc(hidden)]
pub use documents::documents;
pub use faults::{Bundle, ControlCall, Effect, Fault, FaultRule, Latency};
pub use json::difference::FieldChange;
pub use ready::Ready;
pub use receiver_check::{CheckCase, CheckReport};
pub use runtime::{
    advance::{ClockAdvance, ClockReading},
    change::{Cause, Change},
    clock::ClockMode,
    journal::entry::{JournalEntry, RequestFilter, SortOrder, Transport},
    targets::WebhookTargets,
};
#[doc(inline)]
pub use shared_inbox::__spec::Operation;
pub use world::{
    Actor, Approval, ApprovalResult, Assignment, Attempt, AttemptDetail, AttemptOutcome, AttemptRequest,
    BookingRecord, CallInput, ConversationEntry, ConversationFilter, ConversationView, CreateWebhook,
    CreatedKey, CreatedNote, CreatedWebhook, DeliveryDetail, DeliveryFilter, DeliveryOutcome, DeliveryView,
    DiscardDraft, Dmarc, DocumentFilter, DocumentReading, DocumentRequestEntry, FiredJob, HelperDraft,
    InboundFile, InboundMail, InboundResult, JobDetails, JobEntry, JobOutcome, KeyEntry, KeyHash, LIVE_KEY,
    MailOutcome, MailboxEntry, NewBooking, NewDocument, NewKey, NewMailbox, NewUser, OutboxKind, OutboxMail,
    Page, PageRange, Plan, QueuedDraft, ReadyKeys, Refusal, Result, RotatedSecret, SentMail, ServiceResponse,
    SignatureHeaders, Snooze, SortingResult, StatusChange, StepKind, StopMessage, TEST_KEY, TagChange,
    TeamNote, TeamReply, TestEvent, TimestampSource, TraceDelivery, TraceStep, Upload, UploadResult, User,
    WebhookScope, WebhookState, WebhookView, World,
};

use http::connection::Phase;

/// Returns the JSON Schema of a world document, the format of [`MockServerBuilder::seed`].
pub fn world_schema() -> &'static str {
    include_str!("../documents/world.schema.json")
}

/// A running mock server. It stops when it is dropped.
///
/// It runs on a thread of its own, so it works whatever runtime the test uses, with blocking clients and with tokio's
/// paused time. Each has its own port; many can run at once.
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

    /// Returns the MCP endpoint.
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
    }
}
