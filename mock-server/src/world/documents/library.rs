//! The document library.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};
use shared_inbox::{
    __spec::limits, Document, DocumentId, DocumentKind, MailboxId, Timestamp, input::SearchDocuments,
};

use super::NewDocument;
use crate::world::{
    Result, ServiceResponse, StepKind, World,
    conversation::{NewestFirst, Query, SearchIndex, SearchPlan, Searchable, SortKey, SortedSet, sort_key},
};

/// A document and where it was filed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct FiledDocument {
    /// The inbox whose viewers see it.
    pub mailbox: MailboxId,
    /// The document.
    pub document: Document,
}

/// An inbox and a kind of document.
type Shelf = (usize, Option<DocumentKind>);

/// The index of documents, by inbox and kind, and by words. It is not part of the world document.
#[derive(Clone, Default)]
pub(crate) struct Library {
    shelves: HashMap<Shelf, SortedSet>,
    pub(crate) words: SearchIndex<FiledDocument>,
}

impl Searchable for FiledDocument {
    fn visit_texts(&self, visit: &mut dyn FnMut(&str)) {
        let Document { title, filename, fields, .. } = &self.document;
        visit(title);
        visit(filename);
        let words = [&fields.vendor, &fields.currency, &fields.date, &fields.due_date, &fields.reference];
        words.into_iter().filter_map(|field| field.get()).for_each(|word| visit(word));
        if let Some(amount) = fields.amount.get() {
            visit(&amount.to_string());
        }
    }
}

impl World {
    /// Files a document, in a conversation or without one.
    pub(crate) fn file(
        &mut self,
        new: NewDocument,
        conversation: Option<usize>,
        now: Timestamp,
    ) -> DocumentId {
        let id: DocumentId = self.ids.next_id();
        let title = new.title.unwrap_or_else(|| new.filename.clone());
        let mut document = Document::new(id.clone(), title, new.filename, now);
        (document.kind, document.fields) = (new.kind, new.fields);
        document.conversation_id = conversation.map(|at| self.conversations[at].id.clone());
        let at_end = self.documents.len();
        self.documents.push(FiledDocument { mailbox: new.mailbox, document });
        self.add_to_index(at_end);
        self.library.words.reindex(at_end, &self.documents[at_end]);
        self.record_step(StepKind::Document, id.as_str(), "filed", conversation, now);
        id
    }

    /// Indexes all documents.
    pub(crate) fn index_documents(&mut self) {
        (0..self.documents.len()).for_each(|at| self.add_to_index(at));
        self.library.words = SearchIndex::from_items(&self.documents);
    }

    pub(super) fn add_to_index(&mut self, at: usize) {
        let (shelf, rank) = self.shelf(at);
        Arc::make_mut(self.library.shelves.entry(shelf).or_default()).insert(rank);
    }

    /// Removes a document from the index before it changes.
    pub(super) fn remove_from_index(&mut self, at: usize) {
        let (shelf, rank) = self.shelf(at);
        if let Some(shelf) = self.library.shelves.get_mut(&shelf) {
            Arc::make_mut(shelf).remove(&rank);
        }
    }

    fn shelf(&self, at: usize) -> (Shelf, SortKey) {
        let FiledDocument { mailbox, document } = &self.documents[at];
        ((self.index.mailboxes[mailbox], document.kind.clone()), sort_key(document.created_at, at))
    }

    pub(crate) fn search_documents(&self, key: usize, asked: &SearchDocuments) -> Result<ServiceResponse> {
        let key = &self.keys[key];
        let fits = |mailbox: usize, kind: &Option<DocumentKind>| {
            key.sees(&self.mailboxes[mailbox]) && (asked.kind.is_none() || *kind == asked.kind)
        };
        let shelves = self.library.shelves.iter().filter(|((mailbox, kind), _)| fits(*mailbox, kind));
        let newest = NewestFirst::merge(shelves.map(|(_, shelf)| shelf));
        let words = &self.library.words;
        let query = asked.q.as_deref().map(Query::new);
        let matches = |at: &usize| query.as_ref().is_none_or(|query| words.has(*at, query));
        let limit = asked.limit.unwrap_or(limits::LIST_DEFAULT) as usize;

        let found: Vec<usize> =
            match query.as_ref().map(|query| words.plan(query, limit, self.documents.len())) {
                Some(SearchPlan::Few(some)) => {
                    let filed = |at: &usize| {
                        let FiledDocument { mailbox, document } = &self.documents[*at];
                        fits(self.index.mailboxes[mailbox], &document.kind)
                    };
                    let some = some.into_iter().map(|at| at as usize);
                    let mut found: Vec<usize> = some.filter(|at| filed(at) && matches(at)).collect();
                    found.sort_unstable_by_key(|at| sort_key(self.documents[*at].document.created_at, *at));
                    found.truncate(limit);
                    found
                }
                _ => newest.filter(matches).take(limit).collect(),
            };
        ServiceResponse::list(found.into_iter().map(|at| &self.documents[at].document))
    }

    /// Returns documents of all inboxes, newest first.
    pub(crate) fn find_documents(&self, q: Option<&str>, kind: Option<&DocumentKind>) -> Vec<usize> {
        let shelves = self.library.shelves.iter();
        let shelves = shelves.filter(|((_, of), _)| kind.is_none() || of.as_ref() == kind);
        let query = q.map(Query::new);
        let matches = |at: &usize| query.as_ref().is_none_or(|query| self.library.words.has(*at, query));
        NewestFirst::merge(shelves.map(|(_, shelf)| shelf)).filter(matches).collect()
    }
}
