//! The inputs that create an item in a conversation, and how each shows in its timeline.

use serde::{Serialize, de::DeserializeOwned};

use crate::client::create_state::Expected;
use crate::input::{AddNote, DocumentItem, Input, Reply, RequestDocuments};
use crate::{Ack, MessageStatus, ReplyResult, TimelineItem, operation::Operation};

/// An input that creates an item in a conversation: a note, a reply or a document request. Sealed.
pub trait CreateInput: Input + Send + Sync + 'static {
    /// The response of the service.
    type Output: Created;

    #[doc(hidden)]
    const OPERATION: Operation;

    #[doc(hidden)]
    fn expected(&self) -> Expected;
}

/// The response to a create.
pub trait Created: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Returns the response that an item in the timeline stands for.
    #[doc(hidden)]
    fn recover(item: &TimelineItem) -> Option<Self>;

    /// Returns the id of the item, if the response names it.
    #[doc(hidden)]
    fn item_id(&self) -> Option<String>;
}

impl CreateInput for AddNote {
    type Output = Ack;
    const OPERATION: Operation = Operation::AddNote;

    fn expected(&self) -> Expected {
        Expected::Note { body: self.body.clone() }
    }
}

impl CreateInput for Reply {
    type Output = ReplyResult;
    const OPERATION: Operation = Operation::Reply;

    fn expected(&self) -> Expected {
        let labels = labels(self.documents.iter().flatten());
        Expected::Message { body: self.body.clone(), labels, send: self.send }
    }
}

impl CreateInput for RequestDocuments {
    type Output = ReplyResult;
    const OPERATION: Operation = Operation::RequestDocuments;

    fn expected(&self) -> Expected {
        let body = self.message.clone().unwrap_or_default();
        Expected::Message { body, labels: labels(self.documents.iter()), send: self.send }
    }
}

fn labels<'a>(documents: impl Iterator<Item = &'a DocumentItem>) -> Vec<String> {
    documents.map(|document| document.label.clone()).collect()
}

impl Created for Ack {
    fn recover(item: &TimelineItem) -> Option<Self> {
        item.as_note().map(|_| Self { ok: true })
    }

    fn item_id(&self) -> Option<String> {
        None
    }
}

impl Created for ReplyResult {
    fn recover(item: &TimelineItem) -> Option<Self> {
        let message = item.as_message()?;
        Some(Self::new(message.id.clone(), message.status.clone().unwrap_or(MessageStatus::Draft)))
    }

    fn item_id(&self) -> Option<String> {
        Some(self.message_id.to_string())
    }
}
