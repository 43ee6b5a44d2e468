//! The closed-looking word lists of the API, as enums that stay open: a word that this version does not know
//! is kept and written back unchanged.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reads a text into something else, without a copy of its own.
pub(crate) fn read_text<'de, D: Deserializer<'de>, T>(
    d: D,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    struct Text<F>(F);
    impl<T, F: FnOnce(&str) -> Result<T, String>> Visitor<'_> for Text<F> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }
    }
    d.deserialize_str(Text(read))
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use shared_inbox::", stringify!($name), ";")]
        #[doc = concat!("assert_eq!(", stringify!($name), "::KNOWN[0].as_str().parse(), Ok(", stringify!($name), "::KNOWN[0].clone()));")]
        #[doc = concat!("assert_eq!(", stringify!($name), "::from(\"brand-new\").as_str(), \"brand-new\");")]
        /// ```
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A word that this version does not know, kept as it came.
            Unknown(String),
        }

        impl $name {
            /// Every word that this version knows.
            pub const KNOWN: &'static [$name] = &[$($name::$variant),*];

            /// The word as the service writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Unknown(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => $name::$variant,)*
                    _ => $name::Unknown(word.to_owned()),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Ok(word.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                read_text(d, |word| Ok(word.into()))
            }
        }

        #[cfg(feature = "schemas")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                // The list may grow, so the known words are examples, not an `enum` that a new word would break.
                schemars::json_schema!({ "type": "string", "examples": [$($word),*] })
            }
        }
    )*};
}

words! {
    /// What a key may do.
    Scope {
        /// List and read; always there when any other scope is.
        Read = "read",
        /// Add notes, change status, tag, assign.
        Write = "write",
        /// Write replies and document requests that wait for a person.
        Draft = "draft",
        /// Send them after the undo window.
        Send = "send",
        /// Record the mail an app sent by itself.
        Record = "record",
    }

    /// Where a conversation stands.
    Status {
        /// The team has something to do.
        Open = "open",
        /// The customer has.
        Waiting = "waiting",
        /// Nobody has.
        Closed = "closed",
    }

    /// Which conversations a list shows.
    View {
        /// The open ones; what a list shows when nothing is said.
        Open = "open",
        /// Those waiting on the customer.
        Waiting = "waiting",
        /// Those put off until later.
        Snoozed = "snoozed",
        /// The closed ones.
        Closed = "closed",
        /// Every status; only together with a reference.
        All = "all",
    }

    /// Whose conversations a list shows.
    Assigned {
        /// Those of the key's own agent.
        Me = "me",
        /// Those of nobody.
        Unassigned = "unassigned",
    }

    /// How soon a mail wants an answer, in the sorting helper's eyes.
    Urgency {
        /// It can wait.
        Low = "low",
        /// As most mail.
        Normal = "normal",
        /// Soon.
        High = "high",
    }

    /// Which way a message went.
    Direction {
        /// From the customer.
        Inbound = "inbound",
        /// To the customer.
        Outbound = "outbound",
    }

    /// How far an outgoing message has come.
    MessageStatus {
        /// Waits for a person's approval.
        Draft = "draft",
        /// Leaves when the undo window has passed.
        Scheduled = "scheduled",
        /// On its way.
        Sending = "sending",
        /// Gone out.
        Sent = "sent",
        /// Could not be delivered.
        Failed = "failed",
    }

    /// What a document is.
    DocumentKind {
        /// A bill to pay.
        Invoice = "invoice",
        /// Proof of a payment.
        Receipt = "receipt",
        /// An account statement.
        Statement = "statement",
        /// A contract.
        Contract = "contract",
        /// Proof of identity.
        Id = "id",
        /// A tax paper.
        Tax = "tax",
        /// A picture.
        Photo = "photo",
        /// Anything else.
        Other = "other",
    }

    /// What kind of party did something.
    ActorType {
        /// A person on the team.
        User = "user",
        /// An agent: an API key or a helper.
        Agent = "agent",
        /// The service itself.
        System = "system",
    }

    /// Whose move it is in a conversation.
    Turn {
        /// The team's.
        Ours = "ours",
        /// The customer's.
        Theirs = "theirs",
        /// Nobody's: the conversation is closed.
        Done = "done",
    }

    /// What was asked of a customer.
    AskKind {
        /// Documents.
        Documents = "documents",
    }
}
