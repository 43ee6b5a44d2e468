//! What a run looks at in its world: requests, rules that have fired, conversations.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use serde_json::Value;
use shared_inbox::Timestamp;

use crate::{
    json::text,
    plan::schedule::Schedule,
    plan::step::{Place, What},
    run::driver::{POLL_INTERVAL, Run},
    run::record::{AppRequest, DeliveryAttempt, End, Event, Execution, StepEffect, time},
    run::world::World,
    under_test::app::App,
};

/// Where something is between two requests: right after the first, anywhere, or right before the second.
const AFTER: u8 = 0;
const NOTED: u8 = 1;
const BEFORE: u8 = 2;
/// How long a request that was cut short may take to be in the journal.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns how many of the kills among these rules are due or done.
pub(crate) async fn fired_kills(world: &World, schedule: &Schedule, rules: &[(usize, String)]) -> u32 {
    let faults = world.faults().await;
    let fired = |(n, id): &&(usize, String)| {
        schedule.steps[*n].what == What::Kill
            && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
    };
    u32::try_from(rules.iter().filter(fired).count()).unwrap_or(u32::MAX)
}

impl Run<'_> {
    pub(crate) async fn fired_kills(&self) -> u32 {
        fired_kills(&self.world, self.schedule, &self.rules).await
    }

    /// Returns whether an armed step has not come yet.
    pub(crate) async fn rules_wait(&self) -> bool {
        self.world.faults().await.iter().any(|fault| fault.fired == 0)
    }

    /// Reads what the rules did, and takes them away.
    pub(crate) async fn end_trouble(&mut self) -> Result<(), String> {
        let faults = self.world.faults().await;
        for (n, id) in &self.rules {
            let Some(fault) = faults.iter().find(|fault| fault.id == *id) else { continue };
            let effective = fault.fired != 0 && fault.acted.iter().all(|status| *status < 400);
            self.fired[*n] = StepEffect { at: None, effective };
        }
        self.world.clear_faults().await;
        if !self.schedule.steps.is_empty() {
            self.note(Event::TroubleEnds).await?;
        }
        Ok(())
    }

    /// Waits until those requests are in the journal that were cut short.
    pub(crate) async fn all_requests(&self) -> Result<(), String> {
        let began = Instant::now();
        while self.is_waiting().await && began.elapsed() < JOURNAL_TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Returns whether a request at which something happens has not come to its end.
    pub(crate) async fn is_waiting(&self) -> bool {
        if self.rules.is_empty() {
            return false;
        }
        let faults = self.world.faults().await;
        let requests = self.world.requests().await;
        let open = |(n, id): &(usize, String)| {
            let request = self.schedule.steps[*n].request();
            request.is_some_and(|request| AppRequest::find(&requests, request).is_none())
                && faults.iter().any(|fault| fault.id == *id && fault.fired != 0)
        };
        self.rules.iter().any(open)
    }

    /// Returns what the world is like, without its clock.
    pub(crate) async fn fingerprint(&self) -> Result<String, String> {
        let ends = self.ends().await?;
        Ok(format!("{ends:?} {}", self.world.outbox().await.len()))
    }

    /// Returns how each conversation is, the scenario's first, then those of others.
    pub(crate) async fn ends(&self) -> Result<Vec<End>, String> {
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

    pub(crate) async fn finish(&mut self, settled: bool, rounds: u32) -> Result<Execution, String> {
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
        for expectation in &self.scenario.expect {
            let (status, body) = self.world.call("/expect", expectation).await?;
            expectations.push((status >= 400).then(|| text(&body["error"])));
        }
        if let App::Piped(functions) = &self.driver.app
            && functions.has_check
        {
            expectations.push(functions.check(&self.context).await?);
        }
        let requests: Vec<AppRequest> = journal.iter().map(AppRequest::read).collect();
        // Each with its order: the request that it comes before, what comes right after the request before that one and what comes
        // right before this one, the time, and for what the driver did its number and what that brought about.
        let noted = std::mem::take(&mut self.events);
        let mut events: Vec<_> = noted
            .iter()
            .enumerate()
            .map(|(n, (requests, at, event))| ((*requests, NOTED, *at, n, false), event.clone()))
            .collect();
        let first_from = |at: Timestamp| requests.iter().take_while(|request| request.at < at).count();
        // What somebody does at a request comes before it, or right after it.
        let mut acts = Vec::new();
        // Before which request the clock was moved, and from when to when.
        let mut moved = Vec::new();
        for (n, (step, fired)) in self.schedule.steps.iter().zip(&self.fired).enumerate() {
            let (Some(request), Some(index), true) = (step.request(), fired.at, fired.effective) else {
                continue;
            };
            let at = AppRequest::find(&journal, request).map(|index| requests[index].at);
            if let (Some(_), Some(at)) = (step.act(), at) {
                let side = if matches!(step.place, Place::After(_)) { AFTER } else { BEFORE };
                acts.push((index, side, at));
                events.push(((index, side, at, 0, false), Event::Step(n)));
                let seconds = step
                    .act()
                    .and_then(|(act, mail)| self.control_call(act, mail)?.1["advanceSeconds"].as_u64());
                if let (BEFORE, Some(seconds)) = (side, seconds) {
                    moved.push((index, at, at + Duration::from_secs(seconds)));
                }
            }
        }
        // What falls due while the clock moves before a request comes before that request, which began when it had not moved yet.
        let place = |at: Timestamp| match moved.iter().find(|(_, from, to)| *from < at && at <= *to) {
            Some((index, ..)) => (*index, BEFORE),
            None => (first_from(at), NOTED),
        };
        for mail in self.world.outbox().await.iter().filter(|mail| mail["kind"] != "notice") {
            let at = time(&mail["at"]);
            let sent = Event::Sent { to: text(&mail["to"]), text: text(&mail["text"]) };
            let (index, side) = place(at);
            events.push(((index, side, at, usize::MAX, false), sent));
        }
        let attempts = self.attempts(&journal).await?;
        for (n, attempt) in attempts.iter().enumerate() {
            // An event comes after what brought it about: a request, the driver, or a step at a request.
            let is_now = |at: Timestamp| at == attempt.at && attempt.late.is_none();
            let request = attempt.cause.filter(|next| is_now(requests[*next - 1].at));
            let root =
                |number: usize| attempts.iter().find(|it| it.event_number == number).and_then(|it| it.root);
            // The app may have answered before all was counted; the first event of all is the driver's.
            let by_driver = |(numbers, noted_at): &&(Range<usize>, usize)| {
                let is_approval =
                    attempt.event == "draft.approved" && matches!(noted[*noted_at].2, Event::Approved(_));
                let is_first = attempt.root.is_some() && attempt.root == root(numbers.start);
                numbers.contains(&attempt.event_number) && (is_approval || is_first)
            };
            let driver = self.caused.iter().find(by_driver).map(|(_, noted_at)| *noted_at);
            let act = acts.iter().filter(|(.., at)| is_now(*at)).max_by_key(|(index, ..)| *index);
            let earliest = first_from(attempt.at);
            let order = match (request, driver, act) {
                (Some(next), ..) => (next.max(earliest), AFTER, attempt.at, usize::MAX, true),
                (None, Some(n), _) => (noted[n].0.max(earliest), NOTED, attempt.at, n, true),
                (None, None, Some((index, side, _))) => (*index, *side, attempt.at, 0, true),
                (None, None, None) => {
                    let (index, side) = place(attempt.at);
                    (index, side, attempt.at, usize::MAX, true)
                }
            };
            events.push((order, Event::Attempt(n)));
        }
        events.sort_by_key(|(order, _)| *order);
        Ok(Execution {
            requests,
            attempts,
            server: self.is_server(),
            events: events.into_iter().map(|(order, event)| (order.0, event)).collect(),
            fired: std::mem::take(&mut self.fired),
            runs: std::mem::take(&mut self.runs),
            ends: self.ends().await?,
            expectations,
            settled,
            rounds,
        })
    }

    /// Returns every attempt to deliver a webhook, in order.
    async fn attempts(&self, journal: &[Value]) -> Result<Vec<DeliveryAttempt>, String> {
        let mut attempts = Vec::new();
        if self.is_server() {
            for (number, delivery) in self.world.deliveries(&self.webhook).await?.iter().enumerate() {
                attempts.extend(DeliveryAttempt::read(number, delivery, journal));
            }
        }
        attempts.sort_by_key(|attempt| attempt.at);
        Ok(attempts)
    }
}
