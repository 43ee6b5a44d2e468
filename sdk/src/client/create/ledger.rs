//! What this client itself has created lately, conversation by conversation. An item that one create is known to have made
//! is never taken for another's, even if the service shows it late. Whoever creates holds the conversation's ledger: creates
//! in one conversation go one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::expected::Us;
use crate::client::engine::keyed;
use crate::client::error::{Before, Expected};
use crate::{Conversation, ConversationId};

/// Longer than anyone would wait for an item to show.
const KEPT: Duration = Duration::from_secs(15 * 60);
/// Ledgers are looked through for old ones when there are this many more.
const SWEEP: usize = 256;

#[derive(Default)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    /// The create under way. Still here when the next one begins, it was given up and may have happened.
    open: Option<Lost>,
}

struct Entry {
    item: Item,
    at: Instant,
}

/// What a create made.
enum Item {
    Known(String),
    /// The answer to a note names no item; it is known by these words, and by not having been there before.
    Unseen {
        expected: Expected,
        before: Before,
    },
    /// It may have made something or not.
    Lost(Lost),
}

/// What was to be made, and what is known of the time before.
struct Lost {
    expected: Expected,
    before: Before,
}

impl Entry {
    fn lost(&self, expected: &Expected) -> Option<&Lost> {
        match &self.item {
            Item::Lost(lost) if lost.expected == *expected => Some(lost),
            _ => None,
        }
    }
}

impl Ledger {
    /// Begins: what was left open is lost.
    pub(super) fn begin(&mut self, now: Instant) {
        self.entries.retain(|entry| now.saturating_duration_since(entry.at) < KEPT);
        if let Some(lost) = self.open.take() {
            self.entries.push(Entry { item: Item::Lost(lost), at: now });
        }
    }

    /// From now on it may happen.
    pub(super) fn open(&mut self, expected: &Expected, before: &Before) {
        self.open = Some(Lost { expected: expected.clone(), before: before.clone() });
    }

    /// It did not happen.
    pub(super) fn nothing(&mut self) {
        self.open = None;
    }

    /// It happened, and this is its item.
    pub(super) fn made(&mut self, key: String, now: Instant) {
        self.open = None;
        self.entries.push(Entry { item: Item::Known(key), at: now });
    }

    /// It happened, and its item is to be found.
    pub(super) fn unseen(&mut self, before: Before, now: Instant) {
        if let Some(Lost { expected, .. }) = self.open.take() {
            self.entries.push(Entry { item: Item::Unseen { expected, before }, at: now });
        }
    }

    /// This is what was lost.
    pub(super) fn found(&mut self, expected: &Expected, key: String, now: Instant) {
        let lost = |entry: &Entry| entry.lost(expected).is_some();
        if let Some(index) = self.entries.iter().position(lost) {
            self.entries.remove(index);
        }
        self.made(key, now);
    }

    /// What a lost create of this kind had read before it was sent, if it did.
    pub(super) fn read_before(&self, expected: &Expected) -> Option<Before> {
        let lost = self.entries.iter().find_map(|entry| entry.lost(expected));
        lost.filter(|lost| lost.before.whole).map(|lost| lost.before.clone())
    }

    /// Whether another create is known to have made this.
    pub(super) fn owns(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| matches!(&entry.item, Item::Known(known) if known == key))
    }

    /// Whether creates of the same words, more than so many lost ones, may have made what looks like this.
    pub(super) fn may_own(&self, expected: &Expected, lost: usize) -> bool {
        let unseen =
            |entry: &Entry| matches!(&entry.item, Item::Unseen { expected: other, .. } if other == expected);
        let gone = |entry: &&Entry| entry.lost(expected).is_some();
        self.entries.iter().any(unseen) || self.entries.iter().filter(gone).count() > lost
    }

    /// Whether there is a create that may have made something.
    pub(super) fn has_lost(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.item, Item::Lost(_)))
    }

    pub(super) fn has_unseen(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.item, Item::Unseen { .. }))
    }

    /// Gives the creates whose items are not known yet the items that they must have made. An item shows within `settle`.
    pub(super) fn settle(
        &mut self,
        conversation: &Conversation,
        us: &Us<'_>,
        now: Instant,
        settle: Duration,
    ) {
        for i in 0..self.entries.len() {
            let Item::Unseen { expected, before } = &self.entries[i].item else { continue };
            let shows = now.saturating_duration_since(self.entries[i].at) >= settle;
            let mut fitting = keyed(conversation)
                .filter(|(key, item)| before.is_new(key, item) && expected.is(item, us) && !self.owns(key))
                .map(|(key, _)| key);
            let (first, more) = (fitting.next(), fitting.next().is_some());
            // Unless it is known what was there before, one that fits may be older and the right one yet to show, and of
            // two that fit nobody knows which.
            if let Some(first) = first.filter(|_| before.whole || (shows && !more)) {
                self.entries[i].item = Item::Known(first);
            }
        }
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.open.is_none()
            && self.entries.iter().all(|entry| now.saturating_duration_since(entry.at) >= KEPT)
    }
}

#[derive(Default)]
pub(crate) struct Ledgers(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    ledgers: HashMap<ConversationId, Arc<tokio::sync::Mutex<Ledger>>>,
    sweep_at: usize,
}

impl Ledgers {
    pub(super) fn of(&self, conversation: &ConversationId, now: Instant) -> Arc<tokio::sync::Mutex<Ledger>> {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shelf.ledgers.len() >= shelf.sweep_at {
            // Nobody else can be about to take one that only the shelf holds: that needs the shelf's lock.
            shelf.ledgers.retain(|_, ledger| {
                Arc::strong_count(ledger) > 1 || ledger.try_lock().is_ok_and(|ledger| !ledger.is_stale(now))
            });
            shelf.sweep_at = shelf.ledgers.len() + SWEEP;
        }
        Arc::clone(shelf.ledgers.entry(conversation.clone()).or_default())
    }
}
