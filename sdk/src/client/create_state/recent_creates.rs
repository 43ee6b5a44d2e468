//! The recent creates of this client, by conversation. An item that one create has made is never taken for
//! another's. A create holds the record of its conversation, so creates in one conversation run one after the
//! other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::baseline::Baseline;
use super::expected::{Expected, OwnNames};
use super::reads::item_keys;
use super::unconfirmed::UnconfirmedCreate;
use crate::{Conversation, ConversationId, TimelineItem};

/// Longer than any item takes to show.
const RECENT_TTL: Duration = Duration::from_secs(15 * 60);
/// Stale records are removed whenever there are this many more.
const PRUNE_INTERVAL: usize = 256;

/// The state of a create, from the moment that it may take effect. The module's page shows how it changes.
enum CreateState {
    /// A request is on its way.
    InFlight(UnconfirmedCreate),
    /// It may have taken effect: the response was lost, or the caller has dropped the future.
    Lost(UnconfirmedCreate),
    /// It took effect, and its item has yet to be found: the response to a note does not name it.
    Confirmed(UnconfirmedCreate),
    /// It has made the item with this key.
    Made(String),
}

/// The recent creates in one conversation, oldest first, each with the time of its last change.
#[derive(Default)]
pub(crate) struct RecentCreates(Vec<(CreateState, Instant)>);

impl RecentCreates {
    /// Begins a create or a lookup. A create that is still in flight now is lost.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.0.retain(|(state, since)| matches!(state, CreateState::InFlight(_)) || is_recent(*since, now));
        if let Some((create, since)) = self.take_in_flight() {
            self.0.push((CreateState::Lost(create), since));
        }
    }

    /// Records that it may take effect from now on.
    pub(crate) fn send(&mut self, create: &UnconfirmedCreate, now: Instant) {
        self.cancel();
        self.0.push((CreateState::InFlight(create.clone()), now));
    }

    /// Records that it did not take effect.
    pub(crate) fn cancel(&mut self) {
        self.take_in_flight();
    }

    /// Records that it took effect.
    pub(crate) fn confirm(&mut self, baseline: Baseline) {
        if let Some((create, since)) = self.take_in_flight() {
            self.0.push((CreateState::Confirmed(UnconfirmedCreate { baseline, ..create }), since));
        }
    }

    /// Records the item of the create in flight, or of a lost one that was found later.
    pub(crate) fn found(&mut self, expected: &Expected, key: String, now: Instant) {
        let is_it = |(state, _): &(CreateState, Instant)| matches!(state, CreateState::Lost(create) if create.expected == *expected);
        if self.take_in_flight().is_none()
            && let Some(index) = self.0.iter().position(is_it)
        {
            self.0.remove(index);
        }
        self.0.push((CreateState::Made(key), now));
    }

    /// Returns whether another create has made this item.
    pub(crate) fn owns(&self, key: &str) -> bool {
        self.0.iter().any(|(state, _)| matches!(state, CreateState::Made(item) if item == key))
    }

    /// Returns whether other creates with the same text, besides `lost` lost ones, may have made an item like
    /// this.
    pub(crate) fn may_own(&self, expected: &Expected, lost: usize) -> bool {
        let mut same = 0;
        for (state, _) in &self.0 {
            match state {
                CreateState::Confirmed(create) if create.expected == *expected => return true,
                CreateState::Lost(create) if create.expected == *expected => same += 1,
                _ => {}
            }
        }
        same > lost
    }

    /// Returns whether there are notes whose items have yet to be found.
    pub(crate) fn has_confirmed(&self) -> bool {
        self.0.iter().any(|(state, _)| matches!(state, CreateState::Confirmed(_)))
    }

    /// Assigns to confirmed notes the items that they made.
    pub(crate) fn resolve(&mut self, conversation: &Conversation, own: &OwnNames<'_>, now: Instant) {
        for index in 0..self.0.len() {
            let CreateState::Confirmed(UnconfirmedCreate { expected, baseline, .. }) = &self.0[index].0
            else {
                continue;
            };
            let is_it = |key: &str, item: &TimelineItem| {
                baseline.may_be_ours(key, item) && baseline.is_ours(item, None) && expected.matches(item, own)
            };
            let item = item_keys(conversation).find(|(key, item)| is_it(key, item) && !self.owns(key));
            if let Some((key, _)) = item {
                self.0[index] = (CreateState::Made(key), now);
            }
        }
    }

    /// Forgets creates that would have shown by now in the conversation that was just read.
    pub(crate) fn forget(&mut self, now: Instant, visibility_timeout: Duration) {
        self.0.retain(|(state, since)| {
            !matches!(state, CreateState::Lost(_) | CreateState::Confirmed(_))
                || now.saturating_duration_since(*since) < visibility_timeout
        });
    }

    fn take_in_flight(&mut self) -> Option<(UnconfirmedCreate, Instant)> {
        let index = self.0.iter().position(|(state, _)| matches!(state, CreateState::InFlight(_)))?;
        match self.0.remove(index) {
            (CreateState::InFlight(create), since) => Some((create, since)),
            _ => None,
        }
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.0
            .iter()
            .all(|(state, since)| !matches!(state, CreateState::InFlight(_)) && !is_recent(*since, now))
    }
}

fn is_recent(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < RECENT_TTL
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
    pub(crate) fn recent(
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
