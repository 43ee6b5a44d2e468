//! Checks schedules: runs them, holds them against undisturbed runs, shrinks and describes what was found.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::process::is_more_frequent;
use futures_util::{StreamExt, TryStreamExt};

use crate::explore::{
    error::{ExploreError, Result},
    findings::replay_test,
    findings::report::{Finding, Mark, MarkKind},
    findings::timeline::{quoted_lines, timeline},
    plan::schedule::Schedule,
    plan::step::{Act, Moment, Place, Step, What},
    run::calls::second_mail,
    run::driver::Driver,
    run::record::{AppRequest, End, Event, Execution},
    verdict::judge::{Judge, SecondMail},
    verdict::oracles::Broken,
    verdict::same_texts::ComparedTexts,
    verdict::variations::{NotJudged, Variations},
};

/// Undisturbed runs that are made first, and more where they differ.
const MIN_UNDISTURBED_RUNS: usize = 3;
const MIN_VARYING_RUNS: usize = 6;
/// Times that a schedule is run again to see how often it fails: more when that does not tell it from chance.
const REPEATS: [usize; 3] = [5, 10, 20];
/// Schedules that run side by side, at least.
pub(crate) const MIN_WORKERS: usize = 2;

/// What an app is told that writes nothing on later days.
const NOTHING_DUE: &str = "nothing became due for the app on the days that passed; the world's time is in SHARED_INBOX_TIME, for a \
                           function in its argument, and in the header Date of each response, not on the clock of the machine";
const NOBODY_ANSWERED: &str = "the app answers nobody and changes nothing in the undisturbed runs, so no rule but well-behaved can be broken; \
                               do the mails of the scenario say what it waits for?";

/// A run that broke a rule.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) execution: Execution,
    pub(crate) broken: Broken,
}

/// The driver, and what it has run without trouble.
pub(crate) struct Session {
    driver: Driver,
    known: Mutex<Known>,
    compared_texts: ComparedTexts,
}

/// What is known of an app.
#[derive(Default)]
struct Known {
    /// Runs without trouble, and those in which something was done in quiet moments.
    runs: HashMap<Schedule, Arc<Vec<Execution>>>,
    /// How conversations end that begin with what is a second mail otherwise.
    first_mail_runs: HashMap<SecondMail, End>,
    /// What differs from run to run by itself.
    nondeterministic_parts: Variations,
}

impl Session {
    pub(crate) fn new(driver: Driver) -> Self {
        let compared_texts = ComparedTexts::new(driver.scenario.same.clone());
        Self { driver, known: Mutex::default(), compared_texts }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the app without trouble, which must break no rule.
    pub(crate) async fn begin(&self, mails: &[usize]) -> Result<Arc<Vec<Execution>>> {
        let schedule = Schedule::undisturbed(mails.to_vec());
        let mut runs = self.runs(&schedule, MIN_UNDISTURBED_RUNS).await?;
        if !self.variations().is_empty() {
            runs = self.runs(&schedule, MIN_VARYING_RUNS).await?;
        }
        let first_mail_runs = self.first_mail_runs(&schedule).await?;
        let all: Vec<&Execution> = runs.iter().collect();
        for run in runs.iter() {
            let broken =
                self.ask(|judge| judge.judge_undisturbed(), run, &all, &[], Some(&first_mail_runs)).await?;
            if let Some(Broken { oracle, summary, .. }) = broken {
                let last_lines = run.run_ends().flat_map(quoted_lines).collect();
                return Err(ExploreError::BrokenWithoutTrouble { oracle, summary, last_lines });
            }
        }
        if runs[0].requests.is_empty() {
            let hint = if runs[0].server {
                "a server hears of a first mail through the webhook `turn.changed`, not through `client.replied`"
            } else {
                "a job finds the service at SHARED_INBOX_BASE_URL, with the key in SHARED_INBOX_API_KEY"
            };
            return Err(ExploreError::NoRequest { hint });
        }
        Ok(runs)
    }

    pub(crate) fn variations(&self) -> Variations {
        self.known().nondeterministic_parts.clone()
    }

    /// Returns what could not be judged.
    pub(crate) fn not_judged(&self) -> Vec<NotJudged> {
        let scenario = &self.driver.scenario;
        self.variations().not_judged(&scenario.ignore, scenario.same.is_some())
    }

    /// Runs a schedule several times.
    async fn execute(&self, schedule: &Schedule, times: usize) -> Result<Vec<Execution>> {
        let run = |_| self.driver.execute(&self.driver.scenario, schedule);
        let runs = futures_util::stream::iter(0..times).map(run);
        runs.buffer_unordered(MIN_WORKERS).try_collect().await
    }

    /// Returns runs of a schedule without trouble that are known, and new ones until there are as many as
    /// this.
    async fn runs(&self, schedule: &Schedule, at_least: usize) -> Result<Arc<Vec<Execution>>> {
        let known = self.known().runs.get(schedule).cloned().unwrap_or_default();
        if known.len() >= at_least {
            return Ok(known);
        }
        let new = self.execute(schedule, at_least - known.len()).await?;
        let known = &mut *self.known();
        let all = known.runs.entry(schedule.clone()).or_default();
        Arc::make_mut(all).extend(new);
        if schedule.steps.is_empty() {
            known.nondeterministic_parts.learn(all.iter());
        }
        Ok(Arc::clone(all))
    }

    /// Runs a schedule, and says which rule it breaks.
    pub(crate) async fn check(&self, schedule: &Schedule) -> Result<(Execution, Option<Broken>)> {
        let at_least = if self.variations().is_empty() { 1 } else { MIN_UNDISTURBED_RUNS };
        let undisturbed = self.runs(&Schedule::undisturbed(schedule.mails.clone()), at_least).await?;
        let execution = self.driver.execute(&self.driver.scenario, schedule).await?;
        let broken = self.judge(&execution, &undisturbed.iter().collect::<Vec<_>>(), 1).await?;
        Ok((execution, broken))
    }

    /// Says which rule a run breaks. What takes further runs is looked at only when it seems to break one:
    /// each quiet moment this often.
    async fn judge(
        &self,
        execution: &Execution,
        undisturbed: &[&Execution],
        quiet: usize,
    ) -> Result<Option<Broken>> {
        let broken = self.ask(|judge| judge.judge(), execution, undisturbed, &[], None).await?;
        let schedule = &execution.schedule;
        let has_follow_up = schedule.mails.iter().any(|mail| self.driver.scenario.mails[*mail].follow_up);
        if broken.is_none() || (schedule.acts().next().is_none() && !has_follow_up) {
            return Ok(broken);
        }
        let first_mail_runs = self.first_mail_runs(schedule).await?;
        let quiet_runs = self.quiet_runs(schedule, quiet).await?;
        self.ask(|judge| judge.judge(), execution, undisturbed, &quiet_runs, Some(&first_mail_runs)).await
    }

    /// Asks the rules about a run.
    async fn ask(
        &self,
        rules: fn(&Judge<'_>) -> Option<Broken>,
        execution: &Execution,
        undisturbed: &[&Execution],
        quiet_runs: &[Execution],
        first_mail_runs: Option<&[(SecondMail, End)]>,
    ) -> Result<Option<Broken>> {
        let variations = self.variations();
        let ask = |same_texts: &_| {
            let judge = Judge::new(&self.driver.scenario, execution, undisturbed, &variations, same_texts);
            rules(&Judge { quiet_runs, first_mail_runs, ..judge })
        };
        self.compared_texts.judge(ask).await
    }

    /// Runs each second mail of a schedule as the first and only one of its customer, without trouble: what
    /// the app does not answer then, it owes no answer to.
    async fn first_mail_runs(&self, schedule: &Schedule) -> Result<Vec<(SecondMail, End)>> {
        let follow_ups = schedule.mails.iter().filter(|mail| self.driver.scenario.mails[**mail].follow_up);
        let second = schedule.acts().filter(|(act, _)| act.is_second_mail());
        let mut runs = Vec::new();
        for mail in second.chain(follow_ups.map(|mail| (Act::Mail, *mail))) {
            let known = self.known().first_mail_runs.get(&mail).cloned();
            let end = match known {
                Some(end) => end,
                None => {
                    let mut scenario = self.driver.scenario.clone();
                    let opener = scenario.opener(mail.1);
                    scenario.mails[opener].text = second_mail(mail.0, &scenario, mail.1);
                    let schedule = Schedule::undisturbed(vec![opener]);
                    let run = self.driver.execute(&scenario, &schedule).await?;
                    let Some(end) = run.end_of(opener).cloned() else { continue };
                    self.known().first_mail_runs.insert(mail, end.clone());
                    end
                }
            };
            runs.push((mail, end));
        }
        Ok(runs)
    }

    /// Returns the same interference in quiet moments, without any failure: what it explains is no finding.
    async fn quiet_runs(&self, schedule: &Schedule, at_least: usize) -> Result<Vec<Execution>> {
        let mut quiet_runs = Vec::new();
        let moments = [(Moment::Run, 0), (Moment::End, 0), (Moment::People, 0), (Moment::Run, 1)];
        // Without interference they are all the same.
        let count = if schedule.acts().next().is_none() { 1 } else { moments.len() };
        for (moment, round) in moments.into_iter().take(count) {
            let step = |(act, mail)| Step { place: Place::Quiet(moment, round), what: What::Act(act, mail) };
            let steps = schedule.acts().map(step).collect();
            let runs = self.runs(&Schedule { mails: schedule.mails.clone(), steps }, at_least).await?;
            quiet_runs.extend(runs.iter().cloned());
        }
        Ok(quiet_runs)
    }

    /// Shrinks what was found, and runs it and the undisturbed run again. Returns whether it is more frequent
    /// than without trouble.
    pub(crate) async fn describe(&self, found: Found, until: Instant) -> Result<(Finding, bool)> {
        let steps = found.execution.schedule.steps.len();
        let mut shrunk = self.shrink(found.clone(), until).await?;
        let mut repeated = self.repeat(&shrunk).await?;
        // Where an app is not deterministic, the schedule that shows it more often is the better one.
        if repeated.again < repeated.runs && shrunk.execution.schedule != found.execution.schedule {
            let as_found = self.repeat(&found).await?;
            if as_found.again * repeated.runs > repeated.again * as_found.runs {
                (shrunk, repeated) = (found, as_found);
            }
        }
        Ok((self.finding(steps, shrunk, Some(&repeated)), repeated.is_beyond_chance()))
    }

    /// Runs a schedule again, and makes as many new undisturbed runs, until the difference is beyond chance
    /// or will not be.
    pub(crate) async fn repeat(&self, Found { execution, broken }: &Found) -> Result<Repetition> {
        let schedule = &execution.schedule;
        let undisturbed_schedule = Schedule::undisturbed(schedule.mails.clone());
        // Runs that were known when the schedule was judged cannot say how often others would have broken the
        // rule.
        let known = self.runs(&undisturbed_schedule, 1).await?.len();
        let is_broken = async |run: &Execution, undisturbed: &[&Execution], quiet| -> Result<usize> {
            let found = self.judge(run, undisturbed, quiet).await?;
            Ok(usize::from(found.is_some_and(|it| it.oracle == broken.oracle)))
        };
        let mut disturbed: Vec<Execution> = Vec::new();
        let mut repeated = Repetition { again: 0, runs: 0, without_trouble: 0 };
        for runs in REPEATS {
            let undisturbed = self.runs(&undisturbed_schedule, known + runs).await?;
            disturbed.extend(self.execute(schedule, runs - disturbed.len()).await?);
            // Each is held against all that is known by now, and never against itself.
            repeated = Repetition { again: 0, runs, without_trouble: 0 };
            // Where it does not happen each time, the same interference in a quiet moment may do it as well,
            // as often tried.
            for quiet in [1, 1 + runs] {
                repeated.again = 0;
                for run in &disturbed {
                    repeated.again += is_broken(run, &undisturbed.iter().collect::<Vec<_>>(), quiet).await?;
                }
                if repeated.again == runs || repeated.again == 0 {
                    break;
                }
            }
            for run in undisturbed.iter().skip(known).take(runs) {
                let others = undisturbed.iter().filter(|other| !std::ptr::eq(*other, run));
                repeated.without_trouble += is_broken(run, &others.collect::<Vec<_>>(), 1).await?;
            }
            if repeated.is_beyond_chance() || !repeated.is_close() {
                break;
            }
        }
        Ok(repeated)
    }

    /// Returns what happened, line by line.
    pub(crate) fn story(&self, execution: &Execution) -> Vec<String> {
        timeline(&self.driver.scenario, execution, None).0
    }

    /// Returns what the user should know of the undisturbed runs.
    pub(crate) fn note(&self, runs: &[Execution]) -> Option<String> {
        let changes = |request: &AppRequest| request.is_write() && request.took_effect();
        if !runs.iter().any(|run| run.requests.iter().any(changes)) {
            return Some(NOBODY_ANSWERED.to_owned());
        }
        let run = runs.first().filter(|run| !run.server)?;
        let day = |(_, event): &&(u64, Event)| matches!(event, Event::DayBegins(_));
        let first = run.events.iter().find(day)?.0;
        let is_idle = !run.requests.iter().any(|request| request.number > first && request.is_write());
        is_idle.then(|| NOTHING_DUE.to_owned())
    }

    pub(crate) fn finding(
        &self,
        shrunk_from: usize,
        Found { execution, broken }: Found,
        repeated: Option<&Repetition>,
    ) -> Finding {
        let (scenario, schedule) = (&self.driver.scenario, &execution.schedule);
        let (mut lines, mut marks) = timeline(scenario, &execution, broken.at);
        if broken.at.is_none() && !lines.is_empty() {
            marks.push(Mark { line: lines.len() - 1, kind: MarkKind::Broken });
        }
        lines.extend(broken.ends);
        let (again, without, runs) = repeated.map_or((0, 0, 0), |it| (it.again, it.without_trouble, it.runs));
        Finding {
            oracle: broken.oracle,
            timeline: lines,
            marks,
            steps: schedule.steps.iter().map(Step::json).collect(),
            shrunk_from,
            replay: schedule.token(),
            reproduced: format!("{again} of {runs}"),
            without_trouble: format!("{without} of {runs}"),
            tests: replay_test::write(&self.driver.app, scenario, broken.oracle, &schedule.token()),
            summary: broken.summary,
        }
    }
}

/// How often a rule was broken with trouble, and without.
pub(crate) struct Repetition {
    pub(crate) again: usize,
    pub(crate) runs: usize,
    pub(crate) without_trouble: usize,
}

impl Repetition {
    pub(crate) fn is_beyond_chance(&self) -> bool {
        let sample = |count: usize| (count as u64, self.runs as u64);
        is_more_frequent(sample(self.again), sample(self.without_trouble))
    }

    /// Returns whether the most repetitions would tell it from chance, if they went on like this.
    fn is_close(&self) -> bool {
        let (most, runs) = (REPEATS[REPEATS.len() - 1], self.runs.max(1));
        let scaled = |count: usize| ((count * most).div_ceil(runs) as u64, most as u64);
        is_more_frequent(scaled(self.again), scaled(self.without_trouble))
    }
}
