//! What this client itself has created lately, conversation by conversation. An item that one create is known to have made
//! is never taken for another's, even if the service shows it late. Whoever creates holds the conversation's ledger: creates
//! in one conversation go one after the other.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::expected::{id, new_items};
use super::words::Likeness;
use crate::client::error::Expected;
use crate::{Conversation, ConversationId};

/// Longer than anyone would rely on a conversation read earlier.
const KEPT: Duration = Duration::from_secs(15 * 60);
/// Ledgers are looked through for old ones when there are this many more.
const SWEEP: usize = 256;

#[derive(Default)]
pub(super) struct Ledger(Vec<Entry>);

struct Entry {
    item: Item,
    at: Instant,
}

/// What a create made.
enum Item {
    Known(String),
    /// The answer to a note names no item; it is known by these words, and by not having been there before. If nobody
    /// looked before, it cannot be known from an older one.
    Unseen {
        expected: Expected,
        before: Option<Arc<BTreeSet<String>>>,
    },
}

impl Ledger {
    /// Notes a create that succeeded; `id` is its item, if the answer named it.
    pub(super) fn record(
        &mut self,
        expected: Expected,
        before: Option<Arc<BTreeSet<String>>>,
        id: Option<String>,
        now: Instant,
    ) {
        self.0.retain(|entry| now.saturating_duration_since(entry.at) < KEPT);
        let item = id.map_or(Item::Unseen { expected, before }, Item::Known);
        self.0.push(Entry { item, at: now });
    }

    pub(super) fn owns(&self, id: &str) -> bool {
        self.0.iter().any(|entry| matches!(&entry.item, Item::Known(known) if known == id))
    }

    /// Whether an item that looks like this may be that of a create of which nothing else is known.
    pub(super) fn may_own(&self, like: &Expected) -> bool {
        let unknown =
            |item: &Item| matches!(item, Item::Unseen { expected, before: None } if expected == like);
        self.0.iter().any(|entry| unknown(&entry.item))
    }

    /// Whether the items of some creates are not known yet, and can be.
    pub(super) fn has_unseen(&self) -> bool {
        self.0.iter().any(|entry| matches!(entry.item, Item::Unseen { before: Some(_), .. }))
    }

    /// Gives the creates whose items are not known yet the items that they must have made. One that has not shown
    /// within `settle` never will.
    pub(super) fn settle(
        &mut self,
        conversation: &Conversation,
        author: &str,
        now: Instant,
        settle: Duration,
    ) {
        for i in 0..self.0.len() {
            let Item::Unseen { expected, before: Some(before) } = &self.0[i].item else { continue };
            let found = new_items(conversation, before, expected, author)
                .filter(|(_, likeness)| *likeness == Likeness::Same)
                .filter_map(|(item, _)| id(item))
                .find(|id| !self.owns(id))
                .map(str::to_owned);
            if let Some(found) = found {
                self.0[i].item = Item::Known(found);
            }
        }
        let late = |entry: &Entry| now.saturating_duration_since(entry.at) >= settle;
        self.0.retain(|entry| !matches!(entry.item, Item::Unseen { before: Some(_), .. }) || !late(entry));
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.0.iter().all(|entry| now.saturating_duration_since(entry.at) >= KEPT)
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
