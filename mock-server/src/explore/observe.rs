//! What a run looks at in its world: requests, rules that have fired, conversations.

use std::time::{Duration, Instant};

use super::{
    driver::{POLL_INTERVAL, Run},
    record::{AppRequest, End, Event, Execution, Fired},
    step::{Place, What},
    world::text,
};

/// How long a request that was cut short may take to be in the journal.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(2);

impl Run<'_> {
    pub(super) async fn fired_kills(&self) -> u32 {
        let faults = self.world.faults().await;
        let fired = |(n, id): &&(usize, String)| {
            self.schedule.steps[*n].what == What::Kill
                && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
        };
        u32::try_from(self.rules.iter().filter(fired).count()).unwrap_or(u32::MAX)
    }

    /// Whether an armed step has not come yet.
    pub(super) async fn rules_wait(&self) -> bool {
        self.world.faults().await.iter().any(|fault| fault.fired == 0)
    }

    /// Reads what the rules did, and takes them away.
    pub(super) async fn end_trouble(&mut self) -> Result<(), String> {
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
    pub(super) async fn all_requests(&self) -> Result<usize, String> {
        if self.rules.is_empty() {
            return self.world.count_requests().await;
        }
        let began = Instant::now();
        loop {
            let requests = self.world.requests().await;
            let fired = self.world.faults().await.iter().filter(|fault| fault.fired != 0).count();
            let there = |request| AppRequest::find(&requests, request).is_some();
            let steps = self.rules.iter().filter_map(|(n, _)| self.schedule.steps[*n].request());
            if steps.filter(|request| there(*request)).count() >= fired || began.elapsed() > JOURNAL_TIMEOUT {
                return Ok(requests.len());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Notes the mails that have left since.
    pub(super) async fn note_outbox(&mut self) -> Result<(), String> {
        let outbox = self.world.outbox().await;
        let requests = self.world.count_requests().await?;
        for mail in outbox.iter().skip(self.outbox) {
            self.events.push((requests, Event::Sent { to: text(&mail["to"]), text: text(&mail["text"]) }));
        }
        self.outbox = outbox.len();
        Ok(())
    }

    /// What the world is like, without its clock.
    pub(super) async fn fingerprint(&self) -> Result<String, String> {
        let ends = self.ends().await?;
        Ok(format!("{ends:?} {}", self.world.outbox().await.len()))
    }

    /// How each conversation is, the scenario's first, then those of others.
    pub(super) async fn ends(&self) -> Result<Vec<End>, String> {
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

    pub(super) async fn finish(&mut self, settled: bool, rounds: u32) -> Result<Execution, String> {
        let journal = self.world.requests().await;
        for (n, _) in &self.rules {
            let step = &self.schedule.steps[*n];
            let Some(index) = step.request().and_then(|request| AppRequest::find(&journal, request)) else {
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
        Ok(Execution {
            requests: journal.iter().map(AppRequest::read).collect(),
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
