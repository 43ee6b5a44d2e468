//! Checks schedules: runs them, holds them against runs without trouble, shrinks and describes what was found.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use futures_util::StreamExt;

use crate::{
    explorer::shrink::shrink,
    findings::replay_test,
    findings::report::Finding,
    findings::timeline::timeline,
    plan::schedule::Schedule,
    plan::step::{Act, Moment, Place, Step, What},
    run::driver::Driver,
    run::record::Execution,
    run::world::World,
    scenario::PARTS,
    under_test::app::RunEnd,
    verdict::judge::Judge,
    verdict::oracles::{Broken, judge_reference},
};

/// Times that a schedule is run again to see how often it fails.
const REPEATS: usize = 5;
/// Schedules that run side by side, at least.
pub(crate) const MIN_WORKERS: usize = 2;

type Interference = (Vec<usize>, Vec<(Act, usize)>);

/// The driver, and what it has run without trouble.
pub(crate) struct Session {
    driver: Driver,
    references: Mutex<HashMap<Vec<usize>, Arc<Execution>>>,
    /// Runs in which the same was done in quiet moments.
    calm: Mutex<HashMap<Interference, Arc<Vec<Execution>>>>,
    /// Parts that differ from run to run by themselves.
    varying: Mutex<Vec<String>>,
}

/// Says that there is nothing to explore, and what the reason may be.
fn no_request(is_server: bool) -> String {
    let hint = if is_server {
        "a server hears of a first mail through the webhook `turn.changed`, not through `client.replied`"
    } else {
        "a job finds the service at SHARED_INBOX_BASE_URL, with the key in SHARED_INBOX_API_KEY"
    };
    format!("the app made no request in the run without trouble, so there is nothing to explore; {hint}")
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(crate) fn new(driver: Driver) -> Self {
        Self { driver, references: Mutex::default(), calm: Mutex::default(), varying: Mutex::default() }
    }

    /// Runs a schedule in a world that stays.
    pub(crate) async fn keep(&self, schedule: &Schedule) -> Result<World, String> {
        self.driver.keep(schedule).await
    }

    /// Runs the app without trouble, which must break no rule.
    pub(crate) async fn begin(&self, mails: &[usize]) -> Result<Arc<Execution>, String> {
        let calm = Schedule::calm(mails.to_vec());
        let (reference, again) = tokio::try_join!(self.reference(mails), self.driver.execute(&calm))?;
        if let Some(broken) = judge_reference(&self.driver.scenario, &reference) {
            let lines: Vec<String> = reference.runs.iter().flat_map(RunEnd::quoted_lines).collect();
            let last = if lines.is_empty() { String::new() } else { format!("\n\n{}", lines.join("\n")) };
            return Err(format!(
                "the run without trouble breaks a rule ({}): {}{last}",
                broken.oracle, broken.summary
            ));
        }
        if reference.requests.is_empty() {
            return Err(no_request(reference.server));
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
    pub(crate) async fn check(&self, schedule: &Schedule) -> Result<(Execution, Option<Broken>), String> {
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

    /// Returns the same interference in quiet moments, without any failure: what it explains is no finding.
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
    pub(crate) async fn describe(
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

    /// Returns how often the same rule is broken again.
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

    pub(crate) fn finding(
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
            tests: replay_test::write(
                &self.driver.app,
                &self.driver.scenario,
                broken.oracle,
                &schedule.token(),
            ),
            summary: broken.summary,
        }
    }
}
