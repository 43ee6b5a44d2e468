//! The delivery log: filters, 30 days, redelivery.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    kit::{Hook, Mock, hours, seconds},
    receiver::Receiver,
};

async fn listed(mock: &Mock, hook: &Hook, query: &str) -> Vec<Value> {
    mock.get(&format!("/webhooks/{}/deliveries{query}", hook.id)).await.as_array().unwrap().clone()
}

fn redeliver(hook: &Hook, event: &str) -> String {
    format!("/webhooks/{}/deliveries/{event}/redeliver", hook.id)
}

#[tokio::test]
async fn the_log_is_newest_first_and_can_be_filtered() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let delivered = mock.send_test(&hook).await;
    receiver.answer(500);
    let pending = mock.send_test(&hook).await;
    mock.mail(json!({})).await;
    mock.settle().await;

    let all = mock.deliveries(&hook).await;
    let ids: Vec<&str> = all.iter().map(|it| it["eventId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids[1..], [pending.as_str(), delivered.as_str()]);
    assert_eq!(all[0]["type"], "turn.changed");
    for entry in &all {
        let keys: Vec<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["attempts", "createdAt", "eventId", "nextAttemptAt", "outcome", "type"]);
        assert_eq!(seconds(&entry["createdAt"]), mock.now().await);
        let keys: Vec<&str> = entry["attempts"][0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["at", "durationMs", "error", "status"]);
    }
    assert_eq!(listed(&mock, &hook, "?outcome=delivered").await, all[2..]);
    assert_eq!(listed(&mock, &hook, "?outcome=pending").await, all[..2]);
    assert_eq!(listed(&mock, &hook, "?outcome=failed").await, [] as [Value; 0]);
    assert_eq!(listed(&mock, &hook, "?type=webhook.test").await, all[1..]);
    assert_eq!(listed(&mock, &hook, "?outcome=pending&type=webhook.test").await, all[1..2]);
    assert_eq!(listed(&mock, &hook, "?outcome=&type=").await, all);
    for bad in ["?outcome=lost", "?type=moon.rose"] {
        let (status, answer) =
            mock.control("GET", &format!("/webhooks/{}/deliveries{bad}", hook.id), None).await;
        assert_eq!(status, 400, "{bad}");
        assert!(answer["error"].is_string(), "{bad}");
    }
}

#[tokio::test]
async fn the_log_goes_back_30_days() {
    for livemode in [true, false] {
        let (mock, receiver) = (Mock::start().await, Receiver::start().await);
        let hook = mock.hook_in(livemode, &receiver).await;
        let old = mock.send_test(&hook).await;
        mock.advance(hours(24 * 29)).await;
        mock.send_test(&hook).await;
        assert_eq!(mock.deliveries(&hook).await.len(), 2);
        mock.advance(hours(24)).await;
        assert_eq!(mock.deliveries(&hook).await.len(), 2, "30 days to the moment");
        mock.advance(Duration::from_secs(1)).await;
        assert_eq!(mock.deliveries(&hook).await.len(), 1);
        let (status, _) = mock.control("POST", &redeliver(&hook, &old), None).await;
        assert_eq!(status, 404, "what the log has forgotten cannot be sent again");
        // Forgotten for good once something new is written.
        mock.send_test(&hook).await;
        let state = mock.get("/state").await.to_string();
        assert!(!state.contains(&old));
    }
}

#[tokio::test]
async fn every_try_of_the_last_30_days_is_in_the_log_however_old_its_event() {
    for livemode in [true, false] {
        let (mock, receiver) = (Mock::start().await, Receiver::start().await);
        let (hook, other) =
            (mock.hook_in(livemode, &receiver).await, mock.hook_in(livemode, &receiver).await);
        mock.mail_in(livemode, None).await;
        mock.settle().await;
        let event = mock.deliveries(&hook).await[0]["eventId"].as_str().unwrap().to_owned();
        mock.advance(hours(24 * 29)).await;
        mock.post(&redeliver(&hook, &event), json!({})).await;
        mock.advance(hours(24 * 2)).await;
        // Something new is written, and what is old is let go.
        mock.send_test(&other).await;
        let log = mock.deliveries(&hook).await;
        assert_eq!(
            (log.len(), log[0]["attempts"].as_array().unwrap().len()),
            (1, 2),
            "redelivered two days ago"
        );
        assert_eq!(mock.deliveries(&other).await.len(), 1, "the other webhook had no try since");
        mock.post(&redeliver(&hook, &event), json!({})).await;
        mock.advance(hours(24 * 30)).await;
        assert_eq!(mock.deliveries(&hook).await[0]["attempts"].as_array().unwrap().len(), 3);
        mock.advance(Duration::from_secs(1)).await;
        assert!(mock.deliveries(&hook).await.is_empty());
        assert_eq!(mock.control("POST", &redeliver(&hook, &event), None).await.0, 404);
        mock.send_test(&other).await;
        assert!(!mock.get("/state").await.to_string().contains(&event), "forgotten for good");
    }
}

#[tokio::test]
async fn a_redelivery_has_the_same_id_and_body_and_a_timestamp_of_its_own() {
    for livemode in [true, false] {
        let (mock, receiver) = (Mock::start().await, Receiver::start().await);
        let hook = mock.hook_in(livemode, &receiver).await;
        let event = mock.send_test(&hook).await;
        mock.advance(hours(2)).await;
        let (status, _) = mock.control("POST", &redeliver(&hook, &event), None).await;
        assert_eq!(status, 202);
        mock.settle().await;
        let got = receiver.got();
        assert_eq!(got.len(), 2);
        assert_eq!((got[0].id(), &got[0].body), (got[1].id(), &got[1].body));
        assert_eq!(got[1].timestamp() - got[0].timestamp(), 7_200);
        assert!(got[1].is_signed_with(&hook.secret));
        let log = mock.deliveries(&hook).await;
        assert_eq!(log.len(), 1, "still one entry");
        assert_eq!(log[0]["attempts"].as_array().unwrap().len(), 2);
        assert_eq!(log[0]["outcome"], "delivered");
    }
}

#[tokio::test]
async fn a_redelivery_that_fails_is_tried_by_the_whole_schedule() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    let event = mock.send_test(&hook).await;
    mock.advance(hours(23)).await;
    mock.act(&hook, "pause").await;
    mock.act(&hook, "resume").await;
    let before = receiver.count();
    mock.post(&redeliver(&hook, &event), json!({})).await;
    mock.settle().await;
    let delivery = mock.deliveries(&hook).await.remove(0);
    assert_eq!((receiver.count(), &delivery["outcome"]), (before + 1, &json!("pending")));
    let wait = seconds(&delivery["nextAttemptAt"]) - mock.now().await;
    assert!((24.0..=36.0).contains(&wait), "the schedule starts anew: {wait}");
    receiver.answer(200);
    mock.advance(hours(1)).await;
    assert_eq!(receiver.count(), before + 2);
    assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_pending_event_can_be_sent_at_once_and_its_queued_try_is_gone() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    let event = mock.send_test(&hook).await;
    receiver.answer(200);
    mock.post(&redeliver(&hook, &event), json!({})).await;
    mock.settle().await;
    assert_eq!(receiver.count(), 2);
    assert_eq!(mock.queued().await, 0);
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), 2, "nothing follows the 2xx");
}

#[tokio::test]
async fn what_cannot_be_redelivered_says_why() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let (hook, other) = (mock.hook(&receiver).await, mock.hook(&receiver).await);
    let event = mock.send_test(&hook).await;
    for (hook, event, expected) in
        [(&hook, "evt_nothing", 404), (&hook, "nonsense", 404), (&other, event.as_str(), 404)]
    {
        let (status, answer) = mock.control("POST", &redeliver(hook, event), None).await;
        assert_eq!(status, expected, "{event}");
        assert!(answer["error"].is_string());
    }
    mock.act(&hook, "pause").await;
    let (status, answer) = mock.control("POST", &redeliver(&hook, &event), None).await;
    assert_eq!(status, 409);
    assert!(answer["error"].as_str().unwrap().contains("resume"));
    for path in [
        "/webhooks/whk_none/test",
        "/webhooks/whk_none/pause",
        "/webhooks/nonsense/rotate",
        "/webhooks/whk_none/check",
    ] {
        assert_eq!(mock.control("POST", path, None).await.0, 404, "{path}");
    }
    assert_eq!(mock.control("DELETE", "/webhooks/whk_none", None).await.0, 404);
}
