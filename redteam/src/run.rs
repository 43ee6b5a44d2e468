//! One run of the agent: a world of its own, the agent in it, and what came of it.

use std::{ffi::OsString, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use shared_inbox::Scope;
use shared_inbox_explore::harness::{AgentLaunch, Launch, Process, RunEnd, Running, StateRoot, Thread};
use shared_inbox_mock::{Control, MockServer, NewKey, NewWorld};

use crate::{
    attack::Attack,
    goal::Judge,
    state::WorldState,
    story,
    task::TaskKind,
    world::{Cast, KEY_NAME, Scene, unique_code},
};

const SCOPES: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Draft, Scope::Send, Scope::Record];
/// How the names of the agent's folders begin. An agent must not learn from it that it is tested.
const FOLDER_PREFIX: &str = "shared-inbox-agent-";
const STATE_DIR: &str = "SHARED_INBOX_STATE_DIR";

/// What an agent is told about the inbox and its task.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentContext {
    /// The prefix of the REST API.
    pub base_url: String,
    /// Its key, with all five scopes.
    pub key: String,
    /// The MCP endpoint.
    pub mcp_url: String,
    /// An empty folder of its own.
    pub state_dir: PathBuf,
    /// The task, in words.
    pub task: String,
}

impl std::fmt::Debug for AgentContext {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentContext").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

type AgentFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// How the agent is run.
#[derive(Clone)]
pub(crate) enum Agent {
    /// A program and its arguments, and what is put in front of them.
    Command { words: Vec<OsString>, launcher: Vec<OsString> },
    /// A function; dropping its future ends it.
    Function(Arc<dyn Fn(AgentContext) -> AgentFuture + Send + Sync>),
}

impl Agent {
    fn start(&self, context: AgentContext) -> Result<Running, String> {
        match self {
            Self::Command { words, launcher } => {
                let mut marker = OsString::from(STATE_DIR);
                marker.push("=");
                marker.push(&context.state_dir);
                let variables: Vec<(&str, OsString)> = vec![
                    ("SHARED_INBOX_BASE_URL", context.base_url.into()),
                    ("SHARED_INBOX_API_KEY", context.key.clone().into()),
                    ("SHARED_INBOX_MCP_URL", context.mcp_url.into()),
                    (STATE_DIR, context.state_dir.into()),
                    ("SHARED_INBOX_TASK", context.task.clone().into()),
                ];
                let agent = AgentLaunch { input: context.task, marker };
                let secrets = vec![context.key];
                Process::start(Launch { launcher, command: words, variables, secrets, agent: Some(agent) })
                    .map(|process| Running::Process(Box::new(process)))
            }
            Self::Function(function) => {
                let function = Arc::clone(function);
                Thread::start(move || function(context)).map(Running::Thread)
            }
        }
    }
}

/// What is run: a task, with an attack or without.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) task: TaskKind,
    pub(crate) attack: Option<&'a Attack>,
}

pub(crate) struct Outcome {
    /// Where the attack's goal shows.
    pub(crate) obeyed: Option<String>,
    pub(crate) useful: bool,
    pub(crate) failed: Option<String>,
    /// What the agent printed last.
    pub(crate) last_lines: Vec<String>,
    pub(crate) story: Vec<String>,
    pub(crate) world: Control,
}

/// What all runs share.
pub(crate) struct Session {
    server: MockServer,
    pub(crate) token: String,
    agent: Agent,
    timeout: Duration,
    pub(crate) cast: Cast,
    state: StateRoot,
}

fn or_message<T>(result: shared_inbox_mock::Result<T>) -> Result<T, String> {
    result.map_err(|refused| refused.message)
}

impl Session {
    pub(crate) async fn start(agent: Agent, timeout: Duration, seed: u64) -> Result<Self, String> {
        let token = format!("{}-{}", unique_code(), unique_code());
        let server = MockServer::builder().empty().no_rate_limit().control_token(&token).try_start().await;
        Ok(Self {
            server: server.map_err(|error| error.to_string())?,
            token,
            agent,
            timeout,
            cast: Cast::new(seed),
            state: StateRoot::new(FOLDER_PREFIX)?,
        })
    }

    pub(crate) async fn run(&self, case: Case<'_>) -> Result<Outcome, String> {
        let attack = case.attack.map(|attack| (attack, case.task.customer(&self.cast)));
        let mut scene = or_message(Scene::build(&self.cast, attack))?;
        let start = serde_json::to_value(&scene.world).map_err(|error| error.to_string())?;
        let new = NewWorld::seed(start.to_string()).map_err(|error| error.to_string())?;
        let control = or_message(self.server.control().create_world(new).await)?;
        let key = or_message(control.create_key(NewKey::live(KEY_NAME, SCOPES)).await)?;
        if let Some(rule) = scene.later.take() {
            or_message(control.add_fault(rule).await)?;
        }
        let (ready, folder) = (control.ready(), self.state.folder()?);
        let (end, last_lines) = self
            .run_agent(AgentContext {
                base_url: ready.base_url,
                key: key.key.clone(),
                mcp_url: ready.mcp_url,
                state_dir: folder.0.clone(),
                task: case.task.describe(&self.cast).text,
            })
            .await?;
        // Nobody else uses it; what is still under way comes too late.
        or_message(control.revoke_key(key.agent_id.as_str()).await)?;

        let state = |document| WorldState { document, agent: key.agent_id.to_string() };
        let document = or_message(control.state().await)?;
        let document = serde_json::from_str(&document).map_err(|error| error.to_string())?;
        let (start, end_state) = (state(start), state(document));
        let judge =
            Judge { task: case.task, cast: &self.cast, scene: &scene, start: &start, end: &end_state };
        let obeyed = case.attack.and_then(|attack| judge.find(&attack.goal));
        let useful = judge.is_useful();
        let failed = match end {
            RunEnd::Succeeded => None,
            RunEnd::Failed(failed) => Some(failed.how),
            RunEnd::TimedOut | RunEnd::Killed => {
                Some(format!("it had not ended after {} s", self.timeout.as_secs_f64()))
            }
        };
        let story = match (case.attack, &obeyed) {
            (Some(attack), Some(place)) => {
                let requests = control.requests().await;
                let customer = &case.task.customer(&self.cast).address;
                story::tell(attack, customer, &requests, place, &last_lines)
            }
            _ => Vec::new(),
        };
        Ok(Outcome { obeyed, useful, failed, last_lines, story, world: control })
    }

    pub(crate) async fn delete(&self, world: &Control) {
        let _ = self.server.control().delete_world(world.ready().id.unwrap_or_default()).await;
    }

    /// Runs the agent to its end, and returns what it printed last.
    async fn run_agent(&self, context: AgentContext) -> Result<(RunEnd, Vec<String>), String> {
        let mut running = self.agent.start(context)?;
        let end = tokio::select! {
            end = running.ended() => end,
            () = tokio::time::sleep(self.timeout) => RunEnd::TimedOut,
        };
        let last_lines = match (&end, &mut running) {
            (RunEnd::Failed(failed), _) => failed.last_lines.clone(),
            (_, Running::Process(process)) => process.last_lines().await,
            _ => Vec::new(),
        };
        running.kill().await;
        Ok((end, last_lines))
    }
}
