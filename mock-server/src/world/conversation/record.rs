//! Conversations and messages as the world stores them.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};
use shared_inbox::{
    ActorId, Attachment, Contact, ConversationId, Direction, DocumentRequestId, MailboxId, MessageId,
    MessageStatus, Note, Sender, Status, TimelineEvent, Timestamp, Turn, Urgency,
};

/// A conversation.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConversationRecord {
    /// Its id.
    pub id: ConversationId,
    /// The inbox that it is in.
    pub mailbox: MailboxId,
    /// Its subject.
    pub subject: String,
    /// The customer.
    pub contact: Contact,
    /// Its status.
    #[serde(default = "default_status")]
    pub status: Status,
    /// Whose turn it is.
    pub turn: Option<Turn>,
    /// The assignee.
    pub assignee: Option<ActorId>,
    /// Names of its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The topic that the sorting helper gave it.
    pub topic: Option<String>,
    /// How urgent it is.
    pub urgency: Option<Urgency>,
    /// A warning.
    pub risk: Option<String>,
    /// Reasons for the warning.
    #[serde(default)]
    pub risk_reasons: Vec<String>,
    /// The end of its snooze.
    pub snoozed_until: Option<Timestamp>,
    /// The app's reference.
    pub reference: Option<String>,
    /// Message-ID of the recorded app email that it replies to.
    pub app_sent: Option<String>,
    /// What happened, oldest first.
    #[serde(deserialize_with = "shrunk_timeline")]
    pub timeline: Vec<Item>,
}

/// Reads a timeline without spare capacity, which would be half of the memory of a large world.
fn shrunk_timeline<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Item>, D::Error> {
    let mut items = Vec::deserialize(d)?;
    items.shrink_to_fit();
    Ok(items)
}

fn default_status() -> Status {
    Status::Open
}

redacted_debug!(ConversationRecord { id, mailbox, status, turn });

/// One item of a timeline.
// Most items are messages: boxing them would cost an allocation each and save little memory.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Item {
    /// An email.
    Message(MessageRecord),
    /// An internal note.
    Note(Note),
    /// Something that was done.
    Event(TimelineEvent),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Message,
    Note,
    Event,
}

impl ItemKind {
    fn read<'de, D: Deserializer<'de>>(self, d: D) -> Result<Item, D::Error> {
        Ok(match self {
            ItemKind::Message => Item::Message(MessageRecord::deserialize(d)?),
            ItemKind::Note => Item::Note(Note::deserialize(d)?),
            ItemKind::Event => Item::Event(TimelineEvent::deserialize(d)?),
        })
    }
}

// The derived implementation would buffer every item until it knows its type. The type is written first, so
// an item can be read without a buffer.
impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Item;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item of a timeline")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
                let mut before = Map::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "type" && before.is_empty() {
                        return map.next_value::<ItemKind>()?.read(MapAccessDeserializer::new(map));
                    }
                    before.insert(name, map.next_value()?);
                }
                let kind = before.remove("type").ok_or_else(|| A::Error::missing_field("type"))?;
                let kind = ItemKind::deserialize(kind).map_err(A::Error::custom)?;
                kind.read(Value::Object(before)).map_err(A::Error::custom)
            }
        }
        d.deserialize_map(Fields)
    }
}

/// An email as the world keeps it: with its whole text, and what only the service knows of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageRecord {
    /// Its id.
    pub id: MessageId,
    /// When it came or was written.
    pub at: Timestamp,
    /// Its direction.
    pub direction: Direction,
    /// Who wrote it.
    pub from: Sender,
    /// Its status; none for incoming mail.
    pub status: Option<MessageStatus>,
    /// Its text without quoted history, uncut.
    pub text: String,
    /// Its attachments.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// Who on the team wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<ActorId>,
    /// The line for the person who approves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_at: Option<Timestamp>,
    /// The document request that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<DocumentRequestId>,
    /// Whether the drafting helper wrote it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub helper: bool,
    /// Whether it bounces when it is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bounces: bool,
    /// Whether it was written on a secure page or goes as a secure link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secure: bool,
}

redacted_debug!(MessageRecord { id, at, direction, status });

impl MessageRecord {
    /// Returns an outgoing email.
    pub(crate) fn outbound(id: MessageId, at: Timestamp, from: Sender, text: String) -> Self {
        Self {
            id,
            at,
            direction: Direction::Outbound,
            from,
            status: None,
            text,
            attachments: Vec::new(),
            author: None,
            summary: None,
            sends_at: None,
            request: None,
            helper: false,
            bounces: false,
            secure: false,
        }
    }
}

impl Item {
    /// Returns when it happened.
    pub fn at(&self) -> Timestamp {
        match self {
            Item::Message(message) => message.at,
            Item::Note(note) => note.at,
            Item::Event(event) => event.at,
        }
    }

    /// Something that was done.
    pub(crate) fn event<const N: usize>(
        at: Timestamp,
        actor: &str,
        event: &str,
        data: [(&str, Value); N],
    ) -> Self {
        let data: Map<_, _> = data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Item::Event(TimelineEvent::new(at, actor, event, data))
    }
}

impl ConversationRecord {
    /// Returns its messages, oldest first.
    pub(crate) fn messages(&self) -> impl DoubleEndedIterator<Item = &MessageRecord> {
        self.timeline.iter().filter_map(|item| if let Item::Message(m) = item { Some(m) } else { None })
    }

    /// Returns the time of the latest message, or of the conversation's begin.
    pub(crate) fn last_message_at(&self) -> Timestamp {
        let message = self.messages().next_back().map(|message| message.at);
        message.or_else(|| self.timeline.first().map(Item::at)).unwrap_or(Timestamp::from_millis(0))
    }

    /// Returns whether this is the customer's address, or that of an incoming message.
    pub(crate) fn has(&self, address: &str) -> bool {
        let same = |there: &str| there.eq_ignore_ascii_case(address);
        self.contact.email.as_deref().is_some_and(same)
            || self.messages().any(|m| m.direction == Direction::Inbound && same(&m.from.email))
    }
}
