//! Tries in detail: why they fail, what the log says, and what becomes of what is queued.

use serde_json::{Value, json};

use super::{
    kit::{hours, minutes, seconds, start_with_hook},
    receiver::{Receiver, Reply},
};
use crate::kit::{Kit, text};

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
async fn the_owner_of_a_webhook_that_is_turned_off_is_told_and_it_takes_a_resume_alone() {
    let (kit, receiver) = (Kit::start().await, Receiver::answering(410).await);
    let owner = text(&kit.act("/users", json!({ "name": "Tom" })).await["id"]);
    let hook = kit.hook_with(json!({ "url": receiver.url(), "owner": owner })).await;
    kit.send_test(&hook).await;
    let notice = kit.list("/outbox").await.pop().expect("a notice");
    assert_eq!((&notice["kind"], &notice["to"]), (&json!("notice"), &json!(format!("{owner}@people.test"))));
    assert!(text(&notice["subject"]).contains("turned off") && text(&notice["text"]).contains(&hook.id));
    let refused = async |what: &str| {
        kit.control("POST", &format!("/webhooks/{}/{what}", hook.id), Value::Null).await.error(409);
    };
    refused("test").await;
    refused("pause").await;
    kit.act_on(&hook, "resume").await;
    assert_eq!(kit.state_of(&hook).await, "on");
    kit.act_on(&hook, "pause").await;
    refused("test").await;
}
