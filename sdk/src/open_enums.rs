//! The closed-looking word lists of the API, as enums that stay open: a word that this version does not know
//! is kept and written back unchanged.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{Text, shown};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("use shared_inbox::", stringify!($name), ";")]
        #[doc = concat!("assert_eq!(", stringify!($name), "::from(", stringify!($name), "::KNOWN[0].as_str()), ", stringify!($name), "::KNOWN[0]);")]
        #[doc = concat!("assert_eq!(", stringify!($name), "::from(\"brand-new\").as_str(), \"brand-new\");")]
        /// ```
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "Text<'_>")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)*
            /// A word that this version does not know, kept as it came.
            #[serde(untagged)]
            Unknown(String),
        }

        impl $name {
            /// Every word that this version knows.
            pub const KNOWN: &'static [$name] = &[$($name::$variant),*];

            /// Returns the word as the service writes it.
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

        impl From<Text<'_>> for $name {
            fn from(text: Text<'_>) -> Self {
                Self::from(&*text.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        // The list may grow, so the known words are examples, not an `enum` that a new word would break.
        shown!($name, { "type": "string", "examples": [$($word),*] });
    )*};
}

words! {
    /// A permission of an API key.
    Scope {
        /// List and read; always there when any other scope is.
        Read = "read",
        /// Add notes, change status, tag, assign.
        Write = "write",
        /// Write replies and document requests that wait for a person.
        Draft = "draft",
        /// Send them after the undo window.
        Send = "send",
        /// Record emails that an app sent by itself.
        Record = "record",
    }

    /// The status of a conversation.
    Status {
        /// The team has something to do.
        Open = "open",
        /// The customer has.
        Waiting = "waiting",
        /// Nobody has.
        Closed = "closed",
    }

    /// The view of a list: which conversations it shows.
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

    /// The assignment by which a list is filtered.
    Assigned {
        /// Those of the key's own agent.
        Me = "me",
        /// Those of nobody.
        Unassigned = "unassigned",
    }

    /// The urgency of an email, as the sorting helper sees it.
    Urgency {
        /// It can wait.
        Low = "low",
        /// As most emails.
        Normal = "normal",
        /// Soon.
        High = "high",
    }

    /// The direction of a message.
    Direction {
        /// From the customer.
        Inbound = "inbound",
        /// To the customer.
        Outbound = "outbound",
    }

    /// The progress of an outbound message.
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

    /// The kind of a document.
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

    /// The kind of party that did something.
    ActorType {
        /// A person on the team.
        User = "user",
        /// An agent: an API key or a helper.
        Agent = "agent",
        /// The service itself.
        System = "system",
    }

    /// The side whose turn it is in a conversation.
    Turn {
        /// The team's.
        Ours = "ours",
        /// The customer's.
        Theirs = "theirs",
        /// Nobody's: the conversation is closed.
        Done = "done",
    }

    /// The kind of a request to a customer.
    AskKind {
        /// Documents.
        Documents = "documents",
    }
}
