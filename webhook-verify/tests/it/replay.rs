//! An event is handled once, however often it arrives and however its handlers end.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, Delivery, FencingToken, HandleError, Handled, LEASE, MemoryFull, MemoryGuard,
    RETRY_WINDOW, ReplayGuard, once,
};

use crate::faulty_guard::{FaultyGuard, StoreDown};
use crate::suite;

pub(crate) fn delivery(event: &str) -> Delivery {
    Delivery::new("orders", event)
}

pub(crate) fn one() -> Delivery {
    delivery("evt_1")
}

/// A guard whose clock moves only when told to.
fn with_clock() -> (MemoryGuard, impl Fn(Duration)) {
    let hand = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&hand);
    let guard = MemoryGuard::new().clock(move || Duration::from_millis(clock.load(Ordering::SeqCst)));
    (guard, move |by: Duration| {
        hand.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    })
}

pub(crate) async fn granted(guard: &dyn ReplayGuard, delivery: &Delivery) -> FencingToken {
    match guard.claim(delivery).await.unwrap() {
        Claim::Granted(fence) => fence,
        other => panic!("{other:?}"),
    }
}

async fn claim(guard: &MemoryGuard, delivery: &Delivery) -> Claim {
    guard.claim(delivery).await.unwrap()
}

async fn ran(guard: &MemoryGuard, delivery: &Delivery) {
    let outcome = once(guard, delivery, async |_| Ok::<_, Infallible>(())).await;
    assert!(matches!(outcome, Ok(Handled::Ran(()))), "{delivery:?}: {outcome:?}");
}

#[tokio::test]
async fn a_guard_in_memory_keeps_every_rule_of_a_guard() {
    let (guard, advance) = with_clock();
    let pass = async |time| advance(time);
    suite::check(&guard, &pass).await;
    suite::check_retention(&guard, RETRY_WINDOW, &pass).await;
    let shared: Arc<dyn ReplayGuard> = Arc::new(guard.lease(Duration::from_secs(5)));
    suite::check(&shared, &pass).await;
}

#[tokio::test]
async fn a_handled_event_is_not_handled_again() {
    let guard = MemoryGuard::new();
    ran(&guard, &one()).await;
    let again = once(&guard, &one(), async |_| panic!("ran twice") as Result<i32, Infallible>).await.unwrap();
    assert!(matches!(again, Handled::AlreadyDone));
    assert_eq!(again.status(), 200);
}

#[tokio::test]
async fn an_event_whose_handler_failed_is_handled_on_the_next_try() {
    let guard = MemoryGuard::new();
    let failed = once(&guard, &one(), async |_| Err::<(), _>("down")).await.unwrap_err();
    assert!(matches!(failed, HandleError::Handler("down")));
    assert_eq!((failed.status(), failed.to_string().as_str()), (500, "the handler of the event failed"));
    assert!(guard.is_empty());
    ran(&guard, &one()).await;
}

#[tokio::test]
async fn a_handler_dropped_half_way_gives_its_claim_back() {
    let guard = MemoryGuard::new();
    let delivery = one();
    {
        let mut handler = pin!(once(&guard, &delivery, |_| pending::<Result<(), Infallible>>()));
        assert!(handler.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(claim(&guard, &delivery).await, Claim::InProgress);
    }
    granted(&guard, &delivery).await;
}

#[test]
fn a_handled_event_is_remembered_for_as_long_as_the_service_repeats_it() {
    let pauses = [30, 2 * 60, 10 * 60, 30 * 60, 3600, 3 * 3600, 6 * 3600, 12 * 3600];
    assert!(Duration::from_secs(pauses.iter().map(|pause| pause * 6 / 5 + 10).sum()) < RETRY_WINDOW);
}

#[tokio::test]
async fn what_is_due_goes_a_few_at_a_time_and_goes_whole() {
    let (guard, advance) = with_clock();
    for n in 0..1000 {
        ran(&guard, &delivery(&format!("evt_{n}"))).await;
    }
    advance(RETRY_WINDOW);
    ran(&guard, &delivery("evt_0")).await;
    assert_eq!(guard.len(), 1, "what is due does not count, also before it is gone");
    assert!(!guard.forget(&delivery("evt_999")).await.unwrap(), "its time is over anyway");
}

#[tokio::test]
async fn a_claim_runs_out_although_many_came_and_went_behind_it() {
    let (guard, advance) = with_clock();
    granted(&guard, &one()).await;
    for _ in 0..1000 {
        let fence = granted(&guard, &delivery("evt_2")).await;
        assert_eq!(guard.release(&delivery("evt_2"), fence).await.unwrap(), ClaimStatus::Held);
    }
    assert_eq!(claim(&guard, &one()).await, Claim::InProgress);
    advance(LEASE);
    assert!(guard.is_empty());
    granted(&guard, &one()).await;
}

#[tokio::test]
async fn how_long_a_claim_and_the_memory_of_an_event_last_can_be_set() {
    let (guard, advance) = with_clock();
    let guard = guard.lease(Duration::from_secs(5)).retention(Duration::from_secs(90));
    assert_eq!(guard.lease_time(), Duration::from_secs(5));
    granted(&guard, &one()).await;
    advance(Duration::from_secs(4));
    assert_eq!(claim(&guard, &one()).await, Claim::InProgress);
    advance(Duration::from_secs(1));
    let fence = granted(&guard, &one()).await;
    assert_eq!(guard.commit(&one(), fence).await.unwrap(), ClaimStatus::Held);
    advance(Duration::from_secs(89));
    assert_eq!((claim(&guard, &one()).await, guard.is_empty()), (Claim::Done, false));
    advance(Duration::from_secs(1));
    assert!(guard.is_empty());
    let guard = guard.lease(Duration::MAX).retention(Duration::MAX);
    granted(&guard, &one()).await;
    advance(Duration::from_secs(365 * 24 * 3600));
    assert_eq!(claim(&guard, &one()).await, Claim::InProgress, "as long as anyone can ask");
}

#[tokio::test]
async fn a_handler_that_was_overtaken_is_told_and_leaves_no_mark() {
    let (guard, advance) = with_clock();
    let delivery = one();
    let slow = once(&guard, &delivery, async |claim| {
        advance(LEASE);
        let second = granted(&guard, &delivery).await;
        assert!(second > claim.fencing_token());
        Ok::<_, Infallible>(second)
    });
    let outcome = slow.await.unwrap();
    assert_eq!(outcome.status(), 409, "the service asks again, and hears from the other one");
    let Handled::Overtaken(second) = outcome else { panic!("{outcome:?}") };
    assert_eq!(claim(&guard, &delivery).await, Claim::InProgress);
    assert_eq!(guard.commit(&delivery, second).await.unwrap(), ClaimStatus::Held);
}

#[tokio::test]
async fn the_oldest_handled_event_goes_first_when_the_guard_is_full() {
    let guard = MemoryGuard::new().capacity(3);
    for event in ["evt_1", "evt_2", "evt_3", "evt_4"] {
        ran(&guard, &delivery(event)).await;
    }
    assert_eq!((guard.len(), guard.forgotten_early()), (3, 1));
    assert_eq!(claim(&guard, &delivery("evt_2")).await, Claim::Done);
    granted(&guard, &delivery("evt_1")).await;
    assert_eq!(guard.forgotten_early(), 2);
}

#[tokio::test]
async fn a_claim_in_progress_is_never_given_up_for_another() {
    let (guard, advance) = with_clock();
    let guard = guard.capacity(2);
    granted(&guard, &delivery("evt_1")).await;
    let second = granted(&guard, &delivery("evt_2")).await;
    let third = delivery("evt_3");
    let rejected = once(&guard, &third, async |_| Ok::<_, Infallible>(())).await.unwrap_err();
    assert_eq!(rejected.status(), 503);
    let HandleError::Guard(error) = rejected else { panic!("{rejected:?}") };
    assert_eq!(error.cause::<MemoryFull>(), Some(&MemoryFull));
    assert_eq!(guard.release(&delivery("evt_2"), second).await.unwrap(), ClaimStatus::Held);
    let third = granted(&guard, &third).await;
    assert_eq!(guard.len(), 2);
    // What ran out goes when nothing else is left.
    advance(LEASE);
    granted(&guard, &delivery("evt_4")).await;
    assert_eq!(guard.commit(&delivery("evt_3"), third).await.unwrap(), ClaimStatus::Held);
    assert_eq!((claim(&guard, &delivery("evt_3")).await, guard.forgotten_early()), (Claim::Done, 0));
}

/// The claim of a handler that blocks its thread is not renewed, and the handler is at work all the same.
#[tokio::test]
async fn a_full_guard_forgets_a_handled_event_before_the_claim_of_a_handler_at_work() {
    let (guard, advance) = with_clock();
    let guard = guard.capacity(2);
    let event = one();
    let slow = once(&guard, &event, async |_| {
        advance(LEASE);
        for event in ["evt_2", "evt_3", "evt_4"] {
            ran(&guard, &delivery(event)).await;
        }
        Ok::<_, Infallible>(())
    });
    let outcome = slow.await;
    assert!(matches!(outcome, Ok(Handled::Ran(()))), "{outcome:?}");
    let again = once(&guard, &event, async |_| panic!("ran twice") as Result<(), Infallible>).await;
    assert!(matches!(again, Ok(Handled::AlreadyDone)), "{again:?}");
    assert_eq!(guard.forgotten_early(), 2);
}

#[tokio::test]
async fn a_store_that_cannot_be_asked_keeps_the_handler_from_running() {
    let store = FaultyGuard::failing("claim", 1);
    let outcome = once(&store, &one(), async |_| panic!("ran") as Result<(), Infallible>).await.unwrap_err();
    assert_eq!(outcome.status(), 503, "the service tries again");
    let sentence = "the event was not handled: the replay guard's store failed: connection reset";
    assert_eq!(outcome.to_string(), sentence);
    let HandleError::Guard(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.cause::<StoreDown>(), Some(&StoreDown));
}

#[tokio::test]
async fn a_handled_event_counts_as_handled_although_the_store_cannot_note_it() {
    let store = FaultyGuard::failing("commit", 1);
    let outcome = once(&store, &one(), async |_| Ok::<_, Infallible>(7)).await.unwrap();
    assert_eq!(outcome.status(), 200);
    assert!(matches!(outcome, Handled::RanUnrecorded(7, _)));
    assert_eq!(store.calls(), ["claim", "commit"], "and it is not released");
}

#[test]
fn an_event_that_was_handled_is_not_given_back_while_the_store_is_slow() {
    let store = FaultyGuard { hanging_step: "commit", ..FaultyGuard::default() };
    {
        let delivery = one();
        let mut running = pin!(once(&store, &delivery, async |_| Ok::<_, Infallible>(())));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(store.calls(), ["claim", "commit"], "and it is not abandoned");
}

#[test]
fn a_failed_event_is_given_back_although_nobody_waits_for_the_store() {
    let store = FaultyGuard { hanging_step: "release", ..FaultyGuard::default() };
    {
        let delivery = one();
        let mut running = pin!(once(&store, &delivery, async |_| Err::<(), _>("handler")));
        assert!(running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(store.calls(), ["claim", "release", "abandon"]);
}

#[tokio::test]
async fn the_handlers_failure_is_told_and_so_is_that_of_the_release() {
    let store = FaultyGuard::failing("release", 1);
    let outcome = once(&store, &one(), async |_| Err::<(), _>("handler")).await.unwrap_err();
    assert_eq!(outcome.status(), 500);
    let sentence = "could not be given back: the replay guard's store failed: connection reset";
    assert!(outcome.to_string().ends_with(sentence), "{outcome}");
    let HandleError::HandlerUnreleased("handler", error) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.cause::<StoreDown>(), Some(&StoreDown));
}
