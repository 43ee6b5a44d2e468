//! The document library.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::{
    Document, DocumentFields, DocumentId, DocumentKind, MailboxId, Timestamp, input::SearchDocuments, limits,
};

use crate::world::{
    Answer, Refusal, World,
    conversation::{Query, haystack, rank},
};

/// A document and where it was filed.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filed {
    /// The inbox whose viewers see it.
    pub mailbox: MailboxId,
    /// The document.
    pub document: Document,
}

impl fmt::Debug for Filed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filed").field("mailbox", &self.mailbox).field("document", &self.document).finish()
    }
}

/// The words that a search finds a document by.
fn document_words(document: &Document) -> String {
    let fields = &document.fields;
    let mut text = format!("{} {}", document.title, document.filename);
    let words = [&fields.vendor, &fields.currency, &fields.date, &fields.due_date, &fields.reference];
    for word in words.into_iter().filter_map(|field| field.get()) {
        text.push(' ');
        text.push_str(word);
    }
    if let Some(amount) = fields.amount.get() {
        text.push_str(&format!(" {amount}"));
    }
    haystack(&text)
}

impl World {
    /// Files a document that came in a conversation.
    pub(in crate::world) fn file(
        &mut self,
        at: usize,
        title: &str,
        filename: &str,
        kind: Option<DocumentKind>,
        fields: DocumentFields,
        now: Timestamp,
    ) -> DocumentId {
        let id: DocumentId = self.ids.fresh();
        let document = Document {
            id: id.clone(),
            title: title.to_owned(),
            filename: filename.to_owned(),
            kind,
            fields,
            conversation_id: Some(self.conversations[at].id.clone()),
            created_at: now,
        };
        self.documents.push(Filed { mailbox: self.conversations[at].mailbox.clone(), document });
        self.index_document(self.documents.len() - 1);
        id
    }

    pub(in crate::world) fn index_document(&mut self, at: usize) {
        let document = &self.documents[at].document;
        self.index.documents.insert(rank(document.created_at, at));
        self.index.document_words.push(document_words(document));
    }

    pub(in crate::world) fn search_documents(
        &self,
        key: usize,
        asked: &SearchDocuments,
    ) -> Result<Answer, Refusal> {
        let query = asked.q.as_deref().map(Query::new);
        let key = &self.keys[key];
        let fits = |at: &usize| {
            let filed = &self.documents[*at];
            let seen =
                self.index.mailboxes.get(&filed.mailbox).is_some_and(|m| key.sees(&self.mailboxes[*m]));
            seen && asked.kind.as_ref().is_none_or(|kind| filed.document.kind.as_ref() == Some(kind))
                && query.as_ref().is_none_or(|query| query.matches(&self.index.document_words[*at]))
        };
        let limit = asked.limit.unwrap_or(limits::LIST_DEFAULT) as usize;
        let newest = self.index.documents.iter().map(|rank| rank.1.0 as usize);
        let found: Vec<&Document> =
            newest.filter(fits).take(limit).map(|at| &self.documents[at].document).collect();
        Answer::json(200, &found)
    }
}
