//! What several checks look at, made once by a session.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{rule_abort::RuleAbort, wire::receiver::ReceivedWebhook, wire::reply::Reply};

/// What a field is looked for in.
pub(crate) struct Found {
    pub(crate) reply: Reply,
    pub(crate) items: Vec<Value>,
}

impl Found {
    /// Returns a field of the first item; null when there is none.
    pub(crate) fn first(&self, name: &str) -> &Value {
        self.items.first().and_then(|item| item.get(name)).unwrap_or(&Value::Null)
    }
}

/// A conversation with one of everything, in a list and read.
#[derive(Debug)]
pub(crate) struct PopulatedConversation {
    pub(crate) list: Reply,
    pub(crate) read: Reply,
}

/// One conversation for each magic recipient of the sandbox, after mail was sent to it and time has passed.
#[derive(Debug)]
pub(crate) struct MagicSends {
    pub(crate) sends: Vec<MagicSend>,
}

/// Mail to one magic recipient.
#[derive(Debug)]
pub(crate) struct MagicSend {
    pub(crate) local: &'static str,
    pub(crate) conversation: String,
    pub(crate) message: String,
    pub(crate) address: String,
    pub(crate) read: Reply,
}

/// Everything that webhooks tell of, told to one receiver.
#[derive(Debug)]
pub(crate) struct WebhookScenario {
    pub(crate) got: Vec<ReceivedWebhook>,
    pub(crate) secret: String,
    /// The words of mails, notes and files that went through.
    pub(crate) words: Vec<String>,
    /// The control calls that it took.
    pub(crate) control_calls: BTreeSet<String>,
}

impl MagicSends {
    /// Returns what was sent to this local part.
    pub(crate) fn to(&self, local: &str) -> Result<&MagicSend, RuleAbort> {
        let found = self.sends.iter().find(|send| send.local == local);
        found.ok_or_else(|| RuleAbort::failed(format!("a fault of this suite: nothing was sent to {local}")))
    }
}

impl MagicSend {
    /// Returns the status of the message, as the timeline shows it.
    pub(crate) fn status(&self) -> Result<String, RuleAbort> {
        let item = timeline(&self.read)?.into_iter().find(|it| it["id"] == self.message.as_str());
        let item = item.ok_or_else(|| self.read.differs(format!("{} in the timeline", self.message)))?;
        Ok(item["status"].as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn inbound(&self) -> Result<usize, RuleAbort> {
        inbound(&self.read)
    }

    pub(crate) fn must(&self, ok: bool, expected: &str) -> Result<(), RuleAbort> {
        if ok {
            return Ok(());
        }
        let items = timeline(&self.read)?;
        let shown: Vec<String> = items
            .iter()
            .map(|it| match it["type"].as_str() {
                Some("message") => format!("{} message {}", it["direction"], it["status"]),
                Some("event") => format!("event {}", it["event"]),
                other => other.unwrap_or("unknown").to_owned(),
            })
            .collect();
        Err(RuleAbort::differs(
            format!("a send to {} and its conversation afterwards", self.address),
            expected,
            shown.join(", "),
        ))
    }
}

/// Returns the timeline of a conversation that was read.
pub(crate) fn timeline(read: &Reply) -> Result<Vec<Value>, RuleAbort> {
    let timeline = read.done()?["timeline"].as_array().cloned();
    timeline.ok_or_else(|| read.differs("an array in `timeline`"))
}

/// Returns how many messages came in.
pub(crate) fn inbound(read: &Reply) -> Result<usize, RuleAbort> {
    Ok(timeline(read)?.iter().filter(|it| it["direction"] == "inbound").count())
}

/// Returns the id of a document request, which a response may leave out; then nobody can upload here.
pub(crate) fn request_id(made: &Value) -> Result<String, RuleAbort> {
    let id = made["requestId"].as_str().map(str::to_owned);
    id.ok_or_else(|| RuleAbort::left_out("the service's response leaves out the optional `requestId`"))
}
