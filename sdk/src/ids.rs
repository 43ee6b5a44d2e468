//! The fourteen kinds of id, each a type of its own, so that a message's id cannot be passed where a
//! conversation's belongs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::text::{Text, parsed, shown};

/// An error returned when a text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {kind} id: expected `{prefix}` followed by {rest}")]
pub struct InvalidId {
    kind: &'static str,
    prefix: &'static str,
    rest: &'static str,
}

/// The characters that may follow the prefix.
#[derive(Clone, Copy)]
enum Rest {
    /// Digits and lower-case letters: the rule that is known for conversations.
    Lower,
    /// Letters, digits, `_` and `-`.
    Word,
}

impl Rest {
    const fn describe(self) -> &'static str {
        match self {
            Rest::Lower => "digits and lower-case letters",
            Rest::Word => "letters, digits, `_` or `-`",
        }
    }

    #[cfg(feature = "__schemas")]
    const fn pattern(self) -> &'static str {
        match self {
            Rest::Lower => "[0-9a-z]+",
            Rest::Word => "[0-9A-Za-z_-]+",
        }
    }

    fn accepts(self, rest: &str) -> bool {
        !rest.is_empty()
            && rest.bytes().all(|b| match self {
                Rest::Lower => b.is_ascii_digit() || b.is_ascii_lowercase(),
                Rest::Word => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            })
    }
}

/// An id of any kind.
pub trait Id: FromStr<Err = InvalidId> {
    /// The start of every id of this kind.
    const PREFIX: &'static str;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal $kind:literal $rest:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use shared_inbox::", stringify!($name), ";")]
        #[doc = concat!("let id: ", stringify!($name), " = \"", $prefix, "7h2k\".parse()?;")]
        #[doc = concat!("assert_eq!(id.as_str(), \"", $prefix, "7h2k\");")]
        #[doc = concat!("assert!(", stringify!($name), "::parse(\"nothing_7h2k\").is_err());")]
        /// # Ok::<(), shared_inbox::InvalidId>(())
        /// ```
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "Text<'_>")]
        pub struct $name(String);

        impl $name {
            /// Parses an id of this kind.
            ///
            /// # Errors
            ///
            /// When the text is no such id.
            pub fn parse(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                match text.strip_prefix($prefix) {
                    Some(rest) if $rest.accepts(rest) => Ok(Self(text)),
                    _ => Err(InvalidId { kind: $kind, prefix: $prefix, rest: $rest.describe() }),
                }
            }

            /// Returns the id as the service writes it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        #[doc(hidden)]
        impl Id for $name {
            const PREFIX: &'static str = $prefix;
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        parsed!($name, InvalidId);
        shown!($name, {
            "type": "string",
            "pattern": format!("^{}{}$", $prefix, $rest.pattern()),
        });
    )*};
}

ids! {
    /// The id of an agent: an API key acts as one.
    AgentId "agt_" "agent" Rest::Word;
    /// The id of a person on the team.
    UserId "usr_" "user" Rest::Word;
    /// The id of a conversation.
    ConversationId "cnv_" "conversation" Rest::Lower;
    /// The id of a message in a conversation.
    MessageId "msg_" "message" Rest::Word;
    /// The id of an internal note.
    NoteId "not_" "note" Rest::Word;
    /// The id of an inbox.
    MailboxId "mbx_" "mailbox" Rest::Word;
    /// The id of a tag.
    TagId "tag_" "tag" Rest::Word;
    /// The id of a document in the library.
    DocumentId "doc_" "document" Rest::Word;
    /// The id of a request for documents.
    DocumentRequestId "req_" "document request" Rest::Word;
    /// The id of a webhook event.
    EventId "evt_" "event" Rest::Word;
    /// The id of a workspace.
    WorkspaceId "wsp_" "workspace" Rest::Word;
    /// The id of a webhook endpoint.
    WebhookId "whk_" "webhook endpoint" Rest::Word;
    /// The id of a booking.
    BookingId "bkg_" "booking" Rest::Word;
    /// The id of a kind of booking.
    BookingTypeId "bkt_" "booking type" Rest::Word;
}

/// The id of a person or an agent.
///
/// ```
/// use shared_inbox::ActorId;
/// let who: ActorId = serde_json::from_str("\"usr_anna\"")?;
/// assert!(matches!(who, ActorId::User(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "Text<'_>")]
#[non_exhaustive]
pub enum ActorId {
    /// A person.
    User(UserId),
    /// An agent.
    Agent(AgentId),
    /// A kind that this version does not know, kept as it came.
    Unknown(String),
}

impl ActorId {
    /// Returns the id as the service writes it.
    pub fn as_str(&self) -> &str {
        match self {
            ActorId::User(id) => id.as_str(),
            ActorId::Agent(id) => id.as_str(),
            ActorId::Unknown(id) => id,
        }
    }
}

impl From<&str> for ActorId {
    fn from(text: &str) -> Self {
        if let Ok(id) = UserId::parse(text) {
            ActorId::User(id)
        } else if let Ok(id) = AgentId::parse(text) {
            ActorId::Agent(id)
        } else {
            ActorId::Unknown(text.to_owned())
        }
    }
}

impl From<UserId> for ActorId {
    fn from(id: UserId) -> Self {
        ActorId::User(id)
    }
}

impl From<AgentId> for ActorId {
    fn from(id: AgentId) -> Self {
        ActorId::Agent(id)
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Text<'_>> for ActorId {
    fn from(text: Text<'_>) -> Self {
        Self::from(&*text.0)
    }
}

impl Serialize for ActorId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

shown!(ActorId, { "type": "string", "examples": ["usr_7h2k", "agt_7h2k"] });

impl EventId {
    /// Takes any text: what an event is called is for its sender to say, and a new way to say it is no reason
    /// to lose it.
    #[doc(hidden)]
    #[must_use]
    pub fn as_it_came(text: String) -> Self {
        Self(text)
    }
}
