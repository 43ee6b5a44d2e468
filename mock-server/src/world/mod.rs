//! The service without its shell: plain data and what can be done to it.
//!
//! Nothing here does I/O or looks at a clock; the time is an argument. [`World`] is written and read as one JSON
//! document. What it takes to answer fast (indexes, counters of the rate limit) is not part of the document:
//! [`World::prepare`] builds it anew. A copy of a world costs next to nothing (`store`).
//!
//! Things happen to a world in two ways: someone asks for them (`call`), or their time has come (`run`, from the queue
//! in `jobs`); `trace` knows which led to which. `browse` shows everything to whoever may see it all. The rooms follow a mail on its way; each uses only those above it:
//!
//! | room | holds |
//! |---|---|
//! | `people` | who is there, who sees what, how often a key may call |
//! | `conversation` | where a mail is kept, found and read; notes, tags, status, assigning, snoozing |
//! | `documents` | the files that came with it, and those that were asked for |
//! | `mail` | how it comes in, is answered and goes out; the sandbox |
//! | `webhooks` | who hears of it, and when |
//! | `seed` | worlds to start from |

mod browse;
mod call;
mod conversation;
mod documents;
mod ids;
mod jobs;
mod mail;
mod people;
mod response;
mod run;
mod seed;
mod store;
mod trace;
pub(crate) mod webhooks;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::{Timestamp, event::Event};

pub use browse::{ConversationEntry, ConversationFilter, ConversationView, DocumentFilter, Page, Section};
pub(crate) use browse::{empty_as_none, from_text};
pub use call::CallInput;
pub use conversation::{Assignment, NoteAdded, Snooze, Sorting, StatusChange, TagChange, TeamNote};
pub(crate) use conversation::{ConversationRecord, Item, MessageRecord, TagRecord};
pub(crate) use documents::{DocumentRequest, FiledDocument};
pub use documents::{InboundFile, NewDocument, Reading, RequestEntry, Upload, Uploaded};
pub(crate) use ids::{IdGenerator, NewId};
pub use jobs::JobEntry;
pub(crate) use jobs::{Job, Jobs};
pub(crate) use mail::{AppMail, AppMails};
pub use mail::{
    Approval, Approved, Discard, Dmarc, HelperDraft, InboundMail, OutboxKind, OutboxMail, Outcome, Received,
    SentMail, Stop, TeamReply, Waiting,
};
pub use people::{
    Actor, BookingRecord, CreatedKey, KeyEntry, KeyHash, Keys, LIVE_KEY, MailboxEntry, NewBooking, NewKey,
    NewMailbox, NewUser, Plan, TEST_KEY, User,
};
pub(crate) use people::{Key, MailboxRecord, Workspace};
pub use response::{Refusal, Result, ServiceResponse};
pub use run::{Fired, FiredJob};
pub(crate) use trace::{Initiator, call_id};
pub use trace::{StepKind, TraceDelivery, TraceStep};
pub(crate) use webhooks::ReceiverResponse;
pub(crate) use webhooks::Webhooks;
pub use webhooks::{
    Attempt, AttemptOutcome, AttemptRequest, AttemptSent, CreateWebhook, CreatedWebhook, DeliveryDetail,
    DeliveryFilter, DeliveryOutcome, DeliveryView, HookScope, HookState, RotatedSecret, Signed, TestSent,
    TimestampSource, WebhookView,
};

use store::SharedVec;

/// One workspace with all that is in it.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct World {
    /// Where the clock stood when the document was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    #[serde(default)]
    pub(crate) workspace: Workspace,
    /// State of the generator that ids, keys and chance come from, in hexadecimal.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = "^[0-9a-fA-F]{1,16}$"))]
    pub(crate) ids: IdGenerator,
    #[serde(default)]
    pub(crate) users: Vec<User>,
    pub(crate) mailboxes: Vec<MailboxRecord>,
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    #[serde(default)]
    pub(crate) tags: Vec<TagRecord>,
    #[serde(default)]
    #[schemars(with = "Vec<ConversationRecord>")]
    pub(crate) conversations: SharedVec<ConversationRecord>,
    #[serde(default)]
    #[schemars(with = "Vec<FiledDocument>")]
    pub(crate) documents: SharedVec<FiledDocument>,
    #[serde(default)]
    #[schemars(with = "Vec<DocumentRequest>")]
    pub(crate) document_requests: SharedVec<DocumentRequest>,
    #[serde(default)]
    #[schemars(with = "Vec<AppMail>")]
    pub(crate) app_mail: AppMails,
    #[serde(default)]
    pub(crate) bookings: Vec<BookingRecord>,
    #[serde(default)]
    #[schemars(with = "Vec<OutboxMail>")]
    pub(crate) outbox: SharedVec<OutboxMail>,
    /// Sandbox addresses that complained: every later mail to them fails.
    #[serde(default)]
    pub(crate) complaints: BTreeSet<String>,
    #[serde(default)]
    #[schemars(with = "Vec<jobs::Due<Job>>")]
    pub(crate) jobs: Jobs,
    #[serde(default)]
    pub(crate) webhooks: Webhooks,
    /// The last events, whether or not a webhook heard them.
    #[serde(skip)]
    emitted: VecDeque<Arc<Event>>,
    #[serde(skip)]
    index: conversation::Index,
    #[serde(skip)]
    library: documents::Library,
    #[serde(skip)]
    limits: people::Limits,
    #[serde(skip)]
    traces: trace::Traces,
}

redacted_debug!(World { workspace });

impl World {
    /// A workspace with one team inbox, one person, the sandbox, the two fixed keys, and nothing in it.
    ///
    /// ```
    /// use shared_inbox_mock::World;
    /// let world = World::empty();
    /// assert_eq!((world.users().len(), world.mailboxes().len(), world.keys().len()), (1, 2, 2));
    /// ```
    pub fn empty() -> World {
        World::minimal(1)
    }

    /// All that is written into the document, as it stands at `now`.
    pub(crate) fn data(&self, now: Timestamp) -> World {
        World {
            now: Some(now),
            workspace: self.workspace.clone(),
            ids: self.ids.clone(),
            users: self.users.clone(),
            mailboxes: self.mailboxes.clone(),
            keys: self.keys.clone(),
            tags: self.tags.clone(),
            conversations: self.conversations.clone(),
            documents: self.documents.clone(),
            document_requests: self.document_requests.clone(),
            app_mail: self.app_mail.data(),
            bookings: self.bookings.clone(),
            outbox: self.outbox.clone(),
            complaints: self.complaints.clone(),
            jobs: self.jobs.clone(),
            webhooks: self.webhooks.data(),
            ..World::default()
        }
    }

    /// How many things it has: what takes long with many of them is done apart.
    pub(crate) fn size(&self) -> usize {
        self.conversations.len()
            + self.documents.len()
            + self.outbox.len()
            + self.app_mail.len()
            + self.jobs.len()
            + self.webhooks.len()
    }

    /// What is to be read before the first search, which can be done without the world; `None` when there is little.
    pub(crate) fn unread(&self) -> Option<impl FnOnce() + Send + 'static> {
        let (words, titles) = (self.index.words.unread(), self.library.words.unread());
        (words.is_some() || titles.is_some()).then_some(move || {
            // Unless it was replaced meanwhile.
            words.and_then(|words| words.upgrade()).iter().for_each(|words| words.read());
            titles.and_then(|titles| titles.upgrade()).iter().for_each(|titles| titles.read());
        })
    }
}
