//! What the guards on stores have in common.

use std::error::Error;
use std::time::Duration;

use super::guard::{Claim, Delivery, FencingToken, GuardError};

/// How long one step may take, by default. The service waits 10 seconds for a response.
pub(super) const STORE_TIME: Duration = Duration::from_secs(2);

/// The store did not respond in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no response within {0:?}")]
struct TooSlow(Duration);

/// What a store answers, or that it failed to in time.
pub(super) async fn in_time<T, E: Error + Send + Sync + 'static>(
    time: Duration,
    step: impl Future<Output = Result<T, E>>,
) -> Result<T, GuardError> {
    match tokio::time::timeout(time, step).await {
        Ok(answer) => answer.map_err(GuardError::new),
        Err(_) => Err(GuardError::new(TooSlow(time))),
    }
}

/// A claim that was granted. Where an earlier one had run out, its holder may have had an effect before it was killed or stood
/// still, so that the event takes effect twice: that is told.
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
    Claim::Granted(FencingToken(fence.unsigned_abs()))
}
