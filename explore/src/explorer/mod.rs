//! An exploration: the run without trouble, then schedules side by side until the time is up, then what was found.

mod chance;
mod generator;
mod session;
mod shrink;

use std::{
    collections::VecDeque,
    ffi::OsString,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesOrdered};

use crate::{
    explorer::generator::Generator,
    explorer::session::{MIN_WORKERS, Session},
    findings::report::{Coverage, Finding, Report, Verdict},
    plan::schedule::Schedule,
    run::driver::Driver,
    run::record::Execution,
    run::world::Server,
    scenario::Scenario,
    under_test::functions::Functions,
    under_test::state_dir::StateRoot,
    under_test::{app::App, context::AppContext},
    verdict::oracles::Broken,
};

/// The longest exploration.
const MAX_SECONDS: f64 = 86_400.0;
/// How long shrinking may take where the exploration has no bound.
const DEFAULT_SHRINK_TIME: Duration = Duration::from_secs(60);
/// Schedules that run side by side, at most.
const MAX_WORKERS: usize = 8;

/// Explores what can go wrong around an app.
///
/// ```
/// use std::time::Duration;
///
/// use shared_inbox::{Client, Status};
/// use shared_inbox_explore::{AppContext, Explore, Scenario};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), String> {
/// // Answers every open mail. What if a person has taken over the conversation?
/// let app = |context: AppContext| async move {
///     let inbox = Client::builder(&context.base_url, &context.key).build().map_err(|error| error.to_string())?;
///     for mail in inbox.conversations().await.map_err(|error| error.to_string())? {
///         let conversation = inbox.conversation(&mail.id);
///         conversation.reply("We are on it.").await.map_err(|error| error.to_string())?;
///         conversation.set_status(Status::Waiting).await.map_err(|error| error.to_string())?;
///     }
///     Ok(())
/// };
/// let explore = Explore::function(Scenario::new(["Where is my order?"]), app);
/// let report = explore.app_timeout(Duration::from_secs(2)).run().await?;
/// assert!(report.findings[0].timeline.len() > 3, "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Explore {
    scenario: Scenario,
    app: App,
    seconds: Option<f64>,
    seed: u64,
    app_timeout: Duration,
    all: bool,
    max_schedules: u64,
}

impl std::fmt::Debug for Explore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explore").field("scenario", &self.scenario).finish_non_exhaustive()
    }
}

/// The world of a schedule, kept to be looked at.
pub struct OpenWorld {
    console_url: String,
    /// The server of the world.
    _session: Session,
}

impl OpenWorld {
    /// Returns the address of its page.
    pub fn console_url(&self) -> &str {
        &self.console_url
    }
}

impl std::fmt::Debug for OpenWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWorld").field("console_url", &self.console_url).finish_non_exhaustive()
    }
}

/// How far an exploration is.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress {
    /// Schedules that were run.
    pub schedules: u64,
    /// How far it has looked.
    pub coverage: Coverage,
    /// What was found so far, before it is shrunk.
    pub findings: usize,
    /// Seconds that are left, where it has a bound.
    pub seconds_left: Option<u64>,
    /// Whether what was found is being shrunk.
    pub is_shrinking: bool,
}

impl Explore {
    fn new(scenario: Scenario, app: App) -> Self {
        Self {
            scenario,
            app,
            seconds: None,
            seed: 1,
            app_timeout: Duration::from_secs(10),
            all: false,
            max_schedules: u64::MAX,
        }
    }

    /// An app that is a program, run with these words.
    pub fn command<T: Into<OsString>>(scenario: Scenario, command: impl IntoIterator<Item = T>) -> Self {
        let words = command.into_iter().map(Into::into).collect();
        Self::new(scenario, App::Command { words, launcher: Vec::new() })
    }

    /// Starts the command by another one, whose last arguments it then is.
    #[doc(hidden)]
    pub fn launched_by(mut self, by: Vec<OsString>) -> Self {
        if let App::Command { launcher, .. } = &mut self.app {
            *launcher = by;
        }
        self
    }

    /// An app that is a function: a job that runs to its end each time, or a [server](Scenario::server) that listens on
    /// the port of its context and stays. A server has a Tokio runtime of its own; a kill drops the future and the runtime.
    pub fn function<F, R>(scenario: Scenario, run: F) -> Self
    where
        F: Fn(AppContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self::new(scenario, App::Function(Arc::new(move |context| Box::pin(run(context)))))
    }

    /// An app that is a function of another process.
    #[doc(hidden)]
    pub fn functions(scenario: Scenario, functions: Functions) -> Self {
        Self::new(scenario, App::Piped(Arc::new(functions)))
    }

    /// Checks that a token is one of this scenario.
    #[doc(hidden)]
    pub fn check_token(&self, token: &str) -> Result<(), String> {
        Schedule::parse(token, self.scenario.mails.len()).map(drop)
    }

    /// Sets how long to explore, with pairs of steps and steps at random once each single step was tried. Unless set, it ends
    /// when each single step was tried. Shrinking may take as long again.
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = Some(seconds.clamp(0.0, MAX_SECONDS));
        self
    }

    /// Sets the seed of the random schedules, which follow the systematic ones.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how long one run of the app may take; 10 seconds unless set.
    pub fn app_timeout(mut self, timeout: Duration) -> Self {
        self.app_timeout = timeout;
        self
    }

    /// Goes on after the first finding.
    pub fn all(mut self) -> Self {
        self.all = true;
        self
    }

    /// Runs no more schedules than this.
    pub fn max_schedules(mut self, schedules: u64) -> Self {
        self.max_schedules = schedules;
        self
    }

    /// Explores.
    ///
    /// # Errors
    ///
    /// When it could not run: the run without trouble breaks a rule, or the app cannot be started.
    pub async fn run(self) -> Result<Report, String> {
        self.run_until(std::future::pending(), |_| {}).await
    }

    /// Explores until `stop` completes at the latest, and shows how far it is.
    ///
    /// # Errors
    ///
    /// When it could not run: the run without trouble breaks a rule, or the app cannot be started.
    pub async fn run_until(
        self,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(Progress),
    ) -> Result<Report, String> {
        let began = Instant::now();
        let (seed, all, limit) = (self.seed, self.all, self.max_schedules);
        let span = self.seconds.map(Duration::from_secs_f64);
        let until = span.map(|span| began + span);
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        let mails: Vec<usize> = (0..self.scenario.mails.len()).collect();
        let scenario = self.scenario.clone();
        let session = self.session().await?;
        let mut stop = std::pin::pin!(stop);
        let reference = tokio::select! {
            reference = session.begin(&mails) => reference?,
            () = wait_until(until) => return Err("the run without trouble has not ended in that time".to_owned()),
            () = &mut stop => return Ok(Report::interrupted(seed)),
        };
        let note = session.note(&reference);
        let mut generator = Generator::new(seed, &scenario, &reference);
        // Without a bound it is through when each single step was tried.
        let is_through = |generator: &Generator| span.is_none() && generator.has_no_single_left();
        let (mut schedules, mut issued) = (0, 0);
        let mut findings: Vec<Finding> = Vec::new();
        let mut stopped = false;
        let mut workers = std::thread::available_parallelism()
            .map_or(MIN_WORKERS, |cores| cores.get().clamp(MIN_WORKERS, MAX_WORKERS));
        if reference.server {
            // Most of the time goes by while a server is idle.
            workers *= 2;
        }
        // What was found but does not happen again is no finding, and no reason to stop.
        while findings.is_empty() && !stopped && issued < limit && !is_over() && !is_through(&generator) {
            let mut found: Vec<(Schedule, Execution, Broken)> = Vec::new();
            let mut running = FuturesOrdered::new();
            let mut under_way = VecDeque::new();
            loop {
                while running.len() < workers && issued < limit && !is_over() && !is_through(&generator) {
                    let Some(schedule) = generator.next() else { break };
                    issued += 1;
                    under_way.push_back(schedule.clone());
                    let session = &session;
                    running.push_back(async move { session.check(&schedule).await });
                }
                let next = tokio::select! {
                    next = running.next() => next,
                    () = &mut stop => {
                        stopped = true;
                        None
                    }
                };
                let (Some(checked), Some(schedule)) = (next, under_way.pop_front()) else { break };
                let (execution, broken) = checked?;
                schedules += 1;
                generator.absorb(&schedule, &execution);
                let left = until.map(|until| until.saturating_duration_since(Instant::now()).as_secs());
                let (coverage, findings) = (generator.coverage(), found.len());
                progress(Progress { schedules, coverage, findings, seconds_left: left, is_shrinking: false });
                if let Some(broken) = broken {
                    // What went wrong says the cause too: a person who answered is another finding than one who took over.
                    if found.iter().all(|(.., it)| *it != broken) {
                        found.push((schedule, execution, broken));
                    }
                    if !all {
                        break;
                    }
                }
            }
            drop(running);
            if found.is_empty() {
                break;
            }
            issued -= u64::try_from(under_way.len()).unwrap_or(0);
            generator.put_back(under_way);
            let (coverage, count) = (generator.coverage(), found.len());
            progress(Progress {
                schedules,
                coverage,
                findings: count,
                seconds_left: None,
                is_shrinking: true,
            });
            let shrink_until =
                Instant::now() + span.unwrap_or(DEFAULT_SHRINK_TIME).max(Duration::from_secs(5));
            for found in found {
                let described = tokio::select! {
                    described = session.describe(found.clone(), shrink_until) => described?,
                    () = &mut stop, if !stopped => {
                        stopped = true;
                        Some(session.finding(found.0.steps.len(), found, "not run again".to_owned()))
                    }
                };
                let new = described.filter(|new| findings.iter().all(|it| it.replay != new.replay));
                findings.extend(new);
            }
        }
        Ok(Report {
            verdict: match findings.is_empty() {
                _ if stopped => Verdict::Interrupted,
                true => Verdict::Held,
                false => Verdict::Broken,
            },
            seed,
            schedules,
            states: generator.states(),
            seconds: began.elapsed().as_secs_f64(),
            coverage: generator.coverage(),
            why: None,
            note,
            timeline: Vec::new(),
            findings,
        })
    }

    /// Runs the schedule of a token.
    ///
    /// # Errors
    ///
    /// When the token is none of this scenario, or it could not run.
    pub async fn replay(self, token: &str) -> Result<Report, String> {
        let began = Instant::now();
        let schedule = Schedule::parse(token, self.scenario.mails.len())?;
        let seed = self.seed;
        let session = self.session().await?;
        let reference = session.begin(&schedule.mails).await?;
        let coverage = Coverage { requests: reference.requests.len(), ..Coverage::default() };
        let steps = schedule.steps.len();
        let (execution, broken) = session.check(&schedule).await?;
        let (findings, timeline) = match broken {
            None => (Vec::new(), session.story(&schedule, &execution)),
            Some(broken) => {
                let found = (schedule, execution, broken);
                (vec![session.finding(steps, found, "1 of 1".to_owned())], Vec::new())
            }
        };
        Ok(Report {
            verdict: if findings.is_empty() { Verdict::Held } else { Verdict::Broken },
            seed,
            schedules: 1,
            states: 0,
            seconds: began.elapsed().as_secs_f64(),
            coverage,
            why: None,
            note: session.note(&reference),
            timeline,
            findings,
        })
    }

    /// Runs the schedule of a token in a world that stays as long as the returned value.
    ///
    /// Its page in the console shows every conversation and request, and has the snapshot `before-the-last-step` to go
    /// back to and to compare with.
    ///
    /// # Errors
    ///
    /// When the token is none of this scenario, or it could not run.
    pub async fn open(self, token: &str) -> Result<OpenWorld, String> {
        let schedule = Schedule::parse(token, self.scenario.mails.len())?;
        let session = self.session().await?;
        let world = session.keep(&schedule).await?;
        Ok(OpenWorld { console_url: world.ready().console_url, _session: session })
    }

    async fn session(self) -> Result<Session, String> {
        self.scenario.check()?;
        let driver = Driver {
            server: Server::start().await?,
            app: self.app,
            scenario: self.scenario,
            app_timeout: self.app_timeout,
            state: StateRoot::new("shared-inbox-explore-")?,
        };
        Ok(Session::new(driver))
    }
}

/// Completes at this time; never where there is none.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
