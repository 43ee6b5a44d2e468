//! Looking at everything, whoever it belongs to: conversations, documents, requests, and what led to what.

use serde::Serialize;
use shared_inbox::{Document, Tag};

use super::{Control, Controlled};
use crate::{
    runtime::journal::{JournalEntry, RequestFilter},
    world::{
        ConversationEntry, ConversationFilter, ConversationView, DeliveryDetail, DeliveryFilter,
        DeliveryView, DocumentFilter, Page, Refusal, Section, StepKind, TraceStep,
    },
};

/// What led to something, and what it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Line")]
#[non_exhaustive]
pub struct Trace {
    /// What was asked about.
    pub id: String,
    /// The steps, oldest first; then the jobs that still wait. Empty when nothing is known.
    pub steps: Vec<TraceStep>,
}

impl Control {
    /// Conversations of all inboxes, private ones and the sandbox included, newest first.
    ///
    /// # Errors
    ///
    /// 400 for a part or a view that there is not.
    pub async fn conversations(
        &self,
        filter: ConversationFilter,
        part: Section,
    ) -> Controlled<Page<ConversationEntry>> {
        self.read(|world, _| world.browse(&filter, part))
    }

    /// A conversation of any inbox, with everything in it.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn conversation(&self, id: impl AsRef<str>) -> Controlled<ConversationView> {
        self.read(|world, _| world.view(id.as_ref()))
    }

    /// Documents of all inboxes, newest first.
    ///
    /// # Errors
    ///
    /// 400 for a part or a kind that there is not.
    pub async fn documents(&self, filter: DocumentFilter, part: Section) -> Controlled<Page<Document>> {
        self.read(|world, _| world.browse_documents(&filter, part))
    }

    /// All tags, with the number of conversations of all inboxes that have them.
    pub async fn tags(&self) -> Vec<Tag> {
        self.read(|world, _| world.all_tags())
    }

    /// A part of the journal, or all of it.
    ///
    /// # Errors
    ///
    /// 400 for a part or a status that there is not.
    pub async fn find_requests(
        &self,
        filter: RequestFilter,
        part: Section,
    ) -> Controlled<Page<JournalEntry>> {
        part.check()?;
        filter.check()?;
        self.look_at_requests(filter, part.or_whole()).await
    }

    /// What was asked is made presentable apart when there is much of it.
    pub(super) async fn look_at_requests(
        &self,
        filter: RequestFilter,
        part: Section,
    ) -> Controlled<Page<JournalEntry>> {
        const MANY: usize = 200;
        let requests = self.runtime.journal(|journal| journal.requests());
        let mut page = self.apart(requests.len() > MANY, move || requests.browse(&filter, part)).await?;
        self.recognize(&mut page.items);
        Ok(page)
    }

    /// Adds who and what the conversations of requests are about.
    fn recognize(&self, requests: &mut [JournalEntry]) {
        self.read(|world, _| {
            for request in requests {
                let id = request.conversation_id.as_ref();
                if let Some((customer, subject)) = id.and_then(|id| world.recognize(id.as_str())) {
                    (request.customer, request.subject) = (customer, Some(subject));
                }
            }
        });
    }

    /// One request of the journal.
    ///
    /// # Errors
    ///
    /// 404 when the journal does not have it, or no longer.
    pub async fn request(&self, id: &str) -> Controlled<JournalEntry> {
        let found = self.runtime.journal(|journal| journal.find(id));
        let mut found = found.ok_or_else(|| Refusal::new(404, "The journal has no such request."))?;
        self.recognize(std::slice::from_mut(&mut found));
        Ok(found)
    }

    /// A part of the log of a webhook, or all of it, newest first.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook, 400 for a part that there is not.
    pub async fn find_deliveries(
        &self,
        webhook: impl AsRef<str>,
        filter: DeliveryFilter,
        part: Section,
    ) -> Controlled<Page<DeliveryView>> {
        part.check()?;
        let found = self.deliveries(webhook, filter).await?;
        Ok(part.or_whole().of(&found, Clone::clone))
    }

    /// One delivery, with exactly what was sent.
    ///
    /// # Errors
    ///
    /// 404 when there is no such webhook or event.
    pub async fn delivery(
        &self,
        webhook: impl AsRef<str>,
        event: impl AsRef<str>,
    ) -> Controlled<DeliveryDetail> {
        self.read(|world, now| world.delivery(webhook.as_ref(), event.as_ref(), now))
    }

    /// What led to something, and what it led to: a request, a message, a note, an event, a booking, a conversation.
    pub async fn trace(&self, id: impl AsRef<str>) -> Trace {
        let id = id.as_ref();
        let mut steps = self.read(|world, _| world.trace(id));
        self.runtime.journal(|journal| {
            for step in steps.iter_mut().filter(|step| step.kind == StepKind::Request) {
                if let Some(entry) = journal.find(&step.id) {
                    (step.method, step.path, step.status) =
                        (Some(entry.method), Some(entry.path), entry.status);
                    step.traceparent = entry.traceparent;
                }
            }
        });
        Trace { id: id.to_owned(), steps }
    }
}
