//! Webhooks in the world document: a restored world goes on where the saved one was.

use serde_json::json;

use super::{
    kit::{Mock, hours, minutes},
    receiver::{Receiver, Reply},
};

#[tokio::test]
async fn a_restored_world_has_the_same_webhooks_secrets_log_and_queue() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.act(&hook, "rotate").await;
    mock.send_test(&hook).await;
    let saved = mock.get("/state").await;
    let before = mock.deliveries(&hook).await;

    let second = Mock::start().await;
    let (status, answer) = second.control("PUT", "/state", Some(saved.clone())).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(second.get("/state").await, saved, "what was read is what was written");
    assert_eq!(second.deliveries(&hook).await, before);

    receiver.answer(200);
    second.advance(minutes(1)).await;
    let got = receiver.got();
    assert_eq!(got.len(), 2);
    assert_eq!(got[1].id(), got[0].id());
    assert!(got[1].signatures().len() == 2 && got[1].is_signed_with(&hook.secret));
    assert_eq!(second.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn the_same_calls_give_the_same_schedule() {
    let receiver = Receiver::answering(500).await;
    let mut schedules = Vec::new();
    let start = shared_inbox::Timestamp::parse("2026-11-01T08:00:00Z").unwrap();
    for _ in 0..2 {
        let builder = shared_inbox_mock::MockServer::builder().manual_clock().empty().start_at(start);
        let mock = Mock::with(builder).await;
        let hook = mock.hook(&receiver).await;
        mock.send_test(&hook).await;
        mock.send_test(&hook).await;
        mock.advance(hours(3)).await;
        let mut log = json!(mock.deliveries(&hook).await);
        for delivery in log.as_array_mut().unwrap() {
            for made in delivery["attempts"].as_array_mut().unwrap() {
                made.as_object_mut().unwrap().remove("durationMs");
            }
        }
        schedules.push((hook.id, hook.secret, log));
    }
    assert_eq!(schedules[0], schedules[1]);
}

#[tokio::test]
async fn a_try_that_was_under_way_when_the_world_was_saved_is_made_by_the_restored_one() {
    let (mock, receiver) = (Mock::start().await, Receiver::scripted(|_| Reply::Hang).await);
    let hook = mock.hook(&receiver).await;
    mock.act(&hook, "test").await;
    let saved = mock.get("/state").await;

    let second = Mock::start().await;
    receiver.answer(200);
    let (status, answer) = second.control("PUT", "/state", Some(saved)).await;
    assert_eq!(status, 200, "{answer}");
    second.settle().await;
    assert_eq!(second.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn an_answer_that_comes_after_a_reset_changes_nothing() {
    let (mock, receiver) = (Mock::start().await, Receiver::scripted(|_| Reply::Hang).await);
    let hook = mock.hook(&receiver).await;
    mock.act(&hook, "test").await;
    mock.post("/reset", json!({})).await;
    assert_eq!(mock.get("/webhooks").await, json!([]));
    mock.settle().await;
    assert_eq!(mock.get("/outbox").await, json!([]));
    let (status, _) = mock.control("GET", &format!("/webhooks/{}/deliveries", hook.id), None).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_document_whose_webhooks_do_not_fit_together_is_refused() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    let mut saved = mock.get("/state").await;
    saved["webhooks"]["endpoints"][&hook.id]["owner"] = json!("usr_nobody");
    let (status, answer) = mock.control("PUT", "/state", Some(saved.clone())).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().unwrap().contains("owner"), "{answer}");
    saved["webhooks"]["endpoints"] = json!({});
    let (status, answer) = mock.control("PUT", "/state", Some(saved)).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().unwrap().contains("deliveries"), "{answer}");
}
