//! Webhook events: the envelope and the ten kinds.
//!
//! Events are thin: ids and a one-line summary, never an email's words. New fields may come at any time and are
//! passed over; a new kind, or a new version of a kind, is [`EventKind::Unknown`], a value and not an error.

mod data;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::{Map, Value};

use crate::{EventId, Timestamp, WorkspaceId, model::shows};

pub use data::{
    AskCompleted, Booking, ClientReplied, ConversationAssigned, DraftApproved, EventActor, EventAssignee,
    EventAuthor, EventDrafter, MessageSent, ScoutHeld, TurnChanged, WebhookTest,
};

/// A webhook event.
///
/// ```
/// use shared_inbox::{Event, EventKind};
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
#[cfg_attr(not(feature = "construct"), non_exhaustive)]
pub struct Event {
    /// The same on every try of one event.
    pub id: EventId,
    /// 1 for every event today; another number means a breaking change of the kind.
    pub version: u32,
    /// When it happened.
    pub created_at: Timestamp,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// `false` for the sandbox.
    pub livemode: bool,
    /// One line on what happened.
    pub summary: String,
    /// The conversation in the app.
    pub url: Option<String>,
    /// What happened.
    pub kind: EventKind,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($data:ident) = $name:literal,)*) => {
        /// What happened, with the ids that go with it.
        ///
        /// ```
        /// assert_eq!(shared_inbox::EventKind::TYPES.len(), 10);
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $variant($data),)*
            /// A kind, or a version of a kind, that this version does not know.
            Unknown(UnknownEvent),
        }

        impl EventKind {
            /// The names of all kinds that this version knows.
            pub const TYPES: &'static [&'static str] = &[$($name),*];

            /// The event's name, such as `client.replied`.
            pub fn event_type(&self) -> &str {
                match self {
                    $(EventKind::$variant(_) => $name,)*
                    EventKind::Unknown(unknown) => &unknown.event_type,
                }
            }

            /// The JSON Schema of an event of each kind, by its name, and the parts that they share, which they name
            /// by `path`.
            ///
            /// ```
            /// let (kinds, parts) = shared_inbox::EventKind::schemas("/components/schemas");
            /// assert_eq!((kinds[0].0, kinds.len()), ("ask.completed", 10));
            /// assert!(parts.contains_key("AskCompleted"));
            /// ```
            #[cfg(feature = "schemas")]
            pub fn schemas(path: &str) -> (Vec<(&'static str, Value)>, Map<String, Value>) {
                let mut generator = crate::operation::answers(path);
                let kinds = vec![$(($name, schema_of::<$data>($name, &mut generator))),*];
                let mut parts = generator.take_definitions(true);
                parts.insert(COMMON.to_owned(), common());
                (kinds, parts)
            }

            fn read(event_type: String, version: u32, data: &Map<String, Value>) -> Result<Self, serde_json::Error> {
                match event_type.as_str() {
                    $($name if version == 1 => $data::deserialize(data).map(EventKind::$variant),)*
                    _ => Ok(EventKind::Unknown(UnknownEvent { event_type, data: data.clone() })),
                }
            }

            fn data(&self) -> Result<Value, serde_json::Error> {
                match self {
                    $(EventKind::$variant(data) => serde_json::to_value(data),)*
                    EventKind::Unknown(unknown) => Ok(Value::Object(unknown.data.clone())),
                }
            }
        }
    };
}

kinds! {
    /// Everything that was asked of a customer is in.
    AskCompleted(AskCompleted) = "ask.completed",
    /// Someone wrote back.
    ClientReplied(ClientReplied) = "client.replied",
    /// A conversation was given to someone or to nobody.
    ConversationAssigned(ConversationAssigned) = "conversation.assigned",
    /// It is another one's turn.
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

/// An event of a kind or version that is not known here.
///
/// ```
/// use shared_inbox::{Event, EventKind};
/// # let json = r#"{"id":"evt_1","type":"moon.rose","version":1,"created_at":"2026-03-01T09:30:00.000Z",
/// #   "workspace":"wsp_1","livemode":true,"data":{"summary":"The moon rose"}}"#;
/// let event: Event = serde_json::from_str(json)?;
/// let EventKind::Unknown(unknown) = &event.kind else { unreachable!() };
/// assert_eq!(unknown.event_type, "moon.rose");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[cfg_attr(not(feature = "construct"), non_exhaustive)]
pub struct UnknownEvent {
    /// Its name.
    pub event_type: String,
    /// All of its data, summary and url included.
    pub data: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(rename = "Event"))]
struct Envelope {
    /// The same on every try of one event.
    id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    event_type: String,
    /// 1 for every event today; another number means a breaking change of the kind.
    version: u32,
    /// When it happened.
    created_at: Timestamp,
    /// In which workspace.
    workspace: WorkspaceId,
    /// `false` for the sandbox.
    livemode: bool,
    /// What goes with it.
    data: Map<String, Value>,
}

/// The envelope, with the data of one kind in it.
#[cfg(feature = "schemas")]
fn schema_of<T: schemars::JsonSchema>(name: &str, generator: &mut schemars::SchemaGenerator) -> Value {
    let (envelope, data) = (generator.subschema_for::<Envelope>(), generator.subschema_for::<T>());
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

#[cfg(feature = "schemas")]
const COMMON: &str = "EventData";

/// What every `data` has besides the fields of its kind.
#[cfg(feature = "schemas")]
fn common() -> Value {
    serde_json::json!({
        "type": "object",
        "description": "What every event has.",
        "properties": {
            "summary": {
                "type": "string",
                "maxLength": crate::limits::EVENT_SUMMARY,
                "description": "One line on what happened; never the email's own words.",
            },
            "url": { "type": "string", "format": "uri", "description": "The conversation in the app." },
        },
        "required": ["summary"],
    })
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let Envelope { id, event_type, version, created_at, workspace, livemode, data } =
            Envelope::deserialize(d)?;
        let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
        let (summary, url) = (text("summary"), text("url"));
        let kind = EventKind::read(event_type, version, &data).map_err(D::Error::custom)?;
        let summary = match (summary, &kind) {
            (Some(summary), _) => summary,
            (None, EventKind::Unknown(_)) => String::new(),
            (None, _) => return Err(D::Error::missing_field("data.summary")),
        };
        Ok(Event { id, version, created_at, workspace, livemode, summary, url, kind })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut data = Map::new();
        if !matches!(self.kind, EventKind::Unknown(_)) {
            data.insert("summary".into(), self.summary.clone().into());
            if let Some(url) = &self.url {
                data.insert("url".into(), url.clone().into());
            }
        }
        if let Value::Object(fields) = self.kind.data().map_err(S::Error::custom)? {
            data.extend(fields);
        }
        Envelope {
            id: self.id.clone(),
            event_type: self.kind.event_type().to_owned(),
            version: self.version,
            created_at: self.created_at,
            workspace: self.workspace.clone(),
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
            .finish_non_exhaustive()
    }
}

shows! {
    UnknownEvent: event_type;
}
