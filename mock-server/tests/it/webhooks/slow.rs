//! A receiver that does not answer costs nobody else anything.

use std::time::Duration;

use serde_json::json;
use shared_inbox_mock::MockServer;

use super::receiver::{Receiver, Reply};
use crate::kit::Kit;

/// Long enough that no try ends by itself during the test: what goes on does so beside the slow ones.
#[tokio::test]
async fn a_receiver_that_does_not_answer_delays_neither_the_api_nor_others() {
    let builder = MockServer::builder().manual_clock().empty().no_rate_limit();
    let kit = Kit::with(builder.webhook_timeout(Duration::from_secs(600))).await;
    let silent = Receiver::scripted(|_| Reply::Hang).await;
    let unfinished = Receiver::scripted(|_| Reply::Unfinished(200)).await;
    let good = Receiver::start().await;
    let hooks = [kit.hook(&silent).await, kit.hook(&unfinished).await, kit.hook(&good).await];
    for _ in 0..50 {
        kit.mail_in(true, None).await;
        kit.live().get("/conversations").await.expect(200);
    }
    while good.count() < 50 || silent.count() < 1 || unfinished.count() < 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!((silent.count(), unfinished.count()), (1, 1), "one try at a time for each webhook");
    kit.act_on(&hooks[0], "pause").await;
    kit.act_on(&hooks[1], "pause").await;
    for hook in &hooks[..2] {
        let log = kit.deliveries(hook).await;
        assert_eq!(log.len(), 50);
        assert_eq!(log.iter().filter(|it| it["outcome"] == "failed").count(), 49, "those that waited");
        assert_eq!(log.iter().filter(|it| it["outcome"] == "pending").count(), 1, "the one under way");
    }
}

#[tokio::test]
async fn a_receiver_has_a_time_for_its_answer_and_the_clock_waits_for_it() {
    let time = Duration::from_millis(150);
    let kit = Kit::with(MockServer::builder().manual_clock().empty().webhook_timeout(time)).await;
    for reply in [Reply::Hang, Reply::Unfinished(200)] {
        let receiver = Receiver::scripted(move |_| reply.clone()).await;
        let hook = kit.hook(&receiver).await;
        kit.act_on(&hook, "test").await;
        kit.settle().await;
        let log = kit.deliveries(&hook).await;
        let tries = log[0]["attempts"].as_array().expect("a list");
        assert_eq!(tries.len(), 1, "it had ended when the clock's call was answered");
        assert_eq!(tries[0]["status"], json!(null));
        assert_eq!(tries[0]["error"], "no response within 0.15 seconds");
        assert!(tries[0]["durationMs"].as_u64().is_some_and(|took| took >= 149), "{}", tries[0]);
        assert_eq!(log[0]["outcome"], "pending", "it is tried again");
    }
}
