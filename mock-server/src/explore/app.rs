//! The app under test: a command, or a function in this process.

use std::{
    ffi::OsString,
    path::PathBuf,
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::process::{Child, Command};

use super::functions::Functions;
use crate::Ready;

/// What the app is told about the world that it works in.
#[derive(Clone)]
#[non_exhaustive]
pub struct AppContext {
    /// The prefix of the REST API.
    pub base_url: String,
    /// Its key.
    pub key: String,
    /// A folder that lives as long as the schedule, over all runs.
    pub state_dir: PathBuf,
    /// All addresses of the world.
    pub(super) ready: Ready,
}

impl std::fmt::Debug for AppContext {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppContext").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

type Running = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// How the app is run.
#[derive(Clone)]
pub(super) enum App {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// A function; dropping its future kills it.
    Function(Arc<dyn Fn(AppContext) -> Running + Send + Sync>),
    /// A function of the process that started this one.
    Piped(Arc<Functions>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunEnd {
    Done,
    /// It failed by itself, and how.
    Failed(String),
    /// It was killed by the schedule.
    Killed,
    /// It took longer than it may.
    TimedOut,
}

impl App {
    /// Runs the app once, until it ends, `killed` completes or the time is up.
    pub(super) async fn run(
        &self,
        context: &AppContext,
        timeout: Duration,
        killed: impl Future<Output = ()>,
    ) -> Result<RunEnd, String> {
        match self {
            App::Piped(functions) => {
                let mut run = functions.begin(&context.ready, &context.state_dir).await?;
                let ended = tokio::select! {
                    ended = run.ended() => ended?.map_or_else(RunEnd::Failed, |()| RunEnd::Done),
                    () = killed => RunEnd::Killed,
                    () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
                };
                match ended {
                    RunEnd::Done => run.linger(),
                    _ => run.cut_off().await?,
                }
                Ok(ended)
            }
            App::Function(function) => {
                let running = function(context.clone());
                Ok(tokio::select! {
                    ended = running => ended.map_or_else(RunEnd::Failed, |()| RunEnd::Done),
                    () = killed => RunEnd::Killed,
                    () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
                })
            }
            App::Command(command) => {
                let mut process = Process::start(command, context, &[])?;
                let ended = tokio::select! {
                    status = process.child.wait() => match status {
                        Ok(status) if status.success() => RunEnd::Done,
                        Ok(status) => RunEnd::Failed(status_words(status)),
                        Err(error) => RunEnd::Failed(error.to_string()),
                    },
                    () = killed => RunEnd::Killed,
                    () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
                };
                process.end().await;
                Ok(ended)
            }
        }
    }
}

fn status_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit status {code}"))
}

/// A process of the app, with all that it started. None outlives this value.
pub(super) struct Process {
    pub(super) child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Process {
    pub(super) fn start(
        command: &[OsString],
        context: &AppContext,
        more: &[(&str, String)],
    ) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("a command is required after `--`")?;
        let mut process = Command::new(program);
        process
            .args(arguments)
            .env("SHARED_INBOX_BASE_URL", &context.base_url)
            .env("SHARED_INBOX_API_KEY", &context.key)
            .env("SHARED_INBOX_STATE_DIR", &context.state_dir)
            .envs(more.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // What it starts belongs to its group, and ends with it.
        #[cfg(unix)]
        process.process_group(0);
        let child = process
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", program.to_string_lossy()))?;
        #[cfg(unix)]
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        Ok(Self {
            child,
            #[cfg(unix)]
            group,
        })
    }

    /// Kills it and all that it started, and waits until it is gone.
    pub(super) async fn end(mut self) {
        self.kill();
        let _ = self.child.kill().await;
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
