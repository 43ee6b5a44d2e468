//! The client's own rate limit: never more than 120 in any 60 seconds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Fault, Service, cases, conversation_id};
use proptest::prelude::*;
use shared_inbox::{
    Certainty,
    create::Verification,
    rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter},
    retry::{BoxFuture, RetryPolicy},
};
use tokio::time::{Instant, advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);
const FOREVER: Duration = Duration::from_secs(86_400);

/// Runs on tokio's paused clock: the time between events passes in no time.
fn paused<F: Future<Output = ()>>(future: F) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(future);
}

fn wait(result: Result<Permit, LimitError>) -> Duration {
    match result {
        Err(LimitError::Busy { wait, .. }) => wait,
        other => panic!("expected to be busy, got {other:?}"),
    }
}

/// As long as it takes.
fn ask(lane: Priority) -> AcquireRequest {
    AcquireRequest::new(lane).max_wait(FOREVER)
}

async fn take(limiter: &MemoryLimiter, lane: Priority, times: usize) {
    for _ in 0..times {
        limiter.acquire(AcquireRequest::new(lane)).await.unwrap().finished();
    }
}

async fn hold(limiter: &MemoryLimiter, lane: Priority, times: usize) -> Vec<Permit> {
    let mut permits = Vec::new();
    for _ in 0..times {
        permits.push(limiter.acquire(AcquireRequest::new(lane)).await.unwrap());
    }
    permits
}

#[derive(Clone, Debug)]
struct Arrival {
    after_ms: u64,
    lane: Priority,
    /// Gives up waiting after this.
    patience_ms: u64,
    /// Is dropped after this.
    dropped_ms: Option<u64>,
    /// How long it takes to reach the service, once let through.
    slow_ms: u64,
    /// The service refuses it.
    refused: bool,
    /// There is nothing to send after all.
    unsent: bool,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![70 => Just(0), 27 => 0..400_u64, 3 => 50_000..70_000_u64];
    let lane = prop_oneof![Just(Priority::ReadBack), Just(Priority::Interactive), Just(Priority::Bulk)];
    let patience = prop_oneof![1 => Just(0), 1 => 0..90_000_u64, 6 => Just(86_400_000_u64)];
    let dropped = proptest::option::weighted(0.1, 0..90_000_u64);
    let slow = prop_oneof![2 => Just(0), 1 => 0..1_000_u64, 1 => 0..25_000_u64];
    let (refused, unsent) = (proptest::bool::weighted(0.01), proptest::bool::weighted(0.1));
    let arrival = (gap, lane, patience, dropped, slow, refused, unsent).prop_map(
        |(after_ms, lane, patience_ms, dropped_ms, slow_ms, refused, unsent)| Arrival {
            after_ms,
            lane,
            patience_ms,
            dropped_ms,
            slow_ms,
            refused,
            unsent,
        },
    );
    proptest::collection::vec(arrival, 1..500)
}

proptest! {
    #![proptest_config(cases(16))]

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
                    let acquire = limiter.acquire(AcquireRequest::new(arrival.lane).max_wait(Duration::from_millis(arrival.patience_ms)));
                    let dropped = Duration::from_millis(arrival.dropped_ms.unwrap_or(u64::from(u32::MAX)));
                    let started = Instant::now();
                    let result = tokio::select! {
                        result = acquire => result,
                        () = sleep(dropped) => return true,
                    };
                    match result {
                        Ok(permit) => {
                            // What counts is when it reaches the service.
                            sleep(Duration::from_millis(arrival.slow_ms)).await;
                            if arrival.unsent {
                                permit.give_up();
                                return true;
                            }
                            sent.lock().unwrap().push(Instant::now());
                            match (arrival.refused && refusals, arrival.slow_ms % 3) {
                                (true, _) => permit.throttled(None),
                                (false, 0) => drop(permit),
                                // Its process has died.
                                (false, 1) => std::mem::forget(permit),
                                (false, _) => permit.finished(),
                            }
                        }
                        Err(error) => {
                            assert!(started.elapsed() <= Duration::from_millis(arrival.patience_ms + 1), "{error}");
                            return !patient;
                        }
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
            limiter.acquire(ask(Priority::ReadBack)).await.unwrap().finished();
        }
        assert!(started.elapsed() >= MINUTE && started.elapsed() < MINUTE + Duration::from_secs(2));
    });
}

#[test]
fn interactive_calls_go_ahead_of_bulk_calls_that_waited_longer() {
    paused(async {
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
    });
}

#[test]
fn a_twelfth_of_the_limit_is_for_bulk_calls_however_many_interactive_ones_there_are() {
    // Two a second, evenly spread, is more than there is room for; 300 that ask again at once come in bursts.
    for (callers, every) in [(1, Duration::from_millis(500)), (300, Duration::ZERO)] {
        paused(async move {
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
        });
    }
}

#[test]
fn a_bulk_call_is_not_refused_for_a_long_queue_of_interactive_ones() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let waiting = |_| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(
                async move { limiter.acquire(ask(Priority::Interactive)).await.map(Permit::finished) },
            )
        };
        let waiting: Vec<_> = (0..1_000).map(waiting).collect();
        tokio::task::yield_now().await;
        limiter.acquire(AcquireRequest::new(Priority::Bulk).max_wait(2 * MINUTE)).await.unwrap().finished();
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

#[test]
fn a_place_that_is_given_up_is_free_at_once() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        let mut held = hold(&limiter, Priority::ReadBack, 120).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
        held.pop().unwrap().give_up();
        take(&limiter, Priority::ReadBack, 1).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    });
}

#[test]
fn a_place_counts_as_long_as_it_is_held_and_then_from_its_end() {
    for said in [true, false] {
        paused(async move {
            let limiter = MemoryLimiter::new(1);
            let lasting = AcquireRequest::new(Priority::ReadBack).max_hold(5 * MINUTE);
            let held = limiter.acquire(lasting).await.unwrap();
            advance(3 * MINUTE).await;
            wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
            if said {
                held.finished()
            } else {
                drop(held)
            }
            advance(Duration::from_secs(59)).await;
            wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
            advance(Duration::from_secs(2)).await;
            take(&limiter, Priority::ReadBack, 1).await;
        });
    }
}

#[test]
fn a_place_of_which_nothing_more_is_heard_is_free_a_minute_after_its_time() {
    paused(async {
        let limiter = MemoryLimiter::new(1);
        std::mem::forget(
            limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(2 * MINUTE)).await.unwrap(),
        );
        let started = Instant::now();
        limiter.acquire(ask(Priority::ReadBack)).await.unwrap().finished();
        let took = started.elapsed();
        assert!(took >= 3 * MINUTE && took < 3 * MINUTE + Duration::from_secs(5), "{took:?}");
    });
}

#[test]
fn a_waiter_whose_future_is_not_polled_holds_nobody_up() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 120).await;
        let mut idle = limiter.acquire(ask(Priority::Interactive));
        assert!(futures_util::poll!(&mut idle).is_pending());
        // Waits behind the one that nobody polls.
        let behind = tokio::time::timeout(2 * MINUTE, limiter.acquire(ask(Priority::Interactive))).await;
        behind.unwrap().unwrap().finished();
        // Its turn has come too, and it is not counted twice.
        idle.await.unwrap().finished();
        take(&limiter, Priority::ReadBack, 118).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    });
}

#[test]
fn a_turn_that_came_and_was_not_taken_is_given_back() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 120).await;
        let mut idle = limiter.acquire(ask(Priority::Interactive));
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        take(&limiter, Priority::ReadBack, 119).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
        drop(idle);
        take(&limiter, Priority::ReadBack, 1).await;
    });
}

#[test]
fn a_429_also_stops_those_whose_turn_had_come() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 120).await;
        let mut idle = limiter.acquire(ask(Priority::ReadBack));
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        let refused = limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap();
        refused.throttled(Some(Duration::from_secs(30)));
        let started = Instant::now();
        idle.await.unwrap().finished();
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
    });
}

#[test]
fn a_turn_that_came_long_ago_is_waited_for_again() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 120).await;
        let mut idle = limiter.acquire(ask(Priority::ReadBack));
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        take(&limiter, Priority::ReadBack, 119).await;
        advance(Duration::from_secs(61)).await;
        take(&limiter, Priority::ReadBack, 120).await;
        assert!(futures_util::poll!(&mut idle).is_pending(), "121 in a moment");
        let started = Instant::now();
        idle.await.unwrap().finished();
        assert!(started.elapsed() >= MINUTE);
    });
}

#[test]
fn a_request_is_counted_from_when_it_may_have_reached_the_service() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 1).await;
        advance(Duration::from_secs(20)).await;
        let slow = hold(&limiter, Priority::ReadBack, 119).await;
        // All but the first had to connect for ten seconds: they arrive half a minute after it.
        advance(Duration::from_secs(10)).await;
        slow.into_iter().for_each(Permit::finished);
        advance(Duration::from_secs(31)).await;
        take(&limiter, Priority::ReadBack, 1).await;
        advance(Duration::from_secs(28)).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
        advance(Duration::from_secs(2)).await;
        take(&limiter, Priority::ReadBack, 119).await;
    });
}

#[test]
fn a_turn_that_is_taken_late_is_counted_from_when_it_is_taken() {
    paused(async {
        let limiter = MemoryLimiter::new(1);
        take(&limiter, Priority::ReadBack, 1).await;
        let mut idle = limiter.acquire(ask(Priority::ReadBack));
        assert!(futures_util::poll!(&mut idle).is_pending());
        advance(Duration::from_secs(61)).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
        advance(Duration::from_secs(30)).await;
        idle.await.unwrap().finished();
        advance(Duration::from_secs(59)).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    });
}

#[test]
fn an_absurd_pause_neither_panics_nor_lasts_for_ever() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        let endless =
            limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(Duration::MAX)).await.unwrap();
        for refused in hold(&limiter, Priority::ReadBack, 2).await {
            refused.throttled(Some(Duration::MAX));
        }
        assert!(wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await) <= FOREVER);
        endless.finished();
    });
}

#[test]
fn capacity_is_kept_back_for_interactive_calls_and_for_read_backs() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::Bulk, 90).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::Bulk)).await);
        take(&limiter, Priority::Interactive, 20).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::Interactive)).await);
        take(&limiter, Priority::ReadBack, 10).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    });
}

#[test]
fn the_try_variant_names_the_wait_and_the_wait_is_right() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::Interactive, 1).await;
        advance(Duration::from_secs(20)).await;
        take(&limiter, Priority::Interactive, 109).await;
        let named = wait(limiter.acquire(AcquireRequest::new(Priority::Interactive)).await);
        assert!(named > Duration::from_secs(39) && named < Duration::from_secs(42), "{named:?}");
        advance(named - Duration::from_millis(1)).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::Interactive)).await);
        advance(Duration::from_millis(1)).await;
        take(&limiter, Priority::Interactive, 1).await;
    });
}

#[test]
fn a_wait_that_is_too_long_is_refused_at_once() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::Interactive, 110).await;
        let started = Instant::now();
        wait(
            limiter
                .acquire(AcquireRequest::new(Priority::Interactive).max_wait(Duration::from_secs(30)))
                .await,
        );
        assert_eq!(started.elapsed(), Duration::ZERO);
    });
}

#[test]
fn whoever_stops_waiting_neither_keeps_nor_loses_a_place() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        take(&limiter, Priority::ReadBack, 120).await;
        let waiter = |lane| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move { limiter.acquire(ask(lane)).await.map(Permit::finished) })
        };
        let (first, second, third) =
            (waiter(Priority::Interactive), waiter(Priority::Interactive), waiter(Priority::Bulk));
        sleep(Duration::from_secs(1)).await;
        first.abort();
        second.await.unwrap().unwrap();
        third.await.unwrap().unwrap();
        // Two of the new minute are used, not three.
        take(&limiter, Priority::ReadBack, 118).await;
        wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await);
    });
}

#[test]
fn a_429_stops_everyone_then_shrinks_the_share_which_grows_back() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        take(&limiter, Priority::ReadBack, 38).await;
        // A second refusal of the same moment is the same lesson.
        for refused in hold(&limiter, Priority::ReadBack, 2).await {
            refused.throttled(None);
        }
        assert_eq!(wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await).as_secs() / 60, 1);

        // Others seem to use two thirds of the limit: from now on, 30 instead of 40 in a minute.
        advance(Duration::from_secs(61)).await;
        let mut sent = 0;
        while limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.is_ok() {
            sent += 1;
        }
        assert!((30..=42).contains(&sent), "{sent}");

        // Ten quiet minutes later all is as before.
        advance(Duration::from_secs(620)).await;
        take(&limiter, Priority::ReadBack, 120).await;
    });
}

#[test]
fn a_pause_that_the_service_asks_for_is_kept() {
    paused(async {
        let limiter = MemoryLimiter::new(120);
        limiter
            .acquire(AcquireRequest::new(Priority::ReadBack))
            .await
            .unwrap()
            .throttled(Some(Duration::from_secs(7)));
        assert_eq!(
            wait(limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await),
            Duration::from_secs(7)
        );
        let started = Instant::now();
        limiter.acquire(ask(Priority::Bulk)).await.unwrap().finished();
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
async fn a_create_that_looks_before_and_after_ends_under_the_smallest_limit() {
    for verification in [Verification::ReadBack, Verification::ReadFirst] {
        let service = Service::start().await;
        service.fail_posts([Fault::DropBefore]);
        let client = service.builder().rate_limit(2).deadline(Duration::from_secs(3600)).build().unwrap();
        let thread = client.conversation(&conversation_id());
        let reply = thread.reply("Done.").verification(verification).await.unwrap();
        assert_eq!((reply.recovered(), service.items().len()), (false, 1));
    }
}

#[tokio::test]
async fn a_create_does_not_wait_for_a_place_that_it_has_itself() {
    for verification in [Verification::ReadBack, Verification::ReadFirst] {
        let service = Service::start().await;
        service.fail_posts([Fault::DropAfter]);
        let client = service.builder().rate_limit(1).deadline(Duration::from_secs(3600)).build().unwrap();
        let reply =
            client.conversation(&conversation_id()).reply("Done.").verification(verification).await.unwrap();
        assert!(reply.recovered(), "{verification:?}");
        let waited: Duration = service.clock.slept().iter().sum();
        assert!(waited < Duration::from_secs(200), "{verification:?}: {waited:?}");
    }
}

#[tokio::test]
async fn a_read_back_gets_through_when_the_limit_is_used_up() {
    let service = Service::start().await;
    let client = service.builder().rate_limit(24).build().unwrap();
    service.fail_posts([Fault::DropAfter]);
    service.world.lock().unwrap().slow = Duration::from_secs(3);
    for _ in 0..21 {
        client.mailboxes().await.unwrap();
    }
    // The create itself uses up what interactive calls may.
    let before = client.clone();
    let reply = client.conversation(&conversation_id()).reply("Done.").await.unwrap();
    assert!(reply.recovered());
    assert!(before.mailboxes().no_wait().await.unwrap_err().is_busy());
    assert!(
        service.clock.slept().iter().all(|slept| *slept < Duration::from_secs(5)),
        "nothing waited a minute"
    );
}

/// Lets everyone through, and notes how it ended.
#[derive(Debug, Default)]
struct Doorman {
    let_in: Mutex<u32>,
    ended: Arc<Mutex<Vec<PermitOutcome>>>,
}

impl RateLimiter for Doorman {
    fn acquire(&self, _: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async {
            *self.let_in.lock().unwrap() += 1;
            let ended = Arc::clone(&self.ended);
            Ok(Permit::new(move |ending| ended.lock().unwrap().push(ending)))
        })
    }
}

#[tokio::test]
async fn the_limiter_hears_how_every_request_ended_that_it_let_through() {
    let service = Service::start().await;
    let doorman = Arc::new(Doorman::default());
    let client = service.builder().rate_limiter(Arc::clone(&doorman)).build().unwrap();
    client.mailboxes().await.unwrap();
    service.fail_gets([Fault::Before(500), Fault::Header(429, "retry-after", "3"), Fault::None, Fault::Hang]);
    client.mailboxes().await.unwrap();
    let given_up = tokio::spawn(client.mailboxes().into_future());
    while service.count("GET") < 5 {
        service.committed.notified().await;
    }
    assert_eq!(*doorman.let_in.lock().unwrap(), 5);
    let ended = || doorman.ended.lock().unwrap().clone();
    assert_eq!(ended().len(), 4);
    assert_eq!(ended()[..2], [PermitOutcome::Finished, PermitOutcome::Finished]);
    let PermitOutcome::Throttled { retry_after, .. } = ended()[2] else { panic!("{:?}", ended()) };
    assert_eq!(retry_after, Some(Duration::from_secs(3)));
    given_up.abort();
    let _ = given_up.await;
    assert_eq!(ended()[3..], [PermitOutcome::Finished, PermitOutcome::Dropped], "it may have been sent");
}

#[derive(Debug)]
struct Elsewhere;

impl RateLimiter for Elsewhere {
    fn acquire(&self, _: AcquireRequest) -> BoxFuture<'_, Result<Permit, LimitError>> {
        Box::pin(async { Err(LimitError::Unavailable("connection refused".into())) })
    }
}

#[tokio::test]
async fn a_limiter_that_cannot_be_reached_is_an_error_before_sending() {
    let service = Service::start().await;
    let client = service.builder().rate_limiter(Elsewhere).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotSent);
    assert!(error.to_string().contains("rate limiter"), "{error}");
    assert!(service.requests().is_empty());
}

#[test]
fn of_many_callers_none_fails_after_it_has_waited_and_who_cannot_make_it_is_told_at_once() {
    // All of 96 can be served in the time of a call, of 500 not all.
    for (callers, all) in [(96, true), (500, false)] {
        paused(async move {
            let limiter = Arc::new(MemoryLimiter::new(120));
            let (served, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let mut load = tokio::task::JoinSet::new();
            for _ in 0..callers {
                let (limiter, served, refused) = (limiter.clone(), served.clone(), refused.clone());
                load.spawn(async move {
                    loop {
                        let begun = Instant::now();
                        match limiter
                            .acquire(AcquireRequest::new(Priority::Interactive).max_wait(2 * MINUTE))
                            .await
                        {
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
        });
    }
}

/// Eight processes with four callers each, every other one 50 ms from wherever the limit is kept, for four minutes.
#[test]
fn near_and_far_callers_go_in_turn_and_use_what_there_is() {
    paused(async {
        let limiter = Arc::new(MemoryLimiter::new(120));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let begun = Instant::now();
        let mut load = tokio::task::JoinSet::new();
        for caller in 0..32 {
            let (limiter, sent, process) = (Arc::clone(&limiter), Arc::clone(&sent), caller % 8);
            let one_way = Duration::from_millis(if process % 2 == 0 { 0 } else { 50 });
            load.spawn(async move {
                loop {
                    sleep(one_way).await;
                    let permit = limiter.acquire(ask(Priority::Interactive)).await.unwrap();
                    sleep(one_way).await;
                    sent.lock().unwrap().push((begun.elapsed(), process));
                    sleep(Duration::from_millis(10)).await;
                    permit.finished();
                }
            });
        }
        sleep(4 * MINUTE).await;
        load.abort_all();
        let sent = sent.lock().unwrap();
        assert!(sent.len() * 100 >= 4 * 110 * 95, "{} requests", sent.len());
        // In the first minute all places are free, and whoever is quickest has them.
        let later = |process| sent.iter().filter(|(at, of)| *at > MINUTE && *of == process).count();
        let later: Vec<_> = (0..8).map(later).collect();
        let sum: usize = later.iter().sum();
        assert!(later.iter().all(|calls| (sum * 80..=sum * 120).contains(&(calls * 800))), "{later:?}");
    });
}
