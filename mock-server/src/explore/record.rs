//! What happened in a schedule: requests, runs, steps, and how each conversation ended.

use std::time::Duration;

use serde_json::Value;
use shared_inbox::{Timestamp, event::EventKind};

use super::{
    app::RunEnd,
    calls::is_auto_reply,
    op::{Op, Request},
    world::{KEY_NAME, text},
};

/// A request of the app.
#[derive(Debug, Clone)]
pub(super) struct AppRequest {
    pub(super) at: Timestamp,
    pub(super) op: Option<Op>,
    /// The method and the path, or the tool.
    pub(super) line: String,
    pub(super) conversation: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) body: Value,
    /// What the app received, as text.
    pub(super) received: String,
}

impl AppRequest {
    fn op_of(entry: &Value) -> Option<Op> {
        let tool = entry["tool"].as_str();
        Op::of(entry["method"].as_str()?, entry["path"].as_str()?, tool)
    }

    pub(super) fn read(entry: &Value) -> Self {
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
        }
    }

    /// Where in the journal this request is.
    pub(super) fn find(journal: &[Value], request: Request) -> Option<usize> {
        let same = |(_, entry): &(usize, &Value)| Self::op_of(entry) == Some(request.op);
        let nth = usize::try_from(request.nth).ok()?;
        journal.iter().enumerate().filter(same).nth(nth).map(|(index, _)| index)
    }

    /// Whether the app read this conversation, or a list that shows it.
    pub(super) fn shows(&self, conversation: &str) -> bool {
        self.op.is_some_and(Op::is_read) && self.status == Some(200) && self.received.contains(conversation)
    }

    pub(super) fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201)) && !self.received.contains("\"isError\":true")
    }
}

/// A try to deliver a webhook.
#[derive(Debug, Clone)]
pub(super) struct DeliveryTry {
    pub(super) at: Timestamp,
    /// The type of the event.
    pub(super) event: &'static str,
    /// How late its first try was, on the world's clock.
    pub(super) late: Option<Duration>,
    pub(super) conversation: Option<String>,
    /// The status that the app answered with.
    pub(super) status: Option<u16>,
    /// Why there was no answer.
    pub(super) error: String,
    /// Whether this try or a later one was answered as it should be.
    pub(super) delivered: bool,
    /// The first request after the one that brought the event about.
    pub(super) cause: Option<usize>,
}

impl DeliveryTry {
    /// The tries of a delivery.
    pub(super) fn read(delivery: &Value, journal: &[Value]) -> Vec<Self> {
        let known = EventKind::TYPES.iter().find(|event| delivery["type"] == **event);
        let Some(event) = known else { return Vec::new() };
        let body: Value = serde_json::from_str(&text(&delivery["body"])).unwrap_or_default();
        let cause = journal.iter().position(|entry| entry["id"] == delivery["request"]);
        let created = time(&delivery["createdAt"]);
        let read = |(n, attempt): (usize, &Value)| Self {
            at: time(&attempt["at"]),
            event,
            late: (n == 0).then(|| time(&attempt["at"]).duration_since(created)).filter(|by| !by.is_zero()),
            conversation: body["data"]["conversation_id"].as_str().map(str::to_owned),
            status: attempt["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
            error: text(&attempt["error"]),
            delivered: delivery["outcome"] == "delivered",
            cause: cause.map(|index| index + 1),
        };
        list(&delivery["tries"]).iter().enumerate().map(read).collect()
    }
}

/// What happened beside the requests.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Mail {
        from: String,
        text: String,
    },
    RunStarts(u32),
    RunEnds(u32, RunEnd),
    Approved(u32),
    TimePasses(u64),
    Sent {
        to: String,
        text: String,
    },
    Step(usize),
    /// A try to deliver a webhook, by its number.
    Try(usize),
    TroubleEnds,
}

/// Whether a step happened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fired {
    /// The first request that comes after it, or that it strikes.
    pub(super) at: Option<usize>,
    /// Whether it did anything.
    pub(super) effective: bool,
}

/// A schedule that was run.
#[derive(Debug, Clone)]
pub(super) struct Execution {
    pub(super) requests: Vec<AppRequest>,
    pub(super) tries: Vec<DeliveryTry>,
    /// Whether the app is a server.
    pub(super) server: bool,
    /// What happened beside them, each with the number of requests before it.
    pub(super) events: Vec<(usize, Event)>,
    pub(super) fired: Vec<Fired>,
    pub(super) runs: Vec<RunEnd>,
    pub(super) ends: Vec<End>,
    /// For each expectation of the scenario, why it was not met.
    pub(super) expectations: Vec<Option<String>>,
    pub(super) settled: bool,
    pub(super) rounds: u32,
    /// Rounds until the trouble ended.
    pub(super) troubled_rounds: u32,
}

impl Execution {
    pub(super) fn end_of(&self, mail: usize) -> Option<&End> {
        self.ends.iter().find(|end| end.mail == Some(mail))
    }

    pub(super) fn end_by(&self, customer: &str) -> Option<&End> {
        self.ends.iter().find(|end| end.mail.is_none() && end.customer == customer)
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct End {
    /// The mail of the scenario that started it.
    pub(super) mail: Option<usize>,
    pub(super) id: String,
    pub(super) customer: String,
    /// What the customer received, in order, without ids and times.
    pub(super) sent: Vec<String>,
    pub(super) status: String,
    pub(super) tags: Vec<String>,
    pub(super) assignee: String,
    /// Notes of the app.
    pub(super) notes: Vec<String>,
    /// What the app asked for.
    pub(super) documents: Vec<String>,
    /// Mails of the customer, without automatic ones.
    pub(super) mails: usize,
    /// Messages of the app that stand, drafts too, with their texts.
    pub(super) messages: Vec<String>,
    /// Messages of the app that are drafts.
    pub(super) drafts: Vec<String>,
    /// Whether a message of the app stands after the customer's last mail.
    pub(super) last_is_answered: bool,
    pub(super) risk: bool,
}

impl End {
    pub(super) fn read(mail: Option<usize>, view: &Value, outbox: &[Value], agent: &str) -> Self {
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

    /// What is compared, by the names of a scenario's `ignore`.
    pub(super) fn part(&self, name: &str) -> Vec<String> {
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

    /// Whether the app answered at all.
    pub(super) fn is_answered(&self) -> bool {
        !self.messages.is_empty()
    }
}

/// The time of a JSON value.
pub(super) fn time(value: &Value) -> Timestamp {
    serde_json::from_value(value.clone()).unwrap_or(Timestamp::from_millis(0))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text without what differs from run to run: ids, times, links.
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
