//! The service without its shell: plain data and what can be done to it.
//!
//! Nothing here does I/O or looks at a clock; the time is an argument. [`World`] is written and read as one JSON
//! document. What it takes to answer fast (indexes, counters of the rate limit) is not part of the document:
//! [`World::prepare`] builds it anew.

mod app_mail;
mod assign;
mod bookings;
mod call;
mod check;
mod demo;
mod documents;
mod drafts;
mod events;
mod ids;
mod inbound;
mod index;
mod jobs;
mod keys;
mod limit;
mod list;
mod notes;
mod outbox;
mod people;
mod prepare;
mod quoted;
mod read;
mod refusal;
mod requests;
mod run;
mod sandbox;
mod scam;
mod search;
mod sending;
mod snooze;
mod tags;
mod thread;
mod threading;
mod visibility;
pub mod webhooks;

use std::{collections::BTreeSet, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;

pub use app_mail::{AppMail, AppMails};
pub use assign::Assignment;
pub use bookings::{BookingRecord, NewBooking};
pub use call::{Answer, CallInput};
pub use documents::Filed;
pub use drafts::{Approval, Approved, Stop, Waiting};
pub use ids::{Fresh, Ids};
pub use inbound::{Dmarc, InboundMail, Received};
pub use jobs::{Job, JobEntry, Jobs};
pub use keys::{Key, KeyEntry, KeyHash, Keys, LIVE_KEY, MadeKey, NewKey, TEST_KEY};
pub use outbox::{OutboxKind, OutboxMail, Outcome};
pub use people::{MailboxEntry, MailboxRecord, NewMailbox, NewUser, Plan, User, Workspace};
pub use prepare::InvalidWorld;
pub use refusal::Refusal;
pub use requests::{DocumentRequest, RequestedItem, Upload, Uploaded};
pub use run::{Fired, FiredJob};
pub use snooze::Snooze;
pub use tags::TagRecord;
pub use thread::{Item, MessageRecord, Thread};
pub use webhooks::{
    CreateWebhook, CreatedWebhook, DeliveryFilter, DeliveryOutcome, DeliveryView, HookScope, HookState,
    RotatedSecret, StampClock, TestSent, Try, TryOutcome, TryRequest, WebhookView, Webhooks,
};

/// One workspace with all that is in it.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct World {
    /// Where the clock stood when the document was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    #[serde(default)]
    pub(crate) workspace: Workspace,
    #[serde(default)]
    pub(crate) ids: Ids,
    #[serde(default)]
    pub(crate) users: Vec<User>,
    pub(crate) mailboxes: Vec<MailboxRecord>,
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    #[serde(default)]
    pub(crate) tags: Vec<TagRecord>,
    #[serde(default)]
    pub(crate) conversations: Vec<Thread>,
    #[serde(default)]
    pub(crate) documents: Vec<Filed>,
    #[serde(default)]
    pub(crate) document_requests: Vec<DocumentRequest>,
    #[serde(default)]
    pub(crate) app_mail: AppMails,
    #[serde(default)]
    pub(crate) bookings: Vec<BookingRecord>,
    #[serde(default)]
    pub(crate) outbox: Vec<OutboxMail>,
    /// Sandbox addresses that complained: every later mail to them fails.
    #[serde(default)]
    pub(crate) complaints: BTreeSet<String>,
    #[serde(default)]
    pub(crate) jobs: Jobs,
    #[serde(default)]
    pub(crate) webhooks: Webhooks,
    #[serde(skip)]
    index: index::Index,
    #[serde(skip)]
    limits: limit::Limits,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("workspace", &self.workspace)
            .field("conversations", &self.conversations.len())
            .field("jobs", &self.jobs.len())
            .finish_non_exhaustive()
    }
}

impl World {
    /// A workspace with one team inbox, one person, the sandbox, the two fixed keys, and nothing in it.
    ///
    /// ```
    /// use shared_inbox_mock::world::World;
    /// let world = World::empty();
    /// assert_eq!((world.users().len(), world.mailboxes().len(), world.keys().len()), (1, 2, 2));
    /// ```
    pub fn empty() -> World {
        World::bare(1)
    }

    fn blank(ids: Ids) -> World {
        let mut ids = ids;
        World {
            now: None,
            workspace: Workspace { id: ids.fresh(), plan: Plan::default() },
            ids,
            users: Vec::new(),
            mailboxes: Vec::new(),
            keys: Vec::new(),
            tags: Vec::new(),
            conversations: Vec::new(),
            documents: Vec::new(),
            document_requests: Vec::new(),
            app_mail: AppMails::default(),
            bookings: Vec::new(),
            outbox: Vec::new(),
            complaints: BTreeSet::new(),
            jobs: Jobs::default(),
            webhooks: Webhooks::default(),
            index: index::Index::default(),
            limits: limit::Limits::default(),
        }
    }
}
