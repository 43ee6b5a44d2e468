//! What a test set up and what had no effect, so that a typing error does not make it pass.

use serde::{Deserialize, Serialize};

use super::Control;

/// What had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum UnusedKind {
    /// A fault that was added and never fired, or whose control calls were all refused, removed since or not.
    Fault,
    /// An expectation of none that nothing could have met.
    Expectation,
}

/// Something that a test set up and that had no effect.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use shared_inbox_mock::{Effect, FaultRule, MockServer};
///
/// let mock = MockServer::start().await;
/// mock.control().add_fault(FaultRule::new(Effect::drop_after()).path("/conversations/*/notes")).await?;
/// mock.client().me().await?;
/// let unused = mock.control().unused().await;
/// assert!(unused[0].message.contains("never fired"), "{unused:?}");
/// mock.client().conversation(&mock.client().conversations().await?[0].id).add_note("Hello").await?;
/// assert!(mock.control().unused().await.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unused {
    /// What it is.
    pub what: UnusedKind,
    /// A sentence that says which, and why it had no effect.
    pub message: String,
}

impl Control {
    /// Returns the faults of this world that never fired or whose control calls were all refused, and the
    /// expectations of none that nothing could have met: an expectation about a request that no route takes,
    /// an email to somebody who is in no conversation, or a delivery that no webhook wants.
    ///
    /// [`MockServer`](crate::MockServer) reports those of the main world when it is dropped.
    pub async fn unused(&self) -> Vec<Unused> {
        self.find_unused()
    }

    pub(crate) fn find_unused(&self) -> Vec<Unused> {
        let faults = self.runtime.faults(|faults, _| faults.unused());
        let faults = faults.into_iter().map(|message| Unused { what: UnusedKind::Fault, message });
        let vacuous = self.runtime.vacuous_expectations(|vacuous| vacuous.clone());
        let vacuous = vacuous.into_iter().map(|message| Unused { what: UnusedKind::Expectation, message });
        faults.chain(vacuous).collect()
    }
}
