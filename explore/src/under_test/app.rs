//! The app under test: a command, or a function in this process.

use std::{
    ffi::OsString,
    path::PathBuf,
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use shared_inbox_mock::Ready;
use tokio::{
    process::{Child, Command},
    sync::oneshot,
};

use crate::under_test::functions::Functions;

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
    /// Of a server: the port of 127.0.0.1 on which it receives webhooks.
    pub port: Option<u16>,
    /// Of a server: the secret that webhooks are signed with.
    pub webhook_secret: Option<String>,
    /// All addresses of the world.
    pub(crate) ready: Ready,
}

impl std::fmt::Debug for AppContext {
    /// Without the key and the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppContext").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

type AppFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// How the app is run.
#[derive(Clone)]
pub(crate) enum App {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// A function; dropping its future kills it.
    Function(Arc<dyn Fn(AppContext) -> AppFuture + Send + Sync>),
    /// A function of the process that started this one.
    Piped(Arc<Functions>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Succeeded,
    /// It failed by itself, and how.
    Failed(String),
    /// It was killed by the schedule.
    Killed,
    /// It took longer than it may.
    TimedOut,
}

impl App {
    /// Starts the app: a job, or a server when the context has a port.
    pub(crate) fn start(&self, context: &AppContext) -> Result<Running, String> {
        match self {
            App::Command(command) => Process::start(command, context).map(Running::Process),
            App::Function(function) if context.port.is_some() => {
                Thread::start(Arc::clone(function), context.clone()).map(Running::Thread)
            }
            App::Function(function) => Ok(Running::Future(function(context.clone()))),
            App::Piped(_) => Err("mode: a function of another process is a job".to_owned()),
        }
    }

    /// Runs a job once, until it ends, `killed` completes or the time is up.
    pub(crate) async fn run(
        &self,
        context: &AppContext,
        timeout: Duration,
        killed: impl Future<Output = ()>,
    ) -> Result<RunEnd, String> {
        if let App::Piped(functions) = self {
            return run_piped(functions, context, timeout, killed).await;
        }
        let mut running = self.start(context)?;
        let end = tokio::select! {
            end = running.ended() => end,
            () = killed => RunEnd::Killed,
            () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
        };
        running.kill().await;
        Ok(end)
    }
}

async fn run_piped(
    functions: &Functions,
    context: &AppContext,
    timeout: Duration,
    killed: impl Future<Output = ()>,
) -> Result<RunEnd, String> {
    let mut run = functions.begin(&context.ready, &context.state_dir).await?;
    let end = tokio::select! {
        ended = run.ended() => ended?.map_or_else(RunEnd::Failed, |()| RunEnd::Succeeded),
        () = killed => RunEnd::Killed,
        () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
    };
    match end {
        RunEnd::Succeeded => run.linger(),
        _ => run.cut_off().await?,
    }
    Ok(end)
}

/// The app while it runs. None of it outlives this value.
pub(crate) enum Running {
    Process(Process),
    /// A job in this process; dropping it kills it.
    Future(AppFuture),
    Thread(Thread),
}

impl Running {
    /// Waits until it ends by itself.
    pub(crate) async fn ended(&mut self) -> RunEnd {
        match self {
            Self::Process(process) => match process.child.wait().await {
                Ok(status) if status.success() => RunEnd::Succeeded,
                Ok(status) => RunEnd::Failed(status_words(status)),
                Err(error) => RunEnd::Failed(error.to_string()),
            },
            Self::Future(future) => future.await.map_or_else(RunEnd::Failed, |()| RunEnd::Succeeded),
            Self::Thread(thread) => match (&mut thread.end).await {
                Ok(Ok(())) => RunEnd::Succeeded,
                Ok(Err(why)) => RunEnd::Failed(why),
                Err(_) => RunEnd::Failed("it panicked".to_owned()),
            },
        }
    }

    /// Kills it and all that it started, and waits until it is gone.
    pub(crate) async fn kill(self) {
        match self {
            Self::Process(process) => process.end().await,
            Self::Future(_) => {}
            Self::Thread(thread) => {
                drop(thread.stop);
                let _ = thread.end.await;
            }
        }
    }
}

/// A server in this process, in a runtime of its own, so that its tasks end with it.
pub(crate) struct Thread {
    stop: oneshot::Sender<()>,
    end: oneshot::Receiver<Result<(), String>>,
}

impl Thread {
    fn start(
        function: Arc<dyn Fn(AppContext) -> AppFuture + Send + Sync>,
        context: AppContext,
    ) -> Result<Self, String> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ended, end) = oneshot::channel();
        let cannot = |error: std::io::Error| format!("the app cannot be started: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let serve = move || {
            let outcome = runtime.block_on(async {
                tokio::select! {
                    outcome = function(context) => outcome,
                    _ = stopped => Ok(()),
                }
            });
            runtime.shutdown_background();
            let _ = ended.send(outcome);
        };
        std::thread::Builder::new().name("app".to_owned()).spawn(serve).map_err(cannot)?;
        Ok(Self { stop, end })
    }
}

fn status_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit status {code}"))
}

/// A process of the app, with all that it started. None outlives this value.
pub(crate) struct Process {
    pub(crate) child: Child,
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Process {
    pub(crate) fn start(command: &[OsString], context: &AppContext) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("a command is required after `--`")?;
        let mut process = Command::new(program);
        process
            .args(arguments)
            .env("SHARED_INBOX_BASE_URL", &context.base_url)
            .env("SHARED_INBOX_API_KEY", &context.key)
            .env("SHARED_INBOX_STATE_DIR", &context.state_dir)
            .envs(context.port.map(|port| ("PORT", port.to_string())))
            .envs(context.webhook_secret.as_ref().map(|secret| ("SHARED_INBOX_WEBHOOK_SECRET", secret)))
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
    pub(crate) async fn end(mut self) {
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
