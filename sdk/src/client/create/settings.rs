//! The settings of each create.

use super::builder::CreateRequest;
use crate::Date;
use crate::input::{AddNote, DocumentItem, Reply, RequestDocuments};
use crate::model::setters;

impl CreateRequest<AddNote> {
    setters! {
        /// Replaces the input.
        input(input: AddNote) input = input;
    }
}

impl CreateRequest<Reply> {
    setters! {
        /// Sets one line for the person who approves the draft; at most 500 characters.
        summary(summary: impl Into<String>) input.summary = Some(summary.into());
    }

    /// Requests a document too: the service adds an upload link and a checklist under the reply.
    pub fn document(mut self, document: DocumentItem) -> Self {
        self.input.documents.get_or_insert_default().push(document);
        self
    }

    /// Requests several documents too.
    pub fn documents(mut self, documents: impl IntoIterator<Item = DocumentItem>) -> Self {
        self.input.documents.get_or_insert_default().extend(documents);
        self
    }
}

impl CreateRequest<RequestDocuments> {
    setters! {
        /// Sets a short text above the checklist; at most 5,000 characters.
        message(message: impl Into<String>) input.message = Some(message.into());
        /// Sets the day by which the documents are needed.
        due_date(date: Date) input.due_date = Some(date);
    }
}

macro_rules! sends {
    ($($input:ident),*) => {$(
        impl CreateRequest<$input> {
            /// Emails the customer when the undo window has passed (10 minutes, 5 seconds in the sandbox)
            /// instead of making a draft. Needs the scope `send`.
            pub fn and_send(mut self) -> Self {
                self.input.send = true;
                self
            }

            /// Replaces the input. Its `send` is ignored: only [`and_send`](Self::and_send) emails the
            /// customer.
            pub fn input(mut self, input: $input) -> Self {
                self.input = $input { send: self.input.send, ..input };
                self
            }
        }
    )*};
}

sends!(Reply, RequestDocuments);
