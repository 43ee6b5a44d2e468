//! Document requests: the checklist, the upload page, the reminders.

use serde::{Deserialize, Serialize};
use serde_json::json;
use shared_inbox::{
    __spec::limits, ConversationId, DocumentFields, DocumentId, DocumentKind, DocumentRequestId, MessageId,
    MessageStatus, Sender, Timestamp, input::DocumentItem,
};

use super::reading::{NewDocument, unknown_kind};
use crate::world::{
    Job, Refusal, Result, World,
    conversation::{Item, MessageRecord},
    store::LayeredMap,
};

/// A request for documents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DocumentRequest {
    /// Its id.
    pub id: DocumentRequestId,
    /// The conversation that it is in.
    pub conversation: ConversationId,
    /// The message that it goes with.
    pub message: MessageId,
    /// The requested documents.
    pub items: Vec<RequestedItem>,
    /// The due date.
    pub due_date: Option<String>,
    /// The end of the private upload page's address.
    pub token: String,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
    /// When the last required document came.
    pub completed_at: Option<Timestamp>,
}

redacted_debug!(DocumentRequest { id, conversation, sent_at, completed_at });

/// One requested document.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestedItem {
    /// Its label.
    pub label: String,
    /// Its description.
    pub description: Option<String>,
    /// Whether it is required.
    #[serde(default = "yes")]
    pub required: bool,
    /// The documents uploaded for it.
    #[serde(default)]
    pub documents: Vec<DocumentId>,
}

fn yes() -> bool {
    true
}

/// A file that the customer uploads.
///
/// ```
/// use shared_inbox::DocumentKind;
/// use shared_inbox_mock::world::Upload;
/// let upload = Upload::new(0, "passport.jpg").kind(DocumentKind::Id);
/// assert_eq!(upload.item, 0);
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Upload {
    /// The item of the checklist, counted from 0.
    pub item: usize,
    /// The file's name.
    pub filename: String,
    /// Its media type.
    pub content_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The kind that the reading helper finds.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(DocumentKind::KNOWN))))]
    pub kind: Option<DocumentKind>,
    /// The fields that the reading helper finds.
    pub fields: Option<DocumentFields>,
}

impl Upload {
    /// Returns a file of this name for this item.
    pub fn new(item: usize, filename: impl Into<String>) -> Self {
        Self { item, filename: filename.into(), content_type: None, size: None, kind: None, fields: None }
    }

    setters! {
        /// Sets the kind that the reading helper finds.
        kind(kind: DocumentKind) => kind = Some(kind);
    }
}

/// The result of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UploadResult {
    /// The document that it became.
    pub document_id: DocumentId,
    /// Whether every required document has arrived.
    pub complete: bool,
}

/// A document request in the list of the control API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DocumentRequestEntry {
    /// Its id.
    pub id: DocumentRequestId,
    /// The conversation that it is in.
    pub conversation_id: ConversationId,
    /// The message that it goes with.
    pub message_id: MessageId,
    /// The requested documents, in the order in which an upload counts it.
    pub items: Vec<RequestedItem>,
    /// The due date.
    pub due_date: Option<String>,
    /// The private upload page.
    pub link: String,
    /// When it was sent; null before.
    pub sent_at: Option<Timestamp>,
    /// When the last required document came; null before.
    pub completed_at: Option<Timestamp>,
    /// The name or the address of the customer.
    pub customer: Option<String>,
    /// The subject of the conversation.
    #[serde(default)]
    pub subject: String,
}

redacted_debug!(DocumentRequestEntry { id, sent_at, completed_at });

impl DocumentRequest {
    /// Returns whether every required item has an upload.
    fn is_complete(&self) -> bool {
        self.items.iter().all(|item| !item.required || !item.documents.is_empty())
    }

    /// Returns the request as the control API shows it.
    pub(crate) fn entry(&self, world: &World) -> DocumentRequestEntry {
        let at = world.conversation(self.conversation.as_str()).ok();
        DocumentRequestEntry {
            id: self.id.clone(),
            conversation_id: self.conversation.clone(),
            message_id: self.message.clone(),
            items: self.items.clone(),
            due_date: self.due_date.clone(),
            link: self.link(),
            sent_at: self.sent_at,
            completed_at: self.completed_at,
            customer: at.and_then(|at| world.customer(at)),
            subject: at.map(|at| world.conversations[at].subject.clone()).unwrap_or_default(),
        }
    }

    fn link(&self) -> String {
        format!("https://upload.shared-inbox.example/{}", self.token)
    }

    /// Returns the checklist, one line per item.
    fn checklist(&self, missing_only: bool) -> String {
        let mut text = String::new();
        for item in self.items.iter().filter(|item| !missing_only || item.documents.is_empty()) {
            text.push_str("- ");
            text.push_str(&item.label);
            if !item.required {
                text.push_str(" (nice to have)");
            }
            if let Some(description) = &item.description {
                text.push_str(": ");
                text.push_str(description);
            }
            text.push('\n');
        }
        if let Some(due) = &self.due_date {
            text.push_str(&format!("Please send them by {due}.\n"));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Appends a paragraph to a text, unless the text contains it.
fn add_under(text: &mut String, part: &str) {
    if !text.contains(part) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(part);
    }
}

impl World {
    /// Returns all document requests, oldest first.
    pub fn document_requests(&self) -> Vec<DocumentRequestEntry> {
        self.document_requests.iter().map(|it| it.entry(self)).collect()
    }

    /// Removes a request that was never sent.
    pub(crate) fn forget_request(&mut self, id: &DocumentRequestId) {
        let others = self.document_requests.iter().filter(|request| request.id != *id);
        self.document_requests = others.cloned().collect();
        self.index_requests();
    }

    pub(crate) fn index_requests(&mut self) {
        self.index.requests = LayeredMap::default();
        for (at, request) in self.document_requests.iter().enumerate() {
            self.index.requests.insert(request.id.clone(), at);
        }
    }

    /// Creates the document request of a message.
    pub(crate) fn create_document_request(
        &mut self,
        at: usize,
        message: &MessageId,
        items: Vec<DocumentItem>,
        due_date: Option<String>,
    ) -> DocumentRequestId {
        let id: DocumentRequestId = self.ids.next_id();
        let item = |item: DocumentItem| RequestedItem {
            label: item.label,
            description: item.description,
            required: item.required,
            documents: Vec::new(),
        };
        let request = DocumentRequest {
            id: id.clone(),
            conversation: self.conversations[at].id.clone(),
            message: message.clone(),
            items: items.into_iter().map(item).collect(),
            due_date,
            token: self.ids.token(32),
            sent_at: None,
            completed_at: None,
        };
        self.index.requests.insert(id.clone(), self.document_requests.len());
        self.document_requests.push(request);
        id
    }

    /// Appends the checklist to a text, and the upload link if the email will be sent.
    pub(crate) fn add_checklist(&self, request: &DocumentRequestId, text: &mut String, with_link: bool) {
        let Some(request) = self.index.requests.get(request).map(|at| &self.document_requests[*at]) else {
            return;
        };
        add_under(text, &request.checklist(false));
        if with_link {
            add_under(text, &format!("Upload here: {}", request.link()));
        }
    }

    /// Records that the email with the request was sent: reminders count from now.
    pub(crate) fn request_went_out(&mut self, request: &DocumentRequestId, now: Timestamp) {
        let Some(at) = self.index.requests.get(request).copied() else { return };
        let record = &mut self.document_requests[at];
        if record.sent_at.is_some() {
            return;
        }
        record.sent_at = Some(now);
        if record.completed_at.is_none() {
            for (number, after) in (1..).zip(limits::REMINDERS) {
                self.schedule_job(now + after, Job::Reminder { request: request.clone(), number }, now);
            }
        }
    }

    /// Reminds the customer of missing documents. The reminder is the service's own email and changes neither
    /// status nor turn.
    pub(crate) fn remind(&mut self, request: &DocumentRequestId, _number: u8, now: Timestamp) {
        let Some(record) = self.index.requests.get(request).map(|at| &self.document_requests[*at]) else {
            return;
        };
        let Ok(at) = self.conversation(record.conversation.as_str()) else { return };
        let text = format!(
            "This is a reminder: we are still missing the following.\n\n{}\n\nUpload here: {}",
            record.checklist(true),
            record.link(),
        );
        let mailbox = self.mailbox_of(at);
        let mut from = Sender::new(&mailbox.address);
        from.name = Some(mailbox.name.clone());
        let mut message = MessageRecord::outbound(self.ids.next_id(), now, from, text);
        message.status = Some(MessageStatus::Sending);
        let id = message.id.clone();
        self.append(at, Item::Message(message));
        self.deliver_reminder(&id, now);
    }

    /// Files an upload of the customer.
    pub fn upload(&mut self, request: &str, upload: Upload, now: Timestamp) -> Result<UploadResult> {
        let at = match self.conversation_or_customer(request) {
            Ok(at) => {
                let id = &self.conversations[at].id;
                (0..self.document_requests.len()).rfind(|it| self.document_requests[*it].conversation == *id)
            }
            Err(_) => {
                let id = DocumentRequestId::parse(request).ok();
                id.and_then(|id| self.index.requests.get(&id).copied())
            }
        };
        let at = at.ok_or_else(|| Refusal::no_such("document request"))?;
        let record = &self.document_requests[at];
        let count = record.items.len();
        let Some(label) = record.items.get(upload.item).map(|item| item.label.clone()) else {
            return Err(Refusal::field(
                "item",
                format!("must be below {count}, the number of requested items"),
            ));
        };
        if upload.filename.trim().is_empty() {
            return Err(Refusal::field("filename", "must not be empty"));
        }
        if let Some(problem) = unknown_kind(upload.kind.as_ref()) {
            return Err(Refusal::field("kind", problem));
        }
        let message = self.message(record.message.as_str()).map(|place| self.message_at(place));
        if message.is_none_or(|m| m.status == Some(MessageStatus::Draft)) {
            return Err(Refusal::conflict("The request is a draft: the customer has no upload link yet."));
        }
        let conversation = self.conversation(record.conversation.as_str())?;
        let fields = upload.fields.unwrap_or_default();
        let mailbox = self.conversations[conversation].mailbox.clone();
        let Upload { filename, kind, .. } = upload;
        let new = NewDocument { mailbox, filename, title: Some(label), kind, fields };
        let document_id = self.file(new, Some(conversation), now);
        let record = &mut self.document_requests[at];
        record.items[upload.item].documents.push(document_id.clone());
        let (ask, complete) = (record.id.clone(), record.is_complete());
        let first_time = complete && record.completed_at.is_none();
        if first_time {
            record.completed_at = Some(now);
        }
        let contact = self.conversations[conversation].contact.clone();
        let actor = contact.name.or(contact.email).unwrap_or_default();
        let data =
            [("requestId", json!(ask)), ("documentId", json!(document_id)), ("item", json!(upload.item))];
        self.append(conversation, Item::event(now, &actor, "upload", data));
        if first_time {
            self.jobs.remove(|job| matches!(job, Job::Reminder { request, .. } if *request == ask));
            self.emit_ask_completed(conversation, &ask, now);
        }
        Ok(UploadResult { document_id, complete })
    }
}
