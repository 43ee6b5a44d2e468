//! People and inboxes of the workspace.

use serde::{Deserialize, Serialize};
use shared_inbox::{__spec::limits, MailboxId, Problems, ReplyAddress, UserId, WorkspaceId};

use super::ReadyKeys;
use crate::world::{IdGenerator, Refusal, Result, World, id_with_suffix};

/// The plan of a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Plan {
    /// No API and no webhooks.
    Free,
    /// The API and webhooks.
    Pro,
    /// The API and webhooks.
    #[default]
    Team,
}

/// The workspace itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its plan.
    #[serde(default)]
    pub plan: Plan,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { id: id_with_suffix("mock"), plan: Plan::default() }
    }
}

/// A person on the team.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

redacted_debug!(User { id });

/// An inbox.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct MailboxRecord {
    /// Its id.
    pub id: MailboxId,
    /// Its address.
    pub address: String,
    /// Its name.
    pub name: String,
    /// The person whose private inbox it is; a team inbox has none.
    pub owner: Option<UserId>,
    /// Whether it is the sandbox.
    #[serde(default)]
    pub sandbox: bool,
}

redacted_debug!(MailboxRecord { id, owner, sandbox });

/// A person to add.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NewUser {
    /// Their name.
    pub name: String,
}

impl NewUser {
    /// Returns a person of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// An inbox to add.
///
/// ```
/// use shared_inbox_mock::{world::{NewMailbox, World}};
///
/// let mut world = World::empty();
/// let anna = world.users()[0].id.clone();
/// let private = world.create_mailbox(NewMailbox::new("anna@acme.example", "Anna").owner(anna.clone()))?;
/// assert_eq!(private.owner, Some(anna));
/// # Ok::<(), shared_inbox_mock::Refusal>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NewMailbox {
    /// Its address.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "email")))]
    pub address: String,
    /// Its name.
    pub name: String,
    /// The person whose private inbox it is.
    pub owner: Option<UserId>,
}

impl NewMailbox {
    /// Returns a team inbox.
    pub fn new(address: impl Into<String>, name: impl Into<String>) -> Self {
        Self { address: address.into(), name: name.into(), owner: None }
    }

    setters! {
        /// Makes it this person's private inbox.
        owner(owner: UserId) => owner = Some(owner);
    }
}

/// An inbox in the list of the control API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MailboxEntry {
    /// Its id.
    pub id: MailboxId,
    /// Its address.
    pub address: String,
    /// Its name.
    pub name: String,
    /// How many open conversations it has.
    pub open: u64,
    /// The person whose private inbox it is.
    pub owner: Option<UserId>,
    /// Whether it is the sandbox.
    pub sandbox: bool,
}

redacted_debug!(MailboxEntry { id, open });

impl World {
    /// Adds a person.
    pub fn create_user(&mut self, new: NewUser) -> Result<User> {
        if new.name.trim().is_empty() {
            return Err(Refusal::field("name", "must not be empty"));
        }
        let user = User { id: self.ids.next_id(), name: new.name };
        self.users.push(user.clone());
        self.index_people();
        Ok(user)
    }

    /// Returns the people.
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// Adds an inbox.
    pub fn create_mailbox(&mut self, new: NewMailbox) -> Result<MailboxEntry> {
        let mut problems = Problems::default();
        match ReplyAddress::parse(&new.address) {
            Err(_) => problems.push("address", "must be an email address"),
            Ok(address) if address.reference().is_some() => {
                problems.push("address", "must not carry a plus tag that counts as a reference");
            }
            Ok(_) if self.mailbox_for(&new.address).is_some() => {
                return Err(Refusal::conflict("There is an inbox with this address already."));
            }
            Ok(_) => {}
        }
        if new.name.trim().is_empty() {
            problems.push("name", "must not be empty");
        }
        problems.or(())?;
        if let Some(owner) = &new.owner {
            self.user(owner)?;
        }
        let record = MailboxRecord {
            id: self.ids.next_id(),
            address: new.address,
            name: new.name,
            owner: new.owner,
            sandbox: false,
        };
        self.mailboxes.push(record);
        self.index_people();
        Ok(self.mailbox_entry(self.mailboxes.len() - 1))
    }

    /// Returns all inboxes, private ones and the sandbox included.
    pub fn mailboxes(&self) -> Vec<MailboxEntry> {
        (0..self.mailboxes.len()).map(|i| self.mailbox_entry(i)).collect()
    }

    pub(crate) fn mailbox_entry(&self, at: usize) -> MailboxEntry {
        let record = &self.mailboxes[at];
        MailboxEntry {
            id: record.id.clone(),
            address: record.address.clone(),
            name: record.name.clone(),
            open: self.index.open_in(at),
            owner: record.owner.clone(),
            sandbox: record.sandbox,
        }
    }

    /// Changes the plan.
    pub fn set_plan(&mut self, plan: Plan) {
        self.workspace.plan = plan;
    }

    pub(crate) fn user(&self, id: &UserId) -> Result<&User> {
        self.users.iter().find(|user| user.id == *id).ok_or_else(|| Refusal::no_such("user"))
    }

    /// Returns the inbox of an address without a reference. A plus tag that is not a reference belongs to the
    /// address of the inbox, or else is ignored.
    pub(crate) fn mailbox_for(&self, address: &str) -> Option<usize> {
        self.mailbox_at(address).or_else(|| {
            let (local, domain) = address.rsplit_once('@')?;
            let (base, _) = local.split_once('+')?;
            self.mailbox_at(&format!("{base}@{domain}"))
        })
    }

    /// Returns the inbox with exactly this address, ignoring case.
    pub(crate) fn mailbox_at(&self, address: &str) -> Option<usize> {
        self.mailboxes.iter().position(|m| m.address.eq_ignore_ascii_case(address))
    }

    pub(crate) fn sandbox(&self) -> Option<usize> {
        self.mailboxes.iter().position(|m| m.sandbox)
    }

    /// Returns the undo window of an inbox.
    pub(crate) fn undo_window(&self, mailbox: usize) -> std::time::Duration {
        if self.mailboxes[mailbox].sandbox { limits::SANDBOX_UNDO_WINDOW } else { limits::UNDO_WINDOW }
    }

    /// Returns a world with a sandbox, one team inbox and one person.
    pub(crate) fn minimal(seed: u64) -> World {
        let mut ids = IdGenerator::seeded(seed);
        let workspace = Workspace { id: ids.next_id(), plan: Plan::default() };
        let user = User { id: ids.next_id(), name: "Anna Berg".to_owned() };
        let inbox = |id, address: &str, name: &str, sandbox| MailboxRecord {
            id,
            address: address.to_owned(),
            name: name.to_owned(),
            owner: None,
            sandbox,
        };
        let help = inbox(ids.next_id(), "help@acme.example", "Help", false);
        let sandbox = inbox(ids.next_id(), "sandbox@acme.test", "Sandbox", true);
        // One number is skipped, so that the ids of the demo stay the same.
        ids.next_u64();
        let (users, mailboxes) = (vec![user], vec![help, sandbox]);
        let mut world = World { workspace, ids, users, mailboxes, ..World::default() };
        world.index_people();
        world.use_keys(&ReadyKeys::fixed());
        world
    }
}
