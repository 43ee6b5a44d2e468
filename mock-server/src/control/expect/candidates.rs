//! What an expectation may match, and which of it does.
//!
//! An expectation looks again whenever something has happened. Each item is read once: whoever changes an
//! item that a look still holds makes a copy of it, so an item at the same address is the same item.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Value, json};
use shared_inbox::Timestamp;
use shared_inbox_webhooks::Event;

use super::{Expectation, ExpectedKind};
use crate::{
    control::Control,
    runtime::journal::JournalRecord,
    world::{LoggedEvent, OutboxMail, Result},
};

/// How many new items are read on the thread of the server; more are read by the world's worker.
const MAX_READ_INLINE: usize = 200;

/// An item that an expectation may match.
enum Candidate {
    Request(Arc<JournalRecord>),
    Mail(Arc<OutboxMail>),
    /// The deliveries of one event.
    Deliveries(Arc<LoggedEvent>),
    Event(Arc<Event>),
}

impl Candidate {
    fn address(&self) -> usize {
        match self {
            Candidate::Request(request) => Arc::as_ptr(request).addr(),
            Candidate::Mail(mail) => Arc::as_ptr(mail).addr(),
            Candidate::Deliveries(event) => Arc::as_ptr(event).addr(),
            Candidate::Event(event) => Arc::as_ptr(event).addr(),
        }
    }

    fn to_json(&self, control: &Control) -> Vec<Value> {
        match self {
            Candidate::Request(request) => {
                let mut entry = request.to_entry();
                control.add_conversation_details(std::slice::from_mut(&mut entry));
                let mut entry = json!(entry);
                let body = &entry["requestBody"];
                let body = if entry["tool"].is_string() { &body["params"]["arguments"] } else { body };
                entry["body"] = body.clone();
                vec![entry]
            }
            Candidate::Mail(mail) => vec![json!(mail)],
            Candidate::Deliveries(event) => {
                let deliveries = event.delivery_views().map(|(webhook, delivery)| {
                    let mut delivery = json!(delivery);
                    delivery["webhookId"] = json!(webhook);
                    delivery
                });
                deliveries.collect()
            }
            Candidate::Event(event) => vec![json!(event)],
        }
    }
}

/// An item, and how many matches are in it.
pub(super) struct Judged {
    candidate: Candidate,
    matches: usize,
}

/// Returns the number of matches that a look has found.
pub(super) fn count(seen: &[Judged]) -> usize {
    seen.iter().map(|judged| judged.matches).sum()
}

impl Expectation {
    /// Returns everything in an item that happened in the expected time.
    fn items(&self, candidate: &Candidate, control: &Control) -> Vec<Value> {
        let mut items = candidate.to_json(control);
        if let Some(since) = self.since {
            items.retain(|item| time_of(item).is_some_and(|at| at >= since));
        }
        items
    }

    /// Returns the matches of a look, oldest first.
    pub(super) fn matches(&self, seen: &[Judged], control: &Control) -> Vec<Value> {
        let matching = seen.iter().filter(|judged| judged.matches > 0);
        let items = matching.flat_map(|judged| self.items(&judged.candidate, control));
        items.filter(|item| self.differences_in(item).is_empty()).collect()
    }

    /// Returns everything that a look has seen, oldest first.
    pub(super) fn all_items(&self, seen: &[Judged], control: &Control) -> Vec<Value> {
        seen.iter().flat_map(|judged| self.items(&judged.candidate, control)).collect()
    }
}

impl Control {
    /// Looks at what there is now; reads only what was not there, or was different, at the look before.
    pub(super) async fn look(&self, expectation: &Expectation, before: Vec<Judged>) -> Result<Vec<Judged>> {
        let candidates = self.candidates(expectation.of);
        let long = candidates.len().saturating_sub(before.len()) > MAX_READ_INLINE;
        let (control, expectation) = (self.clone(), expectation.clone());
        let judge = move || {
            let known: HashMap<usize, usize> =
                before.iter().map(|judged| (judged.candidate.address(), judged.matches)).collect();
            let judged = candidates.into_iter().map(|candidate| {
                let matches = known.get(&candidate.address()).copied().unwrap_or_else(|| {
                    let items = expectation.items(&candidate, &control);
                    items.iter().filter(|item| expectation.differences_in(item).is_empty()).count()
                });
                Judged { candidate, matches }
            });
            judged.collect()
        };
        self.runtime.offload_if(long, judge).await
    }

    /// Returns everything that an expectation may match, oldest first.
    fn candidates(&self, of: ExpectedKind) -> Vec<Candidate> {
        match of {
            ExpectedKind::Requests => {
                let requests = self.runtime.journal(|journal| journal.requests());
                requests.sorted().into_iter().map(Candidate::Request).collect()
            }
            ExpectedKind::Outbox => {
                let outbox = self.read(|world, _| world.outbox.clone());
                outbox.shared().map(Candidate::Mail).collect()
            }
            ExpectedKind::Deliveries => {
                let log = self.read(|world, now| world.logged_events(now));
                log.into_iter().map(Candidate::Deliveries).collect()
            }
            ExpectedKind::Events => {
                let emitted = self.read(|world, _| world.latest_events());
                emitted.into_iter().map(Candidate::Event).collect()
            }
        }
    }
}

/// Returns when something happened; for a delivery, the time of its last attempt.
fn time_of(item: &Value) -> Option<Timestamp> {
    let last = item["attempts"].as_array().and_then(|attempts| attempts.last()).map(|last| &last["at"]);
    let times = ["at", "createdAt", "created_at"].into_iter().map(|field| &item[field]);
    let at = last.into_iter().chain(times).find_map(Value::as_str)?;
    Timestamp::parse(at).ok()
}
