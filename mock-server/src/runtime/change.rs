//! Changes of a world, as its followers receive them.

use serde::Serialize;
use shared_inbox::Timestamp;

/// Why a world changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cause {
    /// A request of the service API or an MCP tool.
    Request,
    /// A call of the control API.
    Control,
    /// A job that fell due.
    Job,
    /// The clock was moved.
    Clock,
    /// The world was put back to its start, or replaced.
    State,
}

/// A change of a world.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{MockServer, journal::Cause};
///
/// let mock = MockServer::start().await;
/// let mut changes = mock.control().changes();
/// mock.control().reset().await?;
/// assert_eq!(changes.recv().await?.cause, Cause::State);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Counts the changes, so that a gap shows.
    pub number: u64,
    /// When it happened, on the world's clock.
    pub at: Timestamp,
    /// What caused it.
    pub cause: Cause,
    /// The operation, control call or job.
    pub what: String,
}
