//! Webhooks as people set them up: which events, whose secret, by which clock; and what is refused.

use serde_json::{Value, json};

use super::{
    kit::{hours, start_with_hook},
    receiver::Receiver,
};
use crate::kit::Kit;

#[tokio::test]
async fn only_subscribed_kinds_are_sent_and_a_test_event_always() {
    let (kit, receiver) = (Kit::start().await, Receiver::start().await);
    let events = json!(["client.replied", "booking.created"]);
    let hook = kit.hook_with(json!({ "url": receiver.url(), "events": events })).await;
    let conversation = kit.mail_in(true, None).await;
    kit.mail_in(true, Some(&conversation)).await;
    kit.live().act(&conversation, "assign", json!({ "to": "me" })).await;
    kit.settle().await;
    assert_eq!(receiver.kinds(), ["client.replied"]);
    kit.send_test(&hook).await;
    assert_eq!(receiver.kinds(), ["client.replied", "webhook.test"]);
    assert_eq!(kit.look("/webhooks").await[0]["events"], events);
}

#[tokio::test]
async fn on_the_free_plan_nothing_is_sent() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    kit.send_test(&hook).await;
    kit.control("PUT", "/plan", json!({ "plan": "free" })).await.expect(200);
    kit.mail_in(true, None).await;
    kit.advance(hours(48)).await;
    assert_eq!(receiver.count(), 1, "neither a new event nor one that was queued");
    let log = kit.deliveries(&hook).await;
    assert_eq!(log.len(), 1);
    assert_eq!((&log[0]["outcome"], &log[0]["nextAttemptAt"]), (&json!("failed"), &json!(null)));
    let test = format!("/webhooks/{}/test", hook.id);
    assert!(kit.control("POST", &test, Value::Null).await.error(409).contains("plan"));

    kit.control("PUT", "/plan", json!({ "plan": "pro" })).await.expect(200);
    kit.send_test(&hook).await;
    assert_eq!(receiver.count(), 2);
}

/// For a receiver that looks at its own clock, wherever the mock's stands.
#[tokio::test]
async fn timestamps_of_this_machine_can_be_had_when_the_clock_was_moved() {
    let (kit, receiver, by_mock) = start_with_hook(200).await;
    let by_machine = kit.hook_with(json!({ "url": receiver.url(), "timestamps": "real" })).await;
    kit.advance(hours(5)).await;
    kit.send_test(&by_mock).await;
    kit.send_test(&by_machine).await;
    let received = receiver.received();
    assert_eq!(received[0].timestamp(), kit.now().await as i64);
    assert!(received[0].verifies_with(&by_mock.secret).is_err(), "five hours ahead of this machine");
    received[1].verifies_with(&by_machine.secret).unwrap();
}

#[tokio::test]
async fn each_webhook_has_a_secret_of_its_own_and_no_list_shows_it() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    kit.send_test(&hook).await;
    let secret = hook.secret.strip_prefix("whsec_").expect("a secret");
    assert!(secret.len() >= 32, "at least 24 bytes");
    for path in ["/webhooks", &format!("/webhooks/{}/deliveries", hook.id), "/jobs"] {
        let list = kit.look(path).await;
        assert!(!list.as_array().expect("a list").is_empty() && !list.to_string().contains(secret), "{path}");
    }
    assert_ne!(kit.hook(&receiver).await.secret, hook.secret);
}
