//! A create whose effect is unknown, to be looked up later.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use super::expected::Expected;
use super::service_clock::ServiceClock;
use crate::{ConversationId, Timestamp};

/// How long a call may take, and how much the clocks of machines may differ, together.
const MAX_CALL_TIME: Duration = Duration::from_secs(3_600);

/// A create whose effect is unknown, with what is needed to find out later.
///
/// [`Error::unconfirmed`](crate::Error::unconfirmed) returns it, and
/// [`Client::find_unconfirmed`](crate::Client::find_unconfirmed) looks it up. It can be stored as JSON and used by another
/// process. That JSON holds the text of the note or email; `Debug` does not show it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnconfirmedCreate {
    pub(crate) conversation: ConversationId,
    pub(crate) expected: Expected,
    pub(crate) baseline: Baseline,
    /// When it was sent at the latest, by the service's clock. `None` if that is not known.
    #[serde(default)]
    pub(crate) sent_by: Option<Timestamp>,
}

impl UnconfirmedCreate {
    /// Returns the conversation in which it may be.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// Returns whether it is a note, and not a reply or a document request.
    #[must_use]
    pub fn is_note(&self) -> bool {
        matches!(self.expected, Expected::Note { .. })
    }

    /// Returns whether another create that was begun at this moment, by the clock of its machine, may have
    /// made its item after this one was sent.
    pub(crate) fn may_be_as_late_as(&self, begun: Timestamp) -> bool {
        self.baseline.sent_at_local.is_none_or(|sent| begun + MAX_CALL_TIME >= sent)
    }

    /// Returns how long ago it was sent at least, as far as the service's clock tells.
    pub(crate) fn since_sent(&self, clock: &ServiceClock, now: Instant) -> Duration {
        let earliest = clock.reading().map(|reading| reading.earliest(now));
        let passed = earliest.zip(self.sent_by).map(|(now, sent)| now.as_millis() - sent.as_millis());
        Duration::from_millis(passed.and_then(|passed| u64::try_from(passed).ok()).unwrap_or_default())
    }
}

impl fmt::Debug for UnconfirmedCreate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnconfirmedCreate")
            .field("conversation", &self.conversation)
            .field("is_note", &self.is_note())
            .finish_non_exhaustive()
    }
}
