//! The client's own rate limit: never more than 120 in any 60 seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Fault, Service, conversation_id};
use proptest::prelude::*;
use shared_inbox::{BoxFuture, Certainty, Lane, LimitError, MemoryLimiter, RateLimiter, RetryPolicy};
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);
const FOREVER: Duration = Duration::from_secs(86_400);

/// Runs on tokio's paused clock: the time between events passes in no time.
fn paused<F: Future<Output = ()>>(future: F) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future);
}

fn wait(result: Result<(), LimitError>) -> Duration {
    match result {
        Err(LimitError::Busy { wait, .. }) => wait,
        other => panic!("expected to be busy, got {other:?}"),
    }
}

async fn take(limiter: &MemoryLimiter, lane: Lane, times: usize) {
    for _ in 0..times {
        limiter.acquire(lane, Duration::ZERO).await.unwrap();
    }
}

#[derive(Clone, Debug)]
struct Arrival {
    after_ms: u64,
    lane: Lane,
    /// Gives up waiting after this.
    patience_ms: u64,
    /// Is dropped after this.
    dropped_ms: Option<u64>,
    /// How long it takes to reach the service, once let through.
    slow_ms: u64,
    /// The service refuses it.
    refused: bool,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![70 => Just(0), 27 => 0..400_u64, 3 => 50_000..70_000_u64];
    let lane = prop_oneof![Just(Lane::ReadBack), Just(Lane::Interactive), Just(Lane::Bulk)];
    let patience = prop_oneof![1 => Just(0), 1 => 0..90_000_u64, 6 => Just(86_400_000_u64)];
    let dropped = proptest::option::weighted(0.1, 0..90_000_u64);
    let slow = prop_oneof![2 => Just(0), 1 => 0..1_000_u64, 1 => 0..25_000_u64];
    let arrival = (gap, lane, patience, dropped, slow, proptest::bool::weighted(0.01)).prop_map(
        |(after_ms, lane, patience_ms, dropped_ms, slow_ms, refused)| Arrival {
            after_ms,
            lane,
            patience_ms,
            dropped_ms,
            slow_ms,
            refused,
        },
    );
    proptest::collection::vec(arrival, 1..500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn never_more_than_120_in_any_60_seconds(arrivals in arrivals(), refusals in any::<bool>()) {
        paused(async move {
            let limiter = Arc::new(MemoryLimiter::new(120));
            let sent = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = Vec::new();
            for arrival in arrivals {
                sleep(Duration::from_millis(arrival.after_ms)).await;
                let (limiter, sent) = (Arc::clone(&limiter), Arc::clone(&sent));
                let patient = arrival.patience_ms == 86_400_000 && arrival.dropped_ms.is_none();
                let task = tokio::spawn(async move {
                    let acquire = limiter.acquire(arrival.lane, Duration::from_millis(arrival.patience_ms));
                    let dropped = Duration::from_millis(arrival.dropped_ms.unwrap_or(u64::from(u32::MAX)));
                    let started = Instant::now();
                    let result = tokio::select! {
                        result = acquire => result,
                        () = sleep(dropped) => return true,
                    };
                    match result {
                        Ok(()) => {
                            // What counts is when it reaches the service.
                            let slow = Duration::from_millis(arrival.slow_ms);
                            sleep(slow).await;
                            sent.lock().unwrap().push(Instant::now());
                            limiter.finished(slow);
                        }
                        Err(error) => {
                            assert!(started.elapsed() <= Duration::from_millis(arrival.patience_ms + 1), "{error}");
                            return !patient;
                        }
                    }
                    if arrival.refused && refusals {
                        limiter.throttled(None).await.unwrap();
                    }
                    true
                });
                tasks.push(task);
            }
            for task in tasks {
                assert!(task.await.unwrap(), "whoever waits is served in the end");
            }
            let mut sent = sent.lock().unwrap().clone();
            sent.sort();
            for window in sent.windows(121) {
                assert!(window[120] - window[0] >= MINUTE, "121 requests within {:?}", window[120] - window[0]);
            }
        });
    }
}

#[test]
fn a_full_limit_is_used_at_once_and_again_after_a_minute() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        let started = Instant::now();
        for _ in 0..240 {
            limiter.acquire(Lane::ReadBack, FOREVER).await.unwrap();
        }
        assert!(started.elapsed() >= MINUTE && started.elapsed() < MINUTE + Duration::from_secs(2));
    });
}

#[test]
fn interactive_goes_ahead_of_bulk_that_waited_longer() {
    paused(async {
        // One place after the other becomes free.
        let limiter = Arc::new(MemoryLimiter::new(5));
        for _ in 0..5 {
            take(&limiter, Lane::ReadBack, 1).await;
            advance(Duration::from_secs(1)).await;
        }
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for lane in [Lane::Bulk, Lane::Bulk, Lane::Interactive, Lane::ReadBack, Lane::Interactive] {
            let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                limiter.acquire(lane, FOREVER).await.unwrap();
                order.lock().unwrap().push(lane);
            }));
            tokio::task::yield_now().await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        let expected = [Lane::ReadBack, Lane::Interactive, Lane::Interactive, Lane::Bulk, Lane::Bulk];
        assert_eq!(*order.lock().unwrap(), expected);
    });
}

#[test]
fn bulk_is_not_starved_by_interactive_calls_that_use_up_the_limit() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let interactive = Arc::new(Mutex::new(0_u32));
        // Two a second: more than there is room for, evenly spread.
        let (asking, count) = (Arc::clone(&limiter), Arc::clone(&interactive));
        let load = tokio::spawn(async move {
            loop {
                sleep(Duration::from_millis(500)).await;
                let (limiter, count) = (Arc::clone(&asking), Arc::clone(&count));
                tokio::spawn(async move {
                    limiter.acquire(Lane::Interactive, FOREVER).await.unwrap();
                    *count.lock().unwrap() += 1;
                });
            }
        });
        sleep(Duration::from_secs(120)).await;
        let started = Instant::now();
        let before = *interactive.lock().unwrap();
        let bulk = |_| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move {
                limiter.acquire(Lane::Bulk, FOREVER).await.unwrap();
                Instant::now()
            })
        };
        let mut went = Vec::new();
        for task in (0..3).map(bulk).collect::<Vec<_>>() {
            went.push(task.await.unwrap());
        }
        let waited = started.elapsed();
        assert!(waited < 3 * MINUTE, "{waited:?}");
        assert!(
            went.windows(2).all(|two| two[1] - two[0] >= Duration::from_secs(6)),
            "one at a time: {went:?}"
        );
        let interactive = *interactive.lock().unwrap() - before;
        assert!(f64::from(interactive) > waited.as_secs_f64() * 100.0 / 60.0, "{interactive} in {waited:?}");
        load.abort();
    });
}

#[test]
fn a_waiter_whose_future_is_not_polled_holds_nobody_up() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 120).await;
        let mut idle = limiter.acquire(Lane::Interactive, FOREVER);
        assert!(futures_util::poll!(&mut idle).is_pending());
        // Waits behind the one that nobody polls.
        tokio::time::timeout(2 * MINUTE, limiter.acquire(Lane::Interactive, FOREVER)).await.unwrap().unwrap();
        // Its turn has come too, and it is not counted twice.
        idle.await.unwrap();
        take(&limiter, Lane::ReadBack, 118).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
    });
}

#[test]
fn a_turn_that_came_and_was_not_taken_is_given_back() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 120).await;
        let mut idle = limiter.acquire(Lane::Interactive, FOREVER);
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        take(&limiter, Lane::ReadBack, 119).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
        drop(idle);
        take(&limiter, Lane::ReadBack, 1).await;
    });
}

#[test]
fn a_429_also_stops_those_whose_turn_had_come() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 120).await;
        let mut idle = limiter.acquire(Lane::ReadBack, FOREVER);
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        take(&limiter, Lane::ReadBack, 1).await;
        limiter.throttled(Some(Duration::from_secs(30))).await.unwrap();
        let started = Instant::now();
        idle.await.unwrap();
        assert!(started.elapsed() >= Duration::from_secs(30), "{:?}", started.elapsed());
    });
}

#[test]
fn a_long_queue_of_bulk_calls_leaves_room_for_others_all_the_time() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let bulk = |_| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move {
                limiter.acquire(Lane::Bulk, FOREVER).await.unwrap();
                Instant::now()
            })
        };
        let mut sent = Vec::new();
        for task in (0..600).map(bulk).collect::<Vec<_>>() {
            sent.push(task.await.unwrap());
        }
        sent.sort();
        // 90 by their own share, and one every 6 seconds that has waited too long.
        for window in sent.windows(102) {
            assert!(window[101] - window[0] >= MINUTE, "102 within {:?}", window[101] - window[0]);
        }
    });
}

#[test]
fn a_turn_that_came_long_ago_is_waited_for_again() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 120).await;
        let mut idle = limiter.acquire(Lane::ReadBack, FOREVER);
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        take(&limiter, Lane::ReadBack, 119).await;
        advance(Duration::from_secs(61)).await;
        take(&limiter, Lane::ReadBack, 120).await;
        assert!(futures_util::poll!(&mut idle).is_pending(), "121 in a moment");
        let started = Instant::now();
        idle.await.unwrap();
        assert!(started.elapsed() >= MINUTE);
    });
}

#[test]
fn a_request_is_counted_from_when_it_may_have_reached_the_service() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 1).await;
        advance(Duration::from_secs(20)).await;
        take(&limiter, Lane::ReadBack, 119).await;
        // All but the first had to connect for ten seconds: they arrive half a minute after it.
        advance(Duration::from_secs(10)).await;
        (0..119).for_each(|_| limiter.finished(Duration::from_secs(10)));
        advance(Duration::from_secs(31)).await;
        take(&limiter, Lane::ReadBack, 1).await;
        advance(Duration::from_secs(28)).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
        advance(Duration::from_secs(2)).await;
        take(&limiter, Lane::ReadBack, 119).await;
    });
}

#[test]
fn a_turn_that_is_taken_late_is_counted_from_when_it_is_taken() {
    paused(async {
        let limiter = MemoryLimiter::new(1);
        take(&limiter, Lane::ReadBack, 1).await;
        let mut idle = limiter.acquire(Lane::ReadBack, FOREVER);
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
        advance(Duration::from_secs(30)).await;
        idle.await.unwrap();
        advance(Duration::from_secs(59)).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
    });
}

#[test]
fn an_absurd_pause_neither_panics_nor_lasts_for_ever() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        limiter.throttled(Some(Duration::MAX)).await.unwrap();
        limiter.throttled(Some(Duration::MAX)).await.unwrap();
        assert!(wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await) <= FOREVER);
        limiter.finished(Duration::MAX);
    });
}

#[test]
fn capacity_is_kept_back_for_interactive_calls_and_for_read_backs() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::Bulk, 90).await;
        wait(limiter.acquire(Lane::Bulk, Duration::ZERO).await);
        take(&limiter, Lane::Interactive, 20).await;
        wait(limiter.acquire(Lane::Interactive, Duration::ZERO).await);
        take(&limiter, Lane::ReadBack, 10).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
    });
}

#[test]
fn the_try_variant_names_the_wait_and_the_wait_is_right() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::Interactive, 1).await;
        advance(Duration::from_secs(20)).await;
        take(&limiter, Lane::Interactive, 109).await;
        let named = wait(limiter.acquire(Lane::Interactive, Duration::ZERO).await);
        assert!(named > Duration::from_secs(39) && named < Duration::from_secs(42), "{named:?}");
        advance(named - Duration::from_millis(1)).await;
        wait(limiter.acquire(Lane::Interactive, Duration::ZERO).await);
        advance(Duration::from_millis(1)).await;
        take(&limiter, Lane::Interactive, 1).await;
    });
}

#[test]
fn a_wait_that_is_too_long_is_refused_at_once() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::Interactive, 110).await;
        let started = Instant::now();
        wait(limiter.acquire(Lane::Interactive, Duration::from_secs(30)).await);
        assert_eq!(started.elapsed(), Duration::ZERO);
    });
}

#[test]
fn whoever_stops_waiting_neither_keeps_nor_loses_a_place() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        take(&limiter, Lane::ReadBack, 120).await;
        let waiter = |lane| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move { limiter.acquire(lane, FOREVER).await })
        };
        let (first, second, third) =
            (waiter(Lane::Interactive), waiter(Lane::Interactive), waiter(Lane::Bulk));
        sleep(Duration::from_secs(1)).await;
        first.abort();
        second.await.unwrap().unwrap();
        third.await.unwrap().unwrap();
        // Two of the new minute are used, not three.
        take(&limiter, Lane::ReadBack, 118).await;
        wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await);
    });
}

#[test]
fn a_429_stops_everyone_then_shrinks_the_share_which_grows_back() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Lane::ReadBack, 40).await;
        limiter.throttled(None).await.unwrap();
        // A second refusal of the same moment is the same lesson.
        limiter.throttled(None).await.unwrap();
        assert_eq!(wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await).as_secs() / 60, 1);

        // Others seem to use two thirds of the limit: from now on, 30 instead of 40 in a minute.
        advance(Duration::from_secs(61)).await;
        let mut sent = 0;
        while limiter.acquire(Lane::ReadBack, Duration::ZERO).await.is_ok() {
            sent += 1;
        }
        assert!((30..=42).contains(&sent), "{sent}");

        // Ten quiet minutes later all is as before.
        advance(Duration::from_secs(620)).await;
        take(&limiter, Lane::ReadBack, 120).await;
    });
}

#[test]
fn a_pause_that_the_service_asks_for_is_kept() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        limiter.throttled(Some(Duration::from_secs(7))).await.unwrap();
        assert_eq!(wait(limiter.acquire(Lane::ReadBack, Duration::ZERO).await), Duration::from_secs(7));
        let started = Instant::now();
        limiter.acquire(Lane::Bulk, FOREVER).await.unwrap();
        assert_eq!(started.elapsed(), Duration::from_secs(7));
    });
}

#[tokio::test]
async fn clones_share_the_limit_and_no_wait_is_an_error_that_is_not_a_429() {
    let service = Service::start().await;
    let client = service.builder().rate_limit(3).build().unwrap();
    for client in [client.clone(), client.clone(), client.clone()] {
        client.me().no_wait().await.unwrap();
    }
    let error = client.me().no_wait().await.unwrap_err();
    assert!(error.is_busy() && !error.is_rate_limited());
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
    service.fail_gets([Fault::Header(429, "retry-after", "30")]);
    let error = client.me().retry(RetryPolicy::never()).await.unwrap_err();
    assert!(error.is_rate_limited() && !error.is_busy());
    assert_eq!(error.certainty(), Certainty::Rejected);
    let error = client.tags().no_wait().await.unwrap_err();
    assert!(error.is_busy());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn a_read_back_gets_through_when_the_limit_is_used_up() {
    let service = Service::start().await;
    let client = service.builder().rate_limit(24).build().unwrap();
    service.fail_posts([Fault::DropAfter]);
    for _ in 0..20 {
        client.mailboxes().await.unwrap();
    }
    // The read before and the create itself use up what interactive calls may.
    let before = client.clone();
    let reply = client.conversation(&conversation_id()).reply("Done.").await.unwrap();
    assert!(reply.recovered());
    assert!(before.mailboxes().no_wait().await.unwrap_err().is_busy());
    assert!(
        service.clock.slept().iter().all(|slept| *slept < Duration::from_secs(5)),
        "nothing waited a minute"
    );
}

/// Lets everyone through, and counts who is still under way.
#[derive(Debug, Default)]
struct Doorman {
    in_and_out: Mutex<(u32, u32)>,
}

impl RateLimiter for Doorman {
    fn acquire(&self, _: Lane, _: Duration) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async {
            self.in_and_out.lock().unwrap().0 += 1;
            Ok(())
        })
    }
    fn throttled(&self, _: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async { Ok(()) })
    }
    fn finished(&self, _: Duration) {
        self.in_and_out.lock().unwrap().1 += 1;
    }
}

#[tokio::test]
async fn the_limiter_hears_of_the_end_of_every_request_it_let_through() {
    let service = Service::start().await;
    let doorman = Arc::new(Doorman::default());
    let client = service.builder().rate_limiter(doorman.clone()).build().unwrap();
    client.mailboxes().await.unwrap();
    service.fail_gets([Fault::Before(500), Fault::DropBefore, Fault::None, Fault::Hang]);
    client.mailboxes().await.unwrap();
    let given_up = tokio::spawn(client.mailboxes().into_future());
    while service.count("GET") < 5 {
        service.committed.notified().await;
    }
    assert_eq!(*doorman.in_and_out.lock().unwrap(), (5, 4));
    given_up.abort();
    let _ = given_up.await;
    assert_eq!(*doorman.in_and_out.lock().unwrap(), (5, 5));
}

#[derive(Debug)]
struct Elsewhere;

impl RateLimiter for Elsewhere {
    fn acquire(&self, _: Lane, _: Duration) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async { Err(LimitError::Unavailable("connection refused".into())) })
    }
    fn throttled(&self, _: Option<Duration>) -> BoxFuture<'_, Result<(), LimitError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_limiter_that_cannot_be_reached_is_an_error_before_sending() {
    let service = Service::start().await;
    let client = service.builder().rate_limiter(Arc::new(Elsewhere)).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert!(error.to_string().contains("rate limiter"), "{error}");
    assert!(service.requests().is_empty());
}
