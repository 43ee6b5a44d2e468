//! The app under test: a command, or a function in this process.

use std::{ffi::OsString, pin::Pin, sync::Arc, time::Duration};

use crate::process::{Launch, Process, RunEnd, Running, Thread};

use crate::explore::{
    error::{ExploreError, Result},
    under_test::{context::AppContext, functions::Functions},
};

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
    /// Returns a job that is started as this app is.
    pub(crate) fn beside(&self, command: &[String]) -> Self {
        let launcher = match self {
            Self::Command { launcher, .. } => launcher.clone(),
            _ => Vec::new(),
        };
        Self::Command { words: command.iter().map(OsString::from).collect(), launcher }
    }

    /// Starts the app: a job, or a server when the context has a port.
    pub(crate) fn start(&self, context: &AppContext) -> Result<Running> {
        match self {
            App::Command { words, launcher } => {
                let secrets = std::iter::once(context.key.clone()).chain(context.webhook_secret.clone());
                let (variables, secrets) = (context.variables(), secrets.collect());
                let launch = Launch { launcher, command: words, variables, secrets, agent: None };
                Ok(Running::Process(Box::new(Process::start(launch)?)))
            }
            App::Function(function) => {
                let (function, context) = (Arc::clone(function), context.clone());
                Ok(Running::Thread(Thread::start(move || function(context))?))
            }
            App::Piped(_) => {
                Err(ExploreError::Function("mode: a function of another process is a job".to_owned()))
            }
        }
    }

    /// Runs a job once, until it ends, `killed` completes or the time is up.
    pub(crate) async fn run(
        &self,
        context: &AppContext,
        timeout: Duration,
        killed: impl Future<Output = ()>,
    ) -> Result<RunEnd> {
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
) -> Result<RunEnd> {
    let mut run = functions.begin(context).await.map_err(ExploreError::Function)?;
    let end = tokio::select! {
        ended = run.ended() => ended.map_err(ExploreError::Function)?.map_or_else(RunEnd::failed, |()| RunEnd::Succeeded),
        () = killed => RunEnd::Killed,
        () = tokio::time::sleep(timeout) => RunEnd::TimedOut,
    };
    match end {
        RunEnd::Succeeded => run.linger(),
        _ => run.cut_off().await.map_err(ExploreError::Function)?,
    }
    Ok(end)
}
