//! One conversation and what can be done with it.

use super::client::Client;
use crate::client::call::{Request, read};
use crate::client::create::{CreateInput, CreateRequest};
use crate::client::follow::Wait;
use crate::input::{
    AddNote, AssignConversation, DocumentItem, Input, Reply, RequestDocuments, SetStatus, TagConversation,
};
use crate::{Ack, AssignTo, Conversation, ConversationId, MessageId, Status, operation::Operation};

/// A conversation to act on; made by [`Client::conversation`]. Holds an id, not the conversation.
#[derive(Clone, Debug)]
pub struct ConversationHandle {
    client: Client,
    id: ConversationId,
}

impl ConversationHandle {
    pub(super) fn new(client: &Client, id: &ConversationId) -> Self {
        Self { client: client.clone(), id: id.clone() }
    }

    fn request<I: Input>(&self, operation: Operation, input: I) -> Request<I, Ack> {
        Request::new(&self.client.core, operation, Some(&self.id), input)
    }

    fn create<I: CreateInput>(&self, input: I) -> CreateRequest<I> {
        CreateRequest::new(&self.client.core, &self.id, input)
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Reads the conversation.
    pub fn get(&self) -> Request<(), Conversation> {
        read(&self.client.core, &self.id, &self.client.core.options)
    }

    /// Adds a note for the team, 1 to 10,000 characters; the customer never sees it. `@FirstName` mentions a
    /// person.
    pub fn add_note(&self, body: impl Into<String>) -> CreateRequest<AddNote> {
        self.create(AddNote::new(body))
    }

    /// Sets the status. Setting the same again changes nothing.
    pub fn set_status(&self, status: Status) -> Request<SetStatus, Ack> {
        self.request(Operation::SetStatus, SetStatus::new(status))
    }

    /// Closes the conversation: sets the status `closed`.
    pub fn close(&self) -> Request<SetStatus, Ack> {
        self.set_status(Status::Closed)
    }

    /// Adds and removes tags, at most 10 each.
    pub fn edit_tags(&self) -> Request<TagConversation, Ack> {
        self.request(Operation::TagConversation, TagConversation::default())
    }

    /// Assigns it to someone, or to nobody.
    pub fn assign(&self, to: impl Into<AssignTo>) -> Request<AssignConversation, Ack> {
        self.request(Operation::AssignConversation, AssignConversation::new(to))
    }

    /// Assigns it to this key's agent.
    pub fn assign_to_me(&self) -> Request<AssignConversation, Ack> {
        self.assign(AssignTo::Me)
    }

    /// Writes a reply, at most 50,000 characters. Awaiting it makes a draft that a person approves; only
    /// [`and_send`](CreateRequest::and_send) emails the customer.
    pub fn reply(&self, body: impl Into<String>) -> CreateRequest<Reply> {
        self.create(Reply::new(body))
    }

    /// Requests documents from the customer, at most 20. Awaiting it makes a draft that a person approves;
    /// only [`and_send`](CreateRequest::and_send) emails the customer.
    pub fn request_documents(
        &self,
        documents: impl IntoIterator<Item = DocumentItem>,
    ) -> CreateRequest<RequestDocuments> {
        self.create(RequestDocuments::new(documents))
    }

    /// Waits until the customer has written after this message, as long as it is awaited unless
    /// [`within`](Wait::within) is set.
    ///
    /// `after` is your own message, or the latest one that you have read: a reply that is there already
    /// counts. So does an automatic one (out of office), since the API does not tell them apart. When `after`
    /// is missing for [`visibility_timeout`](crate::ClientBuilder::visibility_timeout), such as a draft that
    /// was discarded, that is an error for which `is_undelivered` holds.
    pub fn wait_for_reply(&self, after: &MessageId) -> Wait {
        Wait::for_reply(&self.client.core, &self.id, after)
    }

    /// Waits until this message has gone out: one and a half times the undo window and half a minute, unless
    /// [`within`](Wait::within) is set. A draft is waited for too: a person may approve it. A message that
    /// failed, or is missing for [`visibility_timeout`](crate::ClientBuilder::visibility_timeout), is an
    /// error for which `is_undelivered` holds.
    pub fn wait_until_sent(&self, message: &MessageId) -> Wait {
        Wait::until_sent(&self.client.core, &self.id, message)
    }
}
