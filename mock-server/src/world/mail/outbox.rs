//! Every email that left or was meant to.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::{MessageId, Timestamp};

use crate::world::World;

/// Why a mail was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OutboxKind {
    /// A reply to a customer.
    Reply,
    /// A reminder of documents that are missing.
    Reminder,
    /// A word to the owner of a webhook.
    Notice,
}

/// What became of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Outcome {
    /// It went out.
    Sent,
    /// It could not be delivered.
    Failed,
}

/// A mail that left or was meant to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutboxMail {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub kind: OutboxKind,
    /// The message, if it is one of a conversation.
    pub message_id: Option<MessageId>,
    /// To whom.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
    /// What became of it.
    pub outcome: Outcome,
}

impl fmt::Debug for OutboxMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxMail")
            .field("at", &self.at)
            .field("kind", &self.kind)
            .field("message_id", &self.message_id)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

impl World {
    /// Every mail that left or was meant to, oldest first.
    pub fn outbox(&self) -> Vec<OutboxMail> {
        self.outbox.iter().cloned().collect()
    }
}
