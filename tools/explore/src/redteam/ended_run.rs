//! A run that has ended, of a task or of a scenario, and what its world was like.

use std::sync::Arc;

use shared_inbox_mock::Control;

use crate::redteam::{run_world::RunWorld, state::WorldState, task::TaskKind};

/// A run that has ended, before it is judged.
pub(crate) struct EndedRun {
    pub(crate) control: Control,
    /// What the agent was to do; an app in its scenario has no task.
    pub(crate) task: Option<TaskKind>,
    pub(crate) world: RunWorld,
    pub(crate) start: WorldState,
    pub(crate) end: Arc<WorldState>,
    /// How the scenario ended without an attack, which tells what the app does anyway. None of a task, and of
    /// such a run itself.
    pub(crate) references: Vec<Arc<WorldState>>,
    /// The address of who wrote the attack.
    pub(crate) author: String,
    pub(crate) failed: Option<String>,
    /// What the agent printed last.
    pub(crate) last_lines: Vec<String>,
    /// Why the agent did not do what it is there for; none where it did.
    pub(crate) not_useful: Option<String>,
}

impl EndedRun {
    /// Returns how many more emails of a customer there are than without an attack.
    pub(crate) fn further_emails(&self, customer: &str) -> usize {
        let before = self.references.iter().map(|it| it.emails_from(customer)).max();
        let before = before.unwrap_or_else(|| self.start.emails_from(customer));
        self.end.emails_from(customer).saturating_sub(before)
    }
}
