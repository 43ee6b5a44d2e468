//! A store that is away is told of once, however often it is looked for, and so is its return.

use std::time::Duration;

use shared_inbox::rate_limit::{AcquireRequest, Priority, RateLimiter};
use shared_inbox_tests::{stores, until};

use super::process;
use crate::support::trace::Trace;

const MINUTE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_store_that_goes_and_comes_back_is_told_of_once_each_time() {
    let mut store = stores::valkey();
    let trace = Trace::start();
    let limiter = process(store.url(), Duration::from_secs(5)).window(MINUTE).share(2).await.unwrap();
    let patient =
        AcquireRequest::new(Priority::Interactive).max_wait(Duration::from_secs(30)).max_hold(MINUTE);
    limiter.acquire(patient).await.unwrap().finished();
    let said = || {
        let lines = trace.lines();
        let ours = |line: &&String| line.contains("the store of the rate limit");
        let count = |words: &str| lines.iter().filter(ours).filter(|line| line.contains(words)).count();
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
        until("the store is back", async || !limiter.is_away()).await;
        assert_eq!(said(), [times; 3]);
    }
    assert!(!trace.lines().iter().any(|line| line.contains("127.0.0.1")));
}
