//! The rules of the service: plain data and functions.
//!
//! Nothing here does I/O or reads a clock; the time is an argument. [`World`] is written and read as one JSON
//! document. Indexes and the counters of the rate limit are not part of the document: [`World::prepare`]
//! rebuilds them. Copies of a world are cheap (`store`).
//!
//! A world changes by a call (`call`) or by a job that is due (`run`, from the queue in `jobs`); `trace`
//! records which led to which. `browse` reads across all inboxes. The folders follow an email; the types of
//! each use only those of folders above it. What happens is methods of [`World`], and those call each other
//! in both directions: whatever a webhook may tell of, in any folder, ends with a call into
//! `webhooks/events`.
//!
//! | folder | contains |
//! |---|---|
//! | `people` | people, inboxes and keys, visibility, the rate limit |
//! | `conversation` | conversations: lists, search, reading, notes, tags, status, assigning, snoozing |
//! | `documents` | the document library, and document requests |
//! | `mail` | incoming and outgoing email, drafts, the sandbox |
//! | `webhooks` | events, endpoints and deliveries |
//! | `seed` | reading and checking documents, the demo world |

mod browse;
mod call;
mod conversation;
mod documents;
mod ids;
pub(crate) mod jobs;
mod mail;
mod people;
mod response;
pub(crate) mod run;
mod seed;
mod store;
pub(crate) mod trace;
pub(crate) mod webhooks;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use shared_inbox::Timestamp;
use shared_inbox_webhooks::Event;

#[doc(inline)]
pub use shared_inbox::__spec::Operation;

pub use browse::{ConversationEntry, ConversationFilter, ConversationView, DocumentFilter, Page, PageRange};
pub use call::CallInput;
pub use conversation::{Assignment, CreatedNote, Snooze, SortingResult, StatusChange, TagChange, TeamNote};
pub(crate) use conversation::{ConversationRecord, Item, MessageRecord, TagRecord};
pub use documents::{DocumentReading, DocumentRequestEntry, InboundFile, NewDocument, Upload, UploadResult};
pub(crate) use documents::{DocumentRequest, FiledDocument};
pub(crate) use ids::{IdGenerator, id_with_suffix};
pub(crate) use jobs::{Job, Jobs};
pub(crate) use jobs::{JobDetails, JobEntry};
pub(crate) use mail::AppMails;
pub use mail::{
    Approval, ApprovalResult, DiscardDraft, Dmarc, HelperDraft, InboundMail, InboundResult, MailOutcome,
    OutboxKind, OutboxMail, QueuedDraft, SentMail, StopMessage, TeamReply,
};
pub use people::{
    Actor, BookingRecord, CreatedKey, KeyEntry, KeyHash, LIVE_KEY, MailboxEntry, NewBooking, NewKey,
    NewMailbox, NewUser, Plan, ReadyKeys, TEST_KEY, User,
};
pub(crate) use people::{Key, MailboxRecord, Workspace};
pub use response::{Refusal, Result, ServiceResponse};
pub(crate) use run::{FiredJob, JobOutcome};
pub(crate) use trace::{Initiator, call_id};
pub(crate) use trace::{StepKind, TraceDelivery, TraceStep};
pub(crate) use webhooks::Webhooks;
pub(crate) use webhooks::{
    Attempt, AttemptOutcome, AttemptRequest, CreateWebhook, CreatedWebhook, DeliveryDetail, DeliveryFilter,
    DeliveryOutcome, DeliveryView, RotatedSecret, SignatureHeaders, TestEvent, WebhookView,
};
pub(crate) use webhooks::{LoggedEvent, ReceiverResponse};

use store::SharedVec;

/// One workspace with all that is in it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct World {
    /// Where the clock stood when the document was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Timestamp>,
    #[serde(default)]
    pub(crate) workspace: Workspace,
    /// State of the generator that ids, keys and chance come from, in hexadecimal.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "String", regex(pattern = "^[0-9a-fA-F]{1,16}$")))]
    pub(crate) ids: IdGenerator,
    #[serde(default)]
    pub(crate) users: Vec<User>,
    pub(crate) mailboxes: Vec<MailboxRecord>,
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    #[serde(default)]
    pub(crate) tags: Vec<TagRecord>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<ConversationRecord>"))]
    pub(crate) conversations: SharedVec<ConversationRecord>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<FiledDocument>"))]
    pub(crate) documents: SharedVec<FiledDocument>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<DocumentRequest>"))]
    pub(crate) document_requests: SharedVec<DocumentRequest>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<mail::AppMail>"))]
    pub(crate) app_mail: AppMails,
    #[serde(default)]
    pub(crate) bookings: Vec<BookingRecord>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<OutboxMail>"))]
    pub(crate) outbox: SharedVec<OutboxMail>,
    /// Sandbox addresses that complained: every later mail to them fails.
    #[serde(default)]
    pub(crate) complaints: BTreeSet<String>,
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schemars(with = "Vec<jobs::Due<Job>>"))]
    pub(crate) jobs: Jobs,
    #[serde(default)]
    pub(crate) webhooks: Webhooks,
    /// The last events, whether or not a webhook subscribes to them.
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
    /// Returns a workspace with one team inbox, one person, the sandbox, the two fixed keys, and nothing in
    /// it.
    ///
    /// ```
    /// use shared_inbox_mock::world::World;
    /// let world = World::empty();
    /// assert_eq!((world.users().len(), world.mailboxes().len(), world.keys().len()), (1, 2, 2));
    /// ```
    pub fn empty() -> World {
        World::minimal(1)
    }

    /// Returns a copy of everything that the document contains, as of `now`.
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

    /// Returns how many objects it has, to tell whether work on it may take long.
    pub(crate) fn size(&self) -> usize {
        self.conversations.len()
            + self.documents.len()
            + self.outbox.len()
            + self.app_mail.len()
            + self.jobs.len()
            + self.webhooks.len()
    }

    /// Returns the indexing that the first search needs and that can run without the world; `None` if it is
    /// short.
    pub(crate) fn pending_search_index(&self) -> Option<impl FnOnce() + Send + 'static> {
        let (words, titles) = (self.index.words.pending_base(), self.library.words.pending_base());
        (words.is_some() || titles.is_some()).then_some(move || {
            // The world may have been replaced meanwhile.
            words.and_then(|words| words.upgrade()).iter().for_each(|words| words.read());
            titles.and_then(|titles| titles.upgrade()).iter().for_each(|titles| titles.read());
        })
    }
}
