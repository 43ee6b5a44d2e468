//! The client's calls that are not about one conversation.

use serde_json::Value;

use super::client::Client;
use super::conversation::ConversationHandle;
use crate::client::call::{List, RawRequest, Request};
use crate::client::create::{Lookup, find_unconfirmed};
use crate::client::create_state::UnconfirmedCreate;
use crate::client::error::Result;
use crate::client::follow::{Changes, Sweep, Wait};
use crate::input::{ListConversations, RecordSent, SandboxInbound, SearchDocuments};
use crate::{
    Ack, ConversationId, ConversationSummary, Document, Mailbox, Me, Reference, SandboxReceipt, Tag,
    operation::Operation,
};

impl Client {
    /// Reads whose key this is, and what it may do. [`scopes`](Self::scopes) caches the response.
    pub fn me(&self) -> Request<(), Me> {
        Request::new(&self.core, Operation::Me, None, ())
    }

    /// Lists conversations, newest first: by default the open ones, at most 25. The list [may be
    /// cut](List::is_cut); [`sweep`](Self::sweep) reads all of them.
    pub fn conversations(&self) -> Request<ListConversations, List<ConversationSummary>> {
        Request::conversations(&self.core, ListConversations::default())
    }

    /// Returns a handle of one conversation. Sends nothing by itself.
    #[must_use]
    pub fn conversation(&self, id: &ConversationId) -> ConversationHandle {
        ConversationHandle::new(self, id)
    }

    /// Follows the list of conversations: what is new, what changed, what left it.
    pub fn changes(&self) -> Changes {
        Changes::new(&self.core)
    }

    /// Reads every conversation that the key can see, however many there are.
    pub fn sweep(&self) -> Sweep {
        Sweep::new(&self.core)
    }

    /// Waits until a customer has replied to app mail with this reference, as long as it is awaited unless
    /// [`within`](Wait::within) is set. Returns the conversation that carries it, in whatever status, at once
    /// if the reply is there already. A reference says which address was written to, not who wrote: look at
    /// the contact before you act on it.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
    /// use std::time::Duration;
    ///
    /// let reply = inbox.wait_for_reference("order-1042").within(Duration::from_secs(3600)).await?;
    /// println!("{:?} wrote about order 1042", reply.contact);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for_reference(&self, reference: impl Into<String>) -> Wait<ConversationSummary> {
        Wait::for_reference(&self.core, reference.into())
    }

    /// Lists the inboxes that the key can see.
    pub fn mailboxes(&self) -> Request<(), Vec<Mailbox>> {
        Request::new(&self.core, Operation::ListMailboxes, None, ())
    }

    /// Lists the tags.
    pub fn tags(&self) -> Request<(), Vec<Tag>> {
        Request::new(&self.core, Operation::ListTags, None, ())
    }

    /// Lists documents, newest first: at most 25 by default. The list [may be cut](List::is_cut).
    pub fn documents(&self) -> Request<SearchDocuments, List<Document>> {
        let (operation, input) = (Operation::SearchDocuments, SearchDocuments::default());
        Request::reading(&self.core, operation, None, input, |_, input, response| {
            List::read(input.limit, response)
        })
    }

    /// Records an email that the app sent itself, so that a reply to it arrives as a conversation with the
    /// reference. Recording the same Message-ID again is safe. [`new_message_id`](crate::new_message_id)
    /// makes an unguessable one.
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
    ) -> Request<RecordSent, Ack> {
        Request::new(
            &self.core,
            Operation::RecordSent,
            None,
            RecordSent::new(message_id, reference, to, subject),
        )
    }

    /// Simulates an incoming email in the sandbox; `from` is an address on a `.test` domain. For test keys.
    pub fn sandbox_inbound(
        &self,
        from: impl Into<String>,
        text: impl Into<String>,
    ) -> Request<SandboxInbound, SandboxReceipt> {
        Request::new(&self.core, Operation::SandboxInbound, None, SandboxInbound::new(from, text))
    }

    /// Reads the service's OpenAPI 3.1 description.
    ///
    /// # Errors
    ///
    /// As every call.
    pub async fn openapi(&self) -> Result<Value> {
        self.raw(http::Method::GET, "/openapi.json").await?.json()
    }

    /// Calls an endpoint that this crate does not know yet. `path` is relative to the base URL and starts
    /// with `/`.
    ///
    /// It shares the key, the rate limit and the retries of a client. Only `GET` is repeated when the
    /// response is lost, unless [`repeatable`](RawRequest::repeatable) says that it may.
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client) -> shared_inbox::Result<()> {
    /// let response = inbox.raw(shared_inbox::http::Method::GET, "/webhooks").query("limit", "5").await?;
    /// let webhooks: serde_json::Value = response.json()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(&self, method: impl Into<http::Method>, path: impl Into<String>) -> RawRequest {
        RawRequest::new(&self.core, method.into(), path.into())
    }

    /// Looks for a create of unknown effect in its conversation.
    ///
    /// Something that was sent may take a while to show ([`visibility_timeout`](Self::visibility_timeout)).
    /// Until that time has passed since it was sent, this looks again and again; if the
    /// [`deadline`](crate::ClientBuilder::deadline) comes first, it returns [`Lookup::Unclear`].
    ///
    /// ```no_run
    /// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
    /// use shared_inbox::create::Lookup;
    ///
    /// if let Err(error) = inbox.conversation(&id).reply("Your refund is on its way.").and_send().await {
    ///     let Some(unconfirmed) = error.unconfirmed() else { return Err(error) };
    ///     match inbox.find_unconfirmed(unconfirmed).await? {
    ///         Lookup::Found(_) => println!("it went through"),
    ///         _ => println!("ask a person to look at {}", unconfirmed.conversation()),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the conversation, or for a note the key's name, cannot be read.
    pub async fn find_unconfirmed(&self, unconfirmed: &UnconfirmedCreate) -> Result<Lookup> {
        find_unconfirmed(&self.core, unconfirmed, &self.core.options, None).await
    }
}
