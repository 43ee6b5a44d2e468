//! What happened in a schedule: requests, runs, steps, and how each conversation ended.

use std::{collections::HashMap, hash::Hash, time::Duration};

use crate::process::RunEnd;
use serde_json::Value;
use shared_inbox::{__spec::Operation, Timestamp};
use shared_inbox_mock::{
    journal::JournalEntry,
    webhooks::{AttemptDetail, DeliveryDetail, DeliveryOutcome},
    world::{MailOutcome, OutboxKind, OutboxMail},
};
use shared_inbox_webhooks::EventKind;

use crate::explore::{
    json::text,
    plan::op::{Delivery, Op, Request},
    plan::schedule::Schedule,
    plan::step::{Act, Place, Step, What},
    run::calls::is_auto_reply,
    run::world::KEY_NAME,
    scenario::Part,
};

/// A request of the app.
#[derive(Debug, Clone)]
pub(crate) struct AppRequest {
    /// Its number in the order of everything that happened.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    pub(crate) op: Option<Op>,
    /// Which request of its operation it is.
    pub(crate) place: Option<Request>,
    /// The step that made it fail.
    pub(crate) struck: Option<Step>,
    /// The method and the path, or the tool.
    pub(crate) line: String,
    pub(crate) conversation: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) body: Value,
    /// What the app received, as text.
    pub(crate) received: String,
    /// Whether that ended before its length.
    is_cut_off: bool,
}

impl AppRequest {
    /// Returns the requests of a journal.
    pub(crate) fn read_all(journal: &[JournalEntry]) -> Vec<Self> {
        let mut counts = HashMap::new();
        journal.iter().map(|entry| Self::read(entry, &mut counts)).collect()
    }

    fn read(entry: &JournalEntry, counts: &mut HashMap<Op, u32>) -> Self {
        let op = Op::from_request(&entry.method, &entry.path, entry.tool.as_deref());
        let (line, body) = match &entry.tool {
            Some(tool) => (format!("tool {tool}"), &entry.request_body["params"]["arguments"]),
            None => {
                let path = entry.path.trim_start_matches("/api/v1");
                (format!("{} {path}", entry.method), &entry.request_body)
            }
        };
        let response = &entry.response_body;
        let length: Option<usize> =
            entry.response_headers.as_ref().and_then(|headers| headers.get("content-length")?.parse().ok());
        Self {
            number: entry.number,
            at: entry.at,
            op,
            place: op.map(|op| Request { op, nth: count_up(counts, op) }),
            struck: None,
            line,
            conversation: entry.conversation_id.as_ref().map(ToString::to_string),
            status: entry.status,
            body: body.clone(),
            received: if response.is_null() { String::new() } else { response.to_string() },
            // What is left of it then is text that is no JSON.
            is_cut_off: response.as_str().map(str::len).zip(length).is_some_and(|(got, all)| got < all),
        }
    }

    /// Returns whether it is this operation.
    pub(crate) fn is(&self, operation: Operation) -> bool {
        self.op.is_some_and(|op| op.operation == operation)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.op.is_some_and(Op::is_read)
    }

    /// Returns whether it changes something.
    pub(crate) fn is_write(&self) -> bool {
        self.op.is_some_and(|op| !op.is_read())
    }

    /// Returns whether it writes to the customer.
    pub(crate) fn writes_mail(&self) -> bool {
        self.op.is_some_and(Op::writes_mail)
    }

    /// Returns whether the app read this conversation, or a list that shows it.
    pub(crate) fn shows(&self, conversation: &str) -> bool {
        self.is_read() && self.status == Some(200) && self.received.contains(conversation)
    }

    pub(crate) fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201))
            && !self.is_cut_off
            && !self.received.contains("\"isError\":true")
    }

    /// Returns whether it took effect, though its response may not have arrived.
    pub(crate) fn took_effect(&self) -> bool {
        match self.struck.map(|step| (step.what, step.place)) {
            Some((What::Fail(failure), _)) => failure.takes_effect(),
            Some((What::Kill, place)) => matches!(place, Place::After(_)),
            _ => self.succeeded(),
        }
    }
}

/// An attempt to deliver a webhook.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryAttempt {
    /// Its number in the order of everything that happened.
    pub(crate) number: u64,
    /// Which attempt of its event type it is.
    pub(crate) place: Delivery,
    /// The step that was at it.
    pub(crate) struck: Option<Step>,
    /// How late its first attempt was, on the world's clock.
    pub(crate) late: Option<Duration>,
    pub(crate) conversation: Option<String>,
    /// The status that the app answered with.
    pub(crate) status: Option<u16>,
    /// Why there was no answer.
    pub(crate) error: String,
    /// Whether this attempt or a later one was answered as it should be.
    pub(crate) delivered: bool,
}

impl DeliveryAttempt {
    /// Returns the attempts of all deliveries, in order.
    pub(crate) fn read_all(deliveries: &[DeliveryDetail]) -> Vec<Self> {
        let mut attempts: Vec<Self> = deliveries.iter().flat_map(Self::read).collect();
        attempts.sort_by_key(|attempt| attempt.number);
        let mut counts = HashMap::new();
        for Self { place, .. } in &mut attempts {
            place.nth = count_up(&mut counts, place.event);
        }
        attempts
    }

    fn read(delivery: &DeliveryDetail) -> Vec<Self> {
        let known = EventKind::TYPES.iter().find(|event| delivery.event_type == **event);
        let Some(event) = known else { return Vec::new() };
        let body: Value = serde_json::from_str(&delivery.body).unwrap_or_default();
        let late = |at: Timestamp| at.duration_since(delivery.created_at);
        let read = |(n, attempt): (usize, &AttemptDetail)| Self {
            number: attempt.number,
            place: Delivery { event, nth: 0 },
            struck: None,
            late: (n == 0).then(|| late(attempt.at)).filter(|by| !by.is_zero()),
            conversation: body["data"]["conversation_id"].as_str().map(str::to_owned),
            status: attempt.status,
            error: attempt.error.clone().unwrap_or_default(),
            delivered: delivery.outcome == DeliveryOutcome::Delivered,
        };
        delivery.attempts.iter().enumerate().map(read).collect()
    }

    /// Says how the app failed to accept the webhook.
    pub(crate) fn describe_failure(&self) -> String {
        let event = self.place.event;
        match self.status {
            Some(status) => format!("the app responded to the webhook {event} with {status}"),
            None => format!("the app did not respond to the webhook {event}: {}", self.error),
        }
    }
}

/// Returns how many of this kind were counted before.
fn count_up<K: Eq + Hash>(counts: &mut HashMap<K, u32>, kind: K) -> u32 {
    let count = counts.entry(kind).or_default();
    *count += 1;
    *count - 1
}

/// What happened beside the requests.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A mail of the scenario comes, by its number.
    Mail {
        mail: usize,
        from: String,
        text: String,
    },
    RunStarts(u32),
    RunEnds(u32, RunEnd),
    /// The job beside a server runs.
    JobStarts,
    JobEnds(RunEnd),
    Approved(u32),
    TimePasses(u64),
    /// A day begins, counted from 1.
    DayBegins(u32),
    Sent {
        to: String,
        text: String,
    },
    /// Whose turn a conversation is changes by an email that left.
    TurnChanges {
        conversation: String,
        turn: String,
    },
    /// Somebody did what a step says.
    Act(Act, usize),
    TroubleEnds,
}

/// A schedule that was run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Execution {
    pub(crate) schedule: Schedule,
    pub(crate) requests: Vec<AppRequest>,
    pub(crate) attempts: Vec<DeliveryAttempt>,
    /// Whether the app is a server.
    pub(crate) server: bool,
    /// What happened beside them, each with its number in the order of everything.
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) ends: Vec<End>,
    /// For each expectation of the scenario, why it was not met.
    pub(crate) expectations: Vec<Option<String>>,
    pub(crate) settled: bool,
    pub(crate) rounds: u32,
}

impl Execution {
    /// Returns what somebody did that had an effect: what, for which mail, and its number in the order of
    /// everything.
    pub(crate) fn acts(&self) -> impl Iterator<Item = (Act, usize, u64)> + '_ {
        self.events.iter().filter_map(|(number, event)| match event {
            Event::Act(act, mail) => Some((*act, *mail, *number)),
            _ => None,
        })
    }

    /// Returns how the runs of the app ended, in order.
    pub(crate) fn run_ends(&self) -> impl DoubleEndedIterator<Item = &RunEnd> {
        self.events.iter().filter_map(|(_, event)| match event {
            Event::RunEnds(_, end) => Some(end),
            _ => None,
        })
    }

    /// Returns how the job beside a server ended last.
    pub(crate) fn job_end(&self) -> Option<&RunEnd> {
        self.events.iter().rev().find_map(|(_, event)| match event {
            Event::JobEnds(end) => Some(end),
            _ => None,
        })
    }

    /// Returns the number of where a request failed by this step, or somebody did what it says.
    pub(crate) fn happened_at(&self, step: Step) -> Option<u64> {
        let failed = self.requests.iter().find(|request| request.struck == Some(step));
        let is_done = |(act, mail, _): &(Act, usize, u64)| step.act() == Some((*act, *mail));
        failed.map(|it| it.number).or_else(|| self.acts().find(is_done).map(|(.., number)| number))
    }

    pub(crate) fn end_of(&self, mail: usize) -> Option<&End> {
        self.ends.iter().find(|end| end.mail == Some(mail))
    }

    /// Returns how the same conversation ended in this run.
    pub(crate) fn same_end(&self, end: &End) -> Option<&End> {
        match end.mail {
            Some(mail) => self.end_of(mail),
            None => self.ends.iter().find(|it| it.mail.is_none() && it.customer == end.customer),
        }
    }

    /// Returns whether something with this number came on another day than the first.
    pub(crate) fn is_later_day(&self, number: u64) -> bool {
        self.events.iter().any(|(at, event)| matches!(event, Event::DayBegins(_)) && *at < number)
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct End {
    /// The mail of the scenario that started it.
    pub(crate) mail: Option<usize>,
    pub(crate) id: String,
    pub(crate) customer: String,
    /// What the customer received, in order, without ids and times.
    pub(crate) sent: Vec<String>,
    pub(crate) status: String,
    pub(crate) tags: Vec<String>,
    pub(crate) assignee: String,
    /// Notes of the app.
    pub(crate) notes: Vec<String>,
    /// What the app asked for.
    pub(crate) documents: Vec<String>,
    /// Mails of the customer, without automatic ones.
    pub(crate) mails: usize,
    /// Messages of the app that stand, drafts too, with their texts.
    pub(crate) messages: Vec<String>,
    /// Messages of the app that are drafts.
    pub(crate) drafts: Vec<String>,
    /// Whether a message of the app stands behind the customer's last mail.
    pub(crate) last_is_answered: bool,
    pub(crate) risk: bool,
}

impl End {
    pub(crate) fn read(mail: Option<usize>, view: &Value, outbox: &[OutboxMail], agent: &str) -> Self {
        let mut end = Self {
            mail,
            id: text(&view["id"]),
            customer: text(&view["contact"]["email"]),
            status: text(&view["status"]),
            tags: list(&view["tags"]).iter().map(text).collect(),
            assignee: match view["assignee"]["type"].as_str() {
                None => "nobody".to_owned(),
                Some("agent") if view["assignee"]["id"] == agent => "app".to_owned(),
                Some(other) => other.to_owned(),
            },
            risk: !view["risk"].is_null(),
            ..Self::default()
        };
        let mut own = Vec::new();
        for item in list(&view["timeline"]) {
            match (item["type"].as_str(), item["direction"].as_str()) {
                (Some("note"), _) if item["author"] == KEY_NAME => {
                    end.notes.push(without_ids(&text(&item["body"])))
                }
                (Some("message"), Some("inbound")) if !is_auto_reply(&text(&item["text"])) => {
                    end.mails += 1;
                    end.last_is_answered = false;
                }
                (Some("message"), Some("outbound")) => {
                    own.extend(item["id"].as_str());
                    if item["author"] == agent {
                        let said = without_ids(&text(&item["text"]));
                        if item["status"] == "draft" {
                            end.drafts.push(said.clone());
                        }
                        end.messages.push(said);
                        end.last_is_answered = true;
                    }
                }
                _ => {}
            }
        }
        for request in list(&view["documentRequests"]) {
            let labels: Vec<_> = list(&request["items"]).iter().map(|item| text(&item["label"])).collect();
            end.documents.push(labels.join(", "));
        }
        // How often the service has reminded by now is not of the app's doing.
        let left = |mail: &&OutboxMail| {
            mail.outcome == MailOutcome::Sent
                && mail.kind != OutboxKind::Reminder
                && mail.message_id.as_ref().is_some_and(|id| own.contains(&id.as_str()))
        };
        end.sent = outbox.iter().filter(left).map(|mail| without_ids(&mail.text)).collect();
        for list in [&mut end.tags, &mut end.notes, &mut end.documents] {
            list.sort();
        }
        end
    }

    /// Returns what is compared, in an order of its own.
    pub(crate) fn values(&self, part: Part) -> Vec<String> {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        match part {
            Part::Outbox => [sorted(&self.sent), sorted(&self.drafts)].concat(),
            Part::Notes => self.notes.clone(),
            Part::Tags => self.tags.clone(),
            Part::Status => vec![self.status.clone()],
            Part::Assignee => vec![self.assignee.clone()],
            Part::Documents => self.documents.clone(),
        }
    }

    /// Returns how many of each kind there are: emails and drafts, notes, tags, requests for documents.
    pub(crate) fn counts(&self, part: Part) -> Vec<usize> {
        match part {
            Part::Outbox => vec![self.sent.len(), self.drafts.len()],
            part => vec![self.values(part).len()],
        }
    }

    /// Returns whether the app answered at all.
    pub(crate) fn is_answered(&self) -> bool {
        !self.messages.is_empty()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a text without what differs from run to run: ids, times, links.
fn without_ids(text: &str) -> String {
    let plain = |word: &str| -> Option<String> {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        let id = core.split_once('_').filter(|(prefix, rest)| {
            prefix.len() == 3
                && rest.len() >= 8
                && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
        let time = core.len() >= 16
            && core.as_bytes()[4] == b'-'
            && core.as_bytes()[10] == b'T'
            && core[..4].chars().all(|c| c.is_ascii_digit());
        match (id, core.contains("://")) {
            (Some((prefix, _)), _) => Some(word.replace(core, &format!("{prefix}_…"))),
            (None, true) => Some("(link)".to_owned()),
            _ if time => Some("(time)".to_owned()),
            _ => None,
        }
    };
    let words = text.split(' ').map(|word| plain(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}
