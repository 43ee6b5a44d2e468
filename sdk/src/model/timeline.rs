//! What happened in a conversation: messages, notes and events, oldest first.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use super::{constructors, shows, wire};
use crate::json::{self, Json};
use crate::text::Text;
use crate::{Direction, MessageId, MessageStatus, NoteId, Timestamp};

/// One item of a timeline.
///
/// ```
/// use shared_inbox::TimelineItem;
/// let item: TimelineItem = serde_json::from_str(r#"{"type":"poll","question":"?"}"#)?;
/// assert!(matches!(item, TimelineItem::Unknown(_)), "a kind that is not known yet is kept, not refused");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum TimelineItem {
    /// An email that came or went, or is meant to go.
    Message(Message),
    /// An internal note.
    Note(Note),
    /// Something that was done.
    Event(TimelineEvent),
    /// An item of a type that this version does not know, as it came.
    Unknown(Json),
}

impl TimelineItem {
    /// Returns the message, if it is one.
    pub fn as_message(&self) -> Option<&Message> {
        if let TimelineItem::Message(message) = self { Some(message) } else { None }
    }

    /// Returns the note, if it is one.
    pub fn as_note(&self) -> Option<&Note> {
        if let TimelineItem::Note(note) = self { Some(note) } else { None }
    }

    /// Returns the event, if it is one.
    pub fn as_event(&self) -> Option<&TimelineEvent> {
        if let TimelineItem::Event(event) = self { Some(event) } else { None }
    }
}

impl fmt::Debug for TimelineItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineItem::Message(message) => message.fmt(f),
            TimelineItem::Note(note) => note.fmt(f),
            TimelineItem::Event(event) => event.fmt(f),
            TimelineItem::Unknown(_) => f.write_str("Unknown(..)"),
        }
    }
}

impl Serialize for TimelineItem {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            r#type: &'static str,
            #[serde(flatten)]
            item: &'a T,
        }
        match self {
            TimelineItem::Message(item) => Tagged { r#type: "message", item }.serialize(s),
            TimelineItem::Note(item) => Tagged { r#type: "note", item }.serialize(s),
            TimelineItem::Event(item) => Tagged { r#type: "event", item }.serialize(s),
            TimelineItem::Unknown(raw) => raw.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for TimelineItem {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ItemVisitor)
    }
}

/// Returns the rest of an item, its type being known.
fn fields<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

/// Reads an item in one pass where its type comes first, as the service writes it; otherwise keeps its fields
/// until its type is known.
struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = TimelineItem;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item of a timeline")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TimelineItem, A::Error> {
        let mut item = Vec::new();
        while let Some(Text(name)) = map.next_key()? {
            let value: Box<RawValue> = map.next_value()?;
            if name == "type" && item.is_empty() {
                match value.get() {
                    r#""message""# => return fields(map).map(TimelineItem::Message),
                    r#""note""# => return fields(map).map(TimelineItem::Note),
                    r#""event""# => return fields(map).map(TimelineItem::Event),
                    _ => {}
                }
            }
            item.push((name, value));
        }
        let item = Json::object_of(&item);
        match item.get("type").as_ref().and_then(Value::as_str) {
            Some("message") => item.parse().map(TimelineItem::Message),
            Some("note") => item.parse().map(TimelineItem::Note),
            Some("event") => item.parse().map(TimelineItem::Event),
            _ => Ok(TimelineItem::Unknown(item)),
        }
        .map_err(A::Error::custom)
    }

    fn visit_bool<E: serde::de::Error>(self, v: bool) -> Result<TimelineItem, E> {
        self.unknown(v)
    }
    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<TimelineItem, E> {
        self.unknown(v)
    }
    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<TimelineItem, E> {
        self.unknown(v)
    }
    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<TimelineItem, E> {
        self.unknown(v)
    }
    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<TimelineItem, E> {
        self.unknown(v)
    }
    fn visit_unit<E: serde::de::Error>(self) -> Result<TimelineItem, E> {
        self.unknown(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TimelineItem, A::Error> {
        self.unknown(Vec::<Value>::deserialize(SeqAccessDeserializer::new(seq))?)
    }
}

impl ItemVisitor {
    fn unknown<E>(self, value: impl Into<Value>) -> Result<TimelineItem, E> {
        Ok(TimelineItem::Unknown(value.into().into()))
    }
}

#[cfg(feature = "__schemas")]
impl schemars::JsonSchema for TimelineItem {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimelineItem".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let tagged = |word: &str, schema: schemars::Schema| {
            schemars::json_schema!({
                "allOf": [schema],
                "properties": { "type": { "type": "string", "const": word } },
                "required": ["type"],
            })
        };
        let (message, note, event) = (
            generator.subschema_for::<Message>(),
            generator.subschema_for::<Note>(),
            generator.subschema_for::<TimelineEvent>(),
        );
        // As open as the type: a strict reader of the schema must not refuse what `Unknown` keeps.
        let other = schemars::json_schema!({
            "properties": { "type": { "not": { "enum": ["message", "note", "event"] } } },
        });
        schemars::json_schema!({
            "description": "A message, a note or an event. More types may come.",
            "oneOf": [tagged("message", message), tagged("note", note), tagged("event", event), other],
        })
    }
}

wire! {
    /// An email in a conversation.
    pub struct Message {
        /// The message's id.
        pub id: MessageId,
        /// The time at which it was received or written.
        pub at: Timestamp,
        /// Inbound from the customer or outbound to them.
        pub direction: Direction,
        /// The sender.
        pub from: Sender,
        /// The progress of an outbound message; `None` for an inbound one.
        pub status: Option<MessageStatus>,
        /// Its plain text without quoted history, cut after 8,000 characters.
        pub text: String,
        /// The files attached to it.
        pub attachments: Vec<Attachment>,
    }

    /// The sender of a message.
    pub struct Sender {
        /// The name, if known.
        pub name: Option<String>,
        /// The address.
        pub email: String,
    }

    /// A file that came with a message.
    pub struct Attachment {
        /// The file's name.
        pub filename: String,
        /// Its media type.
        pub content_type: String,
        /// Its size in bytes.
        pub size: u64,
    }

    /// An internal note: seen by the team, never by the customer.
    pub struct Note {
        /// The note's id.
        pub id: NoteId,
        /// The time at which it was written.
        pub at: Timestamp,
        /// The name of the one who wrote it.
        pub author: String,
        /// Its text.
        pub body: String,
    }

    /// Something that was done to a conversation.
    ///
    /// ```
    /// let event: shared_inbox::TimelineEvent = serde_json::from_str(
    ///     r#"{"at":"2026-03-01T09:30:00.000Z","actor":"Anna","event":"status","data":{"from":"open","to":"closed"}}"#)?;
    /// assert_eq!((event.event.as_str(), event.data.get("to")), ("status", Some("closed".into())));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct TimelineEvent {
        /// The time of the event.
        pub at: Timestamp,
        /// The name of the one who did it.
        pub actor: String,
        /// The name of the event, such as `assigned` or `status`; new names may come.
        pub event: String,
        /// More about it; what is in it depends on the event.
        #[serde(deserialize_with = "json::object")]
        #[cfg_attr(feature = "__schemas", schemars(with = "serde_json::Map<String, Value>"))]
        pub data: Json,
    }
}

constructors! {
    Message(id: MessageId, at: Timestamp, direction: Direction, from: Sender, text: impl Into<String>) {
        status: None, attachments: Vec::new()
    };
    Sender(email: impl Into<String>) { name: None };
    Attachment(filename: impl Into<String>, content_type: impl Into<String>, size: u64);
    Note(id: NoteId, at: Timestamp, author: impl Into<String>, body: impl Into<String>);
    TimelineEvent(at: Timestamp, actor: impl Into<String>, event: impl Into<String>, data: impl Into<Json>);
}

shows! {
    Message: id at direction status;
    Sender: ;
    Attachment: size;
    Note: id at;
    TimelineEvent: at event;
}
