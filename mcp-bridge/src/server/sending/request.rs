//! A mail as it was asked for, and what a person must agree to before it goes out.

use std::sync::Arc;

use shared_inbox::{
    Conversation, ConversationId,
    input::{Reply, RequestDocuments},
};

use super::{
    Reading, Result,
    creates::{Create, What},
};
use crate::{
    consent::{Letter, last_inbound},
    digest::Digest,
    server::{Linked, results::failed},
};

/// A reply or a document request.
#[derive(Clone)]
pub(in crate::server) struct Mail(pub(super) Create);

impl Mail {
    pub(in crate::server) fn reply(id: ConversationId, reply: Reply) -> Self {
        Self(Create { id, what: What::Reply(reply) })
    }

    pub(in crate::server) fn request(id: ConversationId, request: RequestDocuments) -> Self {
        Self(Create { id, what: What::Request(request) })
    }

    /// The conversation, and what the customer is to read.
    pub(in crate::server) fn words(&self) -> (ConversationId, String) {
        let words = match &self.0.what {
            What::Reply(reply) => &reply.body,
            What::Request(request) => request.message.as_deref().unwrap_or_default(),
            What::Note(note) => &note.body,
        };
        (self.0.id.clone(), words.to_owned())
    }

    pub(super) fn wants_to_send(&self) -> bool {
        self.0.sends()
    }

    pub(super) fn into_draft(mut self) -> Create {
        match &mut self.0.what {
            What::Reply(reply) => reply.send = false,
            What::Request(request) => request.send = false,
            What::Note(_) => {}
        }
        self.0
    }

    pub(super) fn letter(&self, conversation: &Conversation) -> Letter {
        match &self.0.what {
            What::Reply(r) => {
                Letter::new(conversation, &r.body, r.documents.as_deref().unwrap_or_default(), None)
            }
            What::Request(r) => {
                let due = r.due_date.as_ref().map(ToString::to_string);
                Letter::new(conversation, r.message.as_deref().unwrap_or_default(), &r.documents, due)
            }
            What::Note(n) => Letter::new(conversation, &n.body, &[], None),
        }
    }
}

/// A mail that a person must agree to.
pub(super) struct Case {
    pub(super) linked: Arc<Linked>,
    pub(super) mail: Mail,
    /// What the person is asked by.
    pub(super) reading: Reading,
    pub(super) letter: Letter,
    /// What a consent is bound to: what the person sees, what is sent, and the email that it answers.
    pub(super) exact: Digest,
    /// What a refusal holds for: what the person sees.
    pub(super) seen: Digest,
}

impl Case {
    pub(super) fn new(linked: &Arc<Linked>, mail: Mail, reading: Reading) -> Result<Self> {
        let letter = mail.letter(&reading.conversation);
        let wrong = |e: serde_json::Error| failed(e.to_string());
        let answered = last_inbound(&reading.conversation).map(|message| &message.id);
        let exact = Digest::of(&(&mail.0.id, &mail.0.what, &letter, answered)).map_err(wrong)?;
        let seen = letter.seen().map_err(wrong)?;
        Ok(Self { linked: linked.clone(), mail, reading, letter, exact, seen })
    }
}
