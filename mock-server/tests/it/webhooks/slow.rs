//! A receiver that does not answer costs nobody else anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    kit::Mock,
    receiver::{Receiver, Reply},
};

/// The one test that takes the real ten seconds which a receiver has, even with the manual clock.
#[tokio::test]
async fn a_receiver_has_ten_real_seconds_and_delays_neither_the_api_nor_others() {
    let mock = Mock::start().await;
    let silent = Receiver::scripted(|_| Reply::Hang).await;
    let unfinished = Receiver::scripted(|_| Reply::Unfinished(200)).await;
    let good = Receiver::start().await;
    let hooks = [mock.hook(&silent).await, mock.hook(&unfinished).await, mock.hook(&good).await];

    let started = Instant::now();
    for _ in 0..50 {
        mock.mail(json!({})).await;
        mock.live("GET", "/conversations", Value::Null).await;
    }
    while good.count() < 50 {
        tokio::task::yield_now().await;
    }
    assert!(started.elapsed() < Duration::from_secs(8), "took {:?}", started.elapsed());
    assert_eq!((silent.count(), unfinished.count()), (1, 1), "one try at a time for each webhook");

    // The others would take minutes; one is enough.
    let paused = Instant::now();
    mock.act(&hooks[0], "pause").await;
    mock.act(&hooks[1], "pause").await;
    assert!(paused.elapsed() < Duration::from_secs(2));
    mock.settle().await;
    assert!(started.elapsed() >= Duration::from_secs(10), "the clock waits for tries that are under way");
    for hook in &hooks[..2] {
        let log = mock.deliveries(hook).await;
        assert_eq!(log.len(), 50);
        let tries: Vec<&Value> = log.iter().flat_map(|it| it["tries"].as_array().unwrap()).collect();
        assert_eq!(tries.len(), 1);
        assert_eq!(
            (&tries[0]["status"], &tries[0]["error"]),
            (&json!(null), &json!("no answer within 10 seconds"))
        );
        let took = tries[0]["durationMs"].as_u64().unwrap();
        assert!((9_990..13_000).contains(&took), "{took}");
        assert!(log.iter().all(|it| it["outcome"] == "failed"), "what a pause dropped stays dropped");
    }
    assert!(mock.deliveries(&hooks[2]).await.iter().all(|it| it["outcome"] == "delivered"));
}
