//! Compares two reads of a list.

use std::collections::{HashMap, HashSet};

use crate::{ConversationId, ConversationSummary, Timestamp};

/// How many conversations are remembered at most when the list is always longer than a page.
const MAX_REMEMBERED: usize = 10_000;

/// A change in a list of conversations between two reads.
///
/// A summary counts all messages, also those of the team and of this key. To find out who wrote last, read
/// the conversation:
///
/// ```no_run
/// use shared_inbox::{Client, Direction, Result, follow::Change};
///
/// async fn needs_an_answer(inbox: &Client, change: &Change) -> Result<bool> {
///     let summary = match change {
///         Change::New(now) => now,
///         Change::Changed { before, after, .. } if before.message_count < after.message_count => after,
///         _ => return Ok(false),
///     };
///     let conversation = inbox.conversation(&summary.id).get().await?;
///     Ok(conversation.last_message().is_some_and(|message| message.direction == Direction::Inbound))
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A conversation came into the list.
    New(ConversationSummary),
    /// A conversation in the list is not as it was.
    #[non_exhaustive]
    Changed {
        /// As it was.
        before: Box<ConversationSummary>,
        /// As it is.
        after: ConversationSummary,
    },
    /// A conversation is no longer in the list: its status, assignee or inbox changed.
    Left(ConversationSummary),
    /// The list was longer than a page, so that something may have been missed.
    Gap(Gap),
}

/// The changes that may have been missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Whether conversations with new mail may have been missed. Otherwise only changes that do not bring a
    /// conversation to the top (tags, assignment) can have been missed, in conversations further down.
    pub mail_possible: bool,
}

/// The last known state of a list.
#[derive(Default)]
pub(super) struct Memory {
    known: HashMap<ConversationId, ConversationSummary>,
    /// Whether the list was read before.
    begun: bool,
    /// The time of the last conversation on a full page: older ones were further down and not seen.
    reach: Option<Timestamp>,
}

impl Memory {
    /// Returns what is different from the last read. `full` is whether the list may be longer than this page,
    /// `now` the latest time that the service's clock can show.
    pub(super) fn compare(
        &mut self,
        mut page: Vec<ConversationSummary>,
        full: bool,
        now: Option<Timestamp>,
    ) -> Vec<Change> {
        let mut here = HashSet::new();
        page.retain(|summary| here.insert(summary.id.clone()));
        let mut changes = Vec::new();
        if full {
            // New mail is listed below mail that is dated in the future.
            let buried = page.last().zip(now).is_some_and(|(last, now)| last.last_message_at > now);
            let mail_possible = !self.begun || buried || self.mail_may_be_missing(&page);
            changes.push(Change::Gap(Gap { mail_possible }));
        } else {
            let mut gone: Vec<_> = self.known.keys().filter(|id| !here.contains(id)).cloned().collect();
            gone.sort();
            changes.extend(gone.iter().filter_map(|id| self.known.remove(id)).map(Change::Left));
        }
        self.begun = true;
        self.reach = page.last().map(|summary| summary.last_message_at).filter(|_| full);
        for summary in page.into_iter().rev() {
            match self.known.insert(summary.id.clone(), summary.clone()) {
                None => changes.push(Change::New(summary)),
                Some(before) if before != summary => {
                    changes.push(Change::Changed { before: Box::new(before), after: summary });
                }
                Some(_) => {}
            }
        }
        self.forget();
        changes
    }

    /// The list is newest first: conversations with new mail come before all others. So if a known
    /// conversation without new mail is below all that have some, none is missing. Mail that is dated in the
    /// future stays on top, and so proves nothing.
    fn mail_may_be_missing(&self, page: &[ConversationSummary]) -> bool {
        let fresh = |summary: &ConversationSummary| match self.known.get(&summary.id) {
            Some(before) => before.last_message_at != summary.last_message_at,
            // Older than the last page: it was there before, further down.
            None => self.reach.is_none_or(|reach| summary.last_message_at >= reach),
        };
        let known = |summary: &ConversationSummary| self.known.contains_key(&summary.id);
        let below = page.iter().rposition(fresh).map_or(page, |last| &page[last + 1..]);
        below.len() < page.len() && !below.iter().any(known)
    }

    fn forget(&mut self) {
        if self.known.len() > MAX_REMEMBERED {
            let mut times: Vec<_> = self.known.values().map(|summary| summary.last_message_at).collect();
            let (_, oldest, _) = times.select_nth_unstable(MAX_REMEMBERED / 2);
            self.known.retain(|_, summary| summary.last_message_at >= *oldest);
        }
    }
}
