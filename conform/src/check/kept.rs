//! What several checks look at, made once by a session.

use serde_json::Value;

use crate::{early_end::EarlyEnd, wire::receiver::ReceivedWebhook, wire::reply::Reply};

/// A conversation with one of everything, in a list and read.
#[derive(Debug)]
pub(crate) struct Rich {
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
    pub(crate) sent: Reply,
    pub(crate) read: Reply,
}

/// Everything that webhooks tell of, told to one receiver.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) got: Vec<ReceivedWebhook>,
    pub(crate) secret: String,
    /// The words of mails, notes and files that went through.
    pub(crate) words: Vec<String>,
}

impl MagicSends {
    /// Returns what was sent to this local part.
    pub(crate) fn to(&self, local: &str) -> Result<&MagicSend, EarlyEnd> {
        let found = self.sends.iter().find(|send| send.local == local);
        found.ok_or_else(|| EarlyEnd::not_tried(format!("nothing was sent to {local}")))
    }
}

impl MagicSend {
    /// Returns the status of the message, as the timeline shows it.
    pub(crate) fn status(&self) -> Result<String, EarlyEnd> {
        let item = timeline(&self.read)?.into_iter().find(|it| it["id"] == self.message.as_str());
        let item = item.ok_or_else(|| self.read.differs(format!("{} in the timeline", self.message)))?;
        Ok(item["status"].as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn inbound(&self) -> Result<usize, EarlyEnd> {
        inbound(&self.read)
    }

    pub(crate) fn must(&self, ok: bool, expected: &str) -> Result<(), EarlyEnd> {
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
        Err(EarlyEnd::differs(
            format!("a send to {} and its conversation afterwards", self.address),
            expected,
            shown.join(", "),
        ))
    }
}

/// Returns the timeline of a conversation that was read.
pub(crate) fn timeline(read: &Reply) -> Result<Vec<Value>, EarlyEnd> {
    let timeline = read.done()?["timeline"].as_array().cloned();
    timeline.ok_or_else(|| read.differs("an array in `timeline`"))
}

/// Returns how many messages came in.
pub(crate) fn inbound(read: &Reply) -> Result<usize, EarlyEnd> {
    Ok(timeline(read)?.iter().filter(|it| it["direction"] == "inbound").count())
}
