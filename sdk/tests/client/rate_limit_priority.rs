//! Who goes first under the rate limit, and what a call makes of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::rate_limit::{MINUTE, ask, take};
use crate::support::{Outcome, Service, conversation_id};
use shared_inbox::{
    Certainty,
    clock::BoxFuture,
    create::Verification,
    rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter},
    retry::RetryPolicy,
};

#[tokio::test(start_paused = true)]
async fn interactive_calls_go_ahead_of_bulk_calls_that_waited_longer() {
    let limiter = Arc::new(MemoryLimiter::new(24));
    take(&limiter, Priority::ReadBack, 24).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    // Two of the bulk calls have the places that are theirs.
    for (count, priority) in [(9, Priority::Bulk), (9, Priority::Interactive)] {
        for _ in 0..count {
            let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                limiter.acquire(ask(priority)).await.unwrap().finished();
                order.lock().unwrap().push(priority);
            }));
            tokio::task::yield_now().await;
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    let order = order.lock().unwrap();
    let ahead = order.iter().take(11).filter(|priority| **priority == Priority::Interactive).count();
    assert_eq!(ahead, 9, "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_queue_of_bulk_calls_leaves_room_for_others_all_the_time() {
    let limiter = Arc::new(MemoryLimiter::new(120));
    let bulk = |_| {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            limiter.acquire(ask(Priority::Bulk)).await.unwrap().finished();
            Instant::now()
        })
    };
    let mut sent = Vec::new();
    for task in (0..600).map(bulk).collect::<Vec<_>>() {
        sent.push(task.await.unwrap());
    }
    sent.sort();
    for window in sent.windows(91) {
        assert!(window[90] - window[0] >= MINUTE, "91 within {:?}", window[90] - window[0]);
    }
}

#[tokio::test]
async fn clones_share_the_limit_and_no_wait_is_an_error_that_is_not_a_429() {
    let service = Service::start().await;
    let client = service.builder().rate_limit(3).build().unwrap();
    for client in [client.clone(), client.clone(), client.clone()] {
        client.me().no_wait().await.unwrap();
    }
    let error = client.me().no_wait().await.unwrap_err();
    assert!(error.is_rate_limited_locally() && !error.is_rate_limited());
    assert_eq!(error.status(), None);
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert!(error.retry_after().unwrap() > Duration::from_secs(59));
    assert!(error.to_string().contains("try again in"), "{error}");
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test]
async fn a_429_of_the_service_teaches_the_limiter() {
    let service = Service::start().await;
    let client = service.client();
    service.next_gets([Outcome::Header(429, "retry-after", "30")]);
    let error = client.me().retry(RetryPolicy::never()).await.unwrap_err();
    assert!(error.is_rate_limited() && !error.is_rate_limited_locally());
    assert_eq!(error.certainty(), Certainty::Rejected);
    let error = client.tags().no_wait().await.unwrap_err();
    assert!(error.is_rate_limited_locally());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn a_create_ends_under_the_smallest_limit_and_does_not_wait_for_a_place_that_it_has_itself() {
    for verification in [Verification::ReadAfterLoss, Verification::ReadFirst] {
        for (limit, fault) in [(1, Outcome::LostAfter), (2, Outcome::LostBefore)] {
            let service = Service::start().await;
            service.next_posts([fault]);
            let limiter = MemoryLimiter::with_clock(limit, service.clock.clone());
            let client = service.builder().rate_limiter(limiter).deadline(Duration::from_secs(3600));
            let thread = client.build().unwrap().conversation(&conversation_id());
            let reply = thread.reply("Done.").verification(verification).await.unwrap();
            let outcome = (reply.recovered(), service.stored());
            assert_eq!(outcome, (fault == Outcome::LostAfter, 1), "{verification:?}");
            let waited: Duration = service.clock.slept().iter().sum();
            assert!(limit > 1 || waited < Duration::from_secs(200), "{verification:?}: {waited:?}");
        }
    }
}

#[tokio::test]
async fn a_read_back_gets_through_when_the_limit_is_used_up() {
    let service = Service::start().await;
    let client = service.builder().rate_limit(24).build().unwrap();
    service.next_posts([Outcome::LostAfter]);
    service.state().behavior.takes = Duration::from_secs(3);
    for _ in 0..21 {
        client.mailboxes().await.unwrap();
    }
    // The create itself uses up what interactive calls may.
    let before = client.clone();
    let reply = client.conversation(&conversation_id()).reply("Done.").await.unwrap();
    assert!(reply.recovered());
    assert!(before.mailboxes().no_wait().await.unwrap_err().is_rate_limited_locally());
    let waits = service.clock.slept();
    assert!(waits.iter().all(|wait| *wait < Duration::from_secs(5)), "nothing waited a minute: {waits:?}");
}

/// Grants every permit, and notes how it ended.
#[derive(Debug, Default)]
struct RecordingLimiter {
    granted: AtomicUsize,
    outcomes: Arc<Mutex<Vec<PermitOutcome>>>,
}

impl RateLimiter for RecordingLimiter {
    fn acquire(&self, _: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        self.granted.fetch_add(1, Ordering::SeqCst);
        let outcomes = Arc::clone(&self.outcomes);
        let permit = Permit::new(move |outcome| outcomes.lock().unwrap().push(outcome));
        Box::pin(async { Ok(permit) })
    }
}

#[tokio::test]
async fn the_limiter_hears_how_every_request_ended_that_it_let_through() {
    let service = Service::start().await;
    let limiter = Arc::new(RecordingLimiter::default());
    let client = service.builder().rate_limiter(Arc::clone(&limiter)).build().unwrap();
    client.mailboxes().await.unwrap();
    service.next_gets([
        Outcome::Before(500),
        Outcome::Header(429, "retry-after", "3"),
        Outcome::Good,
        Outcome::Hangs,
    ]);
    client.mailboxes().await.unwrap();
    let given_up = tokio::spawn(client.mailboxes().into_future());
    service.until_reads(5).await;
    assert_eq!(limiter.granted.load(Ordering::SeqCst), 5);
    given_up.abort();
    let _ = given_up.await;
    let outcomes = limiter.outcomes.lock().unwrap();
    assert_eq!(outcomes[..2], [PermitOutcome::Finished, PermitOutcome::Finished]);
    let PermitOutcome::Throttled { retry_after, .. } = outcomes[2] else { panic!("{outcomes:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(3)));
    assert_eq!(outcomes[3..], [PermitOutcome::Finished, PermitOutcome::Dropped], "it may have been sent");
}

#[tokio::test]
async fn a_create_that_is_dropped_before_it_was_sent_gives_its_place_back() {
    let service = Service::start().await;
    let limiter = Arc::new(RecordingLimiter::default());
    let client = service.builder().rate_limiter(Arc::clone(&limiter)).build().unwrap();
    service.next_gets([Outcome::Hangs]);
    let note = client.conversation(&conversation_id()).add_note("x").verification(Verification::ReadFirst);
    let given_up = tokio::spawn(note.into_future());
    service.until_reads(1).await;
    given_up.abort();
    let _ = given_up.await;
    let outcomes = limiter.outcomes.lock().unwrap();
    assert!(outcomes.contains(&PermitOutcome::GivenUp), "{outcomes:?}: the note was not sent");
    assert!(outcomes.contains(&PermitOutcome::Dropped), "{outcomes:?}: the read was");
}

#[derive(Debug)]
struct UnavailableLimiter;

impl RateLimiter for UnavailableLimiter {
    fn acquire(&self, _: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async { Err(LimitError::Unavailable("connection refused".into())) })
    }
}

#[tokio::test]
async fn a_limiter_that_cannot_be_reached_is_an_error_before_sending() {
    let service = Service::start().await;
    let client = service.builder().rate_limiter(UnavailableLimiter).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert!(error.to_string().contains("rate limiter"), "{error}");
    assert!(service.requests().is_empty());
}
