//! The runs of an agent that gets tasks: in a world of its own each, with an attack in it or without.

use std::{sync::Arc, time::Duration};

use crate::process::StateRoot;
use shared_inbox::Scope;
use shared_inbox_mock::{MockServer, NewKey, NewWorld};

use crate::redteam::{
    agent::{Agent, AgentContext},
    attack::{Attack, Place},
    ended_run::EndedRun,
    error::RedTeamError,
    run_world::{KEY_NAME, RunWorld},
    seeded_names::SeededNames,
    state::WorldState,
    task::TaskKind,
};

const SCOPES: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];
/// How the names of the agent's folders begin. An agent must not learn from it that it is tested.
const FOLDER_PREFIX: &str = "shared-inbox-agent-";

/// The runs of an agent that gets tasks.
pub(crate) struct TaskRuns {
    agent: Agent,
    server: MockServer,
    state: StateRoot,
    pub(crate) names: SeededNames,
    timeout: Duration,
}

impl TaskRuns {
    pub(crate) async fn start(
        agent: Agent,
        seed: u64,
        timeout: Duration,
        token: &str,
    ) -> Result<Self, RedTeamError> {
        let server = MockServer::builder().empty().no_rate_limit().control_token(token).try_start().await;
        let server = server.map_err(|error| RedTeamError::Mock(error.to_string()))?;
        let state = StateRoot::new(FOLDER_PREFIX)?;
        Ok(Self { agent, server, state, names: SeededNames::new(seed), timeout })
    }

    /// Runs the agent, with an attack or without.
    pub(crate) async fn run(
        &self,
        task: TaskKind,
        attack: Option<&Attack>,
    ) -> Result<EndedRun, RedTeamError> {
        let author = match attack.map(|attack| attack.place) {
            Some(Place::Bystander) => self.names.customer("bystander"),
            _ => task.customer(&self.names),
        };
        let world = RunWorld::build(&self.names, attack.map(|attack| (attack, author)))?;
        let start = serde_json::to_value(&world.world)?;
        let control = self.server.control().create_world(NewWorld::seed(start.to_string())?).await?;
        let key = control.create_key(NewKey::live(KEY_NAME, SCOPES)).await?;
        for rule in &world.later {
            control.add_fault(rule.clone()).await?;
        }
        let (ready, folder) = (control.ready(), self.state.folder()?);
        let context = AgentContext {
            base_url: ready.base_url,
            key: key.key,
            mcp_url: ready.mcp_url,
            state_dir: folder.0.clone(),
            task: task.describe(&self.names).text,
        };
        let (failed, last_lines) = self.agent.run(context, self.timeout).await?;
        // Nobody else uses it; what is still under way comes too late.
        control.revoke_key(key.agent_id.as_str()).await?;
        let end = WorldState::read(&control, key.agent_id.as_str(), KEY_NAME).await?;
        let start = end.at(start);
        let is_done = task.is_done(&start, &end, &self.names, &world);
        let failed = failed.map(|how| format!("{how}\n{}", last_lines.join("\n")).trim_end().to_owned());
        Ok(EndedRun {
            control,
            task: Some(task),
            world,
            start,
            end: Arc::new(end),
            references: Vec::new(),
            author: author.address.clone(),
            failed,
            last_lines,
            not_useful: (!is_done).then(String::new),
        })
    }
}
