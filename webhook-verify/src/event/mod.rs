//! Webhook events: the envelope and the ten kinds.
//!
//! Events are thin: ids and a one-line summary, never an email's words. New fields may come at any time and
//! are ignored. Whatever has an id is a value and not an error: a new kind, a new version or a changed shape
//! of a known one is [`EventKind::Unknown`], a field of the envelope that is missing or changed is `None`,
//! and [`Event::raw`] keeps the JSON and says what did not fit. An envelope that names a field twice is an
//! error.

mod data;
mod macros;
mod read;

use std::fmt;

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{Map, Value};
use shared_inbox::{EventId, Json, Timestamp, WorkspaceId};

use macros::{constructors, shows};

pub use data::{
    AskCompleted, Booking, ClientReplied, ConversationAssigned, DraftApproved, EventActor, EventAssignee,
    EventAuthor, EventDrafter, MessageSent, ScoutHeld, TurnChanged, WebhookTest,
};

/// A webhook event.
///
/// ```
/// use shared_inbox_webhooks::event::{Event, EventKind};
/// let event: Event = serde_json::from_str(r#"{
///     "id": "evt_1", "type": "scout.held", "version": 1, "created_at": "2026-03-01T09:30:00.000Z",
///     "workspace": "wsp_1", "livemode": true,
///     "data": {"summary": "A likely scam was held", "conversation_id": "cnv_1"}
/// }"#)?;
/// match &event.kind {
///     EventKind::ScoutHeld(held) => assert_eq!(held.conversation_id.as_str(), "cnv_1"),
///     other => println!("nothing to do for {}", other.event_type()),
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The same on every attempt to deliver the event.
    pub id: EventId,
    /// 1 for every event today; another number means a breaking change of the kind.
    pub version: Option<u64>,
    /// The time at which it happened.
    pub created_at: Option<Timestamp>,
    /// The workspace it belongs to.
    pub workspace: Option<WorkspaceId>,
    /// `false` for the sandbox.
    pub livemode: Option<bool>,
    /// One line on what happened.
    pub summary: String,
    /// The conversation in the app.
    pub url: Option<String>,
    /// The kind of event, with its data.
    pub kind: EventKind,
    /// The JSON as it came, when not all of it is in the other fields: for a kind or version that is not
    /// known here, for an event that is not as documented, and for one with half a surrogate pair in its
    /// text, which the other fields have as U+FFFD.
    pub raw: Option<Box<RawEvent>>,
}

impl Event {
    /// Creates an event of version 1, for a test or for a program that plays the service. What is not an
    /// argument is empty and can be set afterwards; so it is with the data of each kind.
    ///
    /// ```
    /// use shared_inbox_webhooks::event::{ClientReplied, Event, EventKind};
    ///
    /// let data = ClientReplied::new("cnv_1".parse()?, "msg_1".parse()?, "mbx_1".parse()?);
    /// let mut event = Event::new("evt_1".parse()?, EventKind::ClientReplied(data));
    /// event.created_at = Some("2026-03-01T09:30:00Z".parse()?);
    /// event.workspace = Some("wsp_1".parse()?);
    /// event.livemode = Some(false);
    /// event.summary = "A customer wrote back".into();
    /// // What a webhook delivers is its JSON.
    /// assert_eq!(serde_json::from_str::<Event>(&serde_json::to_string(&event)?)?, event);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(id: EventId, kind: EventKind) -> Self {
        let (version, summary) = (Some(1), String::new());
        let (created_at, workspace, livemode, url, raw) = (None, None, None, None, None);
        Self { id, version, created_at, workspace, livemode, summary, url, kind, raw }
    }

    /// Returns what is missing or of another form than documented; empty for nearly every event.
    ///
    /// ```
    /// let event: shared_inbox_webhooks::event::Event = serde_json::from_str(r#"{"id": "evt_1", "type": "scout.held", "version": 1,
    ///     "created_at": "2026-03-01T09:30:00.000Z", "workspace": "wsp_1", "livemode": true,
    ///     "data": {"summary": "A likely scam was held", "conversation_id": 7}}"#)?;
    /// assert_eq!(event.malformed_fields()[0].to_string(), "`data.conversation_id` is of another form");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn malformed_fields(&self) -> &[MalformedField] {
        self.raw.as_ref().map_or(&[], |raw| &raw.malformed_fields)
    }
}

/// An event as it came.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RawEvent {
    /// The whole envelope, byte for byte.
    pub json: Json,
    /// The fields that are not as documented.
    pub malformed_fields: Vec<MalformedField>,
}

/// A field of an event that is not as documented.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MalformedField {
    /// The path of the field, such as `data.assigned_by.name`.
    pub field: String,
    /// Whether it is not there at all.
    pub missing: bool,
}

impl fmt::Display for MalformedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.field, if self.missing { "missing" } else { "of another form" })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($data:ident) = $name:literal,)*) => {
        /// The kind of an event, with its data.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $variant($data),)*
            /// A kind, a version or a shape of a kind that is not known here.
            Unknown(UnknownEvent),
        }

        impl EventKind {
            /// The names of all kinds that this version knows.
            pub const TYPES: &'static [&'static str] = &[$($name),*];

            /// Returns the event's name, such as `client.replied`.
            pub fn event_type(&self) -> &str {
                match self {
                    $(EventKind::$variant(_) => $name,)*
                    EventKind::Unknown(unknown) => &unknown.event_type,
                }
            }

            /// Returns the JSON Schema of an event of each kind, by its name, and the parts that they share,
            /// which they name by `path`.
            #[cfg(feature = "__schemas")]
            pub fn schemas(path: &str) -> (Vec<(&'static str, Value)>, Map<String, Value>) {
                let mut generator = shared_inbox::__spec::answers(path);
                let kinds = vec![$(($name, schema_of::<$data>($name, &mut generator))),*];
                let mut parts = generator.take_definitions(true);
                parts.insert(COMMON.to_owned(), common());
                (kinds, parts)
            }

            /// Returns the event of this kind with this data. Nothing for a kind or version that is not known
            /// here.
            fn read(event_type: &str, version: Option<u64>, data: &str) -> Option<Result<Self, MalformedField>> {
                match event_type {
                    $($name if version == Some(1) => Some(read::data(data).map(EventKind::$variant)),)*
                    _ => None,
                }
            }

            fn data(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $(EventKind::$variant(data) => serde_json::to_value(data),)*
                    EventKind::Unknown(unknown) => unknown.data.parse(),
                }
            }
        }
    };
}

kinds! {
    /// A customer has uploaded everything that was requested.
    AskCompleted(AskCompleted) = "ask.completed",
    /// Someone wrote back.
    ClientReplied(ClientReplied) = "client.replied",
    /// A conversation was assigned to someone or to nobody.
    ConversationAssigned(ConversationAssigned) = "conversation.assigned",
    /// It is another side's turn.
    TurnChanged(TurnChanged) = "turn.changed",
    /// A person approved a draft.
    DraftApproved(DraftApproved) = "draft.approved",
    /// An email went out.
    MessageSent(MessageSent) = "message.sent",
    /// Someone booked a time.
    BookingCreated(Booking) = "booking.created",
    /// A booking was cancelled.
    BookingCancelled(Booking) = "booking.cancelled",
    /// The sorting helper held a likely scam.
    ScoutHeld(ScoutHeld) = "scout.held",
    /// Someone pressed "send test event".
    WebhookTest(WebhookTest) = "webhook.test",
}

/// An event of a kind, version or shape that is not known here. [`Event::raw`] has all of it.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// Its name; empty when it has none.
    pub event_type: String,
    /// All of its data, summary and url included, byte for byte; null when there is none.
    pub data: Json,
}

/// The envelope as it is written.
#[derive(Serialize)]
#[cfg_attr(feature = "__schemas", derive(schemars::JsonSchema), schemars(rename = "Event"))]
struct Envelope<'a> {
    /// The same on every attempt to deliver the event.
    id: &'a EventId,
    /// The kind of event.
    #[serde(rename = "type")]
    event_type: &'a str,
    /// 1 for every event today; another number means a breaking change of the kind.
    #[cfg_attr(feature = "__schemas", schemars(with = "u32"))]
    version: Option<u64>,
    /// The time at which it happened.
    #[cfg_attr(feature = "__schemas", schemars(with = "Timestamp"))]
    created_at: Option<Timestamp>,
    /// The workspace it belongs to.
    #[cfg_attr(feature = "__schemas", schemars(with = "WorkspaceId"))]
    workspace: Option<&'a WorkspaceId>,
    /// `false` for the sandbox.
    #[cfg_attr(feature = "__schemas", schemars(with = "bool"))]
    livemode: Option<bool>,
    /// The data of its kind.
    data: Map<String, Value>,
}

/// Returns the envelope, with the data of one kind in it.
#[cfg(feature = "__schemas")]
fn schema_of<T: schemars::JsonSchema>(name: &str, generator: &mut schemars::SchemaGenerator) -> Value {
    let (envelope, data) = (generator.subschema_for::<Envelope<'static>>(), generator.subschema_for::<T>());
    let common = format!("#{}/{COMMON}", generator.settings().definitions_path);
    serde_json::json!({ "allOf": [envelope, {
        "type": "object",
        "properties": {
            "type": { "const": name },
            "version": { "const": 1 },
            "data": { "allOf": [{ "$ref": common }, data] },
        },
    }] })
}

#[cfg(feature = "__schemas")]
const COMMON: &str = "EventData";

/// Returns what every `data` has besides the fields of its kind.
#[cfg(feature = "__schemas")]
fn common() -> Value {
    serde_json::json!({
        "type": "object",
        "description": "What every event has.",
        "properties": {
            "summary": {
                "type": "string",
                "maxLength": shared_inbox::__spec::limits::EVENT_SUMMARY,
                "description": "One line on what happened; never the email's own words.",
            },
            "url": { "type": "string", "format": "uri", "description": "The conversation in the app." },
        },
        "required": ["summary"],
    })
}

impl Serialize for Event {
    /// Writes a received event as it was received.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if let Some(raw) = &self.raw {
            return raw.json.verbatim().map_err(S::Error::custom)?.serialize(s);
        }
        let mut data = Map::new();
        data.insert("summary".into(), self.summary.clone().into());
        if let Some(url) = &self.url {
            data.insert("url".into(), url.clone().into());
        }
        if let Value::Object(fields) = self.kind.data().map_err(S::Error::custom)? {
            data.extend(fields);
        }
        Envelope {
            id: &self.id,
            event_type: self.kind.event_type(),
            version: self.version,
            created_at: self.created_at,
            workspace: self.workspace.as_ref(),
            livemode: self.livemode,
            data,
        }
        .serialize(s)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("created_at", &self.created_at)
            .field("livemode", &self.livemode)
            .field("kind", &self.kind)
            .field("malformed_fields", &self.malformed_fields())
            .finish_non_exhaustive()
    }
}

constructors! {
    UnknownEvent(event_type: impl Into<String>, data: impl Into<Json>);
}

shows! {
    UnknownEvent: event_type;
    RawEvent: malformed_fields;
}
