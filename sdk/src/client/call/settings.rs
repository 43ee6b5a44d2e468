//! The settings of each call, besides those of all calls.

use super::builder::Request;
use super::list::List;
use crate::input::{ListConversations, RecordSent, SandboxInbound, SearchDocuments, TagConversation};
use crate::model::setters;
use crate::{Ack, ConversationId, ConversationSummary, Document, DocumentKind, SandboxReceipt};

/// The filters of a list of conversations, for a type with a [`ListConversations`] as its `input`.
macro_rules! list_filters {
    () => {
        $crate::model::setters! {
            /// Sets which ones by status; the open ones unless set. [`View::All`](crate::View::All) goes only
            /// together with [`reference`](Self::reference).
            view(view: $crate::View) input.view = Some(view);
            /// Only those of this inbox.
            mailbox(id: &$crate::MailboxId) input.mailbox = Some(id.clone());
            /// Only those whose email has these words; at most 200 characters.
            search(words: impl Into<String>) input.q = Some(words.into());
            /// Only those that are assigned to this key's agent, or to nobody.
            assigned(assigned: $crate::Assigned) input.assigned = Some(assigned);
            /// Only those with this app reference: a [`Reference`](crate::Reference) or a text.
            reference(reference: impl Into<String>) input.reference = Some(reference.into());
        }
    };
}
pub(crate) use list_filters;

impl Request<ListConversations, List<ConversationSummary>> {
    list_filters!();
    setters! {
        /// Sets how many at the most: 1 to 100.
        limit(limit: u32) input.limit = Some(limit);
    }
}

impl Request<SearchDocuments, List<Document>> {
    setters! {
        /// Only those with these words in title, file name or fields; at most 200 characters.
        search(words: impl Into<String>) input.q = Some(words.into());
        /// Only those of this kind.
        kind(kind: DocumentKind) input.kind = Some(kind);
        /// Sets how many at the most: 1 to 100.
        limit(limit: u32) input.limit = Some(limit);
    }
}

impl Request<RecordSent, Ack> {
    setters! {
        /// Sets the email's plain text.
        text(text: impl Into<String>) input.text = Some(text.into());
        /// Sets the email's HTML.
        html(html: impl Into<String>) input.html = Some(html.into());
    }
}

impl Request<SandboxInbound, SandboxReceipt> {
    setters! {
        /// Sets the sender's name.
        name(name: impl Into<String>) input.name = Some(name.into());
        /// Sets the subject.
        subject(subject: impl Into<String>) input.subject = Some(subject.into());
        /// Makes it a reply on this conversation.
        on(conversation: &ConversationId) input.conversation_id = Some(conversation.to_string());
    }
}

impl Request<TagConversation, Ack> {
    /// Adds a tag, 1 to 40 characters. One that does not exist is created.
    #[expect(clippy::should_implement_trait, reason = "adding a tag is not arithmetic")]
    pub fn add(mut self, tag: impl Into<String>) -> Self {
        self.input.add.push(tag.into());
        self
    }

    /// Adds several tags: `edit_tags().add_all(["refund", "vip"])`.
    pub fn add_all<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.input.add.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Removes a tag.
    pub fn remove(mut self, tag: impl Into<String>) -> Self {
        self.input.remove.push(tag.into());
        self
    }

    /// Removes several tags.
    pub fn remove_all<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.input.remove.extend(tags.into_iter().map(Into::into));
        self
    }
}
