//! Waits for the rate limit. A model that gets "try again in a minute" tries again at once, so a call waits as long as it may
//! before it fails with the remaining wait.

use std::time::Duration;

use shared_inbox::{
    clock::BoxFuture,
    rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, RateLimiter},
};
use tokio::time::Instant;

/// A limiter that waits as long as its caller allows before it gives up.
#[derive(Debug)]
pub(super) struct WaitingLimiter(MemoryLimiter);

impl WaitingLimiter {
    pub(super) fn new(limit: u32) -> Self {
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

#[cfg(test)]
mod tests {
    use shared_inbox::rate_limit::Priority;

    use super::*;

    fn ask(seconds: u64) -> AcquireRequest {
        AcquireRequest::new(Priority::ReadBack).max_wait(Duration::from_secs(seconds))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_as_long_as_it_may_and_the_next_gets_through() {
        let limiter = WaitingLimiter::new(2);
        for _ in 0..2 {
            limiter.acquire(ask(0)).await.unwrap().finished();
        }
        let began = Instant::now();
        assert!(limiter.acquire(ask(0)).await.is_err());
        assert_eq!(began.elapsed(), Duration::ZERO, "without time to wait there is no wait");
        let Err(LimitError::Busy { wait, .. }) = limiter.acquire(ask(50)).await else {
            panic!("the minute is not over")
        };
        assert_eq!(began.elapsed().as_secs(), 50);
        assert!(wait <= Duration::from_secs(11), "{wait:?}");
        limiter.acquire(ask(50)).await.unwrap().finished();
        assert!(began.elapsed() <= Duration::from_secs(61), "{:?}", began.elapsed());
    }
}
