//! A receiver that does not answer costs nobody else anything.

use std::time::Duration;

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use super::{
    kit::Mock,
    receiver::{Receiver, Reply},
};

/// Long enough that no try ends by itself during the test: what goes on does so beside the slow ones.
#[tokio::test]
async fn a_receiver_that_does_not_answer_delays_neither_the_api_nor_others() {
    let mock =
        Mock::with(MockServer::builder().manual_clock().empty().webhook_timeout(Duration::from_secs(600)))
            .await;
    let silent = Receiver::scripted(|_| Reply::Hang).await;
    let unfinished = Receiver::scripted(|_| Reply::Unfinished(200)).await;
    let good = Receiver::start().await;
    let hooks = [mock.hook(&silent).await, mock.hook(&unfinished).await, mock.hook(&good).await];
    for _ in 0..50 {
        mock.mail(json!({})).await;
        mock.live("GET", "/conversations", Value::Null).await;
    }
    while good.count() < 50 || silent.count() < 1 || unfinished.count() < 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!((silent.count(), unfinished.count()), (1, 1), "one try at a time for each webhook");
    mock.act(&hooks[0], "pause").await;
    mock.act(&hooks[1], "pause").await;
    for hook in &hooks[..2] {
        let log = mock.deliveries(hook).await;
        assert_eq!(log.len(), 50);
        assert_eq!(log.iter().filter(|it| it["outcome"] == "failed").count(), 49, "those that waited");
        assert_eq!(log.iter().filter(|it| it["outcome"] == "pending").count(), 1, "the one under way");
    }
}

#[tokio::test]
async fn a_receiver_has_a_time_for_its_answer_and_the_clock_waits_for_it() {
    let time = Duration::from_millis(150);
    let mock = Mock::with(MockServer::builder().manual_clock().empty().webhook_timeout(time)).await;
    for reply in [Reply::Hang, Reply::Unfinished(200)] {
        let receiver = Receiver::scripted(move |_| reply.clone()).await;
        let hook = mock.hook(&receiver).await;
        mock.act(&hook, "test").await;
        mock.settle().await;
        let log = mock.deliveries(&hook).await;
        let tries = log[0]["attempts"].as_array().expect("a list");
        assert_eq!(tries.len(), 1, "it had ended when the clock's call was answered");
        assert_eq!(tries[0]["status"], json!(null));
        assert_eq!(tries[0]["error"], "no response within 0.15 seconds");
        assert!(tries[0]["durationMs"].as_u64().is_some_and(|took| took >= 149), "{}", tries[0]);
        assert_eq!(log[0]["outcome"], "pending", "it is tried again");
    }
}
