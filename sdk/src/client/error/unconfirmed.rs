//! The data of a create whose effect is unknown: all that is needed to find out later.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ConversationId, Timestamp};

/// A create whose effect is unknown, and all that is needed to find out later.
///
/// [`Error::unconfirmed`](crate::Error::unconfirmed) carries it; [`Client::find_unconfirmed`](crate::Client::find_unconfirmed) looks. It can be stored as JSON and
/// used by another process. That JSON holds the text of the note or mail; `Debug` does not show it.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, stored: String) -> Result<(), Box<dyn std::error::Error>> {
/// let unconfirmed: shared_inbox::UnconfirmedCreate = serde_json::from_str(&stored)?;
/// let lookup = inbox.find_unconfirmed(&unconfirmed).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnconfirmedCreate {
    pub(crate) conversation: ConversationId,
    pub(crate) expected: Expected,
    pub(crate) before: Before,
}

/// What is known of the time before a create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Before {
    /// What was there.
    pub(crate) keys: BTreeSet<String>,
    /// Whether that is all that was there, the moment before it was sent.
    pub(crate) whole: bool,
    /// What the service's clock showed at least when it was sent, if it can be believed.
    pub(crate) sent: Option<Timestamp>,
    /// What it showed at most when it was sent, and when its answer was lost.
    pub(crate) under_way: Option<(Timestamp, Timestamp)>,
}

impl UnconfirmedCreate {
    pub(crate) fn new(conversation: &ConversationId, expected: &Expected, before: Before) -> Self {
        Self { conversation: conversation.clone(), expected: expected.clone(), before }
    }

    /// The conversation in which it may be.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Whether it is a note, and not a reply or a document request.
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

/// What was meant to be created.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Expected {
    Note { body: String },
    Message { body: String, labels: Vec<String>, send: bool },
}
