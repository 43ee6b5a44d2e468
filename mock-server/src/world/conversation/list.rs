//! Lists: conversations newest first, and the inboxes.

use shared_inbox::{__spec::limits, Assigned, ConversationSummary, Mailbox, View, input::ListConversations};

use super::{
    index::{ListView, NewestFirst, UNASSIGNED},
    read::start,
    search::{Query, SearchPlan},
};
use crate::world::{ConversationFilter, Result, ServiceResponse, World};

/// Characters of a snippet.
const SNIPPET_CHARS: usize = 140;

/// The inboxes, views and assignee of a list.
struct ListScope {
    mailboxes: Vec<usize>,
    slots: Vec<ListView>,
    /// The number of the assignee.
    assignee: Option<u32>,
}

/// Returns the lists of a view.
fn slots(view: &View) -> Vec<ListView> {
    match view {
        View::All => ListView::ALL.to_vec(),
        View::Waiting => vec![ListView::Waiting],
        View::Snoozed => vec![ListView::Snoozed],
        View::Closed => vec![ListView::Closed],
        _ => vec![ListView::Open],
    }
}

impl World {
    pub(crate) fn list(&self, key: usize, asked: &ListConversations) -> Result<ServiceResponse> {
        let limit = asked.limit.unwrap_or(limits::LIST_DEFAULT) as usize;
        let narrowed = ListScope {
            mailboxes: self
                .inboxes_of(key)
                .filter(|at| asked.mailbox.as_ref().is_none_or(|id| *id == self.mailboxes[*at].id))
                .collect(),
            slots: slots(asked.view.as_ref().unwrap_or(&View::Open)),
            assignee: asked.assigned.as_ref().map(|assigned| match assigned {
                Assigned::Me => {
                    let me = self.keys[key].agent_id.clone().into();
                    self.index.actors.get(&me).copied().unwrap_or(u32::MAX)
                }
                _ => UNASSIGNED,
            }),
        };
        let words = &self.index.words;
        let query = asked.q.as_deref().map(Query::new);
        let matches = |at: &usize| query.as_ref().is_none_or(|query| words.has(*at, query));

        let found: Vec<usize> = if let Some(reference) = &asked.reference {
            let there = self.index.references.get(&reference.to_lowercase());
            self.sorted(there.into_iter().flatten().copied(), &narrowed, matches, limit)
        } else {
            match query.as_ref().map(|query| words.plan(query, limit, self.conversations.len())) {
                Some(SearchPlan::Few(some)) => self.sorted(some.into_iter(), &narrowed, matches, limit),
                _ => self.newest(&narrowed).filter(matches).take(limit).collect(),
            }
        };
        ServiceResponse::list(found.iter().map(|at| self.summary(*at)))
    }

    /// Iterates over the lists, newest first.
    fn newest(&self, narrowed: &ListScope) -> NewestFirst<'_> {
        let lists = narrowed.mailboxes.iter().flat_map(|mailbox| {
            narrowed.slots.iter().filter_map(move |slot| self.index.list(*mailbox, *slot, narrowed.assignee))
        });
        NewestFirst::merge(lists)
    }

    /// Returns those of a few candidates that belong in the list, newest first.
    fn sorted(
        &self,
        some: impl Iterator<Item = u32>,
        narrowed: &ListScope,
        matches: impl Fn(&usize) -> bool,
        limit: usize,
    ) -> Vec<usize> {
        let belongs = |at: &usize| {
            let place = &self.index.positions[*at];
            narrowed.mailboxes.contains(&place.mailbox)
                && narrowed.slots.contains(&place.slot)
                && narrowed.assignee.is_none_or(|who| who == place.assignee)
        };
        let mut found: Vec<usize> =
            some.map(|at| at as usize).filter(|at| belongs(at) && matches(at)).collect();
        found.sort_unstable_by_key(|at| self.index.positions[*at].rank);
        found.truncate(limit);
        found
    }

    /// Returns a conversation as a list shows it.
    pub(crate) fn summary(&self, at: usize) -> ConversationSummary {
        let record = &self.conversations[at];
        let latest = record.messages().next_back();
        let mut summary = ConversationSummary::new(
            record.id.clone(),
            &record.subject,
            record.status.clone(),
            record.contact.clone(),
            &self.mailbox_of(at).name,
            record.last_message_at(),
        );
        summary.snippet =
            latest.map_or("", |message| start(&message.text, SNIPPET_CHARS).trim_end()).to_owned();
        summary.message_count = record.messages().count() as u64;
        summary.assignee = record.assignee.as_ref().map(|who| self.assignee(who));
        summary.tags.clone_from(&record.tags);
        summary.topic.clone_from(&record.topic);
        summary.urgency.clone_from(&record.urgency);
        summary.risk.clone_from(&record.risk);
        summary.reference.clone_from(&record.reference);
        summary
    }

    /// Returns conversations of all inboxes, newest first.
    pub(crate) fn find_anywhere(&self, filter: &ConversationFilter) -> Vec<usize> {
        let wanted = |at: &usize| filter.mailbox.as_ref().is_none_or(|id| *id == self.mailboxes[*at].id);
        let narrowed = ListScope {
            mailboxes: (0..self.mailboxes.len()).filter(wanted).collect(),
            slots: slots(filter.view.as_ref().unwrap_or(&View::All)),
            assignee: None,
        };
        let query = filter.q.as_deref().map(Query::new);
        let fits = |at: &usize| {
            query.as_ref().is_none_or(|query| self.index.words.has(*at, query))
                && filter.tag.as_ref().is_none_or(|tag| self.conversations[*at].tags.contains(tag))
        };
        self.newest(&narrowed).filter(fits).collect()
    }

    pub(crate) fn list_mailboxes(&self, key: usize) -> Result<ServiceResponse> {
        let shown = |at: usize| {
            let record = &self.mailboxes[at];
            let mut mailbox = Mailbox::new(record.id.clone(), &record.address, &record.name);
            mailbox.open = self.index.open_in(at);
            mailbox
        };
        ServiceResponse::list(self.inboxes_of(key).map(shown))
    }
}
