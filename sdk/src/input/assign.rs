//! To whom a conversation can be given.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{Text, parsed};
use crate::{AgentId, UserId};

/// To whom to give a conversation.
///
/// ```
/// use shared_inbox::AssignTo;
/// assert_eq!("user:usr_1".parse::<AssignTo>()?, AssignTo::User("usr_1".parse()?));
/// assert_eq!(AssignTo::Nobody.to_string(), "none");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "Text<'_>")]
#[non_exhaustive]
pub enum AssignTo {
    /// A person on the team.
    User(UserId),
    /// An agent on the team.
    Agent(AgentId),
    /// The key's own agent.
    Me,
    /// Nobody: take it away from whoever has it.
    Nobody,
    /// A kind that this version does not know, kept as it came in a team; not parsed from other texts.
    Unknown(String),
}

/// A text that names nobody to assign to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected user:usr_…, agent:agt_…, me or none")]
#[non_exhaustive]
pub struct InvalidAssignTo;

impl AssignTo {
    /// Takes a text of the service's form: `user:usr_…`, `agent:agt_…`, `me` or `none`.
    ///
    /// # Errors
    ///
    /// [`InvalidAssignTo`] for any other.
    pub fn parse(text: &str) -> Result<Self, InvalidAssignTo> {
        match text.split_once(':') {
            Some(("user", id)) => UserId::parse(id).map(AssignTo::User).map_err(|_| InvalidAssignTo),
            Some(("agent", id)) => AgentId::parse(id).map(AssignTo::Agent).map_err(|_| InvalidAssignTo),
            None if text == "me" => Ok(AssignTo::Me),
            None if text == "none" => Ok(AssignTo::Nobody),
            _ => Err(InvalidAssignTo),
        }
    }

    /// For responses: what is not known is kept.
    pub(crate) fn read_open<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Ok(Self::parse(&text).unwrap_or(Self::Unknown(text)))
    }
}

parsed!(AssignTo, InvalidAssignTo);

impl From<&AssignTo> for AssignTo {
    fn from(to: &AssignTo) -> Self {
        to.clone()
    }
}

impl fmt::Display for AssignTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssignTo::User(id) => write!(f, "user:{id}"),
            AssignTo::Agent(id) => write!(f, "agent:{id}"),
            AssignTo::Me => f.write_str("me"),
            AssignTo::Nobody => f.write_str("none"),
            AssignTo::Unknown(other) => f.write_str(other),
        }
    }
}

impl From<UserId> for AssignTo {
    fn from(id: UserId) -> Self {
        AssignTo::User(id)
    }
}

impl From<AgentId> for AssignTo {
    fn from(id: AgentId) -> Self {
        AssignTo::Agent(id)
    }
}

impl Serialize for AssignTo {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
