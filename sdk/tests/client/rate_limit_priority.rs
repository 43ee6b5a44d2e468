//! Who goes first under the rate limit, and what a call makes of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Outcome, Service, conversation_id};
use shared_inbox::{
    Certainty,
    clock::BoxFuture,
    create::Verification,
    rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter},
    retry::RetryPolicy,
};
use tokio::time::{Instant, sleep};

use super::rate_limit::{MINUTE, ask, take};

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
async fn a_twelfth_of_the_limit_is_for_bulk_calls_however_many_interactive_ones_there_are() {
    // Two a second, evenly spread, is more than there is room for; 300 that ask again at once come in bursts.
    for (callers, every) in [(1, Duration::from_millis(500)), (300, Duration::ZERO)] {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let interactive = Arc::new(Mutex::new(Vec::new()));
        let mut load = tokio::task::JoinSet::new();
        for _ in 0..callers {
            let (limiter, sent) = (Arc::clone(&limiter), Arc::clone(&interactive));
            load.spawn(async move {
                loop {
                    let (limiter, sent) = (Arc::clone(&limiter), Arc::clone(&sent));
                    let call = async move {
                        limiter.acquire(ask(Priority::Interactive)).await.unwrap().finished();
                        sent.lock().unwrap().push(Instant::now());
                    };
                    if every.is_zero() {
                        call.await;
                    } else {
                        tokio::spawn(call);
                        sleep(every).await;
                    }
                }
            });
        }
        sleep(Duration::from_secs(121)).await;
        let started = Instant::now();
        let bulk = |_| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move {
                // As long as a call has, unless set otherwise.
                let ask = AcquireRequest::new(Priority::Bulk).max_wait(2 * MINUTE);
                limiter.acquire(ask).await.map(Permit::finished)
            })
        };
        for task in (0..10).map(bulk).collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
        assert!(started.elapsed() < 2 * MINUTE, "{:?}", started.elapsed());
        let hour = Instant::now() + Duration::from_secs(3600);
        let mut bulk = 0;
        while Instant::now() < hour {
            limiter.acquire(ask(Priority::Bulk)).await.unwrap().finished();
            bulk += 1;
        }
        // One at a time, each after half a minute.
        assert!(bulk >= 55, "{bulk} in an hour");
        let sent = interactive.lock().unwrap();
        let later = sent.iter().filter(|at| **at > hour - Duration::from_secs(3600)).count();
        assert!(later > 59 * 100, "{later} interactive calls in an hour");
    }
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

#[tokio::test(start_paused = true)]
async fn of_many_callers_none_fails_after_it_has_waited_and_who_cannot_make_it_is_told_at_once() {
    // All of 96 can be served in the time of a call, of 500 not all.
    for (callers, all) in [(96, true), (500, false)] {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let (served, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut load = tokio::task::JoinSet::new();
        for _ in 0..callers {
            let (limiter, served, refused) = (limiter.clone(), served.clone(), refused.clone());
            load.spawn(async move {
                loop {
                    let begun = Instant::now();
                    let request = AcquireRequest::new(Priority::Interactive).max_wait(2 * MINUTE);
                    match limiter.acquire(request).await {
                        Ok(permit) => {
                            sleep(Duration::from_millis(80)).await;
                            permit.finished();
                            served.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert_eq!(begun.elapsed(), Duration::ZERO, "{error}");
                            refused.fetch_add(1, Ordering::Relaxed);
                            sleep(Duration::from_secs(10)).await;
                        }
                    }
                }
            });
        }
        sleep(10 * MINUTE).await;
        load.abort_all();
        let (served, refused) = (served.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        assert_eq!(refused == 0, all, "{refused} of {callers} callers were refused");
        assert!(served >= 980, "{served} in ten minutes");
    }
}
