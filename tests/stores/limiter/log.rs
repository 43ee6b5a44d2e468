//! A store that is away is told of once, however often it is looked for, and so is its return.

use std::time::Duration;

use shared_inbox::rate_limit::{AcquireRequest, Priority, RateLimiter, RedisLimiter};
use shared_inbox_tests::stores;

use super::Log;

const MINUTE: Duration = Duration::from_millis(300);

#[tokio::test]
#[ignore = "needs a store"]
async fn a_store_that_goes_and_comes_back_is_told_of_once_each_time() {
    let Some(mut store) = stores::valkey() else { return };
    let (log, logging) = Log::of_this_thread();
    let limiter = RedisLimiter::builder(store.url()).window(MINUTE).share(2);
    let limiter = limiter.timeout(Duration::from_secs(5)).connect().await.unwrap();
    let patient =
        AcquireRequest::new(Priority::Interactive).max_wait(Duration::from_secs(30)).max_hold(MINUTE);
    limiter.acquire(patient).await.unwrap().finished();
    let said = || {
        let log = log.text();
        let ours = |line: &&str| line.contains("the store of the rate limit");
        let count = |words: &str| log.lines().filter(ours).filter(|line| line.contains(words)).count();
        [count("is away: "), count("share=2"), count(" is back")]
    };
    assert_eq!(said(), [0, 0, 0], "all is well");
    for times in 1..=2 {
        store.kill();
        // More than its share of two for a minute: it has been looked for many times.
        for _ in 0..5 {
            limiter.acquire(patient).await.unwrap().finished();
        }
        assert!(limiter.is_away());
        assert_eq!(said(), [times, times, times - 1]);
        store.restart();
        limiter.acquire(patient).await.unwrap().finished();
        while limiter.is_away() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(said(), [times; 3]);
    }
    drop(logging);
    assert!(!log.text().lines().any(|line| line.contains("shared_inbox") && line.contains("127.0.0.1")));
}
