//! What can be set for a client as a whole and overridden for a single call.

use std::time::{Duration, Instant};

use super::limiter::Lane;
use super::retry::RetryPolicy;

/// What to do when the answer to a create is lost.
///
/// ```no_run
/// # async fn run(inbox: shared_inbox::Client, id: shared_inbox::ConversationId) -> shared_inbox::Result<()> {
/// use shared_inbox::Verification;
///
/// // One request, whatever happens; a note twice or not at all would be no harm.
/// inbox.conversation(&id).add_note("Seen.").verification(Verification::Never).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verification {
    /// Look at the conversation, and send again only what is not there. Costs one read before each create, so that an
    /// identical item that was there before is never taken for the new one.
    #[default]
    Verified,
    /// Send once. No reads; a lost answer is an error of [`Certainty::Unknown`](crate::Certainty::Unknown).
    Never,
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) lane: Lane,
    /// For one attempt.
    pub(crate) timeout: Duration,
    /// For the call as a whole, waits included.
    pub(crate) deadline: Duration,
    /// When the call that this one is a part of must be over.
    pub(crate) must_end: Option<Instant>,
    pub(crate) retry: RetryPolicy,
    /// Whether to wait for the client's own rate limit.
    pub(crate) wait: bool,
    pub(crate) verification: Verification,
    /// How long a create may take to show in the timeline.
    pub(crate) settle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lane: Lane::Interactive,
            timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(120),
            must_end: None,
            retry: RetryPolicy::default(),
            wait: true,
            verification: Verification::Verified,
            settle: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// When a call that starts now must be over.
    pub(crate) fn ends(&self, now: Instant) -> Instant {
        // A time beyond what the clock can hold is as good as a year.
        let own = now.checked_add(self.deadline).unwrap_or_else(|| now + Duration::from_secs(365 * 86_400));
        self.must_end.map_or(own, |ends| ends.min(own))
    }

    /// The same for all parts of one call: the time that one takes is gone for the others.
    pub(crate) fn started(mut self, now: Instant) -> Self {
        self.must_end = Some(self.ends(now));
        self
    }
}
