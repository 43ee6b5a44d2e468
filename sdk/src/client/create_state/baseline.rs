//! What was in a conversation before a create: tells which items the create may have made, by what was read
//! before and by the service's clock.

use std::collections::BTreeSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::reads::dated_at;
use super::service_clock::{SentWindow, ServiceClock};
use crate::{TimelineItem, Timestamp};

/// The state of the conversation before a create.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Baseline {
    /// The keys of the items in it.
    keys: BTreeSet<String>,
    /// Whether these are all items, the moment before the create was sent.
    is_complete: bool,
    /// When it was sent, by the service's clock.
    window: Option<SentWindow>,
    /// When it was sent by the clock of this process, until the service's was observed afterwards.
    #[serde(skip)]
    sent_at: Option<Instant>,
    /// The same by the clock of the machine, for another process, where the service's was not observed at
    /// all.
    #[serde(default)]
    pub(super) sent_at_local: Option<Timestamp>,
}

impl Baseline {
    /// Returns what is known when a create is sent now.
    pub(crate) fn new(keys: BTreeSet<String>, is_complete: bool, now: Instant, clock: &ServiceClock) -> Self {
        let window = clock.reading().map(|reading| reading.window(now));
        Self { keys, is_complete, window, sent_at: Some(now), sent_at_local: Some(Timestamp::now()) }
    }

    /// Returns the same with the service's clock as it was observed after sending.
    pub(crate) fn updated(&self, clock: &ServiceClock) -> Self {
        if let (None, None, Some(sent), Some(reading)) =
            (self.window, self.sent_at, self.sent_at_local, clock.reading())
        {
            let window = Some(reading.window_by_local_time(Timestamp::now() - sent));
            return Self { window, ..self.clone() };
        }
        let newer = clock.reading().zip(self.sent_at).filter(|(reading, sent)| reading.last >= *sent);
        let Some((reading, sent)) = newer else { return self.clone() };
        let mut window = reading.window(sent);
        // A clock that has jumped meanwhile must not make the item look old.
        if let Some(before) = self.window {
            window.possible_from = window.possible_from.min(before.possible_from);
        }
        Self { window: Some(window), sent_at: None, ..self.clone() }
    }

    /// Returns whether an item is new: the create may have made it.
    pub(crate) fn may_be_ours(&self, key: &str, item: &TimelineItem) -> bool {
        let is_older = self.window.zip(dated_at(item)).is_some_and(|(window, at)| at < window.possible_from);
        !self.keys.contains(key) && !is_older
    }

    /// Returns whether a new item that matches was made by the create, and not before it. `latest` is the
    /// latest time that the service's clock can show: an item that is dated later is dated by an unknown
    /// clock.
    pub(crate) fn is_ours(&self, item: &TimelineItem, latest: Option<Timestamp>) -> bool {
        let at = dated_at(item);
        let is_recent = self.window.zip(at).is_some_and(|(window, at)| window.certain_from <= at);
        self.is_complete || (is_recent && latest.zip(at).is_none_or(|(latest, at)| at <= latest))
    }
}
