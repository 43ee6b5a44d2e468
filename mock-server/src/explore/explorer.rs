//! An exploration: the run without trouble, then schedules side by side until the time is up, then what was found.

use std::{
    collections::HashMap,
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesOrdered};

use super::{
    app::{App, AppContext},
    driver::Driver,
    functions::Functions,
    oracles::{Broken, Judge, judge_reference},
    record::Execution,
    report::{Finding, Report, Verdict},
    scenario::{Mode, PARTS, Scenario},
    schedule::{Act, Moment, Place, Schedule, Step, What},
    shrink::shrink,
    steps::Generator,
    timeline::timeline,
    world::Server,
    write_test,
};

/// Times that a schedule is run again to see how often it fails.
const REPEATS: usize = 5;
/// Schedules that run side by side.
const MIN_WORKERS: usize = 2;
const MAX_WORKERS: usize = 8;

/// Explores what can go wrong around an app.
///
/// ```
/// use shared_inbox::{Client, Status};
/// use shared_inbox_mock::explore::{AppContext, Explore, Scenario};
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
/// let report = Explore::function(Scenario::new(["Where is my order?"]), app).run().await?;
/// assert!(report.findings[0].timeline.len() > 3, "{report}");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Explore {
    scenario: Scenario,
    app: App,
    seconds: f64,
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

/// How far an exploration is.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Progress {
    /// Schedules that were run.
    pub schedules: u64,
    /// Distinct states that they reached.
    pub states: usize,
    /// Seconds that are left for exploring; none while a finding is shrunk.
    pub seconds_left: Option<u64>,
}

impl Explore {
    fn new(scenario: Scenario, app: App) -> Self {
        Self {
            scenario,
            app,
            seconds: 60.0,
            seed: 1,
            app_timeout: Duration::from_secs(10),
            all: false,
            max_schedules: u64::MAX,
        }
    }

    /// An app that is a program, run with these words.
    pub fn command<T: Into<OsString>>(scenario: Scenario, command: impl IntoIterator<Item = T>) -> Self {
        Self::new(scenario, App::Command(command.into_iter().map(Into::into).collect()))
    }

    /// An app that is a function: a job that runs to its end each time.
    pub fn function<F, R>(scenario: Scenario, run: F) -> Self
    where
        F: Fn(AppContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self::new(scenario, App::Function(Arc::new(move |context| Box::pin(run(context)))))
    }

    /// An app that is a function of the process that started this one.
    pub(super) fn functions(scenario: Scenario, functions: Arc<Functions>) -> Self {
        Self::new(scenario, App::Piped(functions))
    }

    /// How long to explore; 60 seconds unless set. Shrinking may take as long again.
    pub fn seconds(mut self, seconds: f64) -> Self {
        self.seconds = seconds.clamp(0.0, 86_400.0);
        self
    }

    /// What the chance starts from; another number tries other schedules once the systematic ones are through.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long one run of the app may take; 10 seconds unless set.
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
        let span = Duration::from_secs_f64(self.seconds);
        let mails: Vec<usize> = (0..self.scenario.mails.len()).collect();
        let session = self.session().await?;
        let mut stop = std::pin::pin!(stop);
        let reference = tokio::select! {
            reference = session.begin(&mails) => reference?,
            () = &mut stop => return Err("it was interrupted before the run without trouble had ended".to_owned()),
        };
        let mut generator = Generator::new(seed, mails, &reference);
        let until = began + span;
        let (mut schedules, mut issued) = (0, 0);
        let mut found: Vec<(Schedule, Execution, Broken)> = Vec::new();
        let workers = std::thread::available_parallelism()
            .map_or(MIN_WORKERS, |cores| cores.get().clamp(MIN_WORKERS, MAX_WORKERS));
        let mut running = FuturesOrdered::new();
        loop {
            while running.len() < workers && issued < limit && Instant::now() < until {
                let Some(schedule) = generator.next() else { break };
                issued += 1;
                let session = &session;
                running.push_back(async move {
                    let checked = session.check(&schedule).await;
                    checked.map(|(execution, broken)| (schedule, execution, broken))
                });
            }
            let next = tokio::select! {
                next = running.next() => next,
                () = &mut stop => None,
            };
            let Some(checked) = next else { break };
            let (schedule, execution, broken) = checked?;
            schedules += 1;
            generator.absorb(&schedule, &execution);
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            progress(Progress { schedules, states: generator.states(), seconds_left: Some(left) });
            if let Some(broken) = broken {
                let known =
                    found.iter().any(|(.., it)| it.oracle == broken.oracle && it.claim == broken.claim);
                if !known {
                    found.push((schedule, execution, broken));
                }
                if !all {
                    break;
                }
            }
        }
        drop(running);
        let states = generator.states();
        progress(Progress { schedules, states, seconds_left: None });
        let mut findings: Vec<Finding> = Vec::new();
        let shrink_until = Instant::now() + span.max(Duration::from_secs(5));
        for found in found {
            let described = tokio::select! {
                described = session.describe(found.clone(), shrink_until) => described?,
                () = &mut stop => Some(session.finding(found.0.steps.len(), found, "not run again".to_owned())),
            };
            let new = described.filter(|new| findings.iter().all(|it| it.replay != new.replay));
            findings.extend(new);
        }
        Ok(Report {
            verdict: if findings.is_empty() { Verdict::Held } else { Verdict::Broken },
            seed,
            schedules,
            states,
            seconds: began.elapsed().as_secs_f64(),
            why: None,
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
        session.begin(&schedule.mails).await?;
        let steps = schedule.steps.len();
        let (execution, broken) = session.check(&schedule).await?;
        let findings: Vec<Finding> = match broken {
            None => Vec::new(),
            Some(broken) => vec![session.finding(steps, (schedule, execution, broken), "1 of 1".to_owned())],
        };
        Ok(Report {
            verdict: if findings.is_empty() { Verdict::Held } else { Verdict::Broken },
            seed,
            schedules: 1,
            states: 0,
            seconds: began.elapsed().as_secs_f64(),
            why: None,
            findings,
        })
    }

    async fn session(self) -> Result<Session, String> {
        if self.scenario.mode == Mode::Server {
            return Err("mode: \"server\" is not available yet".to_owned());
        }
        if let Some(unknown) = self.scenario.ignore.iter().find(|part| !PARTS.contains(&part.as_str())) {
            return Err(format!("ignore: {unknown} is none of {}", PARTS.join(", ")));
        }
        let driver = Driver {
            server: Server::start().await?,
            app: self.app,
            scenario: self.scenario,
            app_timeout: self.app_timeout,
        };
        Ok(Session {
            driver,
            references: Mutex::default(),
            calm: Mutex::default(),
            varying: Mutex::default(),
        })
    }
}

type Interference = (Vec<usize>, Vec<(Act, usize)>);

/// The driver, and what it has run without trouble.
struct Session {
    driver: Driver,
    references: Mutex<HashMap<Vec<usize>, Arc<Execution>>>,
    /// Runs in which the same was done in quiet moments.
    calm: Mutex<HashMap<Interference, Arc<Vec<Execution>>>>,
    /// Parts that differ from run to run by themselves.
    varying: Mutex<Vec<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// The run without trouble, which must break no rule.
    async fn begin(&self, mails: &[usize]) -> Result<Arc<Execution>, String> {
        let calm = Schedule::calm(mails.to_vec());
        let (reference, again) = tokio::try_join!(self.reference(mails), self.driver.execute(&calm))?;
        if let Some(broken) = judge_reference(&self.driver.scenario, &reference) {
            return Err(format!(
                "the run without trouble breaks a rule ({}): {}",
                broken.oracle, broken.summary
            ));
        }
        // What differs without any trouble says nothing when there is some.
        for part in PARTS {
            let all = |run: &Execution| run.ends.iter().map(|end| end.part(part)).collect::<Vec<_>>();
            if all(&reference) != all(&again) {
                locked(&self.varying).push(part.to_owned());
            }
        }
        Ok(reference)
    }

    async fn reference(&self, mails: &[usize]) -> Result<Arc<Execution>, String> {
        if let Some(known) = locked(&self.references).get(mails) {
            return Ok(Arc::clone(known));
        }
        let run = Arc::new(self.driver.execute(&Schedule::calm(mails.to_vec())).await?);
        locked(&self.references).insert(mails.to_vec(), Arc::clone(&run));
        Ok(run)
    }

    /// Runs a schedule, and says which rule it breaks.
    async fn check(&self, schedule: &Schedule) -> Result<(Execution, Option<Broken>), String> {
        let reference = self.reference(&schedule.mails).await?;
        let execution = self.driver.execute(schedule).await?;
        let mut scenario = self.driver.scenario.clone();
        scenario.ignore.extend(locked(&self.varying).iter().cloned());
        let judge = |calm: &[Execution]| {
            Judge { scenario: &scenario, schedule, execution: &execution, reference: &reference, calm }
                .judge()
        };
        let mut broken = judge(&[]);
        if broken.is_some() && schedule.acts().next().is_some() {
            broken = judge(&self.calm_runs(schedule).await?);
        }
        Ok((execution, broken))
    }

    /// The same interference in quiet moments, without any failure: what it explains is no finding.
    async fn calm_runs(&self, schedule: &Schedule) -> Result<Arc<Vec<Execution>>, String> {
        let key = (schedule.mails.clone(), schedule.acts().collect::<Vec<_>>());
        if let Some(known) = locked(&self.calm).get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut runs = Vec::new();
        for (moment, round) in [(Moment::Run, 0), (Moment::End, 0), (Moment::People, 0), (Moment::Run, 1)] {
            let step = |(act, mail)| Step { place: Place::Quiet(moment, round), what: What::Act(act, mail) };
            let steps = key.1.iter().copied().map(step).collect();
            runs.push(self.driver.execute(&Schedule { mails: key.0.clone(), steps }).await?);
        }
        let runs = Arc::new(runs);
        locked(&self.calm).insert(key, Arc::clone(&runs));
        Ok(runs)
    }

    /// Shrinks what was found and runs it again; none when it does not happen again.
    async fn describe(
        &self,
        found: (Schedule, Execution, Broken),
        until: Instant,
    ) -> Result<Option<Finding>, String> {
        let steps = found.0.steps.len();
        let (mut schedule, mut execution, mut broken) =
            shrink(async |schedule: &Schedule| self.check(schedule).await, found.clone(), until).await?;
        let mut again = self.repeat(&schedule, &broken).await?;
        if again == 0 {
            (schedule, execution, broken) = found;
            again = self.repeat(&schedule, &broken).await?;
        }
        let reproduced = format!("{again} of {REPEATS}");
        Ok((again > 0).then(|| self.finding(steps, (schedule, execution, broken), reproduced)))
    }

    /// How often the same rule is broken again.
    async fn repeat(&self, schedule: &Schedule, broken: &Broken) -> Result<usize, String> {
        let runs = futures_util::stream::iter(0..REPEATS).map(|_| self.check(schedule));
        let mut runs = runs.buffer_unordered(MIN_WORKERS);
        let mut again = 0;
        while let Some(run) = runs.next().await {
            let (_, found) = run?;
            again += usize::from(found.is_some_and(|it| it.oracle == broken.oracle));
        }
        Ok(again)
    }

    fn finding(
        &self,
        shrunk_from: usize,
        (schedule, execution, broken): (Schedule, Execution, Broken),
        reproduced: String,
    ) -> Finding {
        Finding {
            oracle: broken.oracle,
            timeline: timeline(&schedule, &execution),
            steps: schedule.steps.iter().map(Step::json).collect(),
            shrunk_from,
            replay: schedule.token(),
            reproduced,
            tests: write_test::write(&self.driver, &schedule, &execution, &broken),
            summary: broken.summary,
        }
    }
}
