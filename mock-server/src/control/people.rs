//! People, inboxes, keys and the plan.

use super::{Control, Controlled};
use crate::world::{CreatedKey, KeyEntry, MailboxEntry, NewKey, NewMailbox, NewUser, Plan, User};

impl Control {
    /// A new person on the team.
    ///
    /// # Errors
    ///
    /// 400 for a name that is empty.
    pub async fn create_user(&self, new: NewUser) -> Controlled<User> {
        self.act("users", |world, _| world.create_user(new))
    }

    /// Everyone on the team.
    pub async fn users(&self) -> Vec<User> {
        self.read(|world, _| world.users().to_vec())
    }

    /// A new inbox.
    ///
    /// # Errors
    ///
    /// 400 for a bad address, 404 for an unknown owner, 409 for an address that is taken.
    pub async fn create_mailbox(&self, new: NewMailbox) -> Controlled<MailboxEntry> {
        self.act("mailboxes", |world, _| world.create_mailbox(new))
    }

    /// All inboxes, private ones and the sandbox included.
    pub async fn mailboxes(&self) -> Controlled<Vec<MailboxEntry>> {
        Ok(self.read(|world, _| world.mailboxes()))
    }

    /// A new key, shown this once.
    ///
    /// # Errors
    ///
    /// 400 for bad input, 404 for an unknown maker.
    pub async fn create_key(&self, new: NewKey) -> Controlled<CreatedKey> {
        let made = self.act("keys", |world, _| world.create_key(new))?;
        self.registry.index(&self.runtime);
        Ok(made)
    }

    /// All keys, without what is secret about them.
    pub async fn keys(&self) -> Vec<KeyEntry> {
        self.read(|world, _| world.keys())
    }

    /// Revokes the key of an agent.
    ///
    /// # Errors
    ///
    /// 404 when there is no such agent.
    pub async fn revoke_key(&self, agent: impl AsRef<str>) -> Controlled<()> {
        self.act("keys", |world, _| world.revoke_key(agent.as_ref()))
    }

    /// Changes the workspace's plan.
    pub async fn set_plan(&self, plan: Plan) -> Controlled<()> {
        self.act("plan", |world, _| {
            world.set_plan(plan);
            Ok(())
        })
    }
}
