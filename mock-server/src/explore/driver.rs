//! The driver: runs one schedule in a world of its own, and records what happened.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    app::{App, AppContext, RunEnd},
    calls::{RETRY_SECONDS, ROUND_SECONDS, control_call, rules},
    record::{Asked, End, Event, Execution, Fired},
    scenario::Scenario,
    schedule::{Act, Moment, Place, Schedule, Step, What},
    world::{Server, World, text},
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
const POLL_INTERVAL: Duration = Duration::from_millis(3);
/// How long a request that was cut short may take to be in the journal.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs schedules.
pub(super) struct Driver {
    pub(super) server: Server,
    pub(super) app: App,
    pub(super) scenario: Scenario,
    pub(super) app_timeout: Duration,
}

/// A schedule under way.
struct Run<'d> {
    driver: &'d Driver,
    schedule: &'d Schedule,
    world: World,
    context: AppContext,
    /// For each mail of the scenario that came: its conversation.
    conversations: Vec<(usize, String)>,
    /// The rules that stand for steps, by the number of the step.
    rules: Vec<(usize, String)>,
    /// Kills that have been done.
    killed: Cell<u32>,
    events: Vec<(usize, Event)>,
    fired: Vec<Fired>,
    runs: Vec<RunEnd>,
    /// Messages that people approved; one that is a draft again was stopped, and nobody approves it again.
    approved: Vec<String>,
    outbox: usize,
}

impl Driver {
    /// Runs a schedule from the start until nothing changes any more.
    pub(super) async fn execute(&self, schedule: &Schedule) -> Result<Execution, String> {
        let world = self.server.world(&self.scenario.scopes).await?;
        let folder = StateDir::new()?;
        let context = AppContext {
            base_url: world.base_url.clone(),
            key: world.key.clone(),
            state_dir: folder.0.clone(),
            ready: world.ready(),
        };
        let mut run = Run {
            driver: self,
            schedule,
            world,
            context,
            conversations: Vec::new(),
            rules: Vec::new(),
            killed: Cell::new(0),
            events: Vec::new(),
            fired: vec![Fired::default(); schedule.steps.len()],
            runs: Vec::new(),
            approved: Vec::new(),
            outbox: 0,
        };
        let execution = run.execute().await;
        run.world.end().await;
        execution
    }
}

/// A folder for the app's state, removed at the end.
struct StateDir(std::path::PathBuf);

impl StateDir {
    fn new() -> Result<Self, String> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("shared-inbox-explore-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)
            .map_err(|error| format!("{}: cannot be made: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Run<'_> {
    async fn execute(&mut self) -> Result<Execution, String> {
        for &mail in &self.schedule.mails {
            let body = self.driver.scenario.mails[mail].inbound(&self.world.inbox);
            let came =
                self.world.post("/inbound", &body).await.map_err(|why| format!("mails[{mail}]: {why}"))?;
            self.conversations.push((mail, text(&came["conversationId"])));
            self.events.push((0, Event::Mail { from: text(&body["from"]), text: text(&body["text"]) }));
            self.world.advance(BETWEEN_MAILS_SECONDS).await?;
        }
        self.arm().await?;
        let (mut round, mut trouble, mut calm_rounds, mut failing, mut later) = (0, true, 0, 0, 0);
        let mut settled = false;
        let mut before = self.fingerprint().await?;
        while calm_rounds < MAX_CALM_ROUNDS {
            self.round(round).await?;
            let after = self.fingerprint().await?;
            let same = std::mem::replace(&mut before, after) == before;
            let went_well = self.runs.last() == Some(&RunEnd::Done);
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
                self.world.run_next_job().await?;
                self.note_outbox().await?;
                before = self.fingerprint().await?;
                continue;
            }
            settled = true;
            break;
        }
        self.finish(settled, round).await
    }

    /// The app runs, people look at drafts, time passes.
    async fn round(&mut self, round: u32) -> Result<(), String> {
        self.quiet(Moment::Run, round).await?;
        let before = self.world.count_requests().await?;
        self.events.push((before, Event::RunStarts(round + 1)));
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
        let now = self.all_requests().await?;
        self.events.push((now, Event::RunEnds(round + 1, ended.clone())));
        self.runs.push(ended);
        self.quiet(Moment::End, round).await?;
        let went_well = self.runs.last() == Some(&RunEnd::Done);
        if self.driver.scenario.people_approve && went_well {
            self.people().await?;
        }
        self.quiet(Moment::People, round).await?;
        let seconds = if went_well { ROUND_SECONDS } else { RETRY_SECONDS };
        self.events.push((now, Event::TimePasses(seconds)));
        self.world.advance(seconds).await?;
        self.note_outbox().await
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
            let (status, _) = self.world.call(&path, &body).await?;
            let requests = self.world.count_requests().await?;
            let effective = status < 400;
            self.fired[n] = Fired { at: Some(requests), effective };
            if effective {
                self.events.push((requests, Event::Step(n)));
            }
        }
        Ok(())
    }

    /// People approve the drafts of the app, except those that were stopped and in conversations that a person has
    /// answered.
    async fn people(&mut self) -> Result<(), String> {
        let mut approved = 0;
        for draft in self.world.approvals().await {
            let (id, conversation) = (text(&draft["messageId"]), text(&draft["conversationId"]));
            if self.was_stopped(&draft).await? || self.answered_by_person(&conversation).await? {
                continue;
            }
            if self.world.post(&format!("/messages/{id}/approve"), &json!({})).await.is_ok() {
                self.approved.push(id);
                approved += 1;
            }
        }
        if approved > 0 {
            let requests = self.world.count_requests().await?;
            self.events.push((requests, Event::Approved(approved)));
        }
        Ok(())
    }

    /// Whether a draft was on its way out before, so that someone must have stopped it.
    async fn was_stopped(&self, draft: &Value) -> Result<bool, String> {
        if !self.schedule.acts().any(|(act, _)| act == Act::Stop) {
            return Ok(false);
        }
        let sent = |request: &Value| {
            request["conversationId"] == draft["conversationId"]
                && request["requestBody"]["send"] == true
                && request["requestBody"]["body"] == draft["text"]
        };
        Ok(self.approved.contains(&text(&draft["messageId"])) || self.world.requests().await.iter().any(sent))
    }

    async fn answered_by_person(&self, conversation: &str) -> Result<bool, String> {
        if !self.schedule.acts().any(|(act, _)| act == Act::Answer) {
            return Ok(false);
        }
        let view = self.world.conversation(conversation).await?;
        let items = view["timeline"].as_array().cloned().unwrap_or_default();
        Ok(items
            .iter()
            .any(|item| item["direction"] == "outbound" && text(&item["author"]).starts_with("usr_")))
    }

    fn conversation(&self, mail: usize) -> Option<&str> {
        self.conversations.iter().find(|(it, _)| *it == mail).map(|(_, id)| id.as_str())
    }

    /// The control call of a step.
    fn control_call(&self, act: Act, mail: usize) -> Option<(String, Value)> {
        let conversation = self.conversation(mail)?;
        control_call(act, &self.driver.scenario, mail, conversation, &self.world.inbox, &self.world.person)
    }

    /// Arms the steps that are at a request. Those who act come first, since they leave the request to the others.
    async fn arm(&mut self) -> Result<(), String> {
        let slow_ms = u64::try_from(self.driver.app_timeout.as_millis()).unwrap_or(u64::MAX);
        for (n, rule) in rules(self.schedule, slow_ms, |act, mail| self.control_call(act, mail)) {
            let added = self.world.post("/faults", &rule).await?;
            self.rules.push((n, text(&added["id"])));
        }
        Ok(())
    }

    async fn fired_kills(&self) -> u32 {
        let faults = self.world.faults().await;
        let fired = |(n, id): &&(usize, String)| {
            self.schedule.steps[*n].what == What::Kill
                && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
        };
        u32::try_from(self.rules.iter().filter(fired).count()).unwrap_or(u32::MAX)
    }

    /// Whether an armed step has not come yet.
    async fn rules_wait(&self) -> bool {
        self.world.faults().await.iter().any(|fault| fault.fired == 0)
    }

    /// Reads what the rules did, and takes them away.
    async fn end_trouble(&mut self) -> Result<(), String> {
        let faults = self.world.faults().await;
        for (n, id) in &self.rules {
            let Some(fault) = faults.iter().find(|fault| fault.id == *id) else { continue };
            let effective = fault.fired != 0 && fault.acted.iter().all(|status| *status < 400);
            self.fired[*n] = Fired { at: None, effective };
        }
        self.world.clear_faults().await;
        let requests = self.world.count_requests().await?;
        if !self.schedule.steps.is_empty() {
            self.events.push((requests, Event::TroubleEnds));
        }
        Ok(())
    }

    /// How many requests there are, once those are in the journal that were cut short.
    async fn all_requests(&self) -> Result<usize, String> {
        if self.rules.is_empty() {
            return self.world.count_requests().await;
        }
        let began = Instant::now();
        loop {
            let requests = self.world.requests().await;
            let fired = self.world.faults().await.iter().filter(|fault| fault.fired != 0).count();
            let there = |request| Asked::find(&requests, request).is_some();
            let steps = self.rules.iter().filter_map(|(n, _)| self.schedule.steps[*n].request());
            if steps.filter(|request| there(*request)).count() >= fired || began.elapsed() > JOURNAL_TIMEOUT {
                return Ok(requests.len());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Notes the mails that have left since.
    async fn note_outbox(&mut self) -> Result<(), String> {
        let outbox = self.world.outbox().await;
        let requests = self.world.count_requests().await?;
        for mail in outbox.iter().skip(self.outbox) {
            self.events.push((requests, Event::Sent { to: text(&mail["to"]), text: text(&mail["text"]) }));
        }
        self.outbox = outbox.len();
        Ok(())
    }

    /// What the world is like, without its clock.
    async fn fingerprint(&self) -> Result<String, String> {
        let ends = self.ends().await?;
        Ok(format!("{ends:?} {}", self.world.outbox().await.len()))
    }

    /// How each conversation is, the scenario's first, then those of others.
    async fn ends(&self) -> Result<Vec<End>, String> {
        let outbox = self.world.outbox().await;
        let mut ends = Vec::new();
        for view in self.world.conversations().await? {
            let mail =
                self.conversations.iter().find(|(_, id)| view["id"] == id.as_str()).map(|(mail, _)| *mail);
            ends.push(End::read(mail, &view, &outbox, &self.world.agent));
        }
        ends.sort_by_key(|end| (end.mail.is_none(), end.mail));
        Ok(ends)
    }

    async fn finish(&mut self, settled: bool, rounds: u32) -> Result<Execution, String> {
        let journal = self.world.requests().await;
        for (n, _) in &self.rules {
            let step = &self.schedule.steps[*n];
            let Some(index) = step.request().and_then(|request| Asked::find(&journal, request)) else {
                continue;
            };
            if self.fired[*n].effective {
                let after = matches!(step.place, Place::After(_)) && step.act().is_some();
                self.fired[*n].at = Some(index + usize::from(after));
            }
        }
        let mut expectations = Vec::new();
        for expectation in &self.driver.scenario.expect {
            let (status, body) = self.world.call("/expect", expectation).await?;
            expectations.push((status >= 400).then(|| text(&body["error"])));
        }
        if let App::Piped(functions) = &self.driver.app
            && functions.has_check
        {
            expectations.push(functions.check(&self.context.ready, &self.context.state_dir).await?);
        }
        Ok(Execution {
            requests: journal.iter().map(Asked::read).collect(),
            events: std::mem::take(&mut self.events),
            fired: std::mem::take(&mut self.fired),
            runs: std::mem::take(&mut self.runs),
            ends: self.ends().await?,
            expectations,
            settled,
            rounds,
        })
    }
}
