//! Tries in detail: why they fail, what the log says, and what becomes of what is queued.

use serde_json::{Value, json};

use super::{
    kit::{hours, minutes, seconds, start_with_hook},
    receiver::{Receiver, Reply},
};
use crate::kit::Kit;

#[tokio::test]
async fn a_connection_that_closes_and_one_that_is_refused_are_failures_with_a_reason() {
    let (kit, receiver) = (Kit::start().await, Receiver::scripted(|_| Reply::Drop).await);
    let hook = kit.hook(&receiver).await;
    kit.send_test(&hook).await;
    receiver.stop().await;
    kit.advance(minutes(1)).await;
    let tries = kit.deliveries(&hook).await[0]["attempts"].clone();
    assert_eq!((&tries[0]["status"], &tries[1]["status"]), (&Value::Null, &Value::Null));
    assert_eq!(tries[0]["error"], "the connection was closed before a response arrived");
    assert_eq!(tries[1]["error"], "the connection was refused: nothing listens there");
}

#[tokio::test]
async fn the_list_of_webhooks_says_since_when_one_fails_and_why() {
    let (kit, receiver, hook) = start_with_hook(500).await;
    assert_eq!(kit.look("/webhooks").await[0]["failingSince"], json!(null));
    kit.send_test(&hook).await;
    let since = kit.deliveries(&hook).await[0]["attempts"][0]["at"].clone();
    let job = kit.look("/jobs").await[0].clone();
    assert_eq!((&job["event"], &job["url"]), (&json!("webhook.test"), &json!(receiver.url())));

    receiver.stop().await;
    kit.advance(minutes(1)).await;
    let failing = kit.look("/webhooks").await[0].clone();
    assert_eq!(failing["failingSince"], since);
    assert_eq!(failing["lastError"], "the connection was refused: nothing listens there");
    kit.act_on(&hook, "resume").await;
    assert_eq!(kit.look("/webhooks").await[0]["lastError"], json!(null));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let (kit, receiver) = (Kit::start().await, Receiver::scripted(|_| Reply::Endless(200)).await);
    let hook = kit.hook(&receiver).await;
    kit.send_test(&hook).await;
    assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_410_drops_what_is_queued_for_that_webhook_alone_and_tells_the_owner() {
    let (kit, receiver, other) = start_with_hook(500).await;
    let owner = kit.person().await;
    let hook = kit.hook_with(json!({ "url": receiver.url(), "owner": owner })).await;
    for hook in [&hook, &hook, &other] {
        kit.send_test(hook).await;
    }
    receiver.answer(410);
    kit.send_test(&hook).await;
    let log = kit.deliveries(&hook).await;
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextAttemptAt"].is_null()), "{log:?}");
    assert_eq!(kit.queued().await, 1, "only the other webhook's");
    assert_eq!((kit.state_of(&hook).await, kit.state_of(&other).await), ("off".into(), "on".into()));

    let notices = kit.notices().await;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0]["to"], format!("{owner}@people.test"));
    assert_eq!((&notices[0]["outcome"], &notices[0]["messageId"]), (&json!("sent"), &Value::Null));
    assert!(notices[0]["subject"].as_str().unwrap().contains("turned off"));
    assert!(notices[0]["text"].as_str().unwrap().contains(&hook.id));
    for what in ["test", "pause"] {
        let path = format!("/webhooks/{}/{what}", hook.id);
        kit.control("POST", &path, Value::Null).await.error(409);
    }
}

#[tokio::test]
async fn the_first_failure_after_a_day_of_them_pauses_the_webhook() {
    let (kit, _receiver, hook) = start_with_hook(500).await;
    kit.send_test(&hook).await;
    let started = kit.now().await;
    kit.advance(hours(23)).await;
    kit.send_test(&hook).await;
    assert_eq!(kit.state_of(&hook).await, "on");

    kit.advance(hours(6)).await;
    assert_eq!(kit.state_of(&hook).await, "paused");
    let log = kit.deliveries(&hook).await;
    let mut tries: Vec<_> = log.iter().flat_map(|it| it["attempts"].as_array().unwrap().clone()).collect();
    tries.sort_by(|a, b| seconds(&a["at"]).total_cmp(&seconds(&b["at"])));
    let (last, before) = (&tries[tries.len() - 1], &tries[tries.len() - 2]);
    assert!(seconds(&last["at"]) - started >= 86_400.0, "paused by a failure after a day");
    assert!(seconds(&before["at"]) - started < 86_400.0, "and by the first one");
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextAttemptAt"].is_null()));
    let notices = kit.notices().await;
    assert!(notices[0]["subject"].as_str().unwrap().contains("paused"));
    assert_eq!(notices[0]["at"], last["at"]);
}

#[tokio::test]
async fn a_resume_starts_the_day_anew() {
    let (kit, _receiver, hook) = start_with_hook(500).await;
    kit.send_test(&hook).await;
    kit.advance(hours(20)).await;
    kit.act_on(&hook, "pause").await;
    kit.act_on(&hook, "resume").await;
    kit.advance(hours(10)).await;
    kit.send_test(&hook).await;
    assert_eq!(kit.state_of(&hook).await, "on", "the failures from before the resume do not count");
}

#[tokio::test]
async fn pausing_and_deleting_drop_what_is_queued() {
    let (kit, receiver, paused) = start_with_hook(500).await;
    let deleted = kit.hook(&receiver).await;
    kit.mail_in(true, None).await;
    kit.settle().await;
    let before = receiver.count();
    assert!(before >= 2 && kit.queued().await >= 2);
    kit.act_on(&paused, "pause").await;
    kit.control("DELETE", &format!("/webhooks/{}", deleted.id), Value::Null).await.expect(204);
    assert_eq!(kit.queued().await, 0);
    assert_eq!(kit.list("/webhooks").await.len(), 1);
    let log = format!("/webhooks/{}/deliveries", deleted.id);
    kit.control("GET", &log, Value::Null).await.error(404);
    kit.act_on(&paused, "resume").await;
    kit.advance(hours(48)).await;
    assert_eq!(receiver.count(), before, "what a pause dropped does not come back by itself");
}

#[tokio::test]
async fn an_advance_names_the_tries_that_were_made_on_the_way_in_order() {
    let (kit, _receiver, hook) = start_with_hook(500).await;
    kit.send_test(&hook).await;
    kit.send_test(&hook).await;
    let moved = kit.advance(hours(1)).await;
    let fired = moved["fired"].as_array().unwrap();
    assert_eq!(fired.len(), 8, "four tries of each event: {fired:?}");
    assert!(fired.iter().all(|it| it["job"] == "webhook-attempt"));
    let times: Vec<f64> = fired.iter().map(|it| seconds(&it["at"])).collect();
    let mut tried: Vec<f64> = Vec::new();
    for delivery in kit.deliveries(&hook).await {
        tried.extend(delivery["attempts"].as_array().unwrap()[1..].iter().map(|it| seconds(&it["at"])));
    }
    tried.sort_by(f64::total_cmp);
    assert_eq!(times, tried, "each was made at its own time");
}

#[tokio::test]
async fn with_the_real_clock_the_first_try_comes_by_itself_and_the_clock_can_still_be_moved() {
    let receiver = Receiver::answering(500).await;
    let kit = Kit::with(shared_inbox_mock::MockServer::builder().empty()).await;
    let hook = kit.hook(&receiver).await;
    kit.send_test(&hook).await;
    assert_eq!(receiver.count(), 1);
    receiver.received()[0].verifies_with(&hook.secret).unwrap();
    receiver.answer(200);
    kit.advance(40).await;
    assert_eq!(receiver.count(), 2);
    assert_eq!(kit.deliveries(&hook).await[0]["outcome"], "delivered");
}
