//! Visibility: a live key sees the team inboxes and its maker's private ones, a test key only the sandbox.

use shared_inbox::{ActorId, ActorType, Assignee, Team, TeamMember};

use super::{Key, MailboxRecord, User};
use crate::world::{Refusal, Result, World};

impl Key {
    /// Returns whether the key sees an inbox.
    pub(crate) fn sees(&self, mailbox: &MailboxRecord) -> bool {
        if !self.livemode {
            return mailbox.sandbox;
        }
        !mailbox.sandbox && (mailbox.owner.is_none() || mailbox.owner == self.created_by)
    }
}

impl User {
    /// Returns whether the person sees an inbox. Nobody sees the sandbox in the app.
    pub(crate) fn sees(&self, mailbox: &MailboxRecord) -> bool {
        !mailbox.sandbox && mailbox.owner.as_ref().is_none_or(|owner| *owner == self.id)
    }
}

impl World {
    /// Returns the inboxes that a key sees.
    pub(crate) fn inboxes_of(&self, key: usize) -> impl Iterator<Item = usize> {
        let key = &self.keys[key];
        (0..self.mailboxes.len()).filter(|at| key.sees(&self.mailboxes[*at]))
    }

    /// Returns the conversation with this id if the key sees it.
    pub(crate) fn conversation_for(&self, key: usize, id: &str) -> Result<usize> {
        let at = self.conversation(id)?;
        let mailbox = &self.mailboxes[self.index.positions[at].mailbox];
        if self.keys[key].sees(mailbox) { Ok(at) } else { Err(Refusal::no_conversation()) }
    }

    /// Returns the conversation with this id in any inbox.
    pub(crate) fn conversation(&self, id: &str) -> Result<usize> {
        let at =
            shared_inbox::ConversationId::parse(id).ok().and_then(|id| self.index.conversations.get(&id));
        at.map(|at| *at as usize).ok_or_else(Refusal::no_conversation)
    }

    /// Returns the conversation with this id, or the newest one of the customer with this address.
    pub(crate) fn conversation_or_customer(&self, id: &str) -> Result<usize> {
        self.conversation(id).or_else(|refused| {
            let theirs = |at: &usize| self.conversations[*at].contact.email.as_deref() == Some(id);
            (0..self.conversations.len()).rev().find(theirs).ok_or(refused)
        })
    }

    pub(crate) fn mailbox_of(&self, conversation: usize) -> &MailboxRecord {
        &self.mailboxes[self.index.positions[conversation].mailbox]
    }

    /// Returns the team of an inbox.
    pub(crate) fn team_of(&self, mailbox: &MailboxRecord) -> Team {
        let people = self.users.iter().filter(|user| user.sees(mailbox));
        let agents = self.keys.iter().filter(|key| !key.revoked && key.sees(mailbox));
        let mut team = Team::default();
        team.people.extend(people.map(|user| TeamMember::new(user.id.clone(), &user.name)));
        team.agents.extend(agents.map(|key| TeamMember::new(key.agent_id.clone(), &key.name)));
        team
    }

    /// Returns the name of a person or an agent.
    pub(crate) fn name_of(&self, who: &ActorId) -> Option<&str> {
        match who {
            ActorId::User(id) => self.index.users.get(id).map(|at| self.users[*at].name.as_str()),
            ActorId::Agent(id) => self.index.agents.get(id).map(|at| self.keys[*at].name.as_str()),
            _ => None,
        }
    }

    /// Returns a person or an agent as an assignee.
    pub(crate) fn assignee(&self, who: &ActorId) -> Assignee {
        Assignee::new(who.clone(), self.name_of(who).unwrap_or_default(), actor_type(who))
    }
}

/// Returns whether an actor is a person or an agent.
pub(crate) fn actor_type(who: &ActorId) -> ActorType {
    if matches!(who, ActorId::User(_)) { ActorType::User } else { ActorType::Agent }
}
