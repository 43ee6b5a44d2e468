//! What is repeated, how often, and after how long.

use std::time::Duration;

use crate::support::{Outcome, Service};
use shared_inbox::{Certainty, Status, clock::Clock, retry::RetryPolicy};

#[tokio::test]
async fn what_is_safe_to_repeat_is_repeated_until_it_is_answered() {
    let faults = [
        Outcome::Before(429),
        Outcome::Before(500),
        Outcome::Before(503),
        Outcome::Before(408),
        Outcome::LostBefore,
        Outcome::LostAfter,
        Outcome::Truncated,
    ];
    for fault in faults {
        let service = Service::start().await;
        service.next_gets([fault]);
        service.next_posts([fault]);
        let client = service.client();
        client.mailboxes().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        service.thread().set_status(Status::Closed).await.unwrap();
        assert_eq!((service.count("GET"), service.count("POST")), (2, 2), "{fault:?}");
    }
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_repeated() {
    let service = Service::start().await;
    service.next_gets([Outcome::Hangs]);
    service.client().mailboxes().timeout(Duration::from_secs(1)).await.unwrap();
    assert_eq!(service.count("GET"), 2);
}

#[tokio::test]
async fn a_timeout_is_an_unknown_outcome() {
    let (service, thread) = Service::start_with_thread().await;
    service.next_posts([Outcome::Hangs]);
    let status = thread.set_status(Status::Closed).timeout(Duration::from_millis(50));
    let error = status.retry(RetryPolicy::never()).await.unwrap_err();
    assert!(error.is_timeout() && !error.is_connect());
    assert_eq!(error.certainty(), Certainty::Unknown);
}

#[tokio::test]
async fn ten_attempts_over_a_minute_take_no_time() {
    let service = Service::start().await;
    service.next_gets(std::iter::repeat_n(Outcome::Before(500), 10));
    let policy = RetryPolicy::default()
        .attempts(10)
        .first_delay(Duration::from_secs(1))
        .max_delay(Duration::from_secs(9));
    let error = service.client().mailboxes().retry(policy).await.unwrap_err();
    assert_eq!(error.attempts(), 10);
    assert_eq!(service.count("GET"), 10);
    let slept = service.clock.slept();
    assert_eq!(slept.len(), 9);
    assert!(slept.iter().sum::<Duration>() > Duration::from_secs(52), "{slept:?}");
    assert!(
        slept[0] >= Duration::from_secs(1) && slept[0] <= Duration::from_secs(2),
        "grows from the first delay"
    );
    assert!(slept[1] >= Duration::from_secs(2) && slept[2] >= Duration::from_secs(4), "doubles");
    assert!(slept.iter().all(|wait| *wait <= Duration::from_secs(9)), "the cap holds, jitter included");
}

#[tokio::test]
async fn the_deadline_ends_the_call_whatever_attempts_are_left() {
    let service = Service::start().await;
    service.next_gets(std::iter::repeat_n(Outcome::Before(500), 100));
    let policy = RetryPolicy::default().attempts(100);
    let started = service.clock.now();
    let call = service.client().mailboxes().retry(policy).deadline(Duration::from_secs(60));
    let error = call.await.unwrap_err();
    assert!(error.is_server_error(), "the last failure is told, not that time was up");
    assert!(service.clock.now() - started <= Duration::from_secs(60));
}

#[tokio::test]
async fn the_time_that_the_scope_check_takes_is_gone_for_the_call() {
    let service = Service::start().await;
    let client = service.builder().check_scopes().build().unwrap();
    let slow = || Outcome::Header(503, "retry-after", "4");
    service.next_gets([slow(), Outcome::Good, slow()]);
    let started = service.clock.now();
    let error = client.mailboxes().deadline(Duration::from_secs(5)).await.unwrap_err();
    assert!(error.is_server_error());
    assert_eq!(service.clock.now() - started, Duration::from_secs(4));
}

#[tokio::test]
async fn a_call_does_not_wait_for_anothers_scope_check_beyond_its_own_deadline() {
    let service = Service::start().await;
    let client = service.builder().check_scopes().build().unwrap();
    service.next_gets([Outcome::Hangs]);
    let patient = tokio::spawn(client.mailboxes().into_future());
    service.until_reads(1).await;
    let started = std::time::Instant::now();
    let error = client.tags().deadline(Duration::from_millis(100)).await.unwrap_err();
    assert!(error.is_timeout() && started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(error.certainty(), Certainty::NotSent);
    patient.abort();
}

#[tokio::test]
async fn a_create_keeps_its_deadline_through_every_step() {
    // The answer is lost, and `GET /me`, which a note's read-back needs, hangs.
    let (service, thread) = Service::start_with_thread().await;
    service.next_posts([Outcome::LostAfter]);
    service.next_gets([Outcome::Good, Outcome::Hangs]);
    let started = std::time::Instant::now();
    let error = thread.add_note("Hello").deadline(Duration::from_millis(700)).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// How long a call waits when the service says `retry-after` like this.
async fn wait_after(value: &'static str) -> Duration {
    let service = Service::start().await;
    service.next_gets([Outcome::Header(503, "retry-after", value)]);
    service.client().mailboxes().await.unwrap();
    let [wait] = service.clock.slept()[..] else { panic!("{value}: {:?}", service.clock.slept()) };
    wait
}

#[tokio::test]
async fn retry_after_is_kept_up_to_the_cap() {
    for (value, seconds) in [("17", 17), ("86400", 60), ("99999999999999999999999", 60)] {
        assert_eq!(wait_after(value).await, Duration::from_secs(seconds), "{value}");
    }
}

#[tokio::test]
async fn a_retry_after_may_be_a_date() {
    let in_half_a_minute = jiff::Timestamp::now() + Duration::from_secs(30);
    let date = in_half_a_minute.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let wait = wait_after(date.leak()).await;
    assert!(wait > Duration::from_secs(20) && wait <= Duration::from_secs(30), "{wait:?}");
}

#[tokio::test]
async fn a_retry_after_that_is_past_or_nonsense_changes_nothing() {
    for value in [
        "Sun, 01 Mar 2020 09:30:00 GMT",
        "Sun, 01 Mar 0000 09:30:00 GMT",
        "Sat, 31 Dec 2016 23:59:60 GMT",
        "Fri, 99 Foo 99999 99:99:99 GMT",
        "soon",
        "-5",
        "1e3",
        "",
    ] {
        let wait = wait_after(value).await;
        assert!(wait <= Duration::from_secs(1), "{value}: {wait:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_never_repeated_after_a_lost_answer() {
    for fault in [Outcome::LostAfter, Outcome::Before(500), Outcome::Truncated] {
        let service = Service::start().await;
        service.next_posts([fault]);
        let error = service.client().sandbox_inbound("kim@customer.test", "Hello").await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::Unknown);
        assert!(error.to_string().contains("may have taken effect"), "{error}");
        assert_eq!(service.count("POST"), 1);
    }
    let service = Service::start().await;
    service.next_posts([Outcome::Before(429)]);
    service.client().sandbox_inbound("kim@customer.test", "Hello").await.unwrap();
    assert_eq!(service.count("POST"), 2, "a 429 did nothing");
}

#[tokio::test]
async fn refusals_are_not_repeated() {
    for status in [400, 401, 403, 404, 405, 413, 422] {
        let service = Service::start().await;
        service.next_gets([Outcome::Before(status)]);
        let error = service.client().mailboxes().await.unwrap_err();
        assert_eq!(error.status().unwrap().as_u16(), status);
        assert_eq!((error.certainty(), error.attempts(), service.count("GET")), (Certainty::Rejected, 1, 1));
    }
}

#[tokio::test]
async fn a_call_is_as_uncertain_as_its_most_uncertain_attempt() {
    let service = Service::start().await;
    service.next_posts([Outcome::LostAfter, Outcome::Before(404)]);
    let error = service.thread().set_status(Status::Closed).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.certainty(), Certainty::Unknown);
}

#[tokio::test]
async fn the_deadline_holds_for_the_scope_check_too() {
    let service = Service::start().await;
    let client = service.builder().check_scopes().build().unwrap();
    service.next_gets([Outcome::Hangs]);
    let started = std::time::Instant::now();
    let error = client.mailboxes().deadline(Duration::from_millis(100)).await.unwrap_err();
    assert!(error.is_timeout() && started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(error.certainty(), Certainty::NotSent);
    // On a busy machine the time is over before the check has begun.
    assert!(service.count("GET") <= 1, "{}", service.count("GET"));
}
