//! Webhooks as people set them up: which events, whose secret, by which clock; and what is refused.

use serde_json::{Value, json};

use super::{
    kit::{extended, hours, start_with_hook},
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

#[tokio::test]
async fn a_webhook_that_makes_no_sense_is_refused_with_every_problem() {
    let kit = Kit::start().await;
    let good = json!({ "url": "http://127.0.0.1:9/hook", "livemode": true, "scope": "team" });
    let long = format!("http://127.0.0.1:9/{}", "x".repeat(2_100));
    for (more, status, named) in [
        (json!({ "scope": "privat", "events": ["moon.rose"] }), 400, &["events[0]: ", "; scope: "][..]),
        (json!({ "scope": "private", "events": [] }), 400, &["owner: ", "; events: "]),
        (json!({ "events": [] }), 400, &["events: "]),
        (json!({ "url": long }), 400, &["url: "]),
        (json!({ "scope": "private", "owner": "usr_nobody" }), 404, &[]),
    ] {
        let error = kit.control("POST", "/webhooks", extended(good.clone(), more)).await.error(status);
        assert!(named.iter().all(|part| error.contains(part)), "{error}");
    }
    assert_eq!(kit.look("/webhooks").await, json!([]));
}

#[tokio::test]
async fn the_secret_is_shown_once_and_in_no_list() {
    let (kit, receiver, hook) = start_with_hook(200).await;
    let secret = hook.secret.strip_prefix("whsec_").unwrap();
    assert!(secret.len() >= 32, "at least 24 bytes");
    kit.send_test(&hook).await;
    for path in ["/webhooks", &format!("/webhooks/{}/deliveries", hook.id), "/jobs"] {
        assert!(!kit.look(path).await.to_string().contains(secret), "{path}");
    }
    assert_ne!(kit.hook(&receiver).await.secret, hook.secret);
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
