//! Giving a conversation to someone, by an agent or by a person in the app.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::{ActorId, AssignTo, Timestamp, UserId};

use super::Item;
use crate::world::{Refusal, World};

/// A person gives a conversation to someone.
///
/// ```
/// use shared_inbox_mock::world::Assignment;
/// let assignment = Assignment::new("user:usr_anna".parse()?).by("usr_tom".parse()?);
/// assert_eq!(serde_json::to_value(&assignment)?, serde_json::json!({ "to": "user:usr_anna", "by": "usr_tom" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Assignment {
    /// `user:usr_…`, `agent:agt_…`, `me` (the person who does it) or `none`.
    #[schemars(with = "String")]
    pub to: AssignTo,
    /// Who does it; the inbox's owner, or else the first person of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
}

impl Assignment {
    /// To this one.
    pub fn new(to: AssignTo) -> Self {
        Self { to, by: None }
    }

    /// By this person.
    pub fn by(mut self, user: UserId) -> Self {
        self.by = Some(user);
        self
    }
}

impl World {
    /// Gives a conversation to someone who is on its team, or to nobody. To the same one again changes nothing.
    pub(in crate::world) fn assign(
        &mut self,
        at: usize,
        to: AssignTo,
        by: &ActorId,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let to = match to {
            AssignTo::User(id) => Some(ActorId::User(id)),
            AssignTo::Agent(id) => Some(ActorId::Agent(id)),
            AssignTo::Me => Some(by.clone()),
            _ => None,
        };
        if let Some(who) = &to {
            self.check_on_team(at, who)?;
        }
        if self.conversations[at].assignee == to {
            return Ok(());
        }
        let actor = self.name_of(by).unwrap_or_default().to_owned();
        let shown = to.as_ref().map(|who| self.assignee(who));
        self.conversations[at].assignee = to;
        self.append(at, Item::event(now, &actor, "assigned", [("assignee", json!(shown))]));
        self.tell_assigned(at, by, now);
        Ok(())
    }

    fn check_on_team(&self, at: usize, who: &ActorId) -> Result<(), Refusal> {
        let mailbox = self.mailbox_of(at);
        let sees = match who {
            ActorId::User(id) => self.index.users.get(id).map(|user| self.users[*user].sees(mailbox)),
            ActorId::Agent(id) => {
                let key = self.index.agents.get(id).map(|key| &self.keys[*key]);
                // An agent of the other world is not on this team: nothing is told of that world.
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

    /// Gives a conversation to someone, as a person in the app does it.
    pub fn assign_by_person(
        &mut self,
        id: &str,
        assignment: Assignment,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let at = self.conversation(id)?;
        let by = self.person(at, assignment.by.as_ref())?;
        let by = by.ok_or_else(|| Refusal::conflict("The workspace has no person who could do this."))?;
        self.assign(at, assignment.to, &by, now)
    }

    /// The person who does something to a conversation: the one named, else the inbox's owner, else the first.
    pub(in crate::world) fn person(
        &self,
        at: usize,
        by: Option<&UserId>,
    ) -> Result<Option<ActorId>, Refusal> {
        if let Some(id) = by {
            let user = self.user(id)?;
            if !user.sees(self.mailbox_of(at)) && !self.mailbox_of(at).sandbox {
                return Err(Refusal::field("by", "cannot see this inbox"));
            }
            return Ok(Some(user.id.clone().into()));
        }
        let owner = self.mailbox_of(at).owner.clone();
        Ok(owner.or_else(|| self.users.first().map(|user| user.id.clone())).map(ActorId::User))
    }
}
