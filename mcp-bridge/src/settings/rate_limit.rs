//! Waits for the rate limit. A model that gets "try again in a minute" tries again at once, so a call waits
//! as long as it may before it fails with the remaining wait.

use std::time::Duration;

use shared_inbox::{
    clock::BoxFuture,
    rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, RateLimiter},
};
use tokio::time::Instant;

/// A limiter that waits as long as its caller allows before it gives up.
#[derive(Debug)]
pub struct WaitingLimiter(MemoryLimiter);

impl WaitingLimiter {
    /// Creates a limiter of this many requests a minute.
    pub fn new(limit: u32) -> Self {
        Self(MemoryLimiter::new(limit))
    }
}

impl RateLimiter for WaitingLimiter {
    fn acquire(&self, request: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async move {
            let began = Instant::now();
            let refused = match self.0.acquire(request).await {
                Err(refused @ LimitError::Busy { .. }) => refused,
                result => return result,
            };
            let left = request.max_wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(refused);
            }
            tokio::time::sleep(left).await;
            self.0.acquire(request.max_wait(Duration::ZERO)).await
        })
    }
}
