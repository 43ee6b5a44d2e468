//! A create whose effect is unknown, to be looked up later.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::{ConversationId, Timestamp};

/// A create whose effect is unknown, with what is needed to find out later.
///
/// [`Error::unconfirmed`](crate::Error::unconfirmed) returns it, and
/// [`Client::find_unconfirmed`](crate::Client::find_unconfirmed) looks it up. It can be stored as JSON and used by another
/// process. That JSON holds the text of the note or email; `Debug` does not show it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnconfirmedCreate {
    pub(crate) conversation: ConversationId,
    pub(crate) expected: Expected,
    pub(crate) before: Before,
    /// When it was sent at the latest, by the service's clock. `None` if that is not known.
    #[serde(default)]
    pub(crate) sent_by: Option<Timestamp>,
}

/// The state of the conversation before a create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Before {
    /// The keys of the items in it.
    pub(crate) keys: BTreeSet<String>,
    /// Whether these are all items, the moment before the create was sent.
    pub(crate) whole: bool,
    /// When it was sent, by the service's clock.
    pub(crate) window: Option<SentWindow>,
    /// When it was sent by the clock of this process, until the service's was observed afterwards.
    #[serde(skip)]
    pub(crate) sent: Option<Instant>,
}

/// From when on, by the service's clock, a request may have made an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SentWindow {
    /// Items that are dated earlier were there before.
    pub(crate) possible_from: Timestamp,
    /// Items that are dated from here on came with the request, or too few seconds before it for the clock to tell.
    pub(crate) certain_from: Timestamp,
}

impl UnconfirmedCreate {
    /// Returns the conversation in which it may be.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Returns whether it is a note, and not a reply or a document request.
    #[must_use]
    pub fn is_note(&self) -> bool {
        matches!(self.expected, Expected::Note { .. })
    }
}

impl fmt::Debug for UnconfirmedCreate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnconfirmedCreate")
            .field("conversation", &self.conversation)
            .field("is_note", &self.is_note())
            .finish_non_exhaustive()
    }
}

/// The item that was meant to be created.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Expected {
    Note { body: String },
    Message { body: String, labels: Vec<String>, send: bool },
}
