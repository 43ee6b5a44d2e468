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
    run::calls::second_mail,
    run::driver::Driver,
    run::record::{AppRequest, End, Event, Execution},
    run::world::World,
    scenario::{PARTS, Scenario},
    under_test::app::RunEnd,
    verdict::judge::{Judge, SecondMail},
    verdict::oracles::{Broken, judge_reference},
};

/// Times that a schedule is run again to see how often it fails.
const REPEATS: usize = 5;
/// Schedules that run side by side, at least.
pub(crate) const MIN_WORKERS: usize = 2;

/// What an app is told that writes nothing on later days.
const NOTHING_DUE: &str = "nothing became due for the app on the days that passed; the world's time is in SHARED_INBOX_TIME, for a \
                           function in its argument, and in the header Date of each response, not on the clock of the machine";

type Interference = (Vec<usize>, Vec<(Act, usize)>);

/// The driver, and what it has run without trouble.
pub(crate) struct Session {
    driver: Driver,
    references: Mutex<HashMap<Vec<usize>, Arc<Execution>>>,
    /// Runs in which the same was done in quiet moments.
    calm: Mutex<HashMap<Interference, Arc<Vec<Execution>>>>,
    /// How conversations end that begin with what is a second mail otherwise.
    firsts: Mutex<HashMap<SecondMail, End>>,
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
        let (references, calm) = (Mutex::default(), Mutex::default());
        Self { driver, references, calm, firsts: Mutex::default(), varying: Mutex::default() }
    }

    /// Runs a schedule in a world that stays.
    pub(crate) async fn keep(&self, schedule: &Schedule) -> Result<World, String> {
        self.driver.keep(schedule).await
    }

    /// Runs the app without trouble, which must break no rule.
    pub(crate) async fn begin(&self, mails: &[usize]) -> Result<Arc<Execution>, String> {
        let calm = Schedule::calm(mails.to_vec());
        let (reference, again) = tokio::try_join!(self.reference(mails), self.driver.execute(&calm))?;
        // What differs without any trouble says nothing when there is some.
        for part in PARTS {
            let all = |run: &Execution| run.ends.iter().map(|end| end.part(part)).collect::<Vec<_>>();
            if all(&reference) != all(&again) {
                locked(&self.varying).push(part.to_owned());
            }
        }
        let firsts = self.first_mails(&calm).await?;
        if let Some(broken) = judge_reference(&self.compared(), &reference, Some(&firsts)) {
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
        Ok(reference)
    }

    /// Returns the scenario, which ignores what differs by itself too.
    fn compared(&self) -> Scenario {
        let mut scenario = self.driver.scenario.clone();
        scenario.ignore.extend(locked(&self.varying).iter().cloned());
        scenario
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
        let scenario = self.compared();
        let judge = |calm: &[Execution], firsts: Option<&[_]>| {
            let (scenario, execution, reference) = (&scenario, &execution, &reference);
            Judge { scenario, schedule, execution, reference, calm, firsts }.judge()
        };
        let mut broken = judge(&[], None);
        let has_follow_up = schedule.mails.iter().any(|mail| scenario.mails[*mail].follow_up);
        if broken.is_some() && (schedule.acts().next().is_some() || has_follow_up) {
            let firsts = self.first_mails(schedule).await?;
            broken = judge(&self.calm_runs(schedule).await?, Some(&firsts));
        }
        Ok((execution, broken))
    }

    /// Runs each second mail of a schedule as the first and only one of its customer, without trouble: what the app does not answer
    /// then, it owes no answer to.
    async fn first_mails(&self, schedule: &Schedule) -> Result<Vec<(SecondMail, End)>, String> {
        let follow_ups = schedule.mails.iter().filter(|mail| self.driver.scenario.mails[**mail].follow_up);
        let second = schedule.acts().filter(|(act, _)| act.is_second_mail());
        let mut firsts = Vec::new();
        for mail in second.chain(follow_ups.map(|mail| (Act::Mail, *mail))) {
            let known = locked(&self.firsts).get(&mail).cloned();
            let end = match known {
                Some(end) => end,
                None => {
                    let mut scenario = self.driver.scenario.clone();
                    let opener = scenario.opener(mail.1);
                    scenario.mails[opener].text = second_mail(mail.0, &scenario, mail.1);
                    let run = self.driver.execute_in(&scenario, &Schedule::calm(vec![opener])).await?;
                    let Some(end) = run.end_of(opener).cloned() else { continue };
                    locked(&self.firsts).insert(mail, end.clone());
                    end
                }
            };
            firsts.push((mail, end));
        }
        Ok(firsts)
    }

    /// Returns the same interference in quiet moments, without any failure: what it explains is no finding.
    async fn calm_runs(&self, schedule: &Schedule) -> Result<Arc<Vec<Execution>>, String> {
        let key = (schedule.mails.clone(), schedule.acts().collect::<Vec<_>>());
        if let Some(known) = locked(&self.calm).get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut runs = Vec::new();
        let moments = [(Moment::Run, 0), (Moment::End, 0), (Moment::People, 0), (Moment::Run, 1)];
        // Without interference they are all the same.
        for (moment, round) in moments.into_iter().take(if key.1.is_empty() { 1 } else { moments.len() }) {
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
        // Where an app is not deterministic, the schedule that shows it more often is the better one.
        if again < REPEATS && schedule != found.0 {
            let as_found = self.repeat(&found.0, &found.2).await?;
            if as_found > again {
                (schedule, execution, broken) = found;
                again = as_found;
            }
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

    /// Returns what happened, line by line.
    pub(crate) fn story(&self, schedule: &Schedule, execution: &Execution) -> Vec<String> {
        timeline(&self.driver.scenario, schedule, execution)
    }

    /// Returns what the user should know of the run without trouble.
    pub(crate) fn note(&self, reference: &Execution) -> Option<String> {
        let day = |(_, event): &(usize, Event)| matches!(event, Event::DayBegins(_));
        let first = reference.events.iter().find(|event| day(event)).filter(|_| !reference.server)?.0;
        let writes = |request: &AppRequest| request.op.is_some_and(|op| !op.is_read());
        let is_idle = !reference.requests.iter().skip(first).any(writes);
        is_idle.then(|| NOTHING_DUE.to_owned())
    }

    pub(crate) fn finding(
        &self,
        shrunk_from: usize,
        (schedule, execution, broken): (Schedule, Execution, Broken),
        reproduced: String,
    ) -> Finding {
        Finding {
            oracle: broken.oracle,
            timeline: self.story(&schedule, &execution),
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
