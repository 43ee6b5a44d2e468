//! Decides which items of a conversation a create may have made, by what was read before and by the service's clock.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::client::engine::{ServiceClock, dated_at};
use crate::client::error::Before;
use crate::{TimelineItem, Timestamp};

impl Before {
    /// Returns what is known when a create is sent now.
    pub(super) fn new(keys: BTreeSet<String>, whole: bool, now: Instant, clock: &ServiceClock) -> Self {
        let window = clock.reading().map(|reading| reading.window(now));
        Self { keys, whole, window, sent: Some(now) }
    }

    /// Returns the same with the service's clock as it was observed after sending.
    pub(super) fn updated(&self, clock: &ServiceClock) -> Self {
        let newer = clock.reading().zip(self.sent).filter(|(reading, sent)| reading.last >= *sent);
        let Some((reading, sent)) = newer else { return self.clone() };
        let mut window = reading.window(sent);
        // A clock that has jumped meanwhile must not make the item look old.
        if let Some(before) = self.window {
            window.possible_from = window.possible_from.min(before.possible_from);
        }
        Self { window: Some(window), sent: None, ..self.clone() }
    }

    /// Returns whether an item is new: the create may have made it.
    pub(super) fn may_be_ours(&self, key: &str, item: &TimelineItem) -> bool {
        let is_older = self.window.zip(dated_at(item)).is_some_and(|(window, at)| at < window.possible_from);
        !self.keys.contains(key) && !is_older
    }

    /// Returns whether a new item that matches was made by the create, and not before it. `latest` is the latest time that the
    /// service's clock can show: an item that is dated later is dated by an unknown clock.
    pub(super) fn is_ours(&self, item: &TimelineItem, latest: Option<Timestamp>) -> bool {
        let at = dated_at(item);
        let is_recent = self.window.zip(at).is_some_and(|(window, at)| window.certain_from <= at);
        self.whole || (is_recent && latest.zip(at).is_none_or(|(latest, at)| at <= latest))
    }
}
