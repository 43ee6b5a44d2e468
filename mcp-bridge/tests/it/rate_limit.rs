//! Calls wait for the rate limit as long as they may.

use std::time::Duration;

use shared_inbox::rate_limit::{AcquireRequest, LimitError, Priority, RateLimiter};
use shared_inbox_mcp::settings::WaitingLimiter;
use tokio::time::Instant;

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
