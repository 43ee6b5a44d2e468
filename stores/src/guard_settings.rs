//! What the guards have in common.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use shared_inbox_webhooks::replay::{
    ClaimStatus, CountedClaim, Delivery, FencingToken, GuardError, LEASE, RETRY_WINDOW, ReplayGuard,
};

/// How long one step may take by default. The service waits 10 seconds for a response, and an event takes two
/// steps.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of a guard, in its field `settings`.
#[derive(Clone, Debug)]
pub(crate) struct GuardSettings {
    pub(crate) namespace: Arc<str>,
    pub(crate) lease: Duration,
    pub(crate) retention: Duration,
}

impl GuardSettings {
    pub(crate) fn new(namespace: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), lease: LEASE, retention: RETRY_WINDOW }
    }
}

macro_rules! guard_settings {
    () => {
        /// Sets how long a claim lasts unless it is renewed: a [minute](shared_inbox_webhooks::replay::LEASE)
        /// by default. PostgreSQL also ends a transaction that is idle for this long.
        #[must_use]
        pub fn lease(mut self, lease: Duration) -> Self {
            self.settings.lease = lease;
            self
        }

        /// Sets how long a handled event is remembered: [28
        /// hours](shared_inbox_webhooks::replay::RETRY_WINDOW) by default.
        #[must_use]
        pub fn retention(mut self, retention: Duration) -> Self {
            self.settings.retention = retention;
            self
        }
    };
}
pub(crate) use guard_settings;

pub(crate) fn held_if(is_held: bool) -> ClaimStatus {
    if is_held { ClaimStatus::Held } else { ClaimStatus::Lost }
}

/// Releases a claim in the background. One that cannot be released expires.
pub(crate) fn release_later(guard: impl ReplayGuard + 'static, delivery: &Delivery, fence: FencingToken) {
    let delivery = delivery.clone();
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { guard.release(&delivery, fence).await });
    }
}

/// Runs a step of a store, and fails when it takes longer than `time`.
pub(crate) async fn in_time<T, E: Error + Send + Sync + 'static>(
    time: Duration,
    step: impl Future<Output = Result<T, E>>,
) -> Result<T, GuardError> {
    match tokio::time::timeout(time, step).await {
        Ok(answer) => answer.map_err(GuardError::new),
        Err(_) => Err(GuardError::new(format!("no response within {time:?}"))),
    }
}

/// Returns a granted claim. Logs where an earlier claim had expired: its holder may have had an effect before
/// it was killed or stood still, so that the event takes effect twice.
pub(crate) fn granted(delivery: &Delivery, fence: i64, run: i64, has_lapsed: bool) -> CountedClaim {
    if has_lapsed {
        let text = "a webhook's claim ran out before its end was noted: the event is handled again";
        let (endpoint, event, event_type) = (delivery.endpoint(), delivery.event(), delivery.event_type());
        tracing::warn!(endpoint, event, event_type, "{text}");
    }
    let run = u32::try_from(run).unwrap_or(u32::MAX);
    CountedClaim::granted(FencingToken::new(fence.unsigned_abs()), run, has_lapsed)
}
