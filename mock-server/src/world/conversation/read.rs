//! A conversation as a read shows it, written straight from the world's data without copying it first.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use shared_inbox::{
    __spec::limits, Assignee, Attachment, Contact, ConversationId, Direction, MessageId, MessageStatus, Note,
    Sender, Status, Timestamp, Urgency,
};

use super::Item;
use crate::world::{Result, ServiceResponse, World};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownConversation<'a> {
    id: &'a ConversationId,
    subject: &'a str,
    status: &'a Status,
    contact: &'a Contact,
    mailbox: &'a str,
    last_message_at: Timestamp,
    assignee: Option<Assignee>,
    tags: &'a [String],
    topic: Option<&'a str>,
    urgency: Option<&'a Urgency>,
    risk: Option<&'a str>,
    risk_reasons: &'a [String],
    snoozed_until: Option<Timestamp>,
    #[serde(serialize_with = "timeline")]
    timeline: &'a [Item],
    team: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_sent: Option<ShownAppMail<'a>>,
}

/// A recorded email as a conversation shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAppMail<'a> {
    message_id: &'a str,
    reference: &'a str,
    to: &'a [String],
    subject: &'a str,
    text: Option<&'a str>,
    html: Option<&'a str>,
    recorded_at: Timestamp,
}

/// An item of the timeline without what only the service knows of it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ShownItem<'a> {
    Message {
        id: &'a MessageId,
        at: Timestamp,
        direction: &'a Direction,
        from: &'a Sender,
        status: Option<&'a MessageStatus>,
        text: &'a str,
        attachments: &'a [Attachment],
    },
    Note(&'a Note),
    Event {
        at: Timestamp,
        actor: &'a str,
        event: &'a str,
        data: Option<&'a RawValue>,
    },
}

impl<'a> From<&'a Item> for ShownItem<'a> {
    fn from(item: &'a Item) -> Self {
        match item {
            Item::Message(message) => ShownItem::Message {
                id: &message.id,
                at: message.at,
                direction: &message.direction,
                from: &message.from,
                status: message.status.as_ref(),
                text: start(&message.text, limits::MESSAGE_TEXT),
                attachments: &message.attachments,
            },
            Item::Note(note) => ShownItem::Note(note),
            Item::Event(event) => ShownItem::Event {
                at: event.at,
                actor: &event.actor,
                event: &event.event,
                // Written as it is stored, without reading it.
                data: serde_json::from_str(event.data.as_str()).ok(),
            },
        }
    }
}

fn timeline<S: Serializer>(items: &&[Item], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(items.iter().map(ShownItem::from))
}

/// Returns the first `max` characters.
pub(crate) fn start(text: &str, max: usize) -> &str {
    // A text has no more characters than bytes: most texts need no counting.
    if text.len() <= max {
        return text;
    }
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

impl World {
    pub(crate) fn read_conversation(&self, at: usize) -> Result<ServiceResponse> {
        let thread = &self.conversations[at];
        let mailbox = self.index.positions[at].mailbox;
        let livemode = !self.mailboxes[mailbox].sandbox;
        let reasons = thread.risk_reasons.len().min(limits::RISK_REASONS);
        let app_sent = thread.app_sent.as_deref().and_then(|id| self.app_mail.find(livemode, id));
        let shown = ShownConversation {
            id: &thread.id,
            subject: &thread.subject,
            status: &thread.status,
            contact: &thread.contact,
            mailbox: &self.mailboxes[mailbox].address,
            last_message_at: thread.last_message_at(),
            assignee: thread.assignee.as_ref().map(|who| self.assignee(who)),
            tags: &thread.tags,
            topic: thread.topic.as_deref(),
            urgency: thread.urgency.as_ref(),
            risk: thread.risk.as_deref(),
            risk_reasons: &thread.risk_reasons[..reasons],
            snoozed_until: thread.snoozed_until,
            timeline: &thread.timeline,
            team: &self.index.teams[mailbox],
            reference: thread.reference.as_deref(),
            app_sent: app_sent.map(|mail| ShownAppMail {
                message_id: &mail.message_id,
                reference: &mail.reference,
                to: &mail.to,
                subject: &mail.subject,
                text: mail.text.as_deref(),
                html: mail.html.as_deref(),
                recorded_at: mail.recorded_at,
            }),
        };
        ServiceResponse::json(200, &shown)
    }
}
