//! The recent creates of this client, by conversation. An item that one create has made is never taken for another's. A create
//! holds the record of its conversation, so creates in one conversation run one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::match_item::Us;
use crate::client::engine::item_keys;
use crate::client::error::{Before, Expected};
use crate::{Conversation, ConversationId, TimelineItem};

/// Longer than any item takes to show.
const RECENT_TTL: Duration = Duration::from_secs(15 * 60);
/// Stale records are removed whenever there are this many more.
const PRUNE_INTERVAL: usize = 256;

#[derive(Default)]
pub(super) struct RecentCreates {
    /// The keys of items that creates have made, and since when they are known.
    items: Vec<(String, Instant)>,
    /// Creates whose items are not known, oldest first.
    pending: Vec<Pending>,
    /// The create in flight. If it is still here when the next one begins, it was dropped and may have taken effect.
    in_flight: Option<Pending>,
}

struct Pending {
    expected: Expected,
    before: Before,
    since: Instant,
    /// Whether it took effect. The response to a note does not name the item.
    is_confirmed: bool,
}

impl RecentCreates {
    /// Begins a create or a lookup. A create that is still in flight now is lost.
    pub(super) fn begin(&mut self, now: Instant) {
        let is_recent = |since: Instant| now.saturating_duration_since(since) < RECENT_TTL;
        self.items.retain(|(_, since)| is_recent(*since));
        self.pending.retain(|pending| is_recent(pending.since));
        self.pending.extend(self.in_flight.take());
    }

    /// Records that it may take effect from now on.
    pub(super) fn send(&mut self, expected: &Expected, before: &Before, now: Instant) {
        let (expected, before) = (expected.clone(), before.clone());
        self.in_flight = Some(Pending { expected, before, since: now, is_confirmed: false });
    }

    /// Records that it did not take effect.
    pub(super) fn cancel(&mut self) {
        self.in_flight = None;
    }

    /// Records that it took effect. Its item has yet to be found: the response to a note does not name it.
    pub(super) fn confirm(&mut self, before: Before) {
        let confirmed = self.in_flight.take().map(|create| Pending { before, is_confirmed: true, ..create });
        self.pending.extend(confirmed);
    }

    /// Records the item of the create in flight, or of a lost one that was found later.
    pub(super) fn found(&mut self, expected: &Expected, key: String, now: Instant) {
        let is_lost = |pending: &Pending| !pending.is_confirmed && pending.expected == *expected;
        if self.in_flight.take().is_none()
            && let Some(index) = self.pending.iter().position(is_lost)
        {
            self.pending.remove(index);
        }
        self.items.push((key, now));
    }

    /// Returns whether another create has made this item.
    pub(super) fn owns(&self, key: &str) -> bool {
        self.items.iter().any(|(item, _)| item == key)
    }

    /// Returns whether other creates with the same text, besides `lost` lost ones, may have made an item like this.
    pub(super) fn may_own(&self, expected: &Expected, lost: usize) -> bool {
        let same = || self.pending.iter().filter(|pending| pending.expected == *expected);
        same().any(|pending| pending.is_confirmed) || same().count() > lost
    }

    /// Returns whether there are notes whose items have yet to be found.
    pub(super) fn has_confirmed(&self) -> bool {
        self.pending.iter().any(|pending| pending.is_confirmed)
    }

    /// Assigns to confirmed notes the items that they made.
    pub(super) fn resolve(&mut self, conversation: &Conversation, us: &Us<'_>, now: Instant) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|Pending { expected, before, is_confirmed, .. }| {
            let is_it = |key: &str, item: &TimelineItem| {
                before.may_be_ours(key, item) && before.is_ours(item, None) && expected.matches(item, us)
            };
            let mut items = item_keys(conversation).filter(|(key, item)| is_it(key, item) && !self.owns(key));
            let item = items.next().filter(|_| *is_confirmed);
            item.map(|(key, _)| self.items.push((key, now))).is_none()
        });
        self.pending = pending;
    }

    /// Forgets creates that would have shown by now in the conversation that was just read.
    pub(super) fn forget(&mut self, now: Instant, visibility_timeout: Duration) {
        self.pending.retain(|pending| now.saturating_duration_since(pending.since) < visibility_timeout);
    }

    fn is_stale(&self, now: Instant) -> bool {
        let is_stale = |since: &Instant| now.saturating_duration_since(*since) >= RECENT_TTL;
        let mut since = self
            .items
            .iter()
            .map(|(_, since)| since)
            .chain(self.pending.iter().map(|pending| &pending.since));
        self.in_flight.is_none() && since.all(is_stale)
    }
}

/// The records of all conversations.
#[derive(Default)]
pub(crate) struct CreateLog(Mutex<Records>);

#[derive(Default)]
struct Records {
    by_conversation: HashMap<ConversationId, Arc<tokio::sync::Mutex<RecentCreates>>>,
    prune_at: usize,
}

impl CreateLog {
    pub(super) fn recent(
        &self,
        conversation: &ConversationId,
        now: Instant,
    ) -> Arc<tokio::sync::Mutex<RecentCreates>> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.by_conversation.len() >= records.prune_at {
            // No other task can be about to take one that only this map holds: that needs the lock.
            records.by_conversation.retain(|_, recent| {
                Arc::strong_count(recent) > 1 || recent.try_lock().is_ok_and(|recent| !recent.is_stale(now))
            });
            records.prune_at = records.by_conversation.len() + PRUNE_INTERVAL;
        }
        Arc::clone(records.by_conversation.entry(conversation.clone()).or_default())
    }
}
