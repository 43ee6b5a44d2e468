//! An event is handled once, however often it arrives and however its handlers end.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use shared_inbox_webhooks::replay::{
    Claim, Delivery, MemoryFull, MemoryGuard, Once, OnceError, ReplayGuard, Ticket, once,
};

const ONE: Delivery<'static> = Delivery { endpoint: "orders", event: "evt_1" };

/// A guard whose clock moves only when told to.
fn with_clock() -> (MemoryGuard, impl Fn(Duration)) {
    let start = Instant::now();
    let offset = Arc::new(AtomicU64::new(0));
    let hand = Arc::clone(&offset);
    let guard =
        MemoryGuard::new().clock(move || start + Duration::from_millis(offset.load(Ordering::SeqCst)));
    (guard, move |by: Duration| {
        hand.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    })
}

fn delivery(event: &str) -> Delivery<'_> {
    Delivery { endpoint: "orders", event }
}

async fn granted(guard: &MemoryGuard, delivery: Delivery<'_>) -> Ticket {
    match guard.claim(delivery).await.unwrap() {
        Claim::Granted(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handled_event_is_not_handled_again() {
    let guard = MemoryGuard::new();
    assert_eq!(once(&guard, ONE, async { Ok::<_, Infallible>(1) }).await, Ok(Once::Ran(1)));
    let again = once(&guard, ONE, async { panic!("ran twice") as Result<i32, Infallible> }).await;
    assert_eq!(again, Ok(Once::AlreadyDone));
    assert_eq!(again.unwrap().status(), 200);
}

#[tokio::test]
async fn an_event_whose_handler_failed_is_handled_on_the_next_try() {
    let guard = MemoryGuard::new();
    let failed = once(&guard, ONE, async { Err::<(), _>("down") }).await.unwrap_err();
    assert_eq!((failed, failed.status()), (OnceError::Handler("down"), 500));
    assert!(guard.is_empty());
    assert_eq!(once(&guard, ONE, async { Ok::<_, &str>(()) }).await, Ok(Once::Ran(())));
}

#[tokio::test]
async fn a_second_try_during_the_first_is_told_to_come_back() {
    let guard = MemoryGuard::new();
    let outer = once(&guard, ONE, async {
        let inner = once(&guard, ONE, async { panic!("ran twice") as Result<(), Infallible> }).await.unwrap();
        assert_eq!(inner, Once::InProgress);
        assert_eq!(inner.status(), 409);
        Ok::<_, Infallible>(())
    });
    assert_eq!(outer.await, Ok(Once::Ran(())));
}

#[tokio::test]
async fn a_handler_dropped_half_way_gives_its_claim_back() {
    let guard = MemoryGuard::new();
    {
        let mut handler = pin!(once(&guard, ONE, pending::<Result<(), Infallible>>()));
        assert!(handler.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    }
    assert!(matches!(guard.claim(ONE).await, Ok(Claim::Granted(_))));
}

#[tokio::test]
async fn a_handler_that_panics_gives_its_claim_back() {
    let guard = Arc::new(MemoryGuard::new());
    let shared = Arc::clone(&guard);
    let task = tokio::spawn(async move {
        once(&*shared, ONE, async { panic!("a handler's mistake") as Result<(), Infallible> }).await
    });
    assert!(task.await.unwrap_err().is_panic());
    assert!(matches!(guard.claim(ONE).await, Ok(Claim::Granted(_))));
}

#[tokio::test]
async fn the_same_event_at_another_endpoint_is_another_delivery() {
    let guard = MemoryGuard::new();
    for (endpoint, event) in [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), ("1:a", "bc")] {
        let ran = once(&guard, Delivery { endpoint, event }, async { Ok::<_, Infallible>(()) }).await;
        assert_eq!(ran, Ok(Once::Ran(())), "{endpoint} {event}");
    }
}

#[tokio::test]
async fn a_handled_event_is_remembered_for_as_long_as_the_service_repeats_it() {
    let pauses = [30, 2 * 60, 10 * 60, 30 * 60, 3600, 3 * 3600, 6 * 3600, 12 * 3600];
    let longest = Duration::from_secs(pauses.iter().map(|pause| pause * 6 / 5 + 10).sum());
    let (guard, advance) = with_clock();
    assert_eq!(once(&guard, ONE, async { Ok::<_, Infallible>(()) }).await, Ok(Once::Ran(())));
    advance(longest);
    assert_eq!(guard.claim(ONE).await, Ok(Claim::Done));
    advance(MemoryGuard::RETRY_WINDOW - longest - Duration::from_millis(1));
    assert_eq!(guard.claim(ONE).await, Ok(Claim::Done));
    advance(Duration::from_millis(1));
    assert_eq!(guard.len(), 0, "it is forgotten in the end");
}

#[tokio::test]
async fn a_handled_event_is_handled_again_once_somebody_has_it_forgotten() {
    let (guard, advance) = with_clock();
    assert!(!guard.forget(ONE), "it never came");
    let ticket = granted(&guard, ONE).await;
    assert!(!guard.forget(ONE), "it is in progress");
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    guard.release(ONE, ticket).await.unwrap();
    for _ in 0..2 {
        assert_eq!(once(&guard, ONE, async { Ok::<_, Infallible>(()) }).await, Ok(Once::Ran(())));
        assert!(guard.forget(ONE));
    }
    assert!(guard.is_empty());
    // What was remembered of the first time does not end the second one early.
    assert_eq!(once(&guard, ONE, async { Ok::<_, Infallible>(()) }).await, Ok(Once::Ran(())));
    advance(Duration::from_secs(3600));
    assert!(guard.forget(ONE));
    assert_eq!(once(&guard, ONE, async { Ok::<_, Infallible>(()) }).await, Ok(Once::Ran(())));
    advance(MemoryGuard::RETRY_WINDOW - Duration::from_secs(1800));
    assert_eq!(guard.claim(ONE).await, Ok(Claim::Done));
    advance(Duration::from_secs(1800));
    assert!(!guard.forget(ONE), "its time is over anyway");
}

#[tokio::test]
async fn a_claim_runs_out_when_nobody_ends_it() {
    let (guard, advance) = with_clock();
    granted(&guard, ONE).await;
    advance(MemoryGuard::LEASE - Duration::from_millis(1));
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    advance(Duration::from_millis(1));
    granted(&guard, ONE).await;
}

#[tokio::test]
async fn a_claim_runs_out_although_many_came_and_went_behind_it() {
    let (guard, advance) = with_clock();
    granted(&guard, ONE).await;
    for _ in 0..1000 {
        let ticket = granted(&guard, delivery("evt_2")).await;
        guard.release(delivery("evt_2"), ticket).await.unwrap();
    }
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    advance(MemoryGuard::LEASE);
    granted(&guard, ONE).await;
}

#[tokio::test]
async fn how_long_a_claim_and_the_memory_of_an_event_last_can_be_set() {
    let (guard, advance) = with_clock();
    let guard = guard.lease(Duration::from_secs(5)).retention(Duration::from_secs(90));
    granted(&guard, ONE).await;
    advance(Duration::from_secs(4));
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    advance(Duration::from_secs(1));
    granted(&guard, ONE).await;
    guard.commit(ONE).await.unwrap();
    advance(Duration::from_secs(89));
    assert_eq!((guard.claim(ONE).await, guard.is_empty()), (Ok(Claim::Done), false));
    advance(Duration::from_secs(1));
    assert!(guard.is_empty());
    let guard = guard.lease(Duration::MAX).retention(Duration::MAX);
    granted(&guard, ONE).await;
    advance(Duration::from_secs(365 * 24 * 3600));
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress), "as long as anyone can ask");
}

#[tokio::test]
async fn a_claim_that_ran_out_cannot_release_its_successor() {
    let (guard, advance) = with_clock();
    let first = granted(&guard, ONE).await;
    advance(MemoryGuard::LEASE);
    let second = granted(&guard, ONE).await;
    guard.release(ONE, first).await.unwrap();
    guard.abandon(ONE, first);
    assert_eq!(guard.claim(ONE).await, Ok(Claim::InProgress));
    guard.release(ONE, second).await.unwrap();
    granted(&guard, ONE).await;
}

#[tokio::test]
async fn a_slow_handler_that_outlived_its_claim_still_counts_as_done() {
    let (guard, advance) = with_clock();
    granted(&guard, ONE).await;
    advance(MemoryGuard::LEASE);
    let second = granted(&guard, ONE).await;
    guard.commit(ONE).await.unwrap();
    assert_eq!(guard.claim(ONE).await, Ok(Claim::Done));
    guard.release(ONE, second).await.unwrap();
    assert_eq!(guard.claim(ONE).await, Ok(Claim::Done), "the failure of the second does not undo the first");
}

#[tokio::test]
async fn the_oldest_handled_event_goes_first_when_the_guard_is_full() {
    let guard = MemoryGuard::new().capacity(3);
    for event in ["evt_1", "evt_2", "evt_3", "evt_4"] {
        assert_eq!(once(&guard, delivery(event), async { Ok::<_, Infallible>(()) }).await, Ok(Once::Ran(())));
    }
    assert_eq!((guard.len(), guard.forgotten_early()), (3, 1));
    assert_eq!(guard.claim(delivery("evt_2")).await, Ok(Claim::Done));
    assert!(matches!(guard.claim(delivery("evt_1")).await, Ok(Claim::Granted(_))));
    assert_eq!(guard.forgotten_early(), 2);
}

#[tokio::test]
async fn a_claim_in_progress_is_never_given_up_for_another() {
    let guard = MemoryGuard::new().capacity(2);
    granted(&guard, delivery("evt_1")).await;
    let second = granted(&guard, delivery("evt_2")).await;
    assert_eq!(guard.claim(delivery("evt_3")).await, Err(MemoryFull));
    let refused = once(&guard, delivery("evt_3"), async { Ok::<_, Infallible>(()) }).await;
    assert_eq!(refused, Err(OnceError::Guard(MemoryFull)));
    guard.release(delivery("evt_2"), second).await.unwrap();
    granted(&guard, delivery("evt_3")).await;
    assert_eq!(guard.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_tries_at_once_one_is_handled() {
    let guard = Arc::new(MemoryGuard::new());
    let runs = Arc::new(AtomicUsize::new(0));
    let tries: Vec<_> = (0..64)
        .map(|_| {
            let (guard, runs) = (Arc::clone(&guard), Arc::clone(&runs));
            tokio::spawn(async move {
                let handler = async {
                    runs.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    Ok::<_, Infallible>(())
                };
                once(&*guard, ONE, handler).await.unwrap()
            })
        })
        .collect();
    for attempt in tries {
        let _ = attempt.await.unwrap();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// A shared store as another crate would write it, which fails when told to.
#[derive(Default)]
struct Store {
    down_for: Mutex<Option<&'static str>>,
    slow_for: Option<&'static str>,
    calls: Mutex<Vec<&'static str>>,
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the store is down")]
struct Down;

impl Store {
    fn failing(step: &'static str) -> Self {
        Self { down_for: Mutex::new(Some(step)), ..Self::default() }
    }

    async fn call(&self, step: &'static str) -> Result<(), Down> {
        self.calls.lock().unwrap().push(step);
        if self.slow_for == Some(step) {
            pending::<()>().await;
        }
        if *self.down_for.lock().unwrap() == Some(step) { Err(Down) } else { Ok(()) }
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().clone()
    }
}

impl ReplayGuard for Store {
    type Error = Down;

    async fn claim(&self, _: Delivery<'_>) -> Result<Claim, Down> {
        self.call("claim").await.map(|()| Claim::Granted(Ticket(1)))
    }

    async fn commit(&self, _: Delivery<'_>) -> Result<(), Down> {
        self.call("commit").await
    }

    async fn release(&self, _: Delivery<'_>, _: Ticket) -> Result<(), Down> {
        self.call("release").await
    }

    fn abandon(&self, _: Delivery<'_>, _: Ticket) {
        self.calls.lock().unwrap().push("abandon");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_asked_keeps_the_handler_from_running() {
    let store = Store::failing("claim");
    let outcome = once(&store, ONE, async { panic!("ran") as Result<(), Infallible> }).await;
    assert_eq!(outcome, Err(OnceError::Guard(Down)));
}

#[tokio::test]
async fn a_handled_event_counts_as_handled_although_the_store_cannot_note_it() {
    let store = Store::failing("commit");
    let outcome = once(&store, ONE, async { Ok::<_, Infallible>(7) }).await.unwrap();
    assert_eq!(outcome.status(), 200);
    assert_eq!(outcome, Once::RanUnrecorded(7, Down));
    assert_eq!(store.calls(), ["claim", "commit"], "and it is not released");
}

#[test]
fn an_event_that_was_handled_is_not_given_back_while_the_store_is_slow() {
    let store = Store { slow_for: Some("commit"), ..Store::default() };
    {
        let mut running = pin!(once(&store, ONE, async { Ok::<_, Infallible>(()) }));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(store.calls(), ["claim", "commit"], "and it is not abandoned");
}

#[test]
fn a_failed_event_is_given_back_although_nobody_waits_for_the_store() {
    let store = Store { slow_for: Some("release"), ..Store::default() };
    {
        let mut running = pin!(once(&store, ONE, async { Err::<(), _>("handler") }));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(store.calls(), ["claim", "release", "abandon"]);
}

#[tokio::test]
async fn a_commit_that_finds_no_place_is_told() {
    let (guard, advance) = with_clock();
    let guard = guard.capacity(1);
    let outcome = once(&guard, ONE, async {
        advance(MemoryGuard::LEASE);
        granted(&guard, delivery("evt_2")).await;
        Ok::<_, Infallible>(())
    });
    assert_eq!(outcome.await, Ok(Once::RanUnrecorded((), MemoryFull)));
}

#[tokio::test]
async fn the_handlers_failure_is_told_although_the_release_fails_too() {
    let store = Store::failing("release");
    let outcome = once(&store, ONE, async { Err::<(), _>("handler") }).await;
    assert_eq!(outcome, Err(OnceError::Handler("handler")));
    assert_eq!(store.calls(), ["claim", "release"]);
}

#[test]
fn a_guarded_handler_can_run_on_any_thread() {
    fn send<T: Send>(_: T) {}
    let guard = MemoryGuard::new();
    send(once(&guard, ONE, async { Ok::<_, Infallible>(()) }));
    assert!(matches!(
        pin!(once(&guard, ONE, async { Ok::<_, Infallible>(()) }))
            .poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready(Ok(Once::Ran(())))
    ));
}
