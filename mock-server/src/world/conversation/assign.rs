//! Assigns conversations, by an agent or by a person in the app.

use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::{ActorId, AssignTo, Timestamp};

use super::Item;
use crate::world::{Actor, Refusal, Result, World};

/// An assignment of a conversation by a person.
///
/// ```
/// use shared_inbox_mock::world::Assignment;
/// let assignment = Assignment::new("user:usr_anna".parse()?).by("usr_tom".parse::<shared_inbox::UserId>()?);
/// assert_eq!(serde_json::to_value(&assignment)?, serde_json::json!({ "to": "user:usr_anna", "by": "usr_tom" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Assignment {
    /// `user:usr_…`, `agent:agt_…`, `me` (the person who does it) or `none`.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub to: AssignTo,
    /// Who does it: a person, an agent or `system`; the inbox's owner, or else the first person of the
    /// workspace.
    pub by: Option<Actor>,
}

impl Assignment {
    /// Returns an assignment to this person or agent.
    pub fn new(to: AssignTo) -> Self {
        Self { to, by: None }
    }

    setters! {
        /// Sets who does it.
        by(by: impl Into<Actor>) => by = Some(by.into());
    }
}

impl World {
    /// Assigns a conversation to a member of its team, or to nobody. The same assignee again changes nothing.
    pub(crate) fn assign(
        &mut self,
        at: usize,
        to: AssignTo,
        by: Option<&ActorId>,
        now: Timestamp,
    ) -> Result<()> {
        let to = match to {
            AssignTo::User(id) => Some(ActorId::User(id)),
            AssignTo::Agent(id) => Some(ActorId::Agent(id)),
            AssignTo::Me if by.is_none() => {
                return Err(Refusal::field("to", "cannot be `me` when nobody does it: name someone in `by`"));
            }
            AssignTo::Me => by.cloned(),
            _ => None,
        };
        if let Some(who) = &to {
            self.check_on_team(at, who)?;
        }
        if self.conversations[at].assignee == to {
            return Ok(());
        }
        let actor = self.actor_name(by);
        let shown = to.as_ref().map(|who| self.assignee(who));
        self.conversations[at].assignee = to;
        self.append(at, Item::event(now, &actor, "assigned", [("assignee", json!(shown))]));
        self.emit_assigned(at, by, now);
        Ok(())
    }

    fn check_on_team(&self, at: usize, who: &ActorId) -> Result<()> {
        let mailbox = self.mailbox_of(at);
        let sees = match who {
            ActorId::User(id) => self.index.users.get(id).map(|user| self.users[*user].sees(mailbox)),
            ActorId::Agent(id) => {
                let key = self.index.agents.get(id).map(|key| &self.keys[*key]);
                // An agent of the sandbox is not on a live team, nor the other way round.
                key.filter(|key| !key.revoked && key.livemode != mailbox.sandbox).map(|key| key.sees(mailbox))
            }
            _ => None,
        };
        match sees {
            Some(true) => Ok(()),
            Some(false) => {
                Err(Refusal::field("to", "cannot see this inbox: pick one of the conversation's team"))
            }
            None => Err(Refusal::field("to", "is not on the team: pick one of the conversation's team")),
        }
    }

    /// Assigns a conversation, as a person does in the app.
    pub fn assign_by_person(&mut self, id: &str, assignment: Assignment, now: Timestamp) -> Result<()> {
        let at = self.conversation_or_customer(id)?;
        let by = self.resolve_actor(at, assignment.by.as_ref())?;
        self.assign(at, assignment.to, by.as_ref(), now)
    }
}
