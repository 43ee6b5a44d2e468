//! An exploration: the run without trouble, then schedules side by side until the time is up, then what was
//! found.

mod generator;
mod session;
mod shrink;
pub(crate) mod undisturbed;

use std::{
    collections::VecDeque,
    ffi::OsString,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::process::StateRoot;
use futures_util::{FutureExt, StreamExt, stream::FuturesOrdered};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use shared_inbox_mock::NewWorld;

use crate::explore::{
    error::{ExploreError, Result},
    explorer::generator::Generator,
    explorer::session::{Found, MIN_WORKERS, Session},
    findings::report::{Coverage, Finding, Report, Verdict},
    oracle::Oracle,
    plan::schedule::Schedule,
    run::driver::Driver,
    run::world::Server,
    scenario::Scenario,
    under_test::functions::Functions,
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
/// use shared_inbox_explore::explore::{AppContext, Explore, Scenario};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), shared_inbox_explore::explore::ExploreError> {
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
/// let report = explore.app_timeout(Duration::from_secs(1)).run().await?;
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
    _driver: Driver,
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
#[derive(Debug, Clone)]
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

    /// An app that is a function: a job that runs to its end each time, or a [server](Scenario::server) that
    /// listens on the port of its context and stays. A server has a Tokio runtime of its own; a kill drops
    /// the future and the runtime.
    pub fn function<F, R>(scenario: Scenario, run: F) -> Self
    where
        F: Fn(AppContext) -> R + Send + Sync + 'static,
        R: Future<Output = std::result::Result<(), String>> + Send + 'static,
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
    pub fn check_token(&self, token: &str) -> Result<()> {
        Schedule::parse(token, self.scenario.mails.len()).map(drop)
    }

    /// Sets how long to explore, with pairs of steps and steps at random once each single step was tried.
    /// Unless set, it ends when each single step was tried. Shrinking may take as long again.
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
    pub async fn run(self) -> Result<Report> {
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
    ) -> Result<Report> {
        let began = Instant::now();
        let Self { seed, all, max_schedules, .. } = self;
        let span = self.seconds.map(Duration::from_secs_f64);
        let until = span.map(|span| began + span);
        let mails: Vec<usize> = (0..self.scenario.mails.len()).collect();
        let scenario = self.scenario.clone();
        let session = self.session().await?;
        let stop = stop.shared();
        let undisturbed = tokio::select! {
            undisturbed = session.begin(&mails) => undisturbed?,
            () = wait_until(until) => return Err(ExploreError::OutOfTime),
            () = stop.clone() => return Ok(Report::interrupted(seed)),
        };
        let reference = &undisturbed[0];
        // Without a bound it is through when each single step was tried.
        let mut generator = Generator::new(&scenario, reference, span.is_none());
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut schedules, mut stopped) = (0, false);
        let (mut findings, mut unstable): (Vec<Finding>, Vec<Finding>) = (Vec::new(), Vec::new());
        let workers = std::thread::available_parallelism()
            .map_or(MIN_WORKERS, |cores| cores.get().clamp(MIN_WORKERS, MAX_WORKERS));
        // Most of the time goes by while a server is idle.
        let workers = if reference.server { 2 * workers } else { workers };
        let mut show = |schedules, generator: &Generator, findings, is_shrinking: bool| {
            let left = |until: Instant| until.saturating_duration_since(Instant::now()).as_secs();
            let (coverage, seconds_left) = (generator.coverage(), until.filter(|_| !is_shrinking).map(left));
            progress(Progress { schedules, coverage, findings, seconds_left, is_shrinking });
        };
        // What may be chance is no finding, and no reason to stop.
        while findings.is_empty() && !stopped {
            let mut found: Vec<Found> = Vec::new();
            let mut running = FuturesOrdered::new();
            let mut under_way = VecDeque::new();
            while found.is_empty() || all {
                while running.len() < workers
                    && schedules + (running.len() as u64) < max_schedules
                    && until.is_none_or(|until| Instant::now() < until)
                    && let Some(schedule) = generator.next(&mut random)
                {
                    under_way.push_back(schedule.clone());
                    let session = &session;
                    running.push_back(async move { session.check(&schedule).await });
                }
                let checked = tokio::select! {
                    checked = running.next() => checked,
                    () = stop.clone() => {
                        stopped = true;
                        None
                    }
                };
                let Some(checked) = checked else { break };
                let (execution, broken) = checked?;
                under_way.pop_front();
                schedules += 1;
                generator.absorb(&execution);
                show(schedules, &generator, found.len(), false);
                // What went wrong says the cause too: a person who answered is another finding than one who
                // took over.
                let is_new = |it: &Broken| {
                    let same = |other: &Broken| (other.oracle, &other.summary) == (it.oracle, &it.summary);
                    !found.iter().any(|other| same(&other.broken))
                };
                found.extend(broken.filter(is_new).map(|broken| Found { execution, broken }));
            }
            drop(running);
            if found.is_empty() {
                break;
            }
            generator.put_back(under_way);
            show(schedules, &generator, found.len(), true);
            let shrink_time = span.unwrap_or(DEFAULT_SHRINK_TIME).max(Duration::from_secs(5));
            let shrink_until = Instant::now() + shrink_time;
            for found in found {
                let as_found = found.clone();
                let (finding, is_beyond_chance) = tokio::select! {
                    biased;
                    () = stop.clone() => {
                        stopped = true;
                        (session.finding(as_found.execution.schedule.steps.len(), as_found, None), true)
                    }
                    described = session.describe(found, shrink_until) => described?,
                };
                let list = if is_beyond_chance { &mut findings } else { &mut unstable };
                if list.iter().all(|it| cause(it) != cause(&finding)) {
                    list.push(finding);
                }
            }
        }
        let verdict = match findings.is_empty() {
            _ if stopped => Verdict::Interrupted,
            true if schedules == 0 => Verdict::CouldNotRun,
            true => Verdict::Held,
            false => Verdict::Broken,
        };
        Ok(Report {
            verdict,
            seed,
            schedules,
            states: generator.states(),
            seconds: began.elapsed().as_secs_f64(),
            varies: session.variations().names(),
            not_judged: session.not_judged(),
            unstable,
            coverage: generator.coverage(),
            why: (verdict == Verdict::CouldNotRun).then(|| "no schedule was run".to_owned()),
            note: session.note(&undisturbed),
            findings,
            ..Report::default()
        })
    }

    /// Runs the schedule of a token.
    ///
    /// # Errors
    ///
    /// When the token is none of this scenario, or it could not run.
    pub async fn replay(self, token: &str) -> Result<Report> {
        let began = Instant::now();
        let schedule = Schedule::parse(token, self.scenario.mails.len())?;
        let seed = self.seed;
        let session = self.session().await?;
        let undisturbed = session.begin(&schedule.mails).await?;
        let coverage = Coverage { requests: undisturbed[0].requests.len(), ..Coverage::default() };
        let (execution, broken) = session.check(&schedule).await?;
        let note = session.note(&undisturbed);
        let mut report = Report { seed, schedules: 1, coverage, note, is_replay: true, ..Report::default() };
        match broken {
            None => report.timeline = session.story(&execution),
            Some(broken) => {
                let found = Found { execution, broken };
                // Of an app that was not seen to vary, the report says that the schedule was not run again.
                let varies = !session.variations().is_empty();
                let repeated = if varies { Some(session.repeat(&found).await?) } else { None };
                let may_be_chance = repeated.as_ref().is_some_and(|it| !it.is_beyond_chance());
                let list = if may_be_chance { &mut report.unstable } else { &mut report.findings };
                list.push(session.finding(schedule.steps.len(), found, repeated.as_ref()));
            }
        }
        report.verdict = if report.findings.is_empty() { Verdict::Held } else { Verdict::Broken };
        report.seconds = began.elapsed().as_secs_f64();
        (report.varies, report.not_judged) = (session.variations().names(), session.not_judged());
        Ok(report)
    }

    /// Runs the schedule of a token in a world that stays as long as the returned value.
    ///
    /// Its page in the console shows every conversation and request, and has the snapshot
    /// `before-the-last-step` to go back to and to compare with.
    ///
    /// # Errors
    ///
    /// When the token is none of this scenario, or it could not run.
    pub async fn open(self, token: &str) -> Result<OpenWorld> {
        let schedule = Schedule::parse(token, self.scenario.mails.len())?;
        let driver = self.driver(Server::start().await?, "shared-inbox-explore-").await?;
        let world = driver.new_world(NewWorld::empty()).await?;
        driver.run(&world, &driver.scenario, &schedule, true).await?;
        Ok(OpenWorld { console_url: world.ready().console_url, _driver: driver })
    }

    async fn session(self) -> Result<Session> {
        Ok(Session::new(self.driver(Server::start().await?, "shared-inbox-explore-").await?))
    }

    /// Prepares runs on a server, with folders of the app that are named like this.
    async fn driver(self, server: Server, folders: &str) -> Result<Driver> {
        self.scenario.check()?;
        let Self { app, scenario, app_timeout, .. } = self;
        let driver = Driver { server, app, scenario, app_timeout, state: StateRoot::new(folders)? };
        driver.check_scenario().await?;
        Ok(driver)
    }
}

/// Returns what two findings of one cause have in common: the rule, and the steps without their places in the
/// run. What somebody does has a place alone.
fn cause(finding: &Finding) -> (Oracle, Vec<String>) {
    let step = |step: &Value| match step["mail"].is_null() {
        true => format!("{} {} {}", step["kind"], step["request"], step["event"]),
        false => step["kind"].to_string(),
    };
    (finding.oracle, finding.steps.iter().map(step).collect())
}

/// Completes at this time; never where there is none.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
