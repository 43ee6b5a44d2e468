//! A conversation as a read gives it, written straight from the world's data without copying it first.

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::value::RawValue;
use shared_inbox::{ActorId, Contact, ConversationId, Json, Status, Timestamp, Urgency, limits};

use super::Item;
use crate::world::{Result, ServiceResponse, World, people::kind_of};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reading<'a> {
    id: &'a ConversationId,
    subject: &'a str,
    status: &'a Status,
    contact: &'a Contact,
    mailbox: &'a str,
    last_message_at: Timestamp,
    assignee: Option<ShownAssignee<'a>>,
    tags: &'a [String],
    topic: Option<&'a str>,
    urgency: Option<&'a Urgency>,
    risk: Option<&'a str>,
    risk_reasons: &'a [String],
    snoozed_until: Option<Timestamp>,
    timeline: Timeline<'a>,
    team: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_sent: Option<AppSent<'a>>,
}

/// Who has a conversation.
#[derive(Serialize)]
pub(in crate::world) struct ShownAssignee<'a> {
    id: &'a ActorId,
    name: &'a str,
    r#type: shared_inbox::ActorType,
}

/// A recorded mail as a conversation shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppSent<'a> {
    message_id: &'a str,
    reference: &'a str,
    to: &'a [String],
    subject: &'a str,
    text: Option<&'a str>,
    html: Option<&'a str>,
    recorded_at: Timestamp,
}

struct Timeline<'a>(&'a [Item]);

impl Serialize for Timeline<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.0.iter().map(Shown))
    }
}

struct Shown<'a>(&'a Item);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Item::Message(message) => {
                let mut out = s.serialize_struct("message", 8)?;
                out.serialize_field("type", "message")?;
                out.serialize_field("id", &message.id)?;
                out.serialize_field("at", &message.at)?;
                out.serialize_field("direction", &message.direction)?;
                out.serialize_field("from", &message.from)?;
                out.serialize_field("status", &message.status)?;
                out.serialize_field("text", start(&message.text, limits::MESSAGE_TEXT))?;
                out.serialize_field("attachments", &message.attachments)?;
                out.end()
            }
            Item::Note(note) => {
                let mut out = s.serialize_struct("note", 5)?;
                out.serialize_field("type", "note")?;
                out.serialize_field("id", &note.id)?;
                out.serialize_field("at", &note.at)?;
                out.serialize_field("author", &note.author)?;
                out.serialize_field("body", &note.body)?;
                out.end()
            }
            Item::Event(event) => {
                let mut out = s.serialize_struct("event", 5)?;
                out.serialize_field("type", "event")?;
                out.serialize_field("at", &event.at)?;
                out.serialize_field("actor", &event.actor)?;
                out.serialize_field("event", &event.event)?;
                out.serialize_field("data", &as_it_stands(&event.data))?;
                out.end()
            }
        }
    }
}

/// JSON that is kept as text.
fn as_it_stands(json: &Json) -> Option<&RawValue> {
    serde_json::from_str(json.as_str()).ok()
}

/// The first `most` characters.
pub(in crate::world) fn start(text: &str, most: usize) -> &str {
    // A text of so many bytes has no more characters: most texts need no counting.
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

impl World {
    pub(in crate::world) fn shown_assignee<'a>(
        &'a self,
        who: Option<&'a ActorId>,
    ) -> Option<ShownAssignee<'a>> {
        let show = |id| ShownAssignee { id, name: self.name_of(id).unwrap_or_default(), r#type: kind_of(id) };
        who.map(show)
    }

    pub(in crate::world) fn read_conversation(&self, at: usize) -> Result<ServiceResponse> {
        ServiceResponse::json(200, &self.reading(at))
    }

    /// The conversation as a read gives it.
    fn reading(&self, at: usize) -> Reading<'_> {
        let thread = &self.conversations[at];
        let mailbox = self.index.places[at].mailbox;
        let livemode = !self.mailboxes[mailbox].sandbox;
        let reasons = thread.risk_reasons.len().min(limits::RISK_REASONS);
        Reading {
            id: &thread.id,
            subject: &thread.subject,
            status: &thread.status,
            contact: &thread.contact,
            mailbox: &self.mailboxes[mailbox].address,
            last_message_at: thread.last_message_at(),
            assignee: self.shown_assignee(thread.assignee.as_ref()),
            tags: &thread.tags,
            topic: thread.topic.as_deref(),
            urgency: thread.urgency.as_ref(),
            risk: thread.risk.as_deref(),
            risk_reasons: &thread.risk_reasons[..reasons],
            snoozed_until: thread.snoozed_until,
            timeline: Timeline(&thread.timeline),
            team: &self.index.teams[mailbox],
            reference: thread.reference.as_deref(),
            app_sent: thread.app_sent.as_deref().and_then(|id| self.app_sent(livemode, id)),
        }
    }

    fn app_sent(&self, livemode: bool, message_id: &str) -> Option<AppSent<'_>> {
        self.app_mail.find(livemode, message_id).map(|mail| AppSent {
            message_id: &mail.message_id,
            reference: &mail.reference,
            to: &mail.to,
            subject: &mail.subject,
            text: mail.text.as_deref(),
            html: mail.html.as_deref(),
            recorded_at: mail.recorded_at,
        })
    }
}
