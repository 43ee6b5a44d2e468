//! The agent: a program or a function that gets a task, or an app in its scenario.

use std::{ffi::OsString, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use crate::explore::Explore;
use crate::process::{AgentLaunch, Launch, Process, RunEnd, Running, StartError, Thread};

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
pub(crate) type AgentFunction = Arc<dyn Fn(AgentContext) -> AgentFuture + Send + Sync>;

/// How the agent is run.
#[derive(Clone)]
pub(crate) enum Agent {
    /// A program and its arguments, and what is put in front of them.
    Command { words: Vec<OsString>, launcher: Vec<OsString> },
    /// A function; dropping its future ends it.
    Function(AgentFunction),
}

/// What is held against hostile email.
#[derive(Clone)]
pub(crate) enum Subject {
    /// An agent that gets tasks.
    Agent(Agent),
    /// A job or a server in its scenario, which takes no task.
    App(Box<Explore>),
}

impl Agent {
    fn start(&self, context: AgentContext) -> Result<Running, StartError> {
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
                let launch = Launch { launcher, command: words, variables, secrets, agent: Some(agent) };
                Process::start(launch).map(|process| Running::Process(Box::new(process)))
            }
            Self::Function(function) => {
                let function = Arc::clone(function);
                Thread::start(move || function(context)).map(Running::Thread)
            }
        }
    }

    /// Runs the agent to its end. Returns how it failed, and what it printed last.
    pub(crate) async fn run(
        &self,
        context: AgentContext,
        timeout: Duration,
    ) -> Result<(Option<String>, Vec<String>), StartError> {
        let mut running = self.start(context)?;
        let end = tokio::select! {
            end = running.ended() => end,
            () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
        };
        let last_lines = match (&end, &mut running) {
            (RunEnd::Failed(failed), _) => failed.last_lines.clone(),
            (_, Running::Process(process)) => process.last_lines().await,
            _ => Vec::new(),
        };
        running.kill().await;
        let failed = match end {
            RunEnd::Succeeded => None,
            RunEnd::Failed(failed) => Some(failed.how),
            RunEnd::TimedOut | RunEnd::Killed => {
                Some(format!("it had not ended after {} s", timeout.as_secs_f64()))
            }
        };
        Ok((failed, last_lines))
    }
}
