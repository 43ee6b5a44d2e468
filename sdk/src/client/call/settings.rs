//! The settings of each call, besides those of all calls.

use super::builder::Request;
use super::list::List;
use crate::input::{ListConversations, RecordSent, SandboxInbound, SearchDocuments, TagConversation};
use crate::{Ack, ConversationId, ConversationSummary, Document, DocumentKind, SandboxReceipt};

/// The filters of a list of conversations, for a type with a [`ListConversations`] as its `input`.
macro_rules! list_filters {
    () => {
        /// Sets which ones by status; the open ones unless set. [`View::All`](crate::View::All) goes only together with
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

        /// Only those whose email has these words; at most 200 characters.
        pub fn search(mut self, words: impl Into<String>) -> Self {
            self.input.q = Some(words.into());
            self
        }

        /// Only those that are assigned to this key's agent, or to nobody.
        pub fn assigned(mut self, assigned: $crate::Assigned) -> Self {
            self.input.assigned = Some(assigned);
            self
        }

        /// Only those with this app reference: a [`Reference`](crate::Reference) or a text.
        pub fn reference(mut self, reference: impl Into<String>) -> Self {
            self.input.reference = Some(reference.into());
            self
        }
    };
}
pub(crate) use list_filters;

impl Request<ListConversations, List<ConversationSummary>> {
    list_filters!();

    /// Sets how many at the most: 1 to 100.
    pub fn limit(mut self, limit: u32) -> Self {
        self.input.limit = Some(limit);
        self
    }
}

impl Request<SearchDocuments, List<Document>> {
    /// Only those with these words in title, file name or fields; at most 200 characters.
    pub fn search(mut self, words: impl Into<String>) -> Self {
        self.input.q = Some(words.into());
        self
    }

    /// Only those of this kind.
    pub fn kind(mut self, kind: DocumentKind) -> Self {
        self.input.kind = Some(kind);
        self
    }

    /// Sets how many at the most: 1 to 100.
    pub fn limit(mut self, limit: u32) -> Self {
        self.input.limit = Some(limit);
        self
    }
}

impl Request<RecordSent, Ack> {
    /// Sets the email's plain text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.input.text = Some(text.into());
        self
    }

    /// Sets the email's HTML.
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.input.html = Some(html.into());
        self
    }
}

impl Request<SandboxInbound, SandboxReceipt> {
    /// Sets the sender's name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.input.name = Some(name.into());
        self
    }

    /// Sets the subject.
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
