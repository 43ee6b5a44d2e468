//! A scenario in which nothing goes wrong, for tools that judge an app by something else than trouble.

use std::sync::Arc;

use crate::process::RunEnd;
use shared_inbox_mock::{Control, NewWorld};

use crate::explore::{
    error::Result,
    explorer::Explore,
    findings::timeline::quoted_lines,
    plan::schedule::Schedule,
    run::driver::Driver,
    run::record::{AppRequest, DeliveryAttempt, End, Execution},
    run::world::{Server, WorldHandle},
    scenario::{Part, Scenario},
    verdict::judge::Judge,
    verdict::oracles::Broken,
    verdict::same_texts::{ComparedTexts, SameTexts},
    verdict::variations::Variations,
};

/// Runs an app in its scenario without trouble, and compares such runs.
pub struct UndisturbedRuns {
    driver: Driver,
    compared_texts: ComparedTexts,
}

impl std::fmt::Debug for UndisturbedRuns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UndisturbedRuns").field("scenario", &self.driver.scenario).finish_non_exhaustive()
    }
}

/// A run without trouble, whose world is still there.
pub struct UndisturbedRun {
    execution: Execution,
    scenario: Scenario,
    world: WorldHandle,
}

impl std::fmt::Debug for UndisturbedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UndisturbedRun")
            .field("requests", &self.execution.requests.len())
            .finish_non_exhaustive()
    }
}

impl Explore {
    /// Prepares runs of the app in its scenario without trouble. Their control API needs this token, and they
    /// have no rate limit.
    ///
    /// # Errors
    ///
    /// When the scenario is wrong, or no server can be started.
    pub async fn undisturbed(self, control_token: &str) -> Result<UndisturbedRuns> {
        let driver = self.driver(Server::guarded(control_token).await?, "shared-inbox-app-").await?;
        Ok(UndisturbedRuns { compared_texts: ComparedTexts::new(driver.scenario.same.clone()), driver })
    }

    /// Returns the scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

impl UndisturbedRuns {
    /// Runs the app from the start until nothing changes any more, in a world that begins like this, with the
    /// mails of a scenario that may be an edited one.
    ///
    /// # Errors
    ///
    /// When the app cannot be started, or the service refuses an edited mail.
    pub async fn run(&self, scenario: Scenario, start: NewWorld) -> Result<UndisturbedRun> {
        let schedule = Schedule::undisturbed((0..scenario.mails.len()).collect());
        let world = self.driver.new_world(start).await?;
        let execution = self.driver.run(&world, &scenario, &schedule, false).await?;
        Ok(UndisturbedRun { execution, scenario, world })
    }

    /// Returns how customers get something else in a run than in the reference runs, by the rule `same-end`,
    /// which knows texts that vary. The customer of the mail `edited` may be answered in other words, once
    /// more for each further mail. Where the scenario has expectations, they decide instead.
    ///
    /// # Errors
    ///
    /// When the command of `same` cannot be run.
    pub async fn find_difference(
        &self,
        run: &UndisturbedRun,
        references: &[Arc<UndisturbedRun>],
        edited: usize,
    ) -> Result<Option<String>> {
        if run.scenario.has_expectations() {
            return Ok(run.unmet_expectation());
        }
        let ends = references.iter().filter_map(|it| it.execution.end_of(edited));
        if let Some(why) = run.edited_differs(edited, &ends.collect::<Vec<_>>()) {
            return Ok(Some(why));
        }
        let variations = find_variations(references);
        let mut others = run.execution.clone();
        others.ends.retain(|end| end.mail != Some(edited));
        let known: Vec<&Execution> = references.iter().map(|it| &it.execution).collect();
        let judge = |same_texts: &SameTexts| {
            Judge::new(&run.scenario, &others, &known, &variations, same_texts).same_end()
        };
        Ok(self.compared_texts.judge(judge).await?.map(|broken| broken.summary))
    }

    /// Returns whether runs differ from each other by themselves.
    pub fn vary(&self, runs: &[Arc<UndisturbedRun>]) -> bool {
        !find_variations(runs).is_empty()
    }
}

fn find_variations(runs: &[Arc<UndisturbedRun>]) -> Variations {
    let mut variations = Variations::default();
    variations.learn(runs.iter().map(|it| &it.execution));
    variations
}

impl UndisturbedRun {
    /// Returns the control of its world.
    pub fn control(&self) -> &Control {
        &self.world.control
    }

    /// Returns the id of the app's agent.
    pub fn agent_id(&self) -> &str {
        &self.world.agent
    }

    /// Returns how the app failed, with what it wrote last: one of its runs did, it never came to rest, or it
    /// did not accept a webhook at once. In a world without trouble none of it has another cause.
    pub fn failure(&self) -> Option<String> {
        let run = self.execution.run_ends().chain(self.execution.job_end()).find_map(|end| match end {
            RunEnd::Failed(how) => Some(format!("a run of the app failed: {how}")),
            RunEnd::TimedOut => Some("a run of the app did not end in time".to_owned()),
            _ => None,
        });
        let attempt = self.execution.attempts.iter().find(|it| !matches!(it.status, Some(200..300)));
        let attempt = attempt.map(DeliveryAttempt::describe_failure);
        let how = run.or(attempt).or_else(|| self.judge(|judge| judge.ill_behaved()).map(|it| it.summary))?;
        let last_lines = self.execution.run_ends().flat_map(quoted_lines);
        Some(std::iter::once(how).chain(last_lines).collect::<Vec<_>>().join("\n"))
    }

    /// Returns which expectation of the scenario does not hold.
    pub fn unmet_expectation(&self) -> Option<String> {
        self.judge(|judge| judge.expectations()).map(|broken| broken.summary)
    }

    /// Returns whether the app changed something.
    pub fn has_changed_something(&self) -> bool {
        let changes = |it: &AppRequest| it.is_write() && it.succeeded();
        self.execution.requests.iter().any(changes)
    }

    /// Returns how many emails the app sent by itself, with no person approving them.
    pub fn sent_by_itself(&self) -> usize {
        let sends = |it: &&AppRequest| it.writes_mail() && it.body["send"] == true && it.succeeded();
        self.execution.requests.iter().filter(sends).count()
    }

    /// Asks the rules about this run alone.
    fn judge(&self, ask: impl FnOnce(&Judge<'_>) -> Option<Broken>) -> Option<Broken> {
        let (variations, same_texts) = (Variations::default(), SameTexts::default());
        ask(&Judge::new(&self.scenario, &self.execution, &[], &variations, &same_texts))
    }

    /// Returns how the customer of an edited mail gets less than in the reference runs, or more than one
    /// answer for each mail.
    fn edited_differs(&self, edited: usize, known: &[&End]) -> Option<String> {
        let end = self.execution.end_of(edited)?;
        let parts = [Part::Outbox, Part::Notes, Part::Tags, Part::Documents];
        for part in parts.into_iter().filter(|part| !self.scenario.ignore.contains(part)) {
            for (kind, count) in end.counts(part).into_iter().enumerate() {
                let seen = || known.iter().map(|other| (other.counts(part)[kind], other.mails));
                let least = seen().map(|(count, _)| count).min().unwrap_or(0);
                let further = |mails: usize| if least > 0 { end.mails.saturating_sub(mails) } else { 0 };
                let most = seen().map(|(count, mails)| count + further(mails)).max().unwrap_or(0);
                let is_counted = matches!(part, Part::Outbox | Part::Documents);
                if count < least || (is_counted && count > most) {
                    let named =
                        if part == Part::Outbox { "emails and drafts".to_owned() } else { part.to_string() };
                    return Some(format!("{} has {count} {named} instead of {least}", end.customer));
                }
            }
        }
        None
    }
}
