//! The driver: runs one schedule in a world of its own, and records what happened.

use std::{cell::Cell, time::Duration};

use serde_json::{Value, json};
use shared_inbox::Timestamp;

use crate::{
    json::text,
    plan::schedule::Schedule,
    plan::step::{Act, Moment, Place, Step, What},
    run::calls::{RETRY_SECONDS, ROUND_SECONDS, control_call, rules},
    run::record::{Event, Execution, Fired},
    run::world::{Server, World},
    scenario::{Mode, Scenario},
    under_test::app::{App, AppContext, RunEnd, Running},
    under_test::state_dir::StateRoot,
};

/// Time between two mails, so that none is as old as another.
const BETWEEN_MAILS_SECONDS: u64 = 60;
/// Rounds with trouble, and rounds after it has ended.
const MAX_TROUBLED_ROUNDS: u32 = 6;
const MAX_CALM_ROUNDS: u32 = 8;
/// Runs in a row that fail and change nothing.
const MAX_FAILING_ROUNDS: u32 = 2;
/// Later jobs, such as reminders, that are waited for.
const MAX_LATER_JOBS: u32 = 8;
/// How often it is looked whether a request has come at which the app is killed.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(3);

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
    pub(crate) schedule: &'d Schedule,
    takes_snapshot: bool,
    pub(crate) world: World,
    pub(crate) context: AppContext,
    /// For each mail of the scenario that came: its conversation.
    pub(crate) conversations: Vec<(usize, String)>,
    /// The rules that stand for steps, by the number of the step.
    pub(crate) rules: Vec<(usize, String)>,
    /// Kills that have been done.
    pub(crate) killed: Cell<u32>,
    /// The server while it is up, how often it was started, and its webhook.
    pub(crate) running: Option<Running>,
    pub(crate) starts: u32,
    pub(crate) webhook: String,
    /// What happened: after how many requests, and when.
    pub(crate) events: Vec<(usize, Timestamp, Event)>,
    pub(crate) fired: Vec<Fired>,
    pub(crate) runs: Vec<RunEnd>,
    /// Messages that people approved; one that is a draft again was stopped, and nobody approves it again.
    pub(crate) approved: Vec<String>,
}

impl Driver {
    /// Runs a schedule from the start until nothing changes any more.
    pub(crate) async fn execute(&self, schedule: &Schedule) -> Result<Execution, String> {
        let (execution, world) = self.run(schedule, false).await?;
        world.end().await;
        execution
    }

    /// Runs a schedule in a world that stays, with a snapshot of how it was right before the last step.
    pub(crate) async fn keep(&self, schedule: &Schedule) -> Result<World, String> {
        let (execution, world) = self.run(schedule, true).await?;
        execution.map(|_| world)
    }

    async fn run(
        &self,
        schedule: &Schedule,
        takes_snapshot: bool,
    ) -> Result<(Result<Execution, String>, World), String> {
        let world = self.server.world(&self.scenario.scopes).await?;
        let folder = self.state.folder()?;
        let context = AppContext {
            base_url: world.base_url.clone(),
            key: world.key.clone(),
            state_dir: folder.0.clone(),
            port: None,
            webhook_secret: None,
            ready: world.ready(),
        };
        let mut run = Run {
            driver: self,
            schedule,
            takes_snapshot,
            world,
            context,
            conversations: Vec::new(),
            rules: Vec::new(),
            killed: Cell::new(0),
            running: None,
            starts: 0,
            webhook: String::new(),
            events: Vec::new(),
            fired: vec![Fired::default(); schedule.steps.len()],
            runs: Vec::new(),
            approved: Vec::new(),
        };
        let execution = run.execute().await;
        if let Some(server) = run.running {
            server.kill().await;
        }
        Ok((execution, run.world))
    }
}

impl Run<'_> {
    async fn execute(&mut self) -> Result<Execution, String> {
        if self.driver.scenario.mode == Mode::Server {
            self.prepare_server().await?;
            self.arm().await?;
        }
        for &mail in &self.schedule.mails {
            let body = self.driver.scenario.mails[mail].inbound(&self.world.inbox);
            self.note(Event::Mail { from: text(&body["from"]), text: text(&body["text"]) }).await?;
            let came =
                self.world.post("/inbound", &body).await.map_err(|why| format!("mails[{mail}]: {why}"))?;
            self.conversations.push((mail, text(&came["conversationId"])));
            self.rest().await?;
            self.pass(BETWEEN_MAILS_SECONDS).await?;
        }
        if self.driver.scenario.mode == Mode::Job {
            self.arm().await?;
        }
        let (mut round, mut trouble, mut calm_rounds, mut failing, mut later) = (0, true, 0, 0, 0);
        let mut settled = false;
        let mut before = self.fingerprint().await?;
        while calm_rounds < MAX_CALM_ROUNDS && !self.has_exited() {
            self.round(round).await?;
            let after = self.fingerprint().await?;
            let same = std::mem::replace(&mut before, after) == before;
            let went_well = self.went_well();
            let comes_later = |step: &Step| matches!(step.place, Place::Quiet(_, at) if at > round);
            let pending = self.schedule.steps.iter().any(comes_later);
            round += 1;
            if trouble {
                let waits = !(same && went_well) && self.rules_wait().await;
                if round < MAX_TROUBLED_ROUNDS && (pending || waits) {
                    continue;
                }
                trouble = false;
                self.end_trouble().await?;
                if !self.schedule.steps.is_empty() {
                    continue;
                }
            }
            calm_rounds += 1;
            failing = if went_well || !same { 0 } else { failing + 1 };
            if failing == MAX_FAILING_ROUNDS {
                break;
            }
            if !same || !went_well {
                continue;
            }
            // What is due later, such as a reminder.
            if later < MAX_LATER_JOBS && self.world.has_jobs().await {
                (later, calm_rounds) = (later + 1, 0);
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

    /// Lets the app work, people look at drafts, and time pass.
    async fn round(&mut self, round: u32) -> Result<(), String> {
        self.quiet(Moment::Run, round).await?;
        if self.is_server() {
            self.rest().await?;
        } else {
            self.run_job(round).await?;
        }
        self.quiet(Moment::End, round).await?;
        let went_well = self.went_well();
        if self.driver.scenario.people_approve && went_well {
            self.people().await?;
            self.rest().await?;
        }
        self.quiet(Moment::People, round).await?;
        let seconds = if went_well { ROUND_SECONDS } else { RETRY_SECONDS };
        self.note(Event::TimePasses(seconds)).await?;
        self.pass(seconds).await
    }

    async fn run_job(&mut self, round: u32) -> Result<(), String> {
        self.note(Event::RunStarts(round + 1)).await?;
        let kills = self.rules.iter().filter(|(n, _)| self.schedule.steps[*n].what == What::Kill).count();
        let killed = async {
            if kills == 0 {
                std::future::pending::<()>().await;
            }
            while self.fired_kills().await <= self.killed.get() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            self.killed.set(self.killed.get() + 1);
        };
        let ended = self.driver.app.run(&self.context, self.driver.app_timeout, killed).await?;
        self.all_requests().await?;
        self.note(Event::RunEnds(round + 1, ended.clone())).await?;
        self.runs.push(ended);
        Ok(())
    }

    fn went_well(&self) -> bool {
        if self.is_server() { !self.has_exited() } else { self.runs.last() == Some(&RunEnd::Succeeded) }
    }

    /// Notes that something happens now.
    pub(crate) async fn note(&mut self, event: Event) -> Result<(), String> {
        let requests = self.world.count_requests().await?;
        self.events.push((requests, self.world.now().await, event));
        Ok(())
    }

    /// Steps of a quiet moment.
    async fn quiet(&mut self, moment: Moment, round: u32) -> Result<(), String> {
        for (n, step) in self.schedule.steps.iter().enumerate() {
            let (Place::Quiet(at, in_round), What::Act(act, mail)) = (step.place, step.what) else {
                continue;
            };
            if (at, in_round) != (moment, round) {
                continue;
            }
            let Some((path, body)) = self.control_call(act, mail) else { continue };
            if self.takes_snapshot && n + 1 == self.schedule.steps.len() {
                self.world.post("/snapshots", &snapshot()).await?;
            }
            let (requests, now) = (self.world.count_requests().await?, self.world.now().await);
            let (status, _) = self.world.call(&path, &body).await?;
            let effective = status < 400;
            self.fired[n] = Fired { at: Some(requests), effective };
            if effective {
                self.events.push((requests, now, Event::Step(n)));
            }
            self.rest().await?;
        }
        Ok(())
    }

    /// Returns what stands for the conversation of a mail: its id, or the customer's address while it has not come yet.
    fn conversation(&self, mail: usize) -> Option<&str> {
        if self.is_server() {
            let comes = self.schedule.mails.contains(&mail);
            return self.driver.scenario.mails.get(mail).filter(|_| comes).map(|mail| mail.from.as_str());
        }
        self.conversations.iter().find(|(it, _)| *it == mail).map(|(_, id)| id.as_str())
    }

    /// Returns the control call of a step.
    fn control_call(&self, act: Act, mail: usize) -> Option<(String, Value)> {
        let conversation = self.conversation(mail)?;
        control_call(act, &self.driver.scenario, mail, conversation, &self.world.inbox, &self.world.person)
    }

    /// Arms the steps that are at a request or a delivery. Those who act come first, since they leave the request to the others.
    async fn arm(&mut self) -> Result<(), String> {
        if self.takes_snapshot {
            self.arm_snapshot().await?;
        }
        let slow_ms = u64::try_from(self.driver.app_timeout.as_millis()).unwrap_or(u64::MAX);
        for (n, rule) in rules(self.schedule, slow_ms, |act, mail| self.control_call(act, mail)) {
            let added = self.world.post("/faults", &rule).await?;
            self.rules.push((n, text(&added["id"])));
        }
        Ok(())
    }

    /// Lets the request of the last step take a snapshot first.
    async fn arm_snapshot(&self) -> Result<(), String> {
        let Some(request) = self.schedule.steps.last().and_then(Step::request) else { return Ok(()) };
        let mut rule = request.op.rule();
        rule["skip"] = json!(request.nth);
        rule["effect"] = json!({ "act": [{ "method": "POST", "path": "/snapshots", "body": snapshot() }] });
        self.world.post("/faults", &rule).await.map(drop)
    }
}

/// Returns the name of the snapshot, as a control call takes it.
fn snapshot() -> Value {
    json!({ "name": "before-the-last-step" })
}
