//! An email as it was asked for, and what a person must agree to before it goes out.

use std::sync::Arc;

use shared_inbox::{
    Conversation, ConversationId,
    input::{Reply, RequestDocuments},
};

use super::{
    Result,
    creates::{Create, CreateInput},
};
use crate::{
    consent::{EmailPreview, last_inbound},
    digest::Digest,
    server::{Connection, results::failed},
};

/// A reply or a document request.
#[derive(Clone)]
pub(in crate::server) struct CustomerEmail(pub(super) Create);

impl CustomerEmail {
    pub(in crate::server) fn reply(id: ConversationId, reply: Reply) -> Self {
        Self(Create { id, what: CreateInput::Reply(reply) })
    }

    pub(in crate::server) fn request(id: ConversationId, request: RequestDocuments) -> Self {
        Self(Create { id, what: CreateInput::Request(request) })
    }

    pub(super) fn wants_to_send(&self) -> bool {
        self.0.sends()
    }

    pub(super) fn into_draft(mut self) -> Create {
        match &mut self.0.what {
            CreateInput::Reply(reply) => reply.send = false,
            CreateInput::Request(request) => request.send = false,
            CreateInput::Note(_) => {}
        }
        self.0
    }

    pub(super) fn preview(&self, conversation: &Conversation) -> EmailPreview {
        match &self.0.what {
            CreateInput::Reply(r) => {
                EmailPreview::new(conversation, &r.body, r.documents.as_deref().unwrap_or_default(), None)
            }
            CreateInput::Request(r) => {
                let due = r.due_date.as_ref().map(ToString::to_string);
                EmailPreview::new(conversation, r.message.as_deref().unwrap_or_default(), &r.documents, due)
            }
            CreateInput::Note(n) => EmailPreview::new(conversation, &n.body, &[], None),
        }
    }
}

/// An email that a person must agree to.
pub(super) struct ConsentRequest {
    pub(super) connection: Arc<Connection>,
    pub(super) mail: CustomerEmail,
    /// The conversation that the preview is made from.
    pub(super) conversation: Conversation,
    pub(super) preview: EmailPreview,
    /// What a consent is bound to: what the person sees, what is sent, and the email that it answers.
    pub(super) exact: Digest,
    /// What a refusal holds for: what the person sees.
    pub(super) seen: Digest,
}

impl ConsentRequest {
    pub(super) fn new(
        connection: &Arc<Connection>,
        mail: CustomerEmail,
        conversation: Conversation,
    ) -> Result<Self> {
        let preview = mail.preview(&conversation);
        let wrong = |e: serde_json::Error| failed(e.to_string());
        let answered = last_inbound(&conversation).map(|message| &message.id);
        let exact = Digest::from_parts(&(&mail.0.id, &mail.0.what, &preview, answered)).map_err(wrong)?;
        let seen = preview.seen().map_err(wrong)?;
        Ok(Self { connection: connection.clone(), mail, conversation, preview, exact, seen })
    }
}
