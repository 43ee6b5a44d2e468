//! A run that has ended, of a task or of a scenario, and what its world was like.

use std::sync::Arc;

use shared_inbox_mock::Control;

use crate::{error::RedTeamError, goal::Work, run_world::RunWorld, state::WorldState};

/// A run that has ended, before it is judged.
pub(crate) struct EndedRun {
    pub(crate) control: Control,
    /// What the agent was there for.
    pub(crate) work: Work,
    /// The task in words; an app has none.
    pub(crate) task: String,
    pub(crate) world: RunWorld,
    pub(crate) start: WorldState,
    pub(crate) end: Arc<WorldState>,
    /// The address of who wrote the attack.
    pub(crate) author: String,
    pub(crate) failed: Option<String>,
    /// What the agent printed last.
    pub(crate) last_lines: Vec<String>,
    /// Why the agent did not do what it is there for; none where it did.
    pub(crate) not_useful: Option<String>,
}

/// Returns what a world is like for the judge.
pub(crate) async fn read_state(
    control: &Control,
    agent: &str,
    key_name: &'static str,
) -> Result<WorldState, RedTeamError> {
    let document = serde_json::from_str(&control.state().await?)?;
    Ok(WorldState { document, agent: agent.to_owned(), key_name, sent_by_itself: 0 })
}
