//! Everything that a test can do beside the service: acting as people and customers, advancing the clock,
//! failures on demand.
//!
//! [`Control`] is the control API as plain methods, one file for each family. A test that embeds the server calls them, and so does
//! `http/control`, the same API over HTTP.

mod actions;
pub(crate) mod api;
mod browse;
mod clock;
mod expect;
mod faults;
mod people;
mod snapshots;
mod unused;
mod webhooks;
mod world;

use std::sync::Arc;

use shared_inbox::Timestamp;

use crate::{
    ready::Addresses,
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::{Initiator, Result, World},
};

pub use browse::Trace;
pub use expect::{ExpectTime, Expectation, ExpectationMet, ExpectedKind};
pub use snapshots::{SnapshotEntry, WorldDifference};
pub use unused::{Unused, UnusedKind};
pub use world::NewWorld;

/// Controls one world of the server: acts as people and customers, advances the clock, adds faults.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use shared_inbox_mock::{InboundMail, MockServer};
///
/// let mock = MockServer::builder().manual_clock().empty().start().await;
/// let inbox = &mock.control().mailboxes().await?[0];
///
/// let mail = InboundMail::new(&inbox.address, "vera@customer.example", "Where is my parcel?");
/// let received = mock.control().inbound(mail).await?;
/// assert!(received.created);
///
/// let before = mock.control().clock().await.now;
/// let after = mock.control().advance(Duration::from_secs(600)).await?.now;
/// assert_eq!(after.duration_since(before), Duration::from_secs(600));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Control {
    registry: Arc<WorldRegistry>,
    pub(crate) runtime: Arc<WorldRuntime>,
    addresses: Arc<Addresses>,
    /// The step of a trace that causes what is done; each call begins a trace of its own without one.
    cause: Option<u64>,
}

redacted_debug!(Control {});

impl Control {
    pub(crate) fn new(
        registry: Arc<WorldRegistry>,
        runtime: Arc<WorldRuntime>,
        addresses: Arc<Addresses>,
    ) -> Self {
        Self { registry, runtime, addresses, cause: None }
    }

    pub(crate) fn caused_by(self, step: u64) -> Self {
        Self { cause: Some(step), ..self }
    }

    /// Returns the OpenAPI document of the control API itself, as JSON.
    pub fn openapi(&self) -> &'static str {
        api::OPENAPI
    }

    /// Reads the world.
    fn read<R>(&self, act: impl FnOnce(&World, Timestamp) -> R) -> R {
        self.runtime.enter(|world, now| act(world, now))
    }

    /// Returns a copy of everything that the document contains, to be read outside the lock, and the time.
    fn copy(&self) -> (World, Timestamp) {
        self.read(|world, now| (world.data(now), now))
    }

    /// Changes the world.
    fn act<R>(&self, what: &'static str, act: impl FnOnce(&mut World, Timestamp) -> Result<R>) -> Result<R> {
        let initiator = self.cause.map_or(Initiator::Control(what), |step| Initiator::Step(step, what));
        self.runtime.change(initiator, act)
    }
}
