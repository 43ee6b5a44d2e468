//! What the guards on stores have in common.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::guard::{Claim, Delivery, FencingToken, GuardError, ReplayGuard};
use super::{LEASE, RETRY_WINDOW};

/// How long one step may take by default.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// The store did not respond in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no response within {0:?}")]
struct TooSlow(Duration);

/// The settings of a guard on a store, in its field `settings`.
#[derive(Clone, Debug)]
pub(super) struct StoreSettings {
    pub(super) namespace: Arc<str>,
    pub(super) lease: Duration,
    pub(super) retention: Duration,
    pub(super) timeout: Duration,
}

impl StoreSettings {
    pub(super) fn new(namespace: &str) -> Self {
        let namespace = namespace.into();
        Self { namespace, lease: LEASE, retention: RETRY_WINDOW, timeout: STORE_TIMEOUT }
    }
}

macro_rules! store_settings {
    () => {
        /// Sets a name for this app's marks. Two apps that share a store need two.
        #[must_use]
        pub fn namespace(mut self, namespace: impl Into<std::sync::Arc<str>>) -> Self {
            self.settings.namespace = namespace.into();
            self
        }

        /// Sets how long a claim lasts unless it is renewed: a minute by default ([`LEASE`](super::LEASE)). PostgreSQL also
        /// ends a transaction that is idle for this long.
        #[must_use]
        pub fn lease(mut self, lease: Duration) -> Self {
            self.settings.lease = lease;
            self
        }

        /// Sets how long a handled event is remembered: 28 hours by default ([`RETRY_WINDOW`](super::RETRY_WINDOW)).
        #[must_use]
        pub fn retention(mut self, retention: Duration) -> Self {
            self.settings.retention = retention;
            self
        }

        /// Sets how long a step may take before the store counts as unavailable: 2 seconds by default. The service waits 10
        /// seconds for a response, and an event takes two steps. A handler's own statements are not steps.
        #[must_use]
        pub fn timeout(mut self, timeout: Duration) -> Self {
            self.settings.timeout = timeout;
            self
        }
    };
}
pub(super) use store_settings;

/// Releases a claim in the background. One that cannot be released expires.
pub(super) fn release_later(guard: impl ReplayGuard + 'static, delivery: &Delivery, fence: FencingToken) {
    let delivery = delivery.clone();
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { guard.release(&delivery, fence).await });
    }
}

/// Runs a step of a store, and fails when it takes longer than `time`.
pub(super) async fn in_time<T, E: Error + Send + Sync + 'static>(
    time: Duration,
    step: impl Future<Output = Result<T, E>>,
) -> Result<T, GuardError> {
    match tokio::time::timeout(time, step).await {
        Ok(answer) => answer.map_err(GuardError::new),
        Err(_) => Err(GuardError::new(TooSlow(time))),
    }
}

/// Returns a granted claim. Logs where an earlier claim had expired: its holder may have had an effect before it was killed
/// or stood still, so that the event takes effect twice.
pub(super) fn granted(delivery: &Delivery, fence: i64, taken_over: bool) -> Claim {
    if taken_over {
        let (endpoint, event, event_type) = (delivery.endpoint(), delivery.event(), delivery.event_type());
        tracing::warn!(
            endpoint,
            event,
            event_type,
            "a webhook's claim ran out before its end was noted: the event is handled again"
        );
    }
    Claim::Granted(FencingToken::new(fence.unsigned_abs()))
}
