//! The delivery log: filters, 30 days, redelivery.

use serde_json::{Value, json};

use super::kit::{Hook, hours, seconds, start_with_hook, start_with_hook_in, tries};

fn redeliver(hook: &Hook, event: &str) -> String {
    format!("/webhooks/{}/deliveries/{event}/redeliver", hook.id)
}

#[tokio::test]
async fn the_log_is_newest_first_and_can_be_filtered() {
    let (kit, receiver, hook) = start_with_hook(200).await;
    let delivered = kit.send_test(&hook).await;
    receiver.answer(500);
    let pending = kit.send_test(&hook).await;
    kit.mail_in(true, None).await;
    kit.settle().await;

    let all = kit.deliveries(&hook).await;
    assert_eq!((&all[1]["eventId"], &all[2]["eventId"]), (&json!(pending), &json!(delivered)));
    assert_eq!((all.len(), &all[0]["type"]), (3, &json!("turn.changed")));
    assert_eq!(seconds(&all[0]["createdAt"]), kit.now().await);
    let shown: Vec<&String> = all[0]["attempts"][0].as_object().unwrap().keys().collect();
    assert_eq!(shown, ["at", "durationMs", "error", "status"], "headers and bodies are in no list");
    let path = |query: &str| format!("/webhooks/{}/deliveries{query}", hook.id);
    for (query, expected) in [
        ("?outcome=delivered", &all[2..]),
        ("?outcome=pending", &all[..2]),
        ("?outcome=failed", &[]),
        ("?type=webhook.test", &all[1..]),
        ("?outcome=pending&type=webhook.test", &all[1..2]),
        ("?outcome=&type=", &all),
    ] {
        assert_eq!(kit.list(&path(query)).await, expected, "{query}");
    }
    for bad in ["?outcome=lost", "?type=moon.rose"] {
        kit.control("GET", &path(bad), Value::Null).await.error(400);
    }
}

#[tokio::test]
async fn every_try_of_the_last_30_days_is_in_the_log_however_old_its_event() {
    for livemode in [true, false] {
        let (kit, receiver, hook) = start_with_hook_in(livemode, 200).await;
        let other = kit.hook_in(livemode, &receiver).await;
        kit.mail_in(livemode, None).await;
        kit.settle().await;
        let event = kit.deliveries(&hook).await[0]["eventId"].as_str().unwrap().to_owned();
        kit.advance(hours(24 * 29)).await;
        kit.act(&redeliver(&hook, &event), json!({})).await;
        kit.advance(hours(24 * 2)).await;
        // Something new is written, and what is old is let go.
        kit.send_test(&other).await;
        let log = kit.deliveries(&hook).await;
        assert_eq!((log.len(), tries(&log[0])), (1, 2), "redelivered two days ago");
        assert_eq!(kit.deliveries(&other).await.len(), 1, "the other webhook had no try since");
        kit.act(&redeliver(&hook, &event), json!({})).await;
        kit.advance(hours(24 * 30)).await;
        assert_eq!(tries(&kit.deliveries(&hook).await[0]), 3, "30 days to the moment");
        kit.advance(1).await;
        assert!(kit.deliveries(&hook).await.is_empty());
        kit.control("POST", &redeliver(&hook, &event), Value::Null).await.error(404);
        kit.send_test(&other).await;
        assert!(!kit.look("/state").await.to_string().contains(&event), "forgotten for good");
    }
}

#[tokio::test]
async fn a_redelivery_that_fails_is_tried_by_the_whole_schedule() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    let event = kit.send_test(&hook).await;
    kit.advance(hours(23)).await;
    kit.act_on(&hook, "pause").await;
    kit.act_on(&hook, "resume").await;
    let before = receiver.count();
    kit.act(&redeliver(&hook, &event), json!({})).await;
    kit.settle().await;
    let delivery = kit.deliveries(&hook).await.remove(0);
    assert_eq!((receiver.count(), &delivery["outcome"]), (before + 1, &json!("pending")));
    let wait = seconds(&delivery["nextAttemptAt"]) - kit.now().await;
    assert!((24.0..=36.0).contains(&wait), "the schedule starts anew: {wait}");
    receiver.answer(200);
    kit.advance(hours(1)).await;
    assert_eq!(receiver.count(), before + 2);
    assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_pending_event_can_be_sent_at_once_and_its_queued_try_is_gone() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    let event = kit.send_test(&hook).await;
    receiver.answer(200);
    kit.act(&redeliver(&hook, &event), json!({})).await;
    kit.settle().await;
    assert_eq!((receiver.count(), kit.queued().await), (2, 0));
    kit.advance(hours(48)).await;
    assert_eq!(receiver.count(), 2, "nothing follows the 2xx");
}

#[tokio::test]
async fn what_cannot_be_redelivered_says_why() {
    let (kit, receiver, hook) = start_with_hook(200).await;
    let other = kit.hook(&receiver).await;
    let event = kit.send_test(&hook).await;
    let post = async |path: &str| kit.control("POST", path, Value::Null).await;
    for (hook, event) in [(&hook, "evt_nothing"), (&hook, "nonsense"), (&other, event.as_str())] {
        post(&redeliver(hook, event)).await.error(404);
    }
    kit.act_on(&hook, "pause").await;
    assert!(post(&redeliver(&hook, &event)).await.error(409).contains("resume"));
    for call in ["whk_none/test", "whk_none/pause", "nonsense/rotate", "whk_none/check"] {
        post(&format!("/webhooks/{call}")).await.error(404);
    }
    kit.control("DELETE", "/webhooks/whk_none", Value::Null).await.error(404);
    let mut new =
        json!({ "url": "http://127.0.0.1:9/", "livemode": true, "scope": "private", "owner": "usr_none" });
    kit.control("POST", "/webhooks", new.clone()).await.error(404);
    new["url"] = json!(format!("http://127.0.0.1:9/{}", "x".repeat(2_048)));
    assert!(kit.control("POST", "/webhooks", new).await.error(400).starts_with("url: "));
}
