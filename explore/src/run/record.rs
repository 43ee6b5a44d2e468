//! What happened in a schedule: requests, runs, steps, and how each conversation ended.

use std::time::Duration;

use serde_json::Value;
use shared_inbox::{Timestamp, event::EventKind};

use crate::{
    json::text,
    plan::op::{Op, Request},
    run::calls::is_auto_reply,
    run::world::KEY_NAME,
    under_test::app::RunEnd,
};

/// A request of the app.
#[derive(Debug, Clone)]
pub(crate) struct AppRequest {
    pub(crate) at: Timestamp,
    pub(crate) op: Option<Op>,
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
    fn op_of(entry: &Value) -> Option<Op> {
        let tool = entry["tool"].as_str();
        Op::from_request(entry["method"].as_str()?, entry["path"].as_str()?, tool)
    }

    pub(crate) fn read(entry: &Value) -> Self {
        let line = entry["tool"].as_str().map_or_else(
            || format!("{} {}", text(&entry["method"]), text(&entry["path"]).trim_start_matches("/api/v1")),
            |tool| format!("tool {tool}"),
        );
        let body = match entry["tool"].as_str() {
            Some(_) => entry["requestBody"]["params"]["arguments"].clone(),
            None => entry["requestBody"].clone(),
        };
        Self {
            at: time(&entry["at"]),
            op: Self::op_of(entry),
            line,
            conversation: entry["conversationId"].as_str().map(str::to_owned),
            status: entry["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
            body,
            received: if entry["responseBody"].is_null() {
                String::new()
            } else {
                entry["responseBody"].to_string()
            },
            is_cut_off: Self::is_cut_off(entry),
        }
    }

    /// Returns whether a response ended before its length: what is left of it is text that is no JSON.
    fn is_cut_off(entry: &Value) -> bool {
        let length =
            entry["responseHeaders"]["content-length"].as_str().and_then(|length| length.parse().ok());
        let received = entry["responseBody"].as_str().map(str::len);
        received.zip(length).is_some_and(|(received, length): (usize, usize)| received < length)
    }

    /// Returns where in the journal this request is.
    pub(crate) fn find(journal: &[Value], request: Request) -> Option<usize> {
        let same = |(_, entry): &(usize, &Value)| Self::op_of(entry) == Some(request.op);
        let nth = usize::try_from(request.nth).ok()?;
        journal.iter().enumerate().filter(same).nth(nth).map(|(index, _)| index)
    }

    /// Returns whether the app read this conversation, or a list that shows it.
    pub(crate) fn shows(&self, conversation: &str) -> bool {
        self.op.is_some_and(Op::is_read) && self.status == Some(200) && self.received.contains(conversation)
    }

    pub(crate) fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201))
            && !self.is_cut_off
            && !self.received.contains("\"isError\":true")
    }
}

/// An attempt to deliver a webhook.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryAttempt {
    pub(crate) at: Timestamp,
    /// The number of its event among all for the webhook, from 0.
    pub(crate) event_number: usize,
    /// The type of the event.
    pub(crate) event: &'static str,
    /// How late its first attempt was, on the world's clock.
    pub(crate) late: Option<Duration>,
    pub(crate) conversation: Option<String>,
    /// The status that the app answered with.
    pub(crate) status: Option<u16>,
    /// Why there was no answer.
    pub(crate) error: String,
    /// Whether this attempt or a later one was answered as it should be.
    pub(crate) delivered: bool,
    /// The first request after the one that brought the event about.
    pub(crate) cause: Option<usize>,
    /// The number of the control call that brought the event about.
    pub(crate) root: Option<u64>,
}

impl DeliveryAttempt {
    /// Returns the attempts of a delivery.
    pub(crate) fn read(event_number: usize, delivery: &Value, journal: &[Value]) -> Vec<Self> {
        let known = EventKind::TYPES.iter().find(|event| delivery["type"] == **event);
        let Some(event) = known else { return Vec::new() };
        let body: Value = serde_json::from_str(&text(&delivery["body"])).unwrap_or_default();
        let cause = journal.iter().position(|entry| entry["id"] == delivery["request"]);
        let created = time(&delivery["createdAt"]);
        let read = |(n, attempt): (usize, &Value)| Self {
            at: time(&attempt["at"]),
            event_number,
            event,
            late: (n == 0).then(|| time(&attempt["at"]).duration_since(created)).filter(|by| !by.is_zero()),
            conversation: body["data"]["conversation_id"].as_str().map(str::to_owned),
            status: attempt["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
            error: text(&attempt["error"]),
            delivered: delivery["outcome"] == "delivered",
            cause: cause.map(|index| index + 1),
            root: delivery["root"].as_u64(),
        };
        list(&delivery["attempts"]).iter().enumerate().map(read).collect()
    }
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
    Approved(u32),
    TimePasses(u64),
    /// A day begins, counted from 1.
    DayBegins(u32),
    Sent {
        to: String,
        text: String,
    },
    Step(usize),
    /// An attempt to deliver a webhook, by its number.
    Attempt(usize),
    TroubleEnds,
}

/// Whether a step happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepEffect {
    /// The first request that comes after it, or that it strikes.
    pub(crate) at: Option<usize>,
    /// Whether it did anything.
    pub(crate) effective: bool,
}

/// A schedule that was run.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub(crate) requests: Vec<AppRequest>,
    pub(crate) attempts: Vec<DeliveryAttempt>,
    /// Whether the app is a server.
    pub(crate) server: bool,
    /// What happened beside them, each with the number of requests before it.
    pub(crate) events: Vec<(usize, Event)>,
    pub(crate) fired: Vec<StepEffect>,
    pub(crate) runs: Vec<RunEnd>,
    pub(crate) ends: Vec<End>,
    /// For each expectation of the scenario, why it was not met.
    pub(crate) expectations: Vec<Option<String>>,
    pub(crate) settled: bool,
    pub(crate) rounds: u32,
}

impl Execution {
    pub(crate) fn end_of(&self, mail: usize) -> Option<&End> {
        self.ends.iter().find(|end| end.mail == Some(mail))
    }

    pub(crate) fn end_by(&self, customer: &str) -> Option<&End> {
        self.ends.iter().find(|end| end.mail.is_none() && end.customer == customer)
    }

    /// Returns whether a request came on another day than the first.
    pub(crate) fn is_later_day(&self, index: usize) -> bool {
        self.events.iter().any(|(before, event)| matches!(event, Event::DayBegins(_)) && *before <= index)
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq)]
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
    pub(crate) fn read(mail: Option<usize>, view: &Value, outbox: &[Value], agent: &str) -> Self {
        let customer = text(&view["contact"]["email"]);
        let mut end = Self {
            mail,
            id: text(&view["id"]),
            sent: Vec::new(),
            status: text(&view["status"]),
            tags: list(&view["tags"]).iter().map(text).collect(),
            assignee: match view["assignee"]["type"].as_str() {
                None => "nobody".to_owned(),
                Some("agent") if view["assignee"]["id"] == agent => "app".to_owned(),
                Some(other) => other.to_owned(),
            },
            notes: Vec::new(),
            documents: Vec::new(),
            mails: 0,
            messages: Vec::new(),
            drafts: Vec::new(),
            last_is_answered: false,
            risk: !view["risk"].is_null(),
            customer,
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
                    own.push(item["id"].clone());
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
        let left = |mail: &&Value| mail["outcome"] == "sent" && own.contains(&mail["messageId"]);
        end.sent = outbox.iter().filter(left).map(|mail| without_ids(&text(&mail["text"]))).collect();
        for list in [&mut end.tags, &mut end.notes, &mut end.documents] {
            list.sort();
        }
        end
    }

    /// Returns what is compared, by the names of a scenario's `ignore`.
    pub(crate) fn part(&self, name: &str) -> Vec<String> {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        match name {
            "outbox" => [sorted(&self.sent), sorted(&self.drafts)].concat(),
            "notes" => self.notes.clone(),
            "tags" => self.tags.clone(),
            "status" => vec![self.status.clone()],
            "assignee" => vec![self.assignee.clone()],
            _ => self.documents.clone(),
        }
    }

    /// Returns whether the app answered at all.
    pub(crate) fn is_answered(&self) -> bool {
        !self.messages.is_empty()
    }
}

/// Returns the time of a JSON value.
pub(crate) fn time(value: &Value) -> Timestamp {
    serde_json::from_value(value.clone()).unwrap_or(Timestamp::from_millis(0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_times_and_links_are_left_out_and_words_stay() {
        let said =
            "Order 1042 (cnv_0lsg06cax5ux8, 2026-11-16T16:20:09.799Z): see https://upload.example/x or a_b.";
        assert_eq!(without_ids(said), "Order 1042 (cnv_…, (time) see (link) or a_b.");
    }
}
