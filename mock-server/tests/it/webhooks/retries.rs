//! Tries in detail: why they fail, what the log says, and what becomes of what is queued.

use std::time::Duration;

use serde_json::json;

use super::{
    kit::{Mock, hours, minutes, seconds},
    receiver::{Receiver, Reply},
};

#[tokio::test]
async fn the_first_try_is_made_at_once_although_the_clock_stands_still() {
    let (mock, receiver) = (Mock::start().await, Receiver::start().await);
    let hook = mock.hook(&receiver).await;
    let event = mock.send_test(&hook).await;
    let got = &receiver.got()[0];
    assert_eq!(got.id(), event);
    got.verifies_with(&hook.secret).unwrap();
    assert_eq!(got.header("content-type"), "application/json");
    assert_eq!(got.timestamp(), mock.now().await as i64);
}

#[tokio::test]
async fn a_connection_that_closes_and_one_that_is_refused_are_failures_with_a_reason() {
    let (mock, receiver) = (Mock::start().await, Receiver::scripted(|_| Reply::Drop).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    let tried = mock.deliveries(&hook).await[0]["attempts"][0].clone();
    assert_eq!(tried["status"], json!(null));
    assert_eq!(tried["error"], "the connection was closed before a response arrived");

    receiver.stop().await;
    mock.advance(minutes(1)).await;
    let tried = mock.deliveries(&hook).await[0]["attempts"][1].clone();
    assert_eq!(tried["status"], json!(null));
    assert_eq!(tried["error"], "the connection was refused: nothing listens there");
}

#[tokio::test]
async fn the_list_of_webhooks_says_since_when_one_fails_and_why() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    assert_eq!(mock.get("/webhooks").await[0]["failingSince"], json!(null));
    mock.send_test(&hook).await;
    let since = mock.deliveries(&hook).await[0]["attempts"][0]["at"].clone();
    let job = mock.get("/jobs").await[0].clone();
    assert_eq!((&job["event"], &job["url"]), (&json!("webhook.test"), &json!(receiver.url())));

    receiver.stop().await;
    mock.advance(minutes(1)).await;
    let failing = mock.get("/webhooks").await[0].clone();
    assert_eq!(failing["failingSince"], since);
    assert_eq!(failing["lastError"], "the connection was refused: nothing listens there");
    mock.act(&hook, "resume").await;
    assert_eq!(mock.get("/webhooks").await[0]["lastError"], json!(null));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let (mock, receiver) = (Mock::start().await, Receiver::scripted(|_| Reply::Endless(200)).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered");
}

#[tokio::test]
async fn a_410_turns_the_webhook_off_drops_what_is_queued_and_tells_the_owner() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let owner = mock.user().await;
    let hook = mock.hook_with(&receiver, json!({ "owner": owner })).await;
    let bystander = Receiver::answering(500).await;
    let other = mock.hook(&bystander).await;
    for _ in 0..3 {
        mock.send_test(&hook).await;
    }
    mock.send_test(&other).await;
    assert_eq!(mock.queued().await, 4);

    receiver.answer(410);
    mock.send_test(&hook).await;
    assert_eq!(mock.state_of(&hook).await, "off");
    let log = mock.deliveries(&hook).await;
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextAttemptAt"].is_null()), "{log:?}");
    assert_eq!(mock.queued().await, 1, "only the other webhook's");
    assert_eq!(mock.state_of(&other).await, "on");

    let notices = mock.notices().await;
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0]["to"], format!("{owner}@people.test"));
    assert_eq!(notices[0]["outcome"], "sent");
    assert!(notices[0]["messageId"].is_null());
    assert!(notices[0]["subject"].as_str().unwrap().contains("turned off"));
    assert!(notices[0]["text"].as_str().unwrap().contains(&hook.id));

    let before = receiver.count();
    receiver.answer(200);
    mock.mail(json!({})).await;
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), before, "nothing more is sent");

    let (status, _) = mock.control("POST", &format!("/webhooks/{}/test", hook.id), None).await;
    assert_eq!(status, 409);
    let (status, _) = mock.control("POST", &format!("/webhooks/{}/pause", hook.id), None).await;
    assert_eq!(status, 409, "what is off cannot be paused");
}

#[tokio::test]
async fn a_day_of_failures_without_one_success_pauses_the_webhook() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    // Not a day yet, so the failure of a second event at 23 hours pauses nothing.
    mock.advance(hours(23)).await;
    mock.send_test(&hook).await;
    assert_eq!(mock.state_of(&hook).await, "on");
    assert!(mock.notices().await.is_empty());
    let started = mock.now().await - 23.0 * 3600.0;

    mock.advance(hours(6)).await;
    assert_eq!(mock.state_of(&hook).await, "paused");
    let log = mock.deliveries(&hook).await;
    let mut tries: Vec<_> = log.iter().flat_map(|it| it["attempts"].as_array().unwrap().clone()).collect();
    tries.sort_by(|a, b| seconds(&a["at"]).total_cmp(&seconds(&b["at"])));
    let (last, before) = (&tries[tries.len() - 1], &tries[tries.len() - 2]);
    assert!(seconds(&last["at"]) - started >= 86_400.0, "paused by a failure after a day");
    assert!(seconds(&before["at"]) - started < 86_400.0, "and by the first one");
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextAttemptAt"].is_null()));
    let notices = mock.notices().await;
    assert_eq!(notices.len(), 1);
    assert!(notices[0]["subject"].as_str().unwrap().contains("paused"));
    assert_eq!(notices[0]["at"], last["at"]);

    // Nothing is sent, kept or counted until someone resumes it.
    let before = receiver.count();
    receiver.answer(200);
    mock.mail(json!({})).await;
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), before);
    assert_eq!(mock.deliveries(&hook).await.len(), 2);

    mock.act(&hook, "resume").await;
    assert_eq!(mock.state_of(&hook).await, "on");
    mock.send_test(&hook).await;
    assert_eq!(receiver.count(), before + 1);
}

#[tokio::test]
async fn one_success_starts_the_day_anew_and_so_does_a_resume() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    mock.advance(hours(23)).await;
    receiver.answer(200);
    mock.send_test(&hook).await;
    receiver.answer(500);
    mock.send_test(&hook).await;
    mock.advance(hours(20)).await;
    assert_eq!(
        mock.state_of(&hook).await,
        "on",
        "43 hours after the first failure, 20 after the last success"
    );

    mock.act(&hook, "pause").await;
    mock.act(&hook, "resume").await;
    mock.advance(hours(10)).await;
    mock.send_test(&hook).await;
    assert_eq!(mock.state_of(&hook).await, "on", "the failures from before the resume do not count");
}

#[tokio::test]
async fn pausing_and_deleting_drop_what_is_queued() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let (paused, deleted) = (mock.hook(&receiver).await, mock.hook(&receiver).await);
    mock.mail(json!({})).await;
    mock.settle().await;
    let before = receiver.count();
    assert!(before >= 2 && mock.queued().await >= 2);
    mock.act(&paused, "pause").await;
    let (status, _) = mock.control("DELETE", &format!("/webhooks/{}", deleted.id), None).await;
    assert_eq!(status, 204);
    assert_eq!(mock.queued().await, 0);
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), before);
    assert_eq!(mock.get("/webhooks").await.as_array().unwrap().len(), 1);
    let (status, _) = mock.control("GET", &format!("/webhooks/{}/deliveries", deleted.id), None).await;
    assert_eq!(status, 404);

    mock.act(&paused, "resume").await;
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), before, "what a pause dropped does not come back by itself");
}

#[tokio::test]
async fn an_advance_names_the_tries_that_were_made_on_the_way_in_order() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    mock.send_test(&hook).await;
    let moved = mock.advance(minutes(60)).await;
    let fired = moved["fired"].as_array().unwrap();
    assert_eq!(fired.len(), 8, "four tries of each event: {fired:?}");
    assert!(fired.iter().all(|it| it["job"] == "webhook-attempt"));
    let times: Vec<f64> = fired.iter().map(|it| seconds(&it["at"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    let mut tried: Vec<f64> = Vec::new();
    for delivery in mock.deliveries(&hook).await {
        tried.extend(delivery["attempts"].as_array().unwrap()[1..].iter().map(|it| seconds(&it["at"])));
    }
    tried.sort_by(f64::total_cmp);
    assert_eq!(times, tried, "each was made at its own time");
}

#[tokio::test]
async fn with_the_real_clock_the_first_try_comes_by_itself_and_the_clock_can_still_be_moved() {
    let receiver = Receiver::answering(500).await;
    let mock = Mock::with(shared_inbox_mock::MockServer::builder().empty()).await;
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    assert_eq!(receiver.count(), 1);
    receiver.got()[0].verifies_with(&hook.secret).unwrap();
    receiver.answer(200);
    mock.advance(Duration::from_secs(40)).await;
    assert_eq!(receiver.count(), 2);
    assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered");
}
