//! The app under test: a command, or a function in this process.

use std::{ffi::OsString, fmt, pin::Pin, process::ExitStatus, sync::Arc, time::Duration};

use tokio::sync::oneshot;

use crate::under_test::{
    context::AppContext,
    functions::Functions,
    process::{Launch, Process},
};

/// How long a function that was told to end may take: one that blocks cannot be ended, and is left behind.
const THREAD_TIMEOUT: Duration = Duration::from_millis(250);

type AppFuture = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// How the app is run.
#[derive(Clone)]
pub(crate) enum App {
    /// A program and its arguments, and what is put in front of them.
    Command { words: Vec<OsString>, launcher: Vec<OsString> },
    /// A function; dropping its future kills it.
    Function(Arc<dyn Fn(AppContext) -> AppFuture + Send + Sync>),
    /// A function of the process that started this one.
    Piped(Arc<Functions>),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Without an error.
    Succeeded,
    /// It failed by itself.
    Failed(FailedRun),
    /// It was killed by the schedule.
    Killed,
    /// It took longer than it may.
    TimedOut,
}

/// How a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    /// In a few words.
    pub how: String,
    /// The last lines that a program wrote.
    pub last_lines: Vec<String>,
}

impl fmt::Display for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)
    }
}

impl RunEnd {
    fn failed(how: String) -> Self {
        Self::Failed(FailedRun { how, last_lines: Vec::new() })
    }

    /// Returns what a program that failed wrote last, each line behind a bar.
    pub(crate) fn quoted_lines(&self) -> impl Iterator<Item = String> + '_ {
        let lines = match self {
            Self::Failed(failed) => failed.last_lines.as_slice(),
            _ => &[],
        };
        lines.iter().map(|line| format!("            | {line}"))
    }
}

impl AppContext {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("SHARED_INBOX_BASE_URL", self.base_url.clone().into()),
            ("SHARED_INBOX_API_KEY", self.key.clone().into()),
            ("SHARED_INBOX_STATE_DIR", self.state_dir.clone().into()),
            ("SHARED_INBOX_TIME", self.time.to_string().into()),
        ];
        variables.extend(self.port.map(|port| ("PORT", port.to_string().into())));
        let secret = self.webhook_secret.clone();
        variables.extend(secret.map(|secret| ("SHARED_INBOX_WEBHOOK_SECRET", secret.into())));
        variables
    }
}

impl App {
    /// Starts the app: a job, or a server when the context has a port.
    pub(crate) fn start(&self, context: &AppContext) -> Result<Running, String> {
        match self {
            App::Command { words, launcher } => {
                let secrets = std::iter::once(context.key.clone()).chain(context.webhook_secret.clone());
                let (variables, secrets) = (context.variables(), secrets.collect());
                Process::start(Launch { launcher, command: words, variables, secrets, agent: None })
                    .map(|process| Running::Process(Box::new(process)))
            }
            App::Function(function) => {
                let (function, context) = (Arc::clone(function), context.clone());
                Thread::start(move || function(context)).map(Running::Thread)
            }
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
    let mut run = functions.begin(context).await?;
    let end = tokio::select! {
        ended = run.ended() => ended?.map_or_else(RunEnd::failed, |()| RunEnd::Succeeded),
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
pub enum Running {
    /// A program.
    Process(Box<Process>),
    /// A function.
    Thread(Thread),
}

impl Running {
    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> RunEnd {
        match self {
            Self::Process(process) => match process.child.wait().await {
                Ok(status) if status.success() => RunEnd::Succeeded,
                Ok(status) => RunEnd::Failed(FailedRun {
                    how: status_words(status),
                    last_lines: process.last_lines().await,
                }),
                Err(error) => RunEnd::failed(error.to_string()),
            },
            Self::Thread(thread) => {
                let Some(end) = &mut thread.end else { return std::future::pending().await };
                let ended = end.await;
                thread.end = None;
                match ended {
                    Ok(Ok(())) => RunEnd::Succeeded,
                    Ok(Err(why)) => RunEnd::failed(why),
                    Err(_) => RunEnd::failed("it panicked".to_owned()),
                }
            }
        }
    }

    /// Kills it and all that it started, and waits until it is gone.
    pub async fn kill(self) {
        match self {
            Self::Process(process) => process.end().await,
            Self::Thread(thread) => {
                drop(thread.stop);
                if let Some(end) = thread.end {
                    let _ = tokio::time::timeout(THREAD_TIMEOUT, end).await;
                }
            }
        }
    }
}

/// A function of this process, on a thread and in a runtime of its own: its tasks end with it, and when it blocks or panics, nothing
/// else does.
pub struct Thread {
    stop: oneshot::Sender<()>,
    /// None once it has ended.
    end: Option<oneshot::Receiver<Result<(), String>>>,
}

impl Thread {
    /// Starts a function.
    ///
    /// # Errors
    ///
    /// When the system has no thread for it.
    pub fn start<F>(function: impl FnOnce() -> F + Send + 'static) -> Result<Self, String>
    where
        F: Future<Output = Result<(), String>>,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ended, end) = oneshot::channel();
        let cannot = |error: std::io::Error| format!("the app cannot be started: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let serve = move || {
            let outcome = runtime.block_on(async {
                tokio::select! {
                    outcome = function() => outcome,
                    _ = stopped => Ok(()),
                }
            });
            runtime.shutdown_background();
            let _ = ended.send(outcome);
        };
        std::thread::Builder::new().name("app".to_owned()).spawn(serve).map_err(cannot)?;
        Ok(Self { stop, end: Some(end) })
    }
}

fn status_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit status {code}"))
}
