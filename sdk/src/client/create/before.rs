//! What was in a conversation before a create was sent: known by what was read, or by the service's clock.

use std::time::Duration;

use crate::TimelineItem;
use crate::client::engine::{SKEW, at};
use crate::client::error::Before;

/// For what is lost when times are cut to the second and answers travel.
const ROUNDING: Duration = Duration::from_secs(2);

impl Before {
    /// Whether an item may have come after the create was sent.
    pub(super) fn is_new(&self, key: &str, item: &TimelineItem) -> bool {
        let older = self.sent.zip(at(item)).is_some_and(|(sent, at)| at < sent - SKEW - ROUNDING);
        !self.keys.contains(key) && !older
    }

    /// Whether a new item surely came after the create was sent, unless somebody else made it in the same seconds.
    pub(super) fn is_over(&self, item: &TimelineItem) -> bool {
        let later = self.sent.zip(at(item)).is_some_and(|(sent, at)| at >= sent - ROUNDING);
        self.whole || (self.agreed && later)
    }
}
