//! Why a red team could not run.

use crate::explore::{ExploreError, ScenarioError};
use crate::process::{StartError, StateDirError};

/// What is wrong with attacks: all of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
#[non_exhaustive]
pub struct AttackError {
    /// A line for each mistake, which names the file where there is one, the attack, the field and what is
    /// wrong with it.
    pub problems: Vec<String>,
}

/// A text that is no report.
#[derive(Debug, thiserror::Error)]
#[error("is no report of `redteam`: {0}")]
pub struct ReportError(#[source] pub(crate) serde_json::Error);

/// Why a red team could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedTeamError {
    /// An attack is wrong.
    #[error(transparent)]
    Attack(#[from] AttackError),
    /// No attack and no family has this name.
    #[error("only: {0} is neither an attack nor a family; `redteam --list` shows them")]
    UnknownName(String),
    /// There is no such task.
    #[error("task: {task} is none of {known}")]
    UnknownTask {
        /// The name.
        task: String,
        /// The names of all tasks.
        known: String,
    },
    /// No attack is left by what was named.
    #[error("only: none of these attacks is on such a task")]
    NothingSelected,
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Two mails of the scenario are by one customer, so it cannot be told whose conversation an attacker
    /// wanted changed.
    #[error("scenario: mails[{0}].from: must differ from the other mails', unless it is a follow-up")]
    SameCustomer(usize),
    /// A run of the scenario could not be made.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// The agent could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no folder for the agent.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The mock server failed.
    #[error("{0}")]
    Mock(String),
}

impl From<shared_inbox_mock::Refusal> for RedTeamError {
    fn from(refused: shared_inbox_mock::Refusal) -> Self {
        Self::Mock(refused.message)
    }
}

impl From<serde_json::Error> for RedTeamError {
    fn from(error: serde_json::Error) -> Self {
        Self::Mock(error.to_string())
    }
}
