//! The driver: runs one schedule in a world of its own, and records what happened.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use crate::process::{RunEnd, Running, StateRoot};
use serde_json::json;
use shared_inbox::Timestamp;
use shared_inbox_mock::{NewWorld, faults::ControlCall, world::TeamNote};

use crate::explore::{
    error::Result,
    json::text,
    plan::schedule::Schedule,
    plan::step::{Act, Moment, Place, Step, What},
    run::calls::{RETRY_SECONDS, ROUND_SECONDS, control_call, rules},
    run::kill::kill_is_due,
    run::record::{Event, Execution},
    run::world::{Server, WorldHandle},
    scenario::{Mode, Scenario, ScenarioProblem},
    under_test::{app::App, context::AppContext},
};

/// Time between two mails, so that none is as old as another.
const BETWEEN_MAILS_SECONDS: u64 = 60;
/// Rounds with trouble, and rounds after it has ended.
const MAX_TROUBLED_ROUNDS: u32 = 6;
const MAX_UNDISTURBED_ROUNDS: u32 = 8;
/// Runs in a row that fail and change nothing.
const MAX_FAILING_ROUNDS: u32 = 2;
/// Later jobs, such as reminders, that are waited for.
const MAX_LATER_JOBS: u32 = 8;
const DAY: Duration = Duration::from_secs(86_400);
/// The name of the snapshot in a world that is kept.
const SNAPSHOT: &str = "before-the-last-step";

/// Runs schedules.
pub(crate) struct Driver {
    pub(crate) server: Server,
    pub(crate) app: App,
    pub(crate) scenario: Scenario,
    pub(crate) app_timeout: Duration,
    pub(crate) state: StateRoot,
}

/// A schedule under way.
pub(crate) struct Run<'d> {
    pub(crate) driver: &'d Driver,
    pub(crate) scenario: &'d Scenario,
    pub(crate) schedule: &'d Schedule,
    takes_snapshot: bool,
    pub(crate) world: WorldHandle,
    pub(crate) context: AppContext,
    /// For each mail of the scenario that began one: its conversation.
    pub(crate) conversations: Vec<(usize, String)>,
    /// When each mail of the scenario arrived.
    pub(crate) arrivals: Vec<(usize, Timestamp)>,
    /// Steps that are armed, each with the id of its rule. When the trouble has ended, those that had an
    /// effect.
    pub(crate) rules: Vec<(Step, String)>,
    /// Kills that have been done.
    pub(crate) killed: AtomicUsize,
    /// The server while it is up, how often it was started, and its webhook.
    pub(crate) running: Option<Running>,
    pub(crate) starts: u32,
    pub(crate) webhook: String,
    /// What has happened so far.
    pub(crate) record: Execution,
}

impl Driver {
    /// Runs a schedule from the start until nothing changes any more, in the user's scenario or in one that
    /// differs from it.
    pub(crate) async fn execute(&self, scenario: &Scenario, schedule: &Schedule) -> Result<Execution> {
        let world = self.new_world(NewWorld::empty()).await?;
        let execution = self.run(&world, scenario, schedule, false).await;
        world.end().await;
        execution
    }

    /// Refuses mails and expectations that the service would not take, all of them, before the app runs.
    pub(crate) async fn check_scenario(&self) -> Result<()> {
        let world = self.new_world(NewWorld::empty()).await?;
        let mut problems = Vec::new();
        for (n, mail) in self.scenario.mails.iter().enumerate() {
            let call = ControlCall::post("/inbound", mail.inbound(&world.inbox));
            let refused = world.control.call(&call).await.err();
            problems.extend(refused.map(|refused| (format!("mails[{n}]"), refused)));
        }
        for (n, expected) in self.scenario.expect.iter().enumerate() {
            // That it is not met yet is no mistake.
            let asked = world.control.expect(expected.expectation.clone()).await;
            let refused = asked.err().filter(|refused| refused.status != 409);
            problems.extend(refused.map(|refused| (format!("expect[{n}]"), refused)));
        }
        world.end().await;
        let problems =
            problems.iter().flat_map(|(key, refused)| ScenarioProblem::refused(key, &refused.message));
        Ok(self.scenario.or_problems(problems.collect())?)
    }

    /// Returns a world that begins like this, with a key of the app.
    pub(crate) async fn new_world(&self, start: NewWorld) -> Result<WorldHandle> {
        self.server.world_from(start, &self.scenario.scopes).await
    }

    /// Runs a schedule in a world, which stays. It may take a snapshot of how that was right before the last
    /// step.
    pub(crate) async fn run(
        &self,
        world: &WorldHandle,
        scenario: &Scenario,
        schedule: &Schedule,
        takes_snapshot: bool,
    ) -> Result<Execution> {
        let folder = self.state.folder()?;
        let context = AppContext {
            base_url: world.ready().base_url,
            key: world.key.clone(),
            state_dir: folder.0.clone(),
            time: world.now().await,
            port: None,
            webhook_secret: None,
            ready: world.ready(),
        };
        let mut run = Run {
            driver: self,
            scenario,
            schedule,
            takes_snapshot,
            world: world.clone(),
            context,
            conversations: Vec::new(),
            arrivals: Vec::new(),
            rules: Vec::new(),
            killed: AtomicUsize::new(0),
            running: None,
            starts: 0,
            webhook: String::new(),
            record: Execution {
                schedule: schedule.clone(),
                server: scenario.mode == Mode::Server,
                ..Execution::default()
            },
        };
        let ended = run.execute().await;
        if let Some(server) = run.running {
            server.kill().await;
        }
        ended.map(|()| run.record)
    }
}

impl Run<'_> {
    async fn execute(&mut self) -> Result<()> {
        if self.is_server() {
            self.prepare_server().await?;
            self.arm().await?;
        }
        let (follow_ups, mails): (Vec<usize>, Vec<usize>) =
            self.schedule.mails.iter().partition(|mail| self.scenario.mails[**mail].follow_up);
        for mail in mails {
            self.mail_comes(mail).await?;
        }
        if !self.is_server() {
            self.arm().await?;
        }
        let days = self.scenario.days.max(u32::from(self.scenario.job.is_some()));
        let (mut round, mut trouble, mut undisturbed_rounds, mut failing, mut later) = (0, true, 0, 0, 0);
        let (mut day, mut rounds_of_day, began) = (0, 0, self.world.now().await);
        let mut settled = false;
        let mut before = self.fingerprint().await?;
        while undisturbed_rounds < MAX_UNDISTURBED_ROUNDS && !self.has_exited() {
            if round == 1 {
                for &mail in &follow_ups {
                    self.mail_comes(mail).await?;
                }
            }
            self.round(round).await?;
            let after = self.fingerprint().await?;
            let same = std::mem::replace(&mut before, after) == before;
            let went_well = self.went_well();
            let comes_later = |step: &Step| matches!(step.place, Place::Quiet(_, at) if at > round);
            let mails_wait = round == 0 && !follow_ups.is_empty();
            let pending = self.schedule.steps.iter().any(comes_later) || mails_wait;
            (round, rounds_of_day) = (round + 1, rounds_of_day + 1);
            if trouble {
                // On the first day the app runs until nothing changes; then once a day, and again where it
                // failed.
                let has_worked = went_well && (day > 0 || same) && !mails_wait;
                if day < days && (has_worked || rounds_of_day == MAX_TROUBLED_ROUNDS) {
                    (day, rounds_of_day) = (day + 1, 0);
                    let time = self.day_begins_at(began, day).max(self.world.now().await);
                    self.pass_until(time).await?;
                    self.note(Event::DayBegins(day + 1)).await?;
                    self.run_daily_job().await?;
                    before = self.fingerprint().await?;
                    continue;
                }
                let waits = !(same && went_well) && self.rules_wait().await;
                let goes_on = pending || waits || day < days;
                if rounds_of_day < MAX_TROUBLED_ROUNDS && goes_on {
                    continue;
                }
                trouble = false;
                self.end_trouble().await?;
                if !self.schedule.steps.is_empty() {
                    continue;
                }
            }
            undisturbed_rounds += 1;
            failing = if went_well || !same { 0 } else { failing + 1 };
            if failing == MAX_FAILING_ROUNDS {
                break;
            }
            if !same || !went_well {
                continue;
            }
            // What is due later, such as a reminder.
            if later < MAX_LATER_JOBS && self.world.has_jobs().await {
                (later, undisturbed_rounds) = (later + 1, 0);
                self.run_next_job().await?;
                before = self.fingerprint().await?;
                continue;
            }
            settled = !self.has_exited();
            break;
        }
        if trouble {
            self.end_trouble().await?;
        }
        self.finish(settled, round).await
    }

    /// Returns when a later day begins, counted from 1: as late as the first, or when the job is due.
    fn day_begins_at(&self, began: Timestamp, day: u32) -> Timestamp {
        let Some((hour, minute)) = self.scenario.job_at else { return began + DAY * day };
        let day_ms = i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX);
        let midnight = Timestamp::from_millis(began.as_millis() - began.as_millis().rem_euclid(day_ms));
        let due = midnight + Duration::from_secs(u64::from(hour * 3600 + minute * 60));
        due + DAY * if due > began { day - 1 } else { day }
    }

    /// A mail of the scenario comes, and time passes.
    async fn mail_comes(&mut self, mail: usize) -> Result<()> {
        let mut body = self.scenario.mails[mail].inbound(&self.world.inbox);
        let is_follow_up = self.scenario.mails[mail].follow_up;
        if is_follow_up {
            let Some(conversation) = self.conversation(mail) else { return Ok(()) };
            body["conversationId"] = json!(conversation);
        }
        let number = self.world.control.next_number().await;
        self.arrivals.push((mail, self.world.now().await));
        let arrived = self.world.post("/inbound", body.clone()).await?;
        if !is_follow_up {
            self.conversations.push((mail, text(&arrived["conversationId"])));
        }
        if let Some(note) = &self.scenario.mails[mail].note {
            self.world.control.add_note(text(&arrived["conversationId"]), TeamNote::new(note)).await?;
        }
        let (from, text) = (text(&body["from"]), text(&body["text"]));
        self.record.events.push((number, Event::Mail { mail, from, text }));
        self.wait_until_idle().await?;
        self.pass(BETWEEN_MAILS_SECONDS).await
    }

    /// Lets the app work, people look at drafts, and time pass.
    async fn round(&mut self, round: u32) -> Result<()> {
        self.take_quiet_steps(Moment::Run, round).await?;
        if self.is_server() {
            self.wait_until_idle().await?;
        } else {
            self.run_job(round).await?;
        }
        self.take_quiet_steps(Moment::End, round).await?;
        let went_well = self.went_well();
        if self.scenario.people_approve && went_well {
            self.people().await?;
            self.wait_until_idle().await?;
        }
        self.take_quiet_steps(Moment::People, round).await?;
        let seconds = if went_well { ROUND_SECONDS } else { RETRY_SECONDS };
        self.note(Event::TimePasses(seconds)).await?;
        self.pass(seconds).await
    }

    async fn run_job(&mut self, round: u32) -> Result<()> {
        self.note(Event::RunStarts(round + 1)).await?;
        self.context.time = self.world.now().await;
        let ended = self.driver.app.run(&self.context, self.driver.app_timeout, self.kill_is_due()).await?;
        self.all_requests().await;
        self.note(Event::RunEnds(round + 1, ended)).await
    }

    /// Runs the job beside a server, and again while it fails, as a supervisor would.
    async fn run_daily_job(&mut self) -> Result<()> {
        let Some(command) = &self.scenario.job else { return Ok(()) };
        let job = self.driver.app.beside(command);
        for _ in 0..=MAX_FAILING_ROUNDS {
            self.note(Event::JobStarts).await?;
            let context = AppContext { time: self.world.now().await, ..self.context.clone() };
            let ended = job.run(&context, self.driver.app_timeout, self.kill_is_due()).await?;
            self.all_requests().await;
            let succeeded = ended == RunEnd::Succeeded;
            self.note(Event::JobEnds(ended)).await?;
            self.wait_until_idle().await?;
            if succeeded {
                break;
            }
            self.pass(RETRY_SECONDS).await?;
        }
        Ok(())
    }

    /// Completes when a request has come at which the app is killed.
    async fn kill_is_due(&self) {
        kill_is_due(&self.world, &self.rules, self.killed.load(Ordering::Relaxed)).await;
        self.killed.fetch_add(1, Ordering::Relaxed);
    }

    fn went_well(&self) -> bool {
        if self.is_server() {
            !self.has_exited()
        } else {
            self.record.run_ends().next_back() == Some(&RunEnd::Succeeded)
        }
    }

    /// Notes that something happens now.
    pub(crate) async fn note(&mut self, event: Event) -> Result<()> {
        self.record.events.push((self.world.control.next_number().await, event));
        Ok(())
    }

    /// Steps of a quiet moment.
    async fn take_quiet_steps(&mut self, moment: Moment, round: u32) -> Result<()> {
        for (n, step) in self.schedule.steps.iter().enumerate() {
            let (Place::Quiet(at, in_round), What::Act(act, mail)) = (step.place, step.what) else {
                continue;
            };
            if (at, in_round) != (moment, round) {
                continue;
            }
            let Some(call) = self.control_call(act, mail) else { continue };
            if self.takes_snapshot && n + 1 == self.schedule.steps.len() {
                self.world.control.take_snapshot(SNAPSHOT).await?;
            }
            let number = self.world.control.next_number().await;
            let seconds = call.body.as_ref().and_then(|body| body["advanceSeconds"].as_u64());
            let is_done = match seconds {
                Some(seconds) => self.pass(seconds).await.is_ok(),
                None => self.world.control.call(&call).await.is_ok(),
            };
            if is_done {
                self.record.events.push((number, Event::Act(act, mail)));
            }
            self.wait_until_idle().await?;
        }
        Ok(())
    }

    /// Returns what stands for the conversation of a mail: its id, or the customer's address while it has not
    /// come yet.
    fn conversation(&self, mail: usize) -> Option<&str> {
        let mail = self.scenario.opener(mail);
        if self.is_server() {
            let comes = self.schedule.mails.contains(&mail);
            return self.scenario.mails.get(mail).filter(|_| comes).map(|mail| mail.from.as_str());
        }
        self.conversations.iter().find(|(it, _)| *it == mail).map(|(_, id)| id.as_str())
    }

    /// Returns the control call of a step.
    fn control_call(&self, act: Act, mail: usize) -> Option<ControlCall> {
        let conversation = self.conversation(mail)?;
        control_call(act, self.scenario, mail, conversation, &self.world.inbox, &self.world.person)
    }

    /// Arms the steps that are at a request or a delivery.
    async fn arm(&mut self) -> Result<()> {
        let last = self.schedule.steps.last().and_then(Step::request);
        if let Some(request) = last.filter(|_| self.takes_snapshot) {
            let mut rule = request.op.rule();
            let call = ControlCall::post("/snapshots", json!({ "name": SNAPSHOT }));
            (rule["skip"], rule["effect"]) = (json!(request.nth), json!({ "act": [call] }));
            self.world.post("/faults", rule).await?;
        }
        let slow_ms = u64::try_from(self.driver.app_timeout.as_millis()).unwrap_or(u64::MAX);
        for (step, rule) in rules(self.schedule, slow_ms, |act, mail| self.control_call(act, mail)) {
            let added = self.world.post("/faults", rule).await?;
            self.rules.push((step, text(&added["id"])));
        }
        Ok(())
    }
}
