//! Webhooks as people set them up: which events, whose secret, by which clock; and what is refused.

use serde_json::{Value, json};

use super::{
    kit::{Mock, hours},
    receiver::Receiver,
};

#[tokio::test]
async fn only_subscribed_kinds_are_sent_and_a_test_event_always() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let events = json!(["client.replied", "booking.created"]);
    let hook = mock.hook_with(&receiver, json!({ "events": events })).await;
    let conversation = mock.conversation().await;
    mock.mail(json!({ "conversationId": conversation })).await;
    mock.live("POST", &format!("/conversations/{conversation}/assign"), json!({ "to": "me" })).await;
    mock.settle().await;
    assert_eq!(receiver.kinds(), ["client.replied"]);
    mock.send_test(&hook).await;
    assert_eq!(receiver.kinds(), ["client.replied", "webhook.test"]);
    assert_eq!(mock.get("/webhooks").await[0]["events"], events);
}

#[tokio::test]
async fn on_the_free_plan_nothing_is_sent() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.mail(json!({})).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 1);
    mock.control("PUT", "/plan", Some(json!({ "plan": "free" }))).await;
    mock.mail(json!({})).await;
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), 1, "neither a new event nor one that was queued");
    let log = mock.deliveries(&hook).await;
    assert_eq!(log.len(), 1);
    assert_eq!((&log[0]["outcome"], &log[0]["nextAttemptAt"]), (&json!("failed"), &json!(null)));
    let (status, answer) = mock.control("POST", &format!("/webhooks/{}/test", hook.id), None).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("plan"));

    mock.control("PUT", "/plan", Some(json!({ "plan": "pro" }))).await;
    mock.mail(json!({})).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 2);
}

#[tokio::test]
async fn a_webhook_that_makes_no_sense_is_refused_with_every_problem() {
    let mock = Mock::start().await;
    let anna = mock.user().await;
    let post = async |body: Value| {
        let (status, answer) = mock.control("POST", "/webhooks", Some(body)).await;
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    };
    let good = "http://127.0.0.1:9/hook";
    let (status, error) =
        post(json!({ "url": good, "livemode": true, "scope": "private", "events": ["moon.rose"] })).await;
    assert_eq!(status, 400);
    assert!(error.starts_with("owner: ") && error.contains("; events[0]: "), "{error}");
    assert_eq!(post(json!({ "url": good, "livemode": true, "scope": "team", "events": [] })).await.0, 400);
    assert_eq!(post(json!({ "url": good, "livemode": true, "scope": "everyone" })).await.0, 400);
    assert_eq!(post(json!({ "url": good, "scope": "team" })).await.0, 400);
    assert_eq!(post(json!({ "livemode": true, "scope": "team" })).await.0, 400);
    let (status, _) =
        post(json!({ "url": good, "livemode": true, "scope": "private", "owner": "usr_nobody" })).await;
    assert_eq!(status, 404);
    let long = format!("{good}/{}", "x".repeat(2_100));
    assert_eq!(post(json!({ "url": long, "livemode": true, "scope": "team" })).await.0, 400);
    assert_eq!(mock.get("/webhooks").await, json!([]));
    let private = json!({ "url": good, "livemode": true, "scope": "private", "owner": anna });
    assert_eq!(post(private).await.0, 201);
}

#[tokio::test]
async fn the_secret_is_shown_once_and_in_no_list() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    assert!(hook.id.starts_with("whk_"));
    let secret = hook.secret.strip_prefix("whsec_").unwrap();
    assert!(secret.len() >= 32, "at least 24 bytes");
    mock.send_test(&hook).await;
    for path in ["/webhooks".to_owned(), format!("/webhooks/{}/deliveries", hook.id), "/jobs".to_owned()] {
        assert!(!mock.get(&path).await.to_string().contains(secret), "{path}");
    }
    let other = mock.hook(&receiver).await;
    assert_ne!(other.secret, hook.secret);
}

/// For a receiver that looks at its own clock, wherever the mock's stands.
#[tokio::test]
async fn timestamps_of_this_machine_can_be_had_when_the_clock_was_moved() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let mocks = mock.hook(&receiver).await;
    let reals = mock.hook_with(&receiver, json!({ "timestamps": "real" })).await;
    mock.advance(hours(5)).await;
    mock.send_test(&mocks).await;
    mock.send_test(&reals).await;
    let got = receiver.got();
    assert_eq!(got[0].timestamp(), mock.now().await as i64);
    assert!(got[0].verifies_with(&mocks.secret).is_err(), "five hours ahead of this machine");
    got[1].verifies_with(&reals.secret).unwrap();
}
