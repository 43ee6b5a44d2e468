//! The client's own rate limit: never more than 120 in any 60 seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::cases;
use proptest::prelude::*;
use shared_inbox::rate_limit::{AcquireRequest, LimitError, MemoryLimiter, Permit, Priority, RateLimiter};
use tokio::time::{Instant, advance, sleep};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const FOREVER: Duration = Duration::from_secs(86_400);

/// The wait that a call is told which cannot be sent now.
async fn busy(limiter: &MemoryLimiter, priority: Priority) -> Duration {
    match limiter.acquire(AcquireRequest::new(priority)).await {
        Err(LimitError::Busy { wait, .. }) => wait,
        other => panic!("expected to be busy, got {other:?}"),
    }
}

/// As long as it takes.
pub(crate) fn ask(priority: Priority) -> AcquireRequest {
    AcquireRequest::new(priority).max_wait(FOREVER)
}

/// A limiter of which all places are taken.
async fn exhausted() -> MemoryLimiter {
    let limiter = MemoryLimiter::new(120);
    take(&limiter, Priority::ReadBack, 120).await;
    limiter
}

pub(crate) async fn take(limiter: &MemoryLimiter, priority: Priority, times: usize) {
    for _ in 0..times {
        limiter.acquire(AcquireRequest::new(priority)).await.unwrap().finished();
    }
}

async fn hold(limiter: &MemoryLimiter, priority: Priority, times: usize) -> Vec<Permit> {
    let mut permits = Vec::new();
    for _ in 0..times {
        permits.push(limiter.acquire(AcquireRequest::new(priority)).await.unwrap());
    }
    permits
}

#[derive(Clone, Debug)]
struct Arrival {
    after_ms: u64,
    priority: Priority,
    /// Gives up waiting after this.
    max_wait_ms: u64,
    /// Is dropped after this.
    dropped_ms: Option<u64>,
    /// How long it takes to reach the service, once let through.
    slow_ms: u64,
    /// The service refuses it.
    refused: bool,
    /// There is nothing to send after all.
    unsent: bool,
}

prop_compose! {
    fn arrival()(
        after_ms in prop_oneof![70 => Just(0), 27 => 0..400_u64, 3 => 50_000..70_000_u64],
        priority in prop_oneof![Just(Priority::ReadBack), Just(Priority::Interactive), Just(Priority::Bulk)],
        max_wait_ms in prop_oneof![1 => Just(0), 1 => 0..90_000_u64, 6 => Just(86_400_000_u64)],
        dropped_ms in proptest::option::weighted(0.1, 0..90_000_u64),
        slow_ms in prop_oneof![2 => Just(0), 1 => 0..1_000_u64, 1 => 0..25_000_u64],
        refused in proptest::bool::weighted(0.01),
        unsent in proptest::bool::weighted(0.1),
    ) -> Arrival {
        Arrival { after_ms, priority, max_wait_ms, dropped_ms, slow_ms, refused, unsent }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn never_more_than_120_in_any_60_seconds(arrivals in proptest::collection::vec(arrival(), 1..500), refusals in any::<bool>()) {
        // The time between events passes in no time.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async move {
            let limiter = Arc::new(MemoryLimiter::new(120));
            let sent = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = Vec::new();
            for arrival in arrivals {
                sleep(Duration::from_millis(arrival.after_ms)).await;
                let (limiter, sent) = (Arc::clone(&limiter), Arc::clone(&sent));
                let patient = arrival.max_wait_ms == 86_400_000 && arrival.dropped_ms.is_none();
                let task = tokio::spawn(async move {
                    let request = AcquireRequest::new(arrival.priority);
                    let acquire = limiter.acquire(request.max_wait(Duration::from_millis(arrival.max_wait_ms)));
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
                            assert!(started.elapsed() <= Duration::from_millis(arrival.max_wait_ms + 1), "{error}");
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

#[tokio::test(start_paused = true)]
async fn a_place_of_which_nothing_more_is_heard_is_free_a_minute_after_its_time() {
    let limiter = MemoryLimiter::new(1);
    std::mem::forget(
        limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(2 * MINUTE)).await.unwrap(),
    );
    let started = Instant::now();
    limiter.acquire(ask(Priority::ReadBack)).await.unwrap().finished();
    let took = started.elapsed();
    assert!(took >= 3 * MINUTE && took < 3 * MINUTE + Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_429_also_stops_those_whose_turn_had_come() {
    let limiter = exhausted().await;
    let mut idle = limiter.acquire(ask(Priority::ReadBack));
    assert!(futures_util::poll!(&mut idle).is_pending());
    advance(Duration::from_secs(61)).await;
    let refused = limiter.acquire(AcquireRequest::new(Priority::ReadBack)).await.unwrap();
    refused.throttled(Some(Duration::from_secs(30)));
    let started = Instant::now();
    idle.await.unwrap().finished();
    assert!(started.elapsed() >= Duration::from_secs(30), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_absurd_pause_neither_panics_nor_lasts_for_ever() {
    let limiter = MemoryLimiter::new(120);
    let endless =
        limiter.acquire(AcquireRequest::new(Priority::ReadBack).max_hold(Duration::MAX)).await.unwrap();
    for refused in hold(&limiter, Priority::ReadBack, 2).await {
        refused.throttled(Some(Duration::MAX));
    }
    assert!(busy(&limiter, Priority::ReadBack).await <= FOREVER);
    endless.finished();
}

#[tokio::test(start_paused = true)]
async fn the_try_variant_names_the_wait_and_the_wait_is_right() {
    let limiter = MemoryLimiter::new(120);
    take(&limiter, Priority::Interactive, 1).await;
    advance(Duration::from_secs(20)).await;
    take(&limiter, Priority::Interactive, 109).await;
    let named = busy(&limiter, Priority::Interactive).await;
    assert!(named > Duration::from_secs(39) && named < Duration::from_secs(42), "{named:?}");
    advance(named - Duration::from_millis(1)).await;
    busy(&limiter, Priority::Interactive).await;
    advance(Duration::from_millis(1)).await;
    take(&limiter, Priority::Interactive, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_bulk_call_that_gives_up_behind_others_names_the_wait_for_a_slot() {
    let limiter = Arc::new(MemoryLimiter::new(120));
    take(&limiter, Priority::Interactive, 110).await;
    for _ in 0..30 {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move { limiter.acquire(ask(Priority::Bulk)).await.unwrap().finished() });
    }
    sleep(Duration::from_millis(1)).await;
    let request = AcquireRequest::new(Priority::Bulk).max_wait(Duration::from_secs(2));
    let Err(LimitError::Busy { wait, .. }) = limiter.acquire(request).await else { panic!("it is sent") };
    assert!(wait > Duration::from_secs(30), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_429_stops_everyone_then_shrinks_the_share_which_grows_back() {
    let limiter = MemoryLimiter::new(120);
    take(&limiter, Priority::ReadBack, 38).await;
    // A second refusal of the same moment is the same lesson.
    for refused in hold(&limiter, Priority::ReadBack, 2).await {
        refused.throttled(None);
    }
    assert_eq!(busy(&limiter, Priority::ReadBack).await.as_secs() / 60, 1);

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
}
