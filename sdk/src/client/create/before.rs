//! What was in a conversation before a create was sent: known by what was read, or by the service's clock.

use std::time::Duration;

use crate::TimelineItem;
use crate::client::engine::{SKEW, at};
use crate::client::error::Before;

/// What is lost when an item's time is cut to the second.
const ROUNDING: Duration = Duration::from_secs(1);

impl Before {
    /// Whether an item may have come after the create was sent.
    pub(super) fn is_new(&self, key: &str, item: &TimelineItem) -> bool {
        let older = self.sent.zip(at(item)).is_some_and(|(sent, at)| at < sent - SKEW - ROUNDING);
        !self.keys.contains(key) && !older
    }

    /// Whether a new item surely came while the create was under way, and not before.
    pub(super) fn is_over(&self, item: &TimelineItem) -> bool {
        let meanwhile = self.under_way.zip(at(item)).is_some_and(|((from, to), at)| from <= at && at <= to);
        self.whole || meanwhile
    }
}
