//! Why an exploration could not run.

use crate::process::{StartError, StateDirError};

use crate::explore::{oracle::Oracle, scenario::ScenarioError};

pub(crate) type Result<T, E = ExploreError> = std::result::Result<T, E>;

/// Why an exploration could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExploreError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The token is none of this scenario.
    #[error("--replay {0}: is no token of this scenario")]
    Token(String),
    /// An undisturbed run breaks a rule.
    #[error("the run without trouble breaks a rule ({oracle}): {summary}{}", as_block(last_lines))]
    BrokenWithoutTrouble {
        /// The rule.
        oracle: Oracle,
        /// What went wrong.
        summary: String,
        /// The last lines that the app wrote, if it failed.
        last_lines: Vec<String>,
    },
    /// The app made no request in the undisturbed run.
    #[error("the app made no request in the run without trouble, so there is nothing to explore; {hint}")]
    NoRequest {
        /// What the reason may be.
        hint: &'static str,
    },
    /// The undisturbed runs took longer than the exploration may.
    #[error("the run without trouble has not ended in that time")]
    OutOfTime,
    /// The app could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no folder for the app's state.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// A function of another process could not be called.
    #[error("{0}")]
    Function(String),
    /// The command that compares texts could not be run.
    #[error("same: {0}")]
    Same(String),
    /// The mock server failed.
    #[error("{0}")]
    Mock(String),
}

/// Returns lines as a block below a sentence.
fn as_block(lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) }
}

impl From<shared_inbox_mock::Refusal> for ExploreError {
    fn from(refused: shared_inbox_mock::Refusal) -> Self {
        Self::Mock(refused.message)
    }
}
