//! What the guards on stores have in common.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::dead_letter::CountedClaim;
use super::guard::{Delivery, FencingToken, GuardError, ReplayGuard};
use super::supervise::log;
use super::{LEASE, RETRY_WINDOW};
pub(super) use crate::setters::setters;

/// How long one step may take by default.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(2);

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

        setters! {
            /// Sets how long a claim lasts unless it is renewed: a minute by default ([`LEASE`](super::LEASE)). PostgreSQL also
            /// ends a transaction that is idle for this long.
            lease(settings.lease): Duration;

            /// Sets how long a handled event is remembered: 28 hours by default ([`RETRY_WINDOW`](super::RETRY_WINDOW)).
            retention(settings.retention): Duration;

            /// Sets how long a step may take before the store counts as unavailable: 2 seconds by default. The service waits 10
            /// seconds for a response, and an event takes two steps. A handler's own statements are not steps.
            timeout(settings.timeout): Duration;
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
        Err(_) => Err(GuardError::new(format!("no response within {time:?}"))),
    }
}

/// Returns a granted claim. Logs where an earlier claim had expired: its holder may have had an effect before it was killed
/// or stood still, so that the event takes effect twice.
pub(super) fn granted(delivery: &Delivery, fence: i64, run: i64, has_lapsed: bool) -> CountedClaim {
    if has_lapsed {
        let text = "a webhook's claim ran out before its end was noted: the event is handled again";
        log!(WARN, delivery, "{text}");
    }
    let run = u32::try_from(run).unwrap_or(u32::MAX);
    CountedClaim::granted(FencingToken::new(fence.unsigned_abs()), run, has_lapsed)
}
