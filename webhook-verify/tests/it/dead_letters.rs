//! An event whose handler always fails is counted, kept, answered as set, and run again when somebody asks
//! for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shared_inbox_webhooks::replay::{
    Claim, DeadLetter, DeadLetterGuard, Delivery, HandleError, Handled, Handlers, MemoryGuard, OnExhausted,
    ReplayGuard,
};
use shared_inbox_webhooks::{Event, EventKind};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::faulty_guard::{FaultyGuard, guard};
use crate::fixture::{BODY, ID};
use crate::handlers::{spawn_once, until_running};
use crate::trace::Trace;

fn delivery() -> Delivery {
    Delivery::new("/", ID).with_event_type("webhook.test").with_body(BODY.as_bytes())
}

type Outcome = Result<Handled<()>, HandleError<&'static str>>;

async fn fail<G: ReplayGuard + 'static>(handlers: &Handlers<G>) -> Outcome {
    handlers.once(delivery(), async |_| Err::<(), _>("database down")).await
}

async fn letters<G: DeadLetterGuard + 'static>(handlers: &Handlers<G>) -> Vec<DeadLetter> {
    handlers.dead_letters(10).await.unwrap()
}

#[tokio::test]
async fn after_the_last_attempt_that_is_allowed_an_event_is_a_dead_letter_and_answered_as_set() {
    for (on_exhausted, status) in [(OnExhausted::Acknowledge, 200), (OnExhausted::Fail, 500)] {
        let handlers = Handlers::new(MemoryGuard::new()).max_attempts(3).on_exhausted(on_exhausted);
        for run in 1..=2 {
            assert!(matches!(fail(&handlers).await, Err(HandleError::Handler("database down"))), "run {run}");
            assert!(letters(&handlers).await.is_empty(), "run {run}");
        }
        let trace = Trace::start();
        let third = fail(&handlers).await;
        match on_exhausted {
            OnExhausted::Acknowledge => assert!(matches!(third, Ok(Handled::DeadLettered)), "{third:?}"),
            _ => assert!(matches!(third, Err(HandleError::Handler("database down"))), "{third:?}"),
        }
        let lines = trace.lines();
        let last = lines.last().unwrap();
        assert!(last.contains("is a dead letter") && last.contains("attempts=3"), "{lines:?}");
        let later = handlers.once(delivery(), async |_| panic!("it ran") as Result<(), Infallible>).await;
        assert_eq!(later.map_or_else(|error| error.status(), |handled| handled.status()), status);
        let [letter] = &letters(&handlers).await[..] else { panic!("one dead letter") };
        assert_eq!((letter.attempts(), letter.error(), letter.body()), (3, "database down", BODY.as_bytes()));
        assert_eq!((letter.delivery(), letter.delivery().event_type()), (&delivery(), Some("webhook.test")));
        let event: Event = letter.parse().unwrap();
        assert!(matches!(event.kind, EventKind::WebhookTest(_)));
        assert!(!format!("{letter:?}").contains("database"), "{letter:?}");
        assert!(
            handlers.discard(&delivery()).await.unwrap() && !handlers.discard(&delivery()).await.unwrap()
        );
        assert!(matches!(fail(&handlers).await, Ok(Handled::AlreadyDone)));
    }
}

#[tokio::test]
async fn without_a_limit_an_event_fails_for_as_long_as_it_comes() {
    let handlers = Handlers::new(MemoryGuard::new());
    for _ in 0..20 {
        assert_eq!(fail(&handlers).await.unwrap_err().status(), 500);
    }
    assert!(letters(&handlers).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_run_that_takes_too_long_count_and_a_success_ends_the_count() {
    let handlers = Handlers::new(guard()).max_attempts(3).max_run_time(Duration::from_secs(10));
    assert_eq!(fail(&handlers).await.unwrap_err().status(), 500);
    let panicked = handlers.once(delivery(), async |_| panic!("by mistake") as Result<(), Infallible>).await;
    assert!(matches!(panicked, Err(HandleError::Panicked)), "{panicked:?}");
    let endless = handlers.once(delivery(), async |_| std::future::pending::<Result<(), Infallible>>().await);
    assert!(matches!(endless.await, Ok(Handled::DeadLettered)));
    assert!(letters(&handlers).await[0].error().contains("cancelled after 10s"));
    // Another event, which succeeds at its last attempt.
    let other = || Delivery::new("/", "evt_other");
    for _ in 0..2 {
        handlers.once(other(), async |_| Err::<(), _>("not yet")).await.unwrap_err();
    }
    let third = handlers.once(other(), async |_| Ok::<_, Infallible>(())).await;
    assert!(matches!(third, Ok(Handled::Ran(()))), "{third:?}");
    assert_eq!(letters(&handlers).await.len(), 1);
}

/// An event that kills its process is run no more often than one that fails.
#[tokio::test(start_paused = true)]
async fn a_run_whose_process_died_counts() {
    let guard = Arc::new(guard());
    let handlers = Handlers::new(Arc::clone(&guard)).max_attempts(2);
    for _ in 0..2 {
        let claim = guard.claim_run(&delivery()).await.unwrap();
        assert!(matches!(claim.claim, Claim::Granted(_)), "{claim:?}");
        sleep(Duration::from_secs(61)).await;
    }
    let third = handlers.once(delivery(), async |_| panic!("it ran") as Result<(), Infallible>).await;
    assert!(matches!(third, Ok(Handled::DeadLettered)), "{third:?}");
    let [letter] = &letters(&handlers).await[..] else { panic!("one dead letter") };
    assert!(letter.attempts() == 2 && letter.error().contains("never ended"), "{}", letter.error());
    assert_eq!(letter.body(), BODY.as_bytes());
}

#[tokio::test]
async fn a_retry_runs_once_and_what_it_comes_to_is_kept() {
    let handlers = Handlers::new(MemoryGuard::new()).max_attempts(1);
    assert!(matches!(fail(&handlers).await, Ok(Handled::DeadLettered)));
    let failed = handlers.retry(&delivery(), async |_, _| Err::<(), _>("still down")).await;
    assert!(matches!(failed, Err(HandleError::Handler("still down"))), "{failed:?}");
    let [letter] = &letters(&handlers).await[..] else { panic!("it is still there") };
    assert_eq!((letter.attempts(), letter.error(), letter.body()), (2, "still down", BODY.as_bytes()));

    let (go_on, wait) = oneshot::channel::<()>();
    let first = tokio::spawn({
        let handlers = handlers.clone();
        async move {
            handlers
                .retry(&delivery(), async move |letter, _claim| {
                    wait.await.unwrap();
                    letter.parse::<Event>().map(|event| event.id.as_str().to_owned())
                })
                .await
        }
    });
    until_running(&handlers, 1).await;
    tokio::task::yield_now().await;
    let second =
        handlers.retry(&delivery(), async |_, _| panic!("side by side") as Result<(), Infallible>).await;
    assert!(matches!(second, Err(HandleError::NoDeadLetter)), "{second:?}");
    let attempt = handlers.once(delivery(), async |_| panic!("side by side") as Result<(), Infallible>).await;
    assert!(matches!(attempt, Ok(Handled::InProgress)), "{attempt:?}");
    go_on.send(()).unwrap();
    assert!(matches!(first.await.unwrap(), Ok(Handled::Ran(id)) if id == ID));
    assert!(letters(&handlers).await.is_empty());
    let again = handlers.once(delivery(), async |_| panic!("ran twice") as Result<(), Infallible>).await;
    assert!(matches!(again, Ok(Handled::AlreadyDone)), "{again:?}");
    let gone = handlers.retry(&delivery(), async |_, _| panic!("ran twice") as Result<(), Infallible>).await;
    assert_eq!(gone.unwrap_err().status(), 404);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_keep_a_dead_letter_is_asked_again_and_the_attempt_fails() {
    let handlers = Handlers::new(FaultyGuard::failing("bury", 3)).max_attempts(1);
    let failed = fail(&handlers).await;
    assert!(matches!(failed, Err(HandleError::Handler(_))), "{failed:?}");
    let meanwhile = fail(&handlers).await;
    assert!(matches!(meanwhile, Ok(Handled::InProgress)), "it is not kept yet: {meanwhile:?}");
    handlers.shutdown(Duration::from_secs(60)).await.unwrap();
    assert_eq!(letters(&handlers).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_guard_in_memory_keeps_every_rule_of_dead_letters_and_no_more_of_them_than_its_capacity() {
    let guard = guard();
    let pass = async |time| sleep(time).await;
    crate::suite::check_dead_letters(&guard, &pass).await;
    let handlers = Handlers::new(MemoryGuard::new().capacity(2)).max_attempts(1);
    for (event, is_kept) in [("evt_1", true), ("evt_2", true), ("evt_3", false)] {
        let spawned = spawn_once(&handlers, Delivery::new("/", event), async |_| Err::<(), _>("down"));
        assert_eq!(matches!(spawned.await.unwrap(), Ok(Handled::DeadLettered)), is_kept, "{event}");
    }
    assert_eq!(letters(&handlers).await.len(), 2);
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn attempts_of_two_programs_are_counted_together() {
    let guard = Arc::new(MemoryGuard::new());
    let programs = [(); 2].map(|()| Handlers::new(Arc::clone(&guard)).max_attempts(4));
    for turn in 0..6 {
        _ = programs[turn % 2]
            .once(delivery(), async |_| {
                RUNS.fetch_add(1, Ordering::SeqCst);
                Err::<(), _>("down")
            })
            .await;
    }
    assert_eq!((RUNS.load(Ordering::SeqCst), letters(&programs[0]).await[0].attempts()), (4, 4));
}
