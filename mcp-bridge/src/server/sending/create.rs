//! A note, a reply or a document request, as a call asks for it.

use serde::Serialize;
use shared_inbox::{
    __spec::Operation,
    Client, Conversation, ConversationId,
    input::{AddNote, DocumentItem, Reply, RequestDocuments},
};

use crate::{
    consent::{EmailPreview, without_unseen_differences},
    digest::Digest,
};

#[derive(Clone)]
pub(in crate::server) struct Create {
    pub(super) id: ConversationId,
    pub(super) input: CreateInput,
}

#[derive(Clone, Serialize)]
#[serde(tag = "what")]
pub(in crate::server) enum CreateInput {
    Note(AddNote),
    Reply(Reply),
    Request(RequestDocuments),
}

impl Create {
    pub(in crate::server) fn note(id: ConversationId, note: AddNote) -> Self {
        Self { id, input: CreateInput::Note(note) }
    }

    pub(in crate::server) fn reply(id: ConversationId, reply: Reply) -> Self {
        Self { id, input: CreateInput::Reply(reply) }
    }

    pub(in crate::server) fn request(id: ConversationId, request: RequestDocuments) -> Self {
        Self { id, input: CreateInput::Request(request) }
    }

    pub(super) fn sends(&self) -> bool {
        match &self.input {
            CreateInput::Note(_) => false,
            CreateInput::Reply(reply) => reply.send,
            CreateInput::Request(request) => request.send,
        }
    }

    pub(super) fn into_draft(mut self) -> Self {
        match &mut self.input {
            CreateInput::Reply(reply) => reply.send = false,
            CreateInput::Request(request) => request.send = false,
            CreateInput::Note(_) => {}
        }
        self
    }

    pub(super) fn operation(&self) -> Operation {
        match self.input {
            CreateInput::Note(_) => Operation::AddNote,
            CreateInput::Reply(_) => Operation::Reply,
            CreateInput::Request(_) => Operation::RequestDocuments,
        }
    }

    /// Returns the create as JSON: exactly what is sent.
    pub(super) fn exact(&self) -> String {
        // Types of JSON objects alone: they cannot fail to become JSON.
        serde_json::to_string(&(&self.id, &self.input)).unwrap_or_default()
    }

    /// Returns the key under which the bridges of this machine make this at most once, at this service.
    pub(super) fn key(&self, client: &Client) -> String {
        format!("{} {}", client.base_url(), self.digest().to_hex())
    }

    /// Returns the digest that tells this create from others. Of an email, it is what a person sees: another
    /// summary, other spaces, capitals or hidden characters make no other email.
    pub(super) fn digest(&self) -> Digest {
        if !self.sends() {
            return Digest::new(self.exact());
        }
        let (text, documents, due) = self.words();
        let plain = without_unseen_differences;
        let asked = |item: &DocumentItem| {
            (plain(&item.label), plain(item.description.as_deref().unwrap_or_default()))
        };
        let documents: Vec<_> = documents.iter().map(asked).collect();
        let parts = ("email", &self.id, plain(text), documents, due);
        Digest::new(serde_json::to_string(&parts).unwrap_or_else(|_| self.exact()))
    }

    /// Returns the text, the documents that are asked for, and until when.
    fn words(&self) -> (&str, &[DocumentItem], Option<String>) {
        match &self.input {
            CreateInput::Note(note) => (&note.body, &[], None),
            CreateInput::Reply(reply) => (&reply.body, reply.documents.as_deref().unwrap_or_default(), None),
            CreateInput::Request(request) => {
                let due = request.due_date.as_ref().map(ToString::to_string);
                (request.message.as_deref().unwrap_or_default(), &request.documents, due)
            }
        }
    }

    pub(super) fn preview(&self, conversation: &Conversation) -> EmailPreview {
        let (text, documents, due) = self.words();
        EmailPreview::new(conversation, text, documents, due)
    }
}
