//! One conversation and what can be done with it.

use super::Client;
use super::call::Call;
use super::create::Create;
use super::wait::{ForReply, UntilSent, Wait};
use crate::input::{
    AddNote, AssignConversation, DocumentItem, Reply, RequestDocuments, SetStatus, TagConversation,
};
use crate::{AssignTo, Conversation, ConversationId, Date, Done, MessageId, Operation, ReplyResult, Status};

/// A conversation to act on; made by [`Client::conversation`]. Holds an id, not the conversation.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// let thread = inbox.conversation(&id);
/// thread.add_note("Refund is approved, @Anna").await?;
/// thread.tags().add("refund").remove("new").await?;
/// let draft = thread.reply("Your refund is on its way.").summary("Confirms the refund").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Thread {
    client: Client,
    id: ConversationId,
}

impl Thread {
    pub(super) fn new(client: &Client, id: &ConversationId) -> Self {
        Self { client: client.clone(), id: id.clone() }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Reads the whole conversation.
    pub fn get(&self) -> Call<(), Conversation> {
        Call::bare(&self.client, Operation::GetConversation, Some(&self.id))
    }

    /// Adds a note for the team, 1 to 10,000 characters; the customer never sees it. `@FirstName` mentions a person.
    pub fn add_note(&self, body: impl Into<String>) -> Create<AddNote, Done> {
        Create::note(&self.client, &self.id, AddNote::new(body))
    }

    /// Sets the status. Setting the same again changes nothing.
    pub fn set_status(&self, status: Status) -> Call<SetStatus, Done> {
        Call::new(&self.client, Operation::SetStatus, Some(&self.id), SetStatus::new(status))
    }

    /// Adds and removes tags, at most 10 each.
    pub fn tags(&self) -> Call<TagConversation, Done> {
        Call::new(&self.client, Operation::TagConversation, Some(&self.id), TagConversation::default())
    }

    /// Gives it to someone, or to nobody.
    pub fn assign(&self, to: impl Into<AssignTo>) -> Call<AssignConversation, Done> {
        Call::new(&self.client, Operation::AssignConversation, Some(&self.id), AssignConversation::new(to))
    }

    /// Writes a reply, at most 50,000 characters. Awaiting it makes a draft that a person approves; to mail the customer,
    /// say [`and_send`](Create::and_send).
    pub fn reply(&self, body: impl Into<String>) -> Create<Reply, ReplyResult> {
        Create::reply(&self.client, &self.id, Reply::new(body))
    }

    /// Asks the customer for documents, at most 20. Awaiting it makes a draft that a person approves; to mail the
    /// customer, say [`and_send`](Create::and_send).
    pub fn request_documents(
        &self,
        documents: impl IntoIterator<Item = DocumentItem>,
    ) -> Create<RequestDocuments, ReplyResult> {
        Create::document_request(&self.client, &self.id, RequestDocuments::new(documents))
    }

    /// Waits until the customer writes, as long as it is awaited unless [`within`](Wait::within) is set.
    pub fn wait_for_reply(&self) -> Wait<ForReply> {
        Wait::for_reply(&self.client, &self.id)
    }

    /// Waits until this message has gone out: one and a half times the undo window and half a minute, unless
    /// [`within`](Wait::within) is set.
    pub fn wait_until_sent(&self, message: &MessageId) -> Wait<UntilSent> {
        Wait::until_sent(&self.client, &self.id, message)
    }
}

impl Call<TagConversation, Done> {
    /// Adds a tag, 1 to 40 characters. One that does not exist is created.
    #[expect(clippy::should_implement_trait, reason = "adding a tag is not arithmetic")]
    pub fn add(mut self, tag: impl Into<String>) -> Self {
        self.input.add.push(tag.into());
        self
    }

    /// Removes a tag.
    pub fn remove(mut self, tag: impl Into<String>) -> Self {
        self.input.remove.push(tag.into());
        self
    }
}

impl Create<Reply, ReplyResult> {
    /// One line for the person who approves the draft; at most 500 characters.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.input.summary = Some(summary.into());
        self
    }

    /// Asks for a document too: the service adds an upload link and a checklist under the reply.
    pub fn document(mut self, document: DocumentItem) -> Self {
        self.input.documents.get_or_insert_default().push(document);
        self
    }

    /// Mails the customer when the undo window has passed (10 minutes, 5 seconds in the sandbox) instead of making a
    /// draft. Needs the scope `send`.
    pub fn and_send(mut self) -> Self {
        self.input.send = true;
        self
    }

    /// Takes the whole input at once, instead of what was set so far. Its `send` is not taken: only
    /// [`and_send`](Self::and_send) mails anyone.
    pub fn input(mut self, input: Reply) -> Self {
        self.input = Reply { send: self.input.send, ..input };
        self
    }
}

impl Create<RequestDocuments, ReplyResult> {
    /// A short text above the checklist; at most 5,000 characters.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.input.message = Some(message.into());
        self
    }

    /// By when the documents are needed.
    pub fn due_date(mut self, date: Date) -> Self {
        self.input.due_date = Some(date);
        self
    }

    /// Mails the customer when the undo window has passed (10 minutes, 5 seconds in the sandbox) instead of making a
    /// draft. Needs the scope `send`.
    pub fn and_send(mut self) -> Self {
        self.input.send = true;
        self
    }

    /// Takes the whole input at once, instead of what was set so far. Its `send` is not taken: only
    /// [`and_send`](Self::and_send) mails anyone.
    pub fn input(mut self, input: RequestDocuments) -> Self {
        self.input = RequestDocuments { send: self.input.send, ..input };
        self
    }
}
