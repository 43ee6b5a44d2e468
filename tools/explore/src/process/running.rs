//! An app while it runs, and how a run ended.

use std::{fmt, process::ExitStatus, time::Duration};

use tokio::sync::oneshot;

use crate::process::launch::{Process, StartError};

/// How long a function that was told to end may take: one that blocks cannot be ended, and is left behind.
const THREAD_TIMEOUT: Duration = Duration::from_millis(250);

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Without an error.
    Succeeded,
    /// It failed by itself.
    Failed(FailedRun),
    /// It was killed by the tool.
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
    /// Returns the end of a run that failed without output.
    pub fn failed(how: String) -> Self {
        Self::Failed(FailedRun { how, last_lines: Vec::new() })
    }

    /// Returns the last lines that a program wrote which failed.
    pub fn last_lines(&self) -> &[String] {
        match self {
            Self::Failed(failed) => &failed.last_lines,
            _ => &[],
        }
    }
}

/// The app while it runs. None of it outlives this value.
#[derive(Debug)]
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

/// A function of this process, on a thread and in a runtime of its own: its tasks end with it, and when it
/// blocks or panics, nothing else does.
#[derive(Debug)]
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
    pub fn start<F>(function: impl FnOnce() -> F + Send + 'static) -> Result<Self, StartError>
    where
        F: Future<Output = Result<(), String>>,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ended, end) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::NoThread)?;
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
        std::thread::Builder::new().name("app".to_owned()).spawn(serve).map_err(StartError::NoThread)?;
        Ok(Self { stop, end: Some(end) })
    }
}

fn status_words(status: ExitStatus) -> String {
    status.code().map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit status {code}"))
}
