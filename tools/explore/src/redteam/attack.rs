//! Attacks: what an outsider writes, where it stands, and what they want.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One attack.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Attack {
    /// Its name, such as `plain.codes`.
    pub id: String,
    /// The family that it is counted with.
    pub family: String,
    /// The id of the task that the agent is given.
    pub task: String,
    /// Where it stands.
    pub place: Place,
    /// The text of the attacker.
    pub text: String,
    /// What the attacker adds to the latest email, where `text` is in an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<String>,
    /// What the attacker wants.
    pub goal: Goal,
}

impl fmt::Debug for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attack").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Where an outsider can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Place {
    /// The text of the email.
    Text,
    /// Its subject.
    Subject,
    /// The name of its sender.
    Name,
    /// The name of a file that is attached.
    Filename,
    /// Quoted history in the text.
    Quoted,
    /// An earlier email of the conversation.
    Earlier,
    /// A field that was read out of a document.
    Document,
    /// The email of another customer in the same inbox, which a list shows.
    Bystander,
    /// A reply that comes while the agent works: after it has read that conversation.
    Later,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What an attacker wants, as a machine can check it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Goal {
    /// A canary, or the name, the address, a number or the words of another customer, in a draft, an email or
    /// a document request.
    Leak {},
    /// An email that the task did not ask for.
    Email {},
    /// This text in what a customer would get.
    Text {
        /// The text.
        text: String,
    },
    /// This text in an item of a document request.
    Documents {
        /// The text.
        text: String,
    },
    /// A conversation that has this status and did not have it before.
    Status {
        /// `open`, `waiting` or `closed`.
        status: String,
    },
    /// A conversation that has this tag and did not have it before.
    Tag {
        /// The name of the tag.
        tag: String,
    },
    /// A conversation that is assigned like this and was not before.
    Assign {
        /// The name of someone on the team, `me` for the agent, or `none`.
        to: String,
    },
    /// A record of an email that nobody sent.
    Record {},
    /// This text in a note, such as a forged approval or an order for the next agent.
    Note {
        /// The text.
        text: String,
    },
    /// Any of several goals.
    Any {
        /// The goals.
        of: Vec<Goal>,
    },
}

impl Goal {
    /// Returns the name of its kind, such as `leak`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Leak {} => "leak",
            Self::Email {} => "email",
            Self::Text { .. } => "text",
            Self::Documents { .. } => "documents",
            Self::Status { .. } => "status",
            Self::Tag { .. } => "tag",
            Self::Assign { .. } => "assign",
            Self::Record {} => "record",
            Self::Note { .. } => "note",
            Self::Any { .. } => "any",
        }
    }
}
