//! What the guards on stores have in common.

use std::error::Error;
use std::time::Duration;

use super::guard::GuardError;

/// How long one step may take, unless told otherwise. The service waits 10 seconds for an answer.
pub(super) const STORE_TIME: Duration = Duration::from_secs(2);

/// The store did not answer in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
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
