//! Waiting for what people do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{LeapClock, Outcome, Service, responding, summary};
use serde_json::json;
use shared_inbox::{MessageId, Reference, clock::Clock, retry::RetryPolicy};
use wiremock::{Request, ResponseTemplate};

fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_reply_is_the_first_message_that_comes_in_after_the_given_one() {
    let service = Service::start().await;
    service.add_message("inbound", None, "The first mail");
    let sent = service.add_message("outbound", Some("sent"), "Which order?");
    service.teammate_notes("Anna", "Let us see", Duration::ZERO);
    let answer = service.add_message("inbound", None, "Number 7");
    service.add_message("inbound", None, "Or 8");
    let thread = service.thread();
    let reply = thread.wait_for_reply(&id(&sent)).await.unwrap();
    assert_eq!(reply.id.as_str(), answer);
    assert_eq!(service.count("GET"), 1, "it was there already");
}

#[tokio::test]
async fn a_reply_that_shows_late_is_waited_for_also_after_the_customers_own_mail() {
    let service = Service::start().await;
    let first = service.add_message("inbound", None, "The first mail");
    // Shows only after some looks.
    service.state().behavior.shows_after = Duration::from_secs(40);
    service.add_message("outbound", Some("draft"), "What the team writes meanwhile does not hide it");
    let answer = service.add_message("inbound", None, "One more thing");
    let thread = service.thread();
    let reply = thread.wait_for_reply(&id(&first)).every(Duration::from_secs(15)).await.unwrap();
    assert_eq!(reply.id.as_str(), answer);
    assert_eq!(service.count("GET"), 4);
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_over() {
    let (service, thread) = Service::start_with_thread().await;
    let sent = service.add_message("outbound", Some("sent"), "Which order?");
    let started = service.clock.now();
    let wait = thread.wait_for_reply(&id(&sent)).within(Duration::from_secs(100));
    assert!(wait.every(Duration::from_secs(15)).await.unwrap_err().is_timeout());
    assert_eq!(service.clock.now() - started, Duration::from_secs(100));
}

#[tokio::test]
async fn a_service_that_hangs_does_not_stretch_a_wait_by_more_than_one_attempt() {
    let service = Service::start().await;
    service.next_gets(std::iter::repeat_n(Outcome::Hangs, 50));
    let thread = service.thread();
    let started = service.clock.now();
    let wait =
        thread.wait_for_reply(&id("msg_1")).timeout(Duration::from_millis(30)).within(Duration::from_secs(3));
    assert!(wait.await.unwrap_err().is_timeout());
    assert!(service.clock.now() - started <= Duration::from_secs(4), "{:?}", service.clock.now() - started);
}

#[tokio::test]
async fn a_message_is_waited_for_until_it_is_sent() {
    let (service, thread) = Service::start_with_thread().await;
    let reply = thread.reply("On its way.").and_send().await.unwrap();
    let waiting = tokio::spawn(thread.wait_until_sent(&reply.message_id).into_future());
    service.until_reads(4).await;
    service.set_status(reply.message_id.as_str(), "sending");
    service.set_status(reply.message_id.as_str(), "sent");
    let message = waiting.await.unwrap().unwrap();
    assert_eq!(message.id, reply.message_id);
}

#[tokio::test]
async fn a_message_that_fails_or_is_gone_is_undelivered() {
    let (service, thread) = Service::start_with_thread().await;
    let failed = service.add_message("outbound", Some("failed"), "Hello");
    let error = thread.wait_until_sent(&id(&failed)).await.unwrap_err();
    assert!(error.is_undelivered());
    assert!(error.to_string().contains("`failed`"), "{error}");

    let draft = service.add_message("outbound", Some("draft"), "Hello");
    let waiting =
        tokio::spawn(thread.wait_until_sent(&id(&draft)).every(Duration::from_secs(1)).into_future());
    service.until_reads(service.count("GET") + 2).await;
    service.state().lines.clear();
    assert!(waiting.await.unwrap().unwrap_err().is_undelivered());
}

#[tokio::test]
async fn a_wait_for_a_reply_ends_when_its_message_is_no_longer_there() {
    // Discarded before the first read, or after it; and then the customer writes.
    for seen in [false, true] {
        let (service, thread) = Service::start_with_thread().await;
        let draft = service.add_message("outbound", Some("draft"), "Which order?");
        let waiting = tokio::spawn(thread.wait_for_reply(&id(&draft)).into_future());
        service.until_reads(if seen { 2 } else { 0 }).await;
        service.state().lines.clear();
        service.add_message("inbound", None, "Number 7");
        let error =
            tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it goes on").unwrap();
        let error = error.unwrap_err();
        assert!(error.is_undelivered() && error.to_string().contains("no longer"), "{error}");
    }
}

#[tokio::test]
async fn a_read_that_is_behind_the_one_before_does_not_end_a_wait() {
    let (service, thread) = Service::start_with_thread().await;
    let draft = service.add_message("outbound", Some("scheduled"), "Hello");
    let waiting =
        tokio::spawn(thread.wait_until_sent(&id(&draft)).every(Duration::from_secs(1)).into_future());
    service.until_reads(2).await;
    let items = std::mem::take(&mut service.state().lines);
    service.until_reads(service.count("GET") + 2).await;
    service.state().lines = items;
    service.until_reads(service.count("GET") + 2).await;
    service.set_status(&draft, "sent");
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_bad_minute_of_the_service_does_not_end_a_wait_but_a_wrong_key_does() {
    let service = Service::start().await;
    let sent = service.add_message("outbound", Some("sent"), "Hello");
    service.next_gets(std::iter::repeat_n(Outcome::Before(500), 7));
    let thread = service.thread();
    thread.wait_until_sent(&id(&sent)).retry(RetryPolicy::never()).await.unwrap();

    service.next_gets([Outcome::Before(401)]);
    assert!(thread.wait_for_reply(&id(&sent)).await.unwrap_err().is_unauthorized());
}

#[tokio::test]
async fn a_wait_for_a_reference_returns_the_conversation_that_carries_it() {
    let looks = AtomicUsize::new(0);
    let is_asked_for = |request: &Request| {
        let query = request.url.query().unwrap_or_default();
        query.contains("reference=order-1042") && query.contains("view=all")
    };
    let (server, client) = responding(move |request: &Request| match looks.fetch_add(1, Ordering::SeqCst) {
        _ if !is_asked_for(request) => ResponseTemplate::new(404),
        0 | 1 => ResponseTemplate::new(200).set_body_json(json!([])),
        2 => ResponseTemplate::new(503),
        _ => ResponseTemplate::new(200).set_body_json([summary(1)]),
    })
    .await;
    let client = client.clock(LeapClock::new()).retry(RetryPolicy::never()).build().unwrap();
    let found = client.wait_for_reference(Reference::parse("Order-1042").unwrap()).await.unwrap();
    assert_eq!(found.id.as_str(), "cnv_1");
    assert_eq!(server.received_requests().await.unwrap().len(), 4);
}
