//! What several checks look at, made once by a session.

use serde_json::Value;

use super::{receiver::Delivery, reply::Reply, stop::Stop};

/// A conversation with one of everything, in a list and read.
#[derive(Debug)]
pub(super) struct Rich {
    pub(super) list: Reply,
    pub(super) read: Reply,
}

/// One conversation for each magic recipient of the sandbox, after mail was sent to it and time has passed.
#[derive(Debug)]
pub(super) struct MagicSends {
    pub(super) sends: Vec<MagicSend>,
}

/// Mail to one magic recipient.
#[derive(Debug)]
pub(super) struct MagicSend {
    pub(super) local: &'static str,
    pub(super) conversation: String,
    pub(super) message: String,
    pub(super) address: String,
    pub(super) sent: Reply,
    pub(super) read: Reply,
}

/// Everything that webhooks tell of, told to one receiver.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) got: Vec<Delivery>,
    pub(super) secret: String,
    /// The words of mails, notes and files that went through.
    pub(super) words: Vec<String>,
}

impl MagicSends {
    /// What was sent to this local part.
    pub(super) fn to(&self, local: &str) -> Result<&MagicSend, Stop> {
        let found = self.sends.iter().find(|send| send.local == local);
        found.ok_or_else(|| Stop::not_tried(format!("nothing was sent to {local}")))
    }
}

impl MagicSend {
    /// The status of the message, as the timeline shows it.
    pub(super) fn status(&self) -> Result<String, Stop> {
        let item = timeline(&self.read)?.into_iter().find(|it| it["id"] == self.message.as_str());
        let item = item.ok_or_else(|| self.read.differs(format!("{} in the timeline", self.message)))?;
        Ok(item["status"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) fn inbound(&self) -> Result<usize, Stop> {
        inbound(&self.read)
    }

    pub(super) fn must(&self, ok: bool, expected: &str) -> Result<(), Stop> {
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
        Err(Stop::differs(
            format!("a send to {} and its conversation afterwards", self.address),
            expected,
            shown.join(", "),
        ))
    }
}

/// The timeline of a conversation that was read.
pub(super) fn timeline(read: &Reply) -> Result<Vec<Value>, Stop> {
    let timeline = read.done()?["timeline"].as_array().cloned();
    timeline.ok_or_else(|| read.differs("an array in `timeline`"))
}

/// How many messages came in.
pub(super) fn inbound(read: &Reply) -> Result<usize, Stop> {
    Ok(timeline(read)?.iter().filter(|it| it["direction"] == "inbound").count())
}
