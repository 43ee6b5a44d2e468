//! What a run looks at in its world: requests, rules that have fired, conversations.

use std::time::{Duration, Instant};

use serde_json::json;
use shared_inbox_mock::{
    Expectation,
    journal::{StepKind, TraceStep},
    world::OutboxKind,
};

use crate::explore::{
    error::{ExploreError, Result},
    json::text,
    plan::step::{Place, Step, What},
    run::driver::Run,
    run::record::{AppRequest, DeliveryAttempt, End, Event},
    run::world::POLL_INTERVAL,
    scenario::Expected,
    under_test::app::App,
};

/// How long a request that was cut short may take to be in the journal.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(2);

impl Run<'_> {
    /// Returns whether an armed step has not come yet.
    pub(crate) async fn rules_wait(&self) -> bool {
        self.world.control.faults().await.iter().any(|fault| fault.fired == 0)
    }

    /// Reads what the rules did, and takes them away.
    pub(crate) async fn end_trouble(&mut self) -> Result<()> {
        let faults = self.world.control.faults().await;
        self.rules.retain(|(_, id)| {
            let fault = faults.iter().find(|fault| fault.id == *id);
            fault.is_some_and(|it| it.fired != 0 && it.acted.iter().all(|status| *status < 400))
        });
        self.world.control.clear_faults().await;
        if !self.schedule.steps.is_empty() {
            self.note(Event::TroubleEnds).await?;
        }
        Ok(())
    }

    /// Waits until those requests are in the journal that were cut short.
    pub(crate) async fn all_requests(&self) {
        let began = Instant::now();
        while self.is_waiting().await && began.elapsed() < JOURNAL_TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns whether a request at which something happens has not come to its end.
    pub(crate) async fn is_waiting(&self) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let faults = self.world.control.faults().await;
        let requests = AppRequest::read_all(&self.world.control.requests().await);
        let open = |(step, id): &(Step, String)| {
            step.request().is_some_and(|place| requests.iter().all(|it| it.place != Some(place)))
                && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
        };
        self.rules.iter().any(open)
    }

    /// Returns what the world is like, without its clock.
    pub(crate) async fn fingerprint(&self) -> Result<String> {
        let ends = self.ends().await?;
        Ok(format!("{ends:?} {}", self.world.control.outbox().await.len()))
    }

    /// Returns how each conversation is, the scenario's first, then those of others.
    pub(crate) async fn ends(&self) -> Result<Vec<End>> {
        let outbox = self.world.control.outbox().await;
        let mut ends = Vec::new();
        for view in self.world.conversations().await? {
            let mail =
                self.conversations.iter().find(|(_, id)| view["id"] == id.as_str()).map(|(mail, _)| *mail);
            ends.push(End::read(mail, &view, &outbox, &self.world.agent));
        }
        ends.sort_by_key(|end| (end.mail.is_none(), end.mail));
        Ok(ends)
    }

    /// Records what the world shows at the end.
    pub(crate) async fn finish(&mut self, settled: bool, rounds: u32) -> Result<()> {
        let mut requests = AppRequest::read_all(&self.world.control.requests().await);
        let mut attempts = self.attempts().await?;
        let history = self.world.control.history().await;
        let mut events = self.sent_mails(&history).await;
        events.extend(self.turn_changes(&history).await?);
        for (step, rule) in &self.rules {
            match (step.what, step.place) {
                (What::Act(act, mail), _) => {
                    let call = history.iter().find(|it| it.fault_id.as_ref() == Some(rule));
                    events.extend(call.map(|call| (call.number, Event::Act(act, mail))));
                }
                (_, Place::Before(place) | Place::After(place)) => {
                    let found = requests.iter_mut().filter(|it| it.place == Some(place));
                    found.for_each(|it| it.struck = Some(*step));
                }
                (_, Place::Delivery(place)) => {
                    let found = attempts.iter_mut().filter(|it| it.place == place);
                    found.for_each(|it| it.struck = Some(*step));
                }
                (_, Place::Quiet(..)) => {}
            }
        }
        let (ends, expectations) = (self.ends().await?, self.expectations().await?);
        let record = &mut self.record;
        record.events.extend(events);
        record.events.sort_by_key(|(number, _)| *number);
        (record.requests, record.attempts) = (requests, attempts);
        (record.ends, record.expectations) = (ends, expectations);
        (record.settled, record.rounds) = (settled, rounds);
        Ok(())
    }

    /// Asks how often something that the scenario expects has happened; the error inside says why that is too
    /// seldom or too often.
    async fn count_expected(&self, expectation: Expectation) -> Result<Result<usize, String>> {
        match self.world.control.expect(expectation).await {
            Ok(met) => Ok(Ok(met.count)),
            Err(unmet) if unmet.status == 409 => Ok(Err(unmet.message)),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Returns for each expectation of the scenario and the user's own check why it was not met.
    async fn expectations(&self) -> Result<Vec<Option<String>>> {
        let mut unmet = Vec::new();
        for Expected { expectation, after } in &self.scenario.expect {
            let Some((mail, within)) = *after else {
                unmet.push(self.count_expected(expectation.clone()).await?.err());
                continue;
            };
            // A mail that does not come in this schedule asks for nothing.
            let Some((_, arrived_at)) = self.arrivals.iter().find(|(it, _)| *it == mail) else {
                unmet.push(None);
                continue;
            };
            let since = |time| expectation.clone().at_least(0).since(time);
            let late = *arrived_at + within + Duration::from_millis(1);
            let all = self.count_expected(since(*arrived_at)).await?.unwrap_or_default();
            let too_late = self.count_expected(since(late)).await?.unwrap_or_default();
            let found = (all - too_late.min(all)) as u64;
            let count = json!(expectation)["count"].take();
            let bounds = match count.as_u64() {
                Some(exact) => exact..=exact,
                None => count["atLeast"].as_u64().unwrap_or(0)..=count["atMost"].as_u64().unwrap_or(u64::MAX),
            };
            unmet.push(
                (!bounds.contains(&found)).then(|| {
                    format!("found {found} within {within:?} after mail.{mail} came, wanted {count}")
                }),
            );
        }
        if let App::Piped(functions) = &self.driver.app
            && functions.has_check
        {
            unmet.push(functions.check(&self.context).await.map_err(ExploreError::Function)?);
        }
        Ok(unmet)
    }

    /// Returns the emails that left, each where the job ran that sent it.
    async fn sent_mails(&self, history: &[TraceStep]) -> Vec<(u64, Event)> {
        let mut jobs: Vec<&TraceStep> = history.iter().filter(|step| step.kind == StepKind::Job).collect();
        let mut sent = Vec::new();
        for mail in self.world.control.outbox().await {
            let kind = match mail.kind {
                OutboxKind::Notice => continue,
                OutboxKind::Reminder => "reminder",
                _ => "send",
            };
            let by = |job: &&TraceStep| {
                job.what == kind
                    && job.at == mail.at
                    && (kind == "reminder"
                        || mail.message_id.as_ref().is_some_and(|id| job.id == id.as_str()))
            };
            let Some(position) = jobs.iter().position(by) else { continue };
            let event = Event::Sent { to: mail.to, text: mail.text };
            sent.push((jobs.remove(position).number, event));
        }
        sent
    }

    /// Returns whose turn it became by an email that left.
    async fn turn_changes(&self, history: &[TraceStep]) -> Result<Vec<(u64, Event)>> {
        let changed = self.world.control.expect(Expectation::event("turn.changed").at_least(0)).await?;
        let by_job = |step: &TraceStep| {
            history.iter().any(|it| Some(it.number) == step.cause && it.kind == StepKind::Job)
        };
        let mut changes = Vec::new();
        for event in &changed.matches {
            let step =
                history.iter().find(|step| event["id"] == step.id.as_str()).filter(|step| by_job(step));
            let conversation = text(&event["data"]["conversation_id"]);
            let turn = text(&event["data"]["turn"]);
            changes.extend(step.map(|step| (step.number, Event::TurnChanges { conversation, turn })));
        }
        Ok(changes)
    }

    /// Returns every attempt to deliver a webhook, in order.
    async fn attempts(&self) -> Result<Vec<DeliveryAttempt>> {
        let mut deliveries = Vec::new();
        if self.is_server() {
            let control = &self.world.control;
            for listed in control.deliveries(&self.webhook, Default::default()).await? {
                deliveries.push(control.delivery(&self.webhook, listed.event_id.as_str()).await?);
            }
        }
        Ok(DeliveryAttempt::read_all(&deliveries))
    }
}
