//! Reads across all inboxes: conversations, documents, requests and traces.

use serde::Serialize;
use shared_inbox::{Document, Tag};

use super::Control;
use crate::{
    runtime::journal::entry::{JournalEntry, RequestFilter},
    world::{
        ConversationEntry, ConversationFilter, ConversationView, DocumentFilter, Page, PageRange, Result,
        StepKind, TraceStep,
    },
};

/// What led to something, and what it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Trace {
    /// The id that was asked about.
    pub id: String,
    /// The steps, oldest first; then the jobs that still wait. Empty when nothing is known.
    pub steps: Vec<TraceStep>,
}

impl Control {
    /// Returns a page of the conversations of all inboxes, newest first: private ones and the sandbox
    /// included, in every view unless one is named.
    ///
    /// # Errors
    ///
    /// 400 for a section or a view that there is not.
    pub async fn conversations(
        &self,
        filter: ConversationFilter,
        section: PageRange,
    ) -> Result<Page<ConversationEntry>> {
        self.read(|world, _| world.browse(&filter, section))
    }

    /// Returns a conversation, whole. The address of a customer stands for their newest one.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn conversation(&self, conversation: impl AsRef<str>) -> Result<ConversationView> {
        self.read(|world, _| world.view(conversation.as_ref()))
    }

    /// Returns a page of the documents of all inboxes, newest first.
    ///
    /// # Errors
    ///
    /// 400 for a section or a kind that there is not.
    pub async fn documents(&self, filter: DocumentFilter, section: PageRange) -> Result<Page<Document>> {
        self.read(|world, _| world.browse_documents(&filter, section))
    }

    /// Returns all tags, counted over all inboxes.
    pub async fn tags(&self) -> Vec<Tag> {
        self.read(|world, _| world.all_tags())
    }

    /// Returns one page of the journal; the entries of a long one are made on the worker's thread.
    pub(super) async fn present_requests(
        &self,
        filter: RequestFilter,
        section: PageRange,
    ) -> Result<Page<JournalEntry>> {
        const MAX_INLINE_REQUESTS: usize = 200;
        let mut requests = self.runtime.journal(|journal| journal.requests());
        if let Some(livemode) = filter.livemode {
            let mut keys = self.read(|world, _| world.keys());
            keys.retain(|key| key.livemode == livemode);
            requests.retain_agents(|agent| keys.iter().any(|key| key.agent_id == *agent));
        }
        let mut page = self
            .runtime
            .offload_if(requests.len() > MAX_INLINE_REQUESTS, move || requests.browse(&filter, section))
            .await?;
        self.add_conversation_details(&mut page.items);
        Ok(page)
    }

    /// Adds the customer and the subject of each request's conversation.
    pub(super) fn add_conversation_details(&self, requests: &mut [JournalEntry]) {
        self.read(|world, _| {
            for request in requests {
                let id = request.conversation_id.as_ref();
                if let Some((customer, subject)) = id.and_then(|id| world.customer_and_subject(id.as_str())) {
                    (request.customer, request.subject) = (customer, Some(subject));
                }
            }
        });
    }

    /// Returns everything that happened in the world and is still stored, oldest first: the steps of all
    /// traces.
    ///
    /// Requests that changed nothing are in the journal alone. The numbers of steps,
    /// [requests](Self::requests) and attempts of [deliveries](Self::delivery) are one order.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use shared_inbox_mock::{MockServer, journal::StepKind};
    ///
    /// let mock = MockServer::builder().manual_clock().start().await;
    /// let before = mock.control().next_number().await;
    /// let first = mock.client().conversations().await?[0].id.clone();
    /// mock.client().conversation(&first).add_note("Refund is approved").await?;
    ///
    /// let (requests, history) = (mock.control().requests().await, mock.control().history().await);
    /// let note = history.iter().find(|step| step.kind == StepKind::Note).expect("the note");
    /// assert!(before < requests[0].number && requests[0].number < requests[1].number);
    /// assert!(requests[1].number < note.number);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn history(&self) -> Vec<TraceStep> {
        self.read(|world, _| world.history())
    }

    /// Draws a number of that order: greater than those of everything before it, smaller than those of
    /// everything after it.
    pub async fn next_number(&self) -> u64 {
        self.runtime.draw_number()
    }

    /// Returns what led to something and what it led to: a request, a message, a note, an event, a booking, a
    /// conversation.
    pub async fn trace(&self, id: impl AsRef<str>) -> Trace {
        let id = id.as_ref();
        let mut steps = self.read(|world, _| world.trace(id));
        self.runtime.journal(|journal| {
            if steps.is_empty() {
                // A request that changed nothing.
                steps.extend(journal.find(id).map(|entry| TraceStep::of_request(&entry.id, entry.at)));
            }
            for step in steps.iter_mut().filter(|step| step.kind == StepKind::Request) {
                if let Some(entry) = journal.find(&step.id) {
                    step.at = entry.at;
                    if step.what.is_empty() {
                        step.what = entry.tool.unwrap_or_else(|| entry.path.clone());
                    }
                    (step.method, step.path, step.status) =
                        (Some(entry.method), Some(entry.path), entry.status);
                    (step.traceparent, step.fault_id) = (entry.traceparent, entry.fault_id);
                }
            }
        });
        Trace { id: id.to_owned(), steps }
    }
}
