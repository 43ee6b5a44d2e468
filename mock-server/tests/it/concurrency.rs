//! What happens at the same time: requests, receivers and calls of the clock beside each other.

use serde_json::{Value, json};
use shared_inbox_mock::MockServer;

use crate::{
    kit::{Kit, text, texts},
    webhooks::receiver::{Receiver, Reply},
};

/// Jobs that fell due at once take a while; whoever asks that world waits for them, and nobody else does.
#[tokio::test]
async fn a_world_in_which_much_falls_due_at_once_holds_up_no_other() {
    const JOBS: usize = 20_000;
    let kit = Kit::with(MockServer::builder().empty().no_rate_limit()).await;
    let mut seed = kit.look("/state").await;
    let job = |n| json!({ "dueAt": "2020-01-01T00:00:00Z", "job": "forget-app-mail", "messageId": format!("m{n}"), "livemode": true });
    seed["jobs"] = (0..JOBS).map(job).collect();
    let world = text(&kit.act("/worlds", json!({ "seed": seed, "clock": "real" })).await["control_url"]);
    let key = json!({ "name": "A", "scopes": ["read"], "livemode": true }).to_string();
    let make = kit.http().post(format!("{world}/keys")).body(key);
    let busy = tokio::spawn(async { make.send().await.expect("an answer").status().as_u16() });
    let mut answered = 0;
    while !busy.is_finished() {
        kit.live().get("/me").await.expect(200);
        answered += 1;
    }
    assert_eq!(busy.await.expect("it ends"), 201);
    assert!(answered > 3, "{answered} requests of another world were answered meanwhile");
    assert_eq!(
        kit.control_at(&world, "GET", "/jobs", Value::Null).await.expect(200),
        json!([]),
        "all have run"
    );
}

#[tokio::test]
async fn the_journal_is_oldest_first_although_a_slow_request_ends_last() {
    let kit = Kit::start().await;
    kit.act("/faults", json!({ "path": "/tags", "effect": { "delayMs": 300 } })).await;
    let live = kit.live();
    let slow = tokio::spawn(async move { live.get("/tags").await.status });
    while kit.look("/faults").await[0]["fired"] == json!(0) {
        tokio::task::yield_now().await;
    }
    // The clock stands still: no time tells them apart.
    kit.live().get("/me").await.expect(200);
    assert_eq!(slow.await.expect("it ends"), 200);
    assert_eq!(texts(&kit.look("/requests").await, "path"), ["/api/v1/tags", "/api/v1/me"]);
}

/// A receiver that answers nobody before it is released; what releases it.
async fn holding_receiver() -> (Receiver, tokio::sync::watch::Sender<bool>) {
    let (release, released) = tokio::sync::watch::channel(false);
    (Receiver::scripted(move |_| Reply::Held(released.clone())).await, release)
}

#[tokio::test]
async fn what_fired_is_named_in_the_order_of_its_time_although_a_receiver_is_slow() {
    let kit = Kit::start().await;
    let api = kit.sandbox();
    let (receiver, release) = holding_receiver().await;
    kit.hook_in(false, &receiver).await;
    // Two events at the same time: the try of the second waits for that of the first.
    kit.sandbox_mail("delivered@x.test").await;
    let id = kit.sandbox_mail("delivered@x.test").await;
    api.act(&id, "replies", json!({ "body": "x", "send": true })).await;
    let (moved, ()) = tokio::join!(kit.advance(5), async {
        while api.timeline(&id).await[1]["status"] != "sent" {
            tokio::task::yield_now().await;
        }
        release.send_replace(true);
    });
    let fired = moved["fired"].as_array().expect("a list");
    let times = texts(&moved["fired"], "at");
    assert!(fired.iter().any(|it| it["job"] == "send") && fired.len() >= 4, "{moved}");
    assert!(times.is_sorted(), "{moved}");
    assert_eq!(times.last(), Some(&text(&moved["now"])));
}

/// Moves the clock by a minute, on which something happens right away: that shows that it has begun to move.
async fn begin_to_move(
    kit: &Kit,
) -> tokio::task::JoinHandle<Result<shared_inbox_mock::clock::ClockAdvance, shared_inbox_mock::Refusal>> {
    let id = kit.mail("vera@customer.example", "Hello").await;
    let before = kit.mock.control().clock().await.now;
    let until = before + std::time::Duration::from_secs(1);
    kit.act(&format!("/conversations/{id}/snooze"), json!({ "until": until })).await;
    let control = kit.mock.control().clone();
    let moving = tokio::spawn(async move { control.advance(std::time::Duration::from_secs(60)).await });
    while kit.mock.control().clock().await.now == before {
        tokio::task::yield_now().await;
    }
    moving
}

#[tokio::test]
async fn a_world_that_is_replaced_while_its_clock_moves_answers_409() {
    let patient = std::time::Duration::from_secs(600);
    let kit = Kit::with(MockServer::builder().manual_clock().empty().webhook_timeout(patient)).await;
    let before = kit.look("/clock").await;
    let (receiver, _release) = holding_receiver().await;
    let hook = kit.hook(&receiver).await;
    kit.act_on(&hook, "test").await;
    let moving = begin_to_move(&kit).await;
    kit.control("POST", "/reset", Value::Null).await.expect(200);
    let moved = tokio::time::timeout(std::time::Duration::from_secs(20), moving).await;
    let moved = moved.expect("nobody waits for the former world's receiver").expect("no panic");
    assert_eq!(moved.expect_err("it was replaced").status, 409);
    assert_eq!(kit.look("/clock").await, before, "the new world's clock was left alone");
}

#[tokio::test]
async fn the_clock_moves_once_for_each_call_also_when_they_come_together() {
    let kit = Kit::start().await;
    let before = kit.mock.control().clock().await.now;
    let (receiver, release) = holding_receiver().await;
    let hook = kit.hook(&receiver).await;
    kit.act_on(&hook, "test").await;
    let first = begin_to_move(&kit).await;
    let (second, ()) = tokio::join!(kit.advance(60), async {
        kit.look("/clock").await;
        release.send_replace(true);
    });
    let first = first.await.expect("no panic").expect("moved");
    assert_eq!(first.now.duration_since(before).as_secs(), 60);
    assert_eq!(second["now"], json!(before + std::time::Duration::from_secs(120)));
}

#[tokio::test]
async fn a_try_that_had_to_wait_is_dated_by_when_it_was_sent() {
    let kit = Kit::with(MockServer::builder().empty().no_rate_limit()).await;
    let (receiver, release) = holding_receiver().await;
    let hook = kit.hook(&receiver).await;
    for _ in 0..2 {
        kit.act_on(&hook, "test").await;
    }
    let second = text(&kit.deliveries(&hook).await[0]["createdAt"]);
    let mut now = second.clone();
    while now == second {
        now = text(&kit.look("/clock").await["now"]);
    }
    release.send_replace(true);
    while kit.deliveries(&hook).await[0]["outcome"] != "delivered" {
        tokio::task::yield_now().await;
    }
    let sent = text(&kit.deliveries(&hook).await[0]["attempts"][0]["at"]);
    assert!(sent >= now, "sent at {sent}, and it could not be before {now}");
}
