//! What counts as delivered, when the next try is made, and when the sending ends.

use std::time::Duration;

use serde_json::json;

use super::{
    kit::{Mock, hours, minutes, seconds},
    receiver::{Receiver, Reply},
};

/// The waits of the service, in seconds.
const WAITS: [f64; 8] = [30.0, 120.0, 600.0, 1_800.0, 3_600.0, 10_800.0, 21_600.0, 43_200.0];

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
async fn a_failed_event_is_tried_nine_times_over_about_a_day_and_then_dropped() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    let started = mock.now().await;
    let event = mock.send_test(&hook).await;
    mock.advance(hours(40)).await;

    let got = receiver.got();
    assert_eq!(got.len(), 9, "one try at once and eight more");
    let delivery = &mock.deliveries(&hook).await[0];
    assert_eq!((&delivery["outcome"], &delivery["nextTryAt"]), (&json!("failed"), &json!(null)));
    let tries = delivery["tries"].as_array().unwrap();
    assert_eq!(tries.len(), 9);
    let times: Vec<f64> = tries.iter().map(|it| seconds(&it["at"])).collect();
    assert_eq!(times[0], started, "the first try is not delayed");
    for (n, wait) in WAITS.iter().enumerate() {
        let waited = times[n + 1] - times[n];
        assert!((wait * 0.8..=wait * 1.2).contains(&waited), "wait {n} was {waited}, not about {wait}");
    }
    for (n, request) in got.iter().enumerate() {
        assert_eq!(request.id(), event, "the id stays the same");
        assert_eq!(request.body, got[0].body, "the body stays the same");
        assert_eq!(request.timestamp(), times[n] as i64, "the timestamp is that of the try");
        assert!(request.is_signed_with(&hook.secret), "try {n} is signed anew");
        assert_eq!(tries[n]["status"], 500);
        assert_eq!(tries[n]["error"], json!(null));
        assert!(tries[n]["durationMs"].is_u64());
    }
    assert_eq!(mock.queued().await, 0);
}

#[tokio::test]
async fn the_waits_differ_from_event_to_event() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(500).await);
    let hook = mock.hook(&receiver).await;
    for _ in 0..20 {
        mock.send_test(&hook).await;
    }
    let now = mock.now().await;
    let mut waits: Vec<f64> =
        mock.deliveries(&hook).await.iter().map(|it| seconds(&it["nextTryAt"]) - now).collect();
    waits.sort_by(f64::total_cmp);
    assert!(waits.iter().all(|wait| (24.0..=36.0).contains(wait)), "{waits:?}");
    assert!(waits[19] - waits[0] > 4.0, "they use the range: {waits:?}");
}

#[tokio::test]
async fn a_receiver_that_recovers_gets_the_event_and_no_more() {
    let (mock, receiver) = (Mock::start().await, Receiver::answering(503).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    mock.advance(minutes(1)).await;
    assert_eq!(receiver.count(), 2);
    receiver.answer(204);
    mock.advance(hours(48)).await;
    assert_eq!(receiver.count(), 3, "nothing follows a 2xx");
    let delivery = &mock.deliveries(&hook).await[0];
    assert_eq!(delivery["outcome"], "delivered");
    assert_eq!(delivery["nextTryAt"], json!(null));
    let statuses: Vec<_> =
        delivery["tries"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!(statuses, [503, 503, 204]);
}

#[tokio::test]
async fn any_2xx_is_delivered_and_everything_else_is_tried_again() {
    let mock = Mock::start().await;
    for status in [200, 201, 202, 204, 299] {
        let receiver = Receiver::answering(status).await;
        let hook = mock.hook(&receiver).await;
        mock.send_test(&hook).await;
        assert_eq!(mock.deliveries(&hook).await[0]["outcome"], "delivered", "{status}");
    }
    for status in [300, 301, 304, 400, 401, 404, 409, 418, 429, 500, 502, 503, 599] {
        let receiver = Receiver::answering(status).await;
        let hook = mock.hook(&receiver).await;
        mock.send_test(&hook).await;
        let delivery = &mock.deliveries(&hook).await[0];
        assert_eq!(delivery["outcome"], "pending", "{status}");
        assert_eq!(delivery["tries"][0]["status"], status);
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (mock, elsewhere) = (Mock::start().await, Receiver::start().await);
    let url = elsewhere.url();
    let receiver = Receiver::scripted(move |_| Reply::Redirect(url.clone())).await;
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    assert_eq!((receiver.count(), elsewhere.count()), (1, 0));
    let delivery = &mock.deliveries(&hook).await[0];
    assert_eq!((&delivery["outcome"], &delivery["tries"][0]["status"]), (&json!("pending"), &json!(307)));
}

#[tokio::test]
async fn a_connection_that_closes_and_one_that_is_refused_are_failures_with_a_reason() {
    let (mock, receiver) = (Mock::start().await, Receiver::scripted(|_| Reply::Drop).await);
    let hook = mock.hook(&receiver).await;
    mock.send_test(&hook).await;
    let tried = mock.deliveries(&hook).await[0]["tries"][0].clone();
    assert_eq!(tried["status"], json!(null));
    assert_eq!(tried["error"], "the connection was closed before an answer came");

    receiver.stop().await;
    mock.advance(minutes(1)).await;
    let tried = mock.deliveries(&hook).await[0]["tries"][1].clone();
    assert_eq!(tried["status"], json!(null));
    assert_eq!(tried["error"], "the connection was refused: nothing listens there");
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
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextTryAt"].is_null()), "{log:?}");
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
    let mut tries: Vec<_> = log.iter().flat_map(|it| it["tries"].as_array().unwrap().clone()).collect();
    tries.sort_by(|a, b| seconds(&a["at"]).total_cmp(&seconds(&b["at"])));
    let (last, before) = (&tries[tries.len() - 1], &tries[tries.len() - 2]);
    assert!(seconds(&last["at"]) - started >= 86_400.0, "paused by a failure after a day");
    assert!(seconds(&before["at"]) - started < 86_400.0, "and by the first one");
    assert!(log.iter().all(|it| it["outcome"] == "failed" && it["nextTryAt"].is_null()));
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
    assert!(fired.iter().all(|it| it["job"] == "webhook-try"));
    let times: Vec<f64> = fired.iter().map(|it| seconds(&it["at"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    let mut tried: Vec<f64> = Vec::new();
    for delivery in mock.deliveries(&hook).await {
        tried.extend(delivery["tries"].as_array().unwrap()[1..].iter().map(|it| seconds(&it["at"])));
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
