//! Reads across all inboxes, private ones and the sandbox included.

use serde::{Deserialize, Serialize};
use shared_inbox::{
    Assignee, Contact, ConversationId, ConversationSummary, Document, DocumentKind, MailboxId, MessageStatus,
    Status, Tag, Team, Timestamp, Turn, Urgency, View,
};

use super::{BookingRecord, DocumentRequestEntry, Item, MailboxEntry, Refusal, Result, World};

/// Items of a page by default, and at most.
const DEFAULT_PAGE: usize = 100;
const MAX_PAGE: usize = 1_000;

/// A page of a list, and the length of the whole list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The number of items in the whole list.
    pub total: usize,
}

/// The range of a list that makes a page.
///
/// ```
/// use shared_inbox_mock::world::PageRange;
/// let part: PageRange = serde_json::from_str(r#"{ "offset": 200, "limit": 50 }"#)?;
/// assert_eq!(part, PageRange::new(200, 50));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PageRange {
    /// The number of items to skip.
    pub offset: Option<usize>,
    /// The most items of the page, from 1 to 1000; 100 by default.
    pub limit: Option<usize>,
}

impl PageRange {
    /// Returns this section, or the whole list if neither offset nor limit is set.
    pub(crate) fn or_whole(self) -> Self {
        if self == Self::default() { Self::new(0, usize::MAX) } else { self }
    }

    /// Returns a section of `limit` items from `offset`.
    pub fn new(offset: usize, limit: usize) -> Self {
        Self { offset: Some(offset), limit: Some(limit) }
    }

    pub(crate) fn check(&self) -> Result<()> {
        match self.limit {
            Some(limit) if !(1..=MAX_PAGE).contains(&limit) => {
                Err(Refusal::field("limit", "must be from 1 to 1000"))
            }
            _ => Ok(()),
        }
    }

    /// Returns this page of a list; only its items are converted.
    pub(crate) fn select<I, T>(&self, all: &[I], mut show: impl FnMut(&I) -> T) -> Page<T> {
        let from = self.offset.unwrap_or(0).min(all.len());
        let to = from.saturating_add(self.limit.unwrap_or(DEFAULT_PAGE)).min(all.len());
        Page { items: all[from..to].iter().map(&mut show).collect(), total: all.len() }
    }
}

/// Which conversations to list, of all inboxes.
///
/// ```
/// use shared_inbox_mock::world::ConversationFilter;
/// let filter = ConversationFilter::default().words("broken lamp").tag("refund");
/// assert_eq!(filter.q.as_deref(), Some("broken lamp"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConversationFilter {
    /// In which view: `open`, `waiting`, `snoozed`, `closed`, or `all` (unless said).
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>", extend("enum" = crate::json::words::or_null(View::KNOWN))))]
    pub view: Option<View>,
    /// In which inbox.
    pub mailbox: Option<MailboxId>,
    /// With these words in the subject or a message.
    pub q: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
}

redacted_debug!(ConversationFilter { view, mailbox });

impl ConversationFilter {
    setters! {
        /// Those of this view.
        view(view: View) => view = Some(view);
        /// Those in this inbox.
        mailbox(id: MailboxId) => mailbox = Some(id);
        /// Those with these words.
        words(q: impl Into<String>) => q = Some(q.into());
        /// Those with this tag.
        tag(tag: impl Into<String>) => tag = Some(tag.into());
    }
}

/// A conversation in the list of the control API: what the service lists, and what only the team sees.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationEntry {
    /// As the service lists it.
    #[serde(flatten)]
    pub summary: ConversationSummary,
    /// Its inbox.
    pub mailbox_id: MailboxId,
    /// Whether that is the sandbox.
    pub sandbox: bool,
    /// Until when it is put off.
    pub snoozed_until: Option<Timestamp>,
    /// Whose turn it is.
    pub turn: Option<Turn>,
    /// Drafts that wait for a person.
    pub drafts: usize,
}

/// A conversation as the team sees it: nothing is cut or left out.
#[derive(Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationView {
    /// Its id.
    pub id: ConversationId,
    /// Its subject.
    pub subject: String,
    /// Where it stands.
    pub status: Status,
    /// Whose turn it is.
    pub turn: Option<Turn>,
    /// The customer.
    pub contact: Contact,
    /// Its inbox.
    pub mailbox: MailboxEntry,
    /// When the latest message came or went.
    pub last_message_at: Timestamp,
    /// Who has it.
    pub assignee: Option<Assignee>,
    /// Its tags.
    pub tags: Vec<String>,
    /// What it is about.
    pub topic: Option<String>,
    /// How urgent it is.
    pub urgency: Option<Urgency>,
    /// A warning.
    pub risk: Option<String>,
    /// Reasons for the warning.
    pub risk_reasons: Vec<String>,
    /// Until when it is put off.
    pub snoozed_until: Option<Timestamp>,
    /// The app's reference.
    pub reference: Option<String>,
    /// What happened, oldest first, with whole texts and what only the service knows of a message.
    pub timeline: Vec<Item>,
    /// Whom it can be assigned to.
    pub team: Team,
    /// Its documents.
    pub documents: Vec<Document>,
    /// The requested documents.
    pub document_requests: Vec<DocumentRequestEntry>,
    /// Times that were booked in it.
    pub bookings: Vec<BookingRecord>,
}

redacted_debug!(ConversationView { id, status });

/// Which documents to list, of all inboxes.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentFilter {
    /// With these words in the title, the file name or the fields.
    pub q: Option<String>,
    /// Of this kind.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(DocumentKind::KNOWN))))]
    pub kind: Option<DocumentKind>,
}

redacted_debug!(DocumentFilter { kind });

impl World {
    /// Returns conversations of all inboxes, newest first.
    pub fn browse(&self, filter: &ConversationFilter, part: PageRange) -> Result<Page<ConversationEntry>> {
        part.check()?;
        if let Some(View::Unknown(view)) = &filter.view {
            return Err(Refusal::field(
                "view",
                format!("{view} is none of open, waiting, snoozed, closed, all"),
            ));
        }
        let found = self.find_anywhere(filter);
        Ok(part.select(&found, |at| self.entry(*at)))
    }

    /// Returns the name or the address of a conversation's customer.
    pub(super) fn customer(&self, at: usize) -> Option<String> {
        let contact = &self.conversations[at].contact;
        contact.name.clone().filter(|name| !name.is_empty()).or_else(|| contact.email.clone())
    }

    /// Returns the customer and the subject of a conversation.
    pub(crate) fn customer_and_subject(&self, id: &str) -> Option<(Option<String>, String)> {
        let at = self.conversation(id).ok()?;
        Some((self.customer(at), self.conversations[at].subject.clone()))
    }

    fn entry(&self, at: usize) -> ConversationEntry {
        let thread = &self.conversations[at];
        let mailbox = self.mailbox_of(at);
        let draft = |message: &&super::MessageRecord| message.status == Some(MessageStatus::Draft);
        ConversationEntry {
            summary: self.summary(at),
            mailbox_id: mailbox.id.clone(),
            sandbox: mailbox.sandbox,
            snoozed_until: thread.snoozed_until,
            turn: thread.turn.clone(),
            drafts: thread.messages().filter(draft).count(),
        }
    }

    /// Returns a conversation of any inbox, with everything in it.
    pub fn view(&self, id: &str) -> Result<ConversationView> {
        let at = self.conversation_or_customer(id)?;
        let thread = &self.conversations[at];
        let here = |there: &Option<ConversationId>| there.as_ref() == Some(&thread.id);
        let documents = self.documents.iter().map(|filed| &filed.document);
        let requests = self.document_requests.iter().filter(|it| it.conversation == thread.id);
        Ok(ConversationView {
            id: thread.id.clone(),
            subject: thread.subject.clone(),
            status: thread.status.clone(),
            turn: thread.turn.clone(),
            contact: thread.contact.clone(),
            mailbox: self.mailbox_entry(self.index.positions[at].mailbox),
            last_message_at: thread.last_message_at(),
            assignee: thread.assignee.as_ref().map(|who| self.assignee(who)),
            tags: thread.tags.clone(),
            topic: thread.topic.clone(),
            urgency: thread.urgency.clone(),
            risk: thread.risk.clone(),
            risk_reasons: thread.risk_reasons.clone(),
            snoozed_until: thread.snoozed_until,
            reference: thread.reference.clone(),
            timeline: thread.timeline.clone(),
            team: self.team_of(self.mailbox_of(at)),
            documents: documents.filter(|it| here(&it.conversation_id)).cloned().collect(),
            document_requests: requests.map(|it| it.entry(self)).collect(),
            bookings: self.bookings.iter().filter(|it| here(&it.conversation_id)).cloned().collect(),
        })
    }

    /// Returns documents of all inboxes, newest first.
    pub fn browse_documents(&self, filter: &DocumentFilter, part: PageRange) -> Result<Page<Document>> {
        part.check()?;
        if let Some(kind @ DocumentKind::Unknown(_)) = &filter.kind {
            return Err(Refusal::field("kind", format!("{kind} is none of the kinds of documents")));
        }
        let found = self.find_documents(filter.q.as_deref(), filter.kind.as_ref());
        Ok(part.select(&found, |at| self.documents[*at].document.clone()))
    }

    /// Returns all tags, with the number of conversations in all inboxes.
    pub fn all_tags(&self) -> Vec<Tag> {
        let count = |tag: usize| {
            (0..self.mailboxes.len()).filter_map(|inbox| self.index.tag_counts.get(&(tag, inbox))).sum()
        };
        let tags = self.tags.iter().enumerate();
        tags.map(|(at, tag)| Tag::new(tag.id.clone(), &tag.name, count(at))).collect()
    }
}
