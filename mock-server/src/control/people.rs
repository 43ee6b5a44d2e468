//! People, inboxes, keys and the plan.

use super::Control;
use crate::world::{CreatedKey, KeyEntry, MailboxEntry, NewKey, NewMailbox, NewUser, Plan, Result, User};

impl Control {
    /// Returns everyone on the team.
    pub async fn users(&self) -> Vec<User> {
        self.read(|world, _| world.users().to_vec())
    }

    /// Adds a person to the team.
    ///
    /// # Errors
    ///
    /// 400 for a name that is empty.
    pub async fn create_user(&self, new: NewUser) -> Result<User> {
        self.act("users", |world, _| world.create_user(new))
    }

    /// Adds an inbox. With an owner it is that person's private inbox.
    ///
    /// # Errors
    ///
    /// 400 for a bad address, 404 for an unknown owner, 409 for an address that is taken.
    pub async fn create_mailbox(&self, new: NewMailbox) -> Result<MailboxEntry> {
        self.act("mailboxes", |world, _| world.create_mailbox(new))
    }

    /// Returns all keys, without what is secret about them.
    pub async fn keys(&self) -> Vec<KeyEntry> {
        self.read(|world, _| world.keys())
    }

    /// Creates a key, which is shown this once.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown maker.
    pub async fn create_key(&self, new: NewKey) -> Result<CreatedKey> {
        let created = self.act("keys", |world, _| world.create_key(new))?;
        self.registry.index(&self.runtime);
        Ok(created)
    }

    /// Revokes the key of an agent.
    ///
    /// # Errors
    ///
    /// 404 when there is no such agent.
    pub async fn revoke_key(&self, agent: impl AsRef<str>) -> Result<()> {
        self.act("keys", |world, _| world.revoke_key(agent.as_ref()))
    }

    /// Returns all inboxes, private ones and the sandbox included.
    pub async fn mailboxes(&self) -> Result<Vec<MailboxEntry>> {
        Ok(self.read(|world, _| world.mailboxes()))
    }

    /// Returns the workspace's plan.
    pub async fn plan(&self) -> Plan {
        self.read(|world, _| world.workspace.plan)
    }

    /// Changes the workspace's plan.
    pub async fn set_plan(&self, plan: Plan) -> Result<()> {
        self.act("plan", |world, _| {
            world.set_plan(plan);
            Ok(())
        })
    }
}
