//! The items of recent reads: an item that was in a read was not made by a request that was sent after it.
//! Only the newest items are kept; older ones are recognised by their time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::service_clock::{MAX_SKEW, ServiceClock};
use crate::{Conversation, ConversationId, Direction, TimelineItem, Timestamp};

/// Older items, and older reads, are not remembered.
const NEW_ITEM_WINDOW: Duration = MAX_SKEW.saturating_mul(3);
/// The most conversations that are remembered.
const MAX_CONVERSATIONS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<HashMap<ConversationId, Read>>);

#[derive(Debug)]
struct Read {
    at: Instant,
    keys: Arc<BTreeSet<String>>,
}

impl Reads {
    /// Remembers a read whose response has just arrived.
    pub(crate) fn remember(&self, conversation: &Conversation, clock: &ServiceClock, now: Instant) {
        // The time of an inbound email may be its sender's.
        let own =
            |item: &&TimelineItem| item.as_message().is_none_or(|mail| mail.direction != Direction::Inbound);
        if let Some(latest) = conversation.timeline.iter().filter(own).filter_map(dated_at).max() {
            clock.observe_item(latest, now);
        }
        // Without a clock, a create reads first in any case.
        let Some(reading) = clock.reading() else { return };
        let since = reading.window(now).possible_from - NEW_ITEM_WINDOW;
        let is_new = |item: &TimelineItem| {
            !matches!(item, TimelineItem::Event(_)) && dated_at(item).is_none_or(|at| at >= since)
        };
        // Most reads show nothing new.
        let newest: BTreeSet<String> = match conversation.timeline.iter().any(is_new) {
            true => item_keys(conversation).filter(|(_, item)| is_new(item)).map(|(key, _)| key).collect(),
            false => BTreeSet::new(),
        };
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reads.len() >= MAX_CONVERSATIONS {
            reads.retain(|_, read| now.saturating_duration_since(read.at) < NEW_ITEM_WINDOW);
        }
        if reads.len() < MAX_CONVERSATIONS || reads.contains_key(&conversation.id) {
            reads.insert(conversation.id.clone(), Read { at: now, keys: Arc::new(newest) });
        }
    }

    /// Returns whether a create that is sent now can be told from what was there before: by the date of its
    /// item, or because this conversation was just read.
    pub(crate) fn are_enough(&self, id: &ConversationId, clock: &ServiceClock, now: Instant) -> bool {
        let reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |read: &Read| now.saturating_duration_since(read.at) < NEW_ITEM_WINDOW;
        clock.dates_items() || reads.get(id).is_some_and(is_recent)
    }

    /// Returns the keys of new items in the latest read of this conversation.
    pub(crate) fn newest_keys(&self, conversation: &ConversationId) -> Arc<BTreeSet<String>> {
        let reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.get(conversation).map(|read| Arc::clone(&read.keys)).unwrap_or_default()
    }
}

/// Returns the items that a create can make, each with a key: its id, or its JSON and how often that came
/// before.
pub(crate) fn item_keys(conversation: &Conversation) -> impl Iterator<Item = (String, &TimelineItem)> {
    let mut nameless: HashMap<String, u32> = HashMap::new();
    conversation.timeline.iter().filter_map(move |item| {
        let key = match item {
            TimelineItem::Message(message) => message.id.to_string(),
            TimelineItem::Note(note) => note.id.to_string(),
            TimelineItem::Event(_) => return None,
            TimelineItem::Unknown(raw) => match raw.get("id").as_ref().and_then(|id| id.as_str()) {
                Some(id) => id.to_owned(),
                None => {
                    let raw = raw.as_str().to_owned();
                    let before = nameless.entry(raw.clone()).or_default();
                    *before += 1;
                    format!("{raw} {before}")
                }
            },
        };
        Some((key, item))
    })
}

/// Returns when an item was made, by the service's clock.
pub(crate) fn dated_at(item: &TimelineItem) -> Option<Timestamp> {
    match item {
        TimelineItem::Message(message) => Some(message.at),
        TimelineItem::Note(note) => Some(note.at),
        TimelineItem::Event(event) => Some(event.at),
        TimelineItem::Unknown(raw) => raw.get("at")?.as_str()?.parse().ok(),
    }
}
