//! Actors: a person, an agent, or the service itself.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use shared_inbox::{ActorId, AgentId, UserId};

use crate::world::{MailboxRecord, Refusal, Result, World};

/// The name of the service as an actor.
pub(crate) const SERVICE_NAME: &str = "Shared inbox";

/// Who does something: `usr_…`, `agt_…` or `system`.
///
/// ```
/// use shared_inbox_mock::world::Actor;
/// assert_eq!("system".parse(), Ok(Actor::System));
/// assert_eq!(serde_json::to_value(Actor::User("usr_anna".parse()?))?, "usr_anna");
/// assert!("anna".parse::<Actor>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Actor {
    /// A person.
    User(UserId),
    /// The agent of a key.
    Agent(AgentId),
    /// The service itself.
    System,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::User(id) => id.fmt(f),
            Actor::Agent(id) => id.fmt(f),
            Actor::System => f.write_str("system"),
        }
    }
}

impl FromStr for Actor {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "system" {
            return Ok(Actor::System);
        }
        UserId::parse(text)
            .map(Actor::User)
            .or_else(|_| AgentId::parse(text).map(Actor::Agent))
            .map_err(|_| "must be `usr_…`, `agt_…` or `system`")
    }
}

impl From<UserId> for Actor {
    fn from(id: UserId) -> Self {
        Actor::User(id)
    }
}

impl From<AgentId> for Actor {
    fn from(id: AgentId) -> Self {
        Actor::Agent(id)
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Actor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "By".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^(usr_[0-9A-Za-z_-]+|agt_[0-9A-Za-z_-]+|system)$" })
    }
}

impl World {
    /// Returns the actor of a change to a conversation; `None` is the service itself. The default is the
    /// inbox's owner, or else the first person of the workspace.
    pub(crate) fn resolve_actor(&self, at: usize, by: Option<&Actor>) -> Result<Option<ActorId>> {
        let mailbox = self.mailbox_of(at);
        let (who, sees) = match by {
            Some(Actor::System) => return Ok(None),
            None => {
                let owner = mailbox.owner.as_ref().or(self.users.first().map(|user| &user.id));
                return Ok(owner.cloned().map(ActorId::User));
            }
            Some(Actor::User(id)) => {
                let user = self.user(id)?;
                (ActorId::User(id.clone()), user.sees(mailbox) || mailbox.sandbox)
            }
            Some(Actor::Agent(id)) => {
                let key = self.index.agents.get(id).map(|key| &self.keys[*key]);
                let key = key.ok_or_else(|| Refusal::no_such("agent"))?;
                (ActorId::Agent(id.clone()), !key.revoked && key.sees(mailbox))
            }
        };
        if sees { Ok(Some(who)) } else { Err(Refusal::field("by", "cannot see this inbox")) }
    }

    /// Returns the agent of a key as an actor.
    pub(crate) fn agent_of(&self, key: usize) -> Option<ActorId> {
        Some(self.keys[key].agent_id.clone().into())
    }

    /// Returns the name of an actor.
    pub(crate) fn actor_name(&self, by: Option<&ActorId>) -> String {
        by.map_or(SERVICE_NAME, |who| self.name_of(who).unwrap_or_default()).to_owned()
    }

    /// Refuses what the helpers of the app would do in the sandbox, where they do not run.
    pub(crate) fn check_helpers_run(&self, mailbox: &MailboxRecord) -> Result<()> {
        if mailbox.sandbox {
            return Err(Refusal::conflict("The helpers do not run in the sandbox."));
        }
        Ok(())
    }
}
