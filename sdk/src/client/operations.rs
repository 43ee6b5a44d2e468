//! The operations that are not about one conversation, and what can be set on each.

use serde_json::Value;

use super::Client;
use super::call::Call;
use super::changes::Changes;
use super::raw::Raw;
use super::thread::Thread;
use crate::input::{ListConversations, RecordSent, SandboxInbound, SearchDocuments};
use crate::{
    ConversationId, ConversationSummary, Document, DocumentKind, Done, Mailbox, Me, Operation, Reference,
    SandboxReceipt, Tag,
};

impl Client {
    /// Whose key this is, and what it may do. [`scopes`](Self::scopes) remembers the answer.
    pub fn me(&self) -> Call<(), Me> {
        Call::bare(self, Operation::Me, None)
    }

    /// Conversations, newest first: the open ones, at most 25, unless set otherwise.
    pub fn conversations(&self) -> Call<ListConversations, Vec<ConversationSummary>> {
        Call::new(self, Operation::ListConversations, None, ListConversations::default())
    }

    /// One conversation, to read it or do something with it. Sends nothing by itself.
    #[must_use]
    pub fn conversation(&self, id: &ConversationId) -> Thread {
        Thread::new(self, id)
    }

    /// Follows the list of conversations: what is new in it, what changed, what left it.
    pub fn changes(&self) -> Changes {
        Changes::new(self)
    }

    /// All inboxes that the key can see.
    pub fn mailboxes(&self) -> Call<(), Vec<Mailbox>> {
        Call::bare(self, Operation::ListMailboxes, None)
    }

    /// All tags.
    pub fn tags(&self) -> Call<(), Vec<Tag>> {
        Call::bare(self, Operation::ListTags, None)
    }

    /// Documents, newest first: at most 25 unless set otherwise.
    pub fn documents(&self) -> Call<SearchDocuments, Vec<Document>> {
        Call::new(self, Operation::SearchDocuments, None, SearchDocuments::default())
    }

    /// Records an email that the app sent itself, so that a reply to it arrives as a conversation with the reference.
    /// Recording the same Message-ID again is safe. [`new_message_id`](crate::new_message_id) makes one that nobody can
    /// guess.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use shared_inbox::{Reference, new_message_id};
    ///
    /// let message_id = new_message_id("shop.example")?;
    /// // … send the email with this Message-ID …
    /// let reference = Reference::parse("order-1042")?;
    /// inbox.record_sent(message_id, reference, ["kim@example.com"], "Your order").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn record_sent<T: Into<String>>(
        &self,
        message_id: impl Into<String>,
        reference: Reference,
        to: impl IntoIterator<Item = T>,
        subject: impl Into<String>,
    ) -> Call<RecordSent, Done> {
        Call::new(self, Operation::RecordSent, None, RecordSent::new(message_id, reference, to, subject))
    }

    /// Makes up an incoming email in the sandbox; `from` is an address on a `.test` domain. For test keys.
    pub fn sandbox_inbound(
        &self,
        from: impl Into<String>,
        text: impl Into<String>,
    ) -> Call<SandboxInbound, SandboxReceipt> {
        Call::new(self, Operation::SandboxInbound, None, SandboxInbound::new(from, text))
    }

    /// The service's own description of itself, OpenAPI 3.1.
    ///
    /// # Errors
    ///
    /// As every call.
    pub async fn openapi(&self) -> super::Result<Value> {
        self.raw(http::Method::GET, "/openapi.json").await?.json()
    }

    /// A call to an endpoint that this crate does not know yet. `path` is relative to the base URL and starts with `/`.
    ///
    /// It shares the key, the rate limit and the retries of a client. Only `GET` is repeated when the answer is lost,
    /// unless [`repeatable`](Raw::repeatable) says that it may.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
    /// let answer = inbox.raw(http::Method::GET, "/webhooks").query("limit", "5").await?;
    /// let webhooks: serde_json::Value = answer.json()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(&self, method: http::Method, path: impl Into<String>) -> Raw {
        Raw::new(self, method, path.into())
    }
}

/// What narrows a list of conversations, for whatever holds a [`ListConversations`] as its `input`.
macro_rules! list_filters {
    () => {
        /// Which ones by status; the open ones unless set. [`View::All`](crate::View::All) goes only together with
        /// [`reference`](Self::reference).
        pub fn view(mut self, view: $crate::View) -> Self {
            self.input.view = Some(view);
            self
        }

        /// Only those of this inbox.
        pub fn mailbox(mut self, id: &$crate::MailboxId) -> Self {
            self.input.mailbox = Some(id.clone());
            self
        }

        /// Only those whose mail has these words; at most 200 characters.
        pub fn q(mut self, words: impl Into<String>) -> Self {
            self.input.q = Some(words.into());
            self
        }

        /// Only those of this key's agent, or of nobody.
        pub fn assigned(mut self, assigned: $crate::Assigned) -> Self {
            self.input.assigned = Some(assigned);
            self
        }

        /// Only those with this app reference.
        pub fn reference(mut self, reference: impl Into<String>) -> Self {
            self.input.reference = Some(reference.into());
            self
        }

        /// How many at the most: 1 to 100.
        pub fn limit(mut self, limit: u32) -> Self {
            self.input.limit = Some(limit);
            self
        }
    };
}
pub(super) use list_filters;

impl Call<ListConversations, Vec<ConversationSummary>> {
    list_filters!();
}

impl Call<SearchDocuments, Vec<Document>> {
    /// Only those with these words in title, file name or fields; at most 200 characters.
    pub fn q(mut self, words: impl Into<String>) -> Self {
        self.input.q = Some(words.into());
        self
    }

    /// Only those of this kind.
    pub fn kind(mut self, kind: DocumentKind) -> Self {
        self.input.kind = Some(kind);
        self
    }

    /// How many at the most: 1 to 100.
    pub fn limit(mut self, limit: u32) -> Self {
        self.input.limit = Some(limit);
        self
    }
}

impl Call<RecordSent, Done> {
    /// The email's plain text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.input.text = Some(text.into());
        self
    }

    /// The email's HTML.
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.input.html = Some(html.into());
        self
    }
}

impl Call<SandboxInbound, SandboxReceipt> {
    /// The sender's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.input.name = Some(name.into());
        self
    }

    /// The subject.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.input.subject = Some(subject.into());
        self
    }

    /// Makes it a reply on this conversation.
    pub fn on(mut self, conversation: &ConversationId) -> Self {
        self.input.conversation_id = Some(conversation.to_string());
        self
    }
}
