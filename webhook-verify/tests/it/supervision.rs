//! A handler is watched until its end has been noted: its claim is renewed, its commit repeated, its failure
//! told.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shared_inbox_webhooks::replay::{Claim, HandleError, Handled, Handlers, MemoryGuard, ReplayGuard};
use shared_inbox_webhooks::{Event, TraceContext, Verified};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::faulty_guard::{FaultyGuard, guard};
use crate::fixture::{BODY, ID, current, signed_by, verifier};
use crate::handlers::{Database, spawn_once, until_running};
use crate::replay::one;
use crate::trace::Trace;

#[tokio::test(start_paused = true)]
async fn a_commit_that_fails_is_repeated_until_the_store_has_answered() {
    for (lease, failures) in [(None, 1), (None, 8), (Some(Duration::MAX), 1)] {
        let mut store = FaultyGuard::failing("commit", failures);
        store.guard = lease.map_or_else(guard, |lease| guard().lease(lease));
        let handlers = Handlers::new(store);
        let outcome = handlers.once(one(), async |_| Ok::<_, Infallible>(7)).await.unwrap();
        // Whoever still listens hears of the success at once.
        assert!(matches!(outcome, Handled::RanUnrecorded(7, _)), "{outcome:?}");
        assert_eq!((outcome.status(), handlers.running()), (200, 1), "the commit is still under way");
        handlers.shutdown(Duration::from_secs(60)).await.unwrap();
        assert_eq!(handlers.guard().claim(&one()).await.unwrap(), Claim::Done);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_renewed_until_its_commit_has_been_answered() {
    let mut store = FaultyGuard::failing("commit", 1);
    store.guard = guard().lease(Duration::from_millis(400));
    store.commit_time = Duration::from_millis(1500);
    let handlers = Handlers::new(store);
    let trace = Trace::start();
    let first = spawn_once(&handlers, one(), async |_| Ok::<_, Infallible>(()));
    for _ in 0..30 {
        sleep(Duration::from_millis(100)).await;
        let second = handlers.once(one(), async |_| panic!("ran twice") as Result<(), Infallible>).await;
        assert!(matches!(second, Ok(Handled::InProgress)), "{second:?}");
    }
    assert!(matches!(first.await.unwrap(), Ok(Handled::RanUnrecorded(..))));
    handlers.shutdown(Duration::from_secs(60)).await.unwrap();
    assert_eq!(handlers.guard().claim(&one()).await.unwrap(), Claim::Done);
    let lines = trace.lines();
    let [line] = &lines[..] else { panic!("the failed commit and nothing else: {lines:?}") };
    assert!(line.contains("a step of a webhook's replay guard failed"), "{line}");
    assert!(line.contains("step=\"commit\"") && line.contains("connection reset"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_never_succeeds_is_given_up_in_the_end() {
    let handlers = Handlers::new(FaultyGuard::failing("commit", usize::MAX));
    let trace = Trace::start();
    let start = Instant::now();
    let outcome = handlers.once(one(), async |_| Ok::<_, Infallible>(())).await;
    assert!(matches!(outcome, Ok(Handled::RanUnrecorded(..))));
    handlers.shutdown(Duration::from_secs(3600)).await.unwrap();
    let taken = start.elapsed();
    assert!((Duration::from_secs(600)..Duration::from_secs(610)).contains(&taken), "{taken:?}");
    assert!(trace.lines().last().unwrap().contains("given up"), "{:?}", trace.lines());
}

/// The event of the fixture, verified.
fn event() -> Verified<Event> {
    let headers = signed_by(current(), BODY.as_bytes());
    verifier().verify(&headers, BODY.as_bytes()).unwrap().parse().unwrap()
}

/// The one line that tells of the failed run of that event.
fn only_failure(lines: &[String]) -> &str {
    let [line] = lines else { panic!("not one line: {lines:?}") };
    for part in ["ERROR", "endpoint=\"/\"", &format!("event={ID:?}"), "event_type=\"webhook.test\""] {
        assert!(line.contains(part), "{line} has no {part}");
    }
    line
}

#[tokio::test(start_paused = true)]
async fn every_run_that_fails_is_told_once_whoever_listens() {
    for listens in [true, false] {
        let handlers = Handlers::new(guard()).max_run_time(Duration::from_secs(10));
        type Ends = fn() -> Result<(), String>;
        let outcomes: [(&str, Ends); 2] = [
            ("error=database down", || Err("database down".to_owned())),
            ("error=it panicked: by mistake", || panic!("by mistake")),
        ];
        for (text, outcome) in outcomes {
            let trace = Trace::start();
            let (go_on, wait) = oneshot::channel::<()>();
            let request = spawn_once(&handlers, event().delivery("/"), async move |_| {
                wait.await.unwrap();
                outcome()
            });
            until_running(&handlers, 1).await;
            if !listens {
                request.abort();
            }
            go_on.send(()).unwrap();
            until_running(&handlers, 0).await;
            assert!(only_failure(&trace.lines()).contains(text), "{:?}", trace.lines());
        }
    }
}

/// Counts the handlers that were dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_ended_and_its_event_is_tried_again() {
    for (handlers, limit) in [
        (Handlers::new(guard()), Duration::from_secs(3600)),
        (Handlers::new(guard()).max_run_time(Duration::from_secs(300)), Duration::from_secs(300)),
    ] {
        let (start, dropped, trace) = (Instant::now(), Arc::<AtomicUsize>::default(), Trace::start());
        let own = Dropped(Arc::clone(&dropped));
        let endless = handlers.once(event().delivery("/"), async move |_| {
            let _own = own;
            std::future::pending::<Result<(), Infallible>>().await
        });
        let error = endless.await.unwrap_err();
        assert!(matches!(error, HandleError::TimedOut(time) if time == limit), "{error:?}");
        assert_eq!((error.status(), start.elapsed(), dropped.load(Ordering::SeqCst)), (500, limit, 1));
        assert!(only_failure(&trace.lines()).contains("error=it was cancelled after"), "{:?}", trace.lines());
        let again = handlers.once(event().delivery("/"), async |_| Ok::<_, Infallible>(())).await;
        assert!(matches!(again, Ok(Handled::Ran(()))), "{again:?}");
    }
    let database = Database::default();
    let handlers = Handlers::new(database.clone()).max_run_time(Duration::from_secs(300));
    let endless = handlers.once_in_transaction(one(), |transaction| {
        transaction.tables.effects += 1;
        Box::pin(std::future::pending::<Result<(), Infallible>>())
    });
    assert!(matches!(endless.await, Err(HandleError::TimedOut(_))));
    assert_eq!(database.seen().await, (0, 0), "its transaction is undone");
}

/// Also after an await: the thread that runs a handler then is the one that watched the runtime's timers
/// until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_keeps_its_claim() {
    for awaits in [false, true] {
        let store = FaultyGuard::new(MemoryGuard::new().lease(Duration::from_millis(60)));
        let store = Arc::new(store);
        let handlers = Handlers::new(Arc::clone(&store));
        let outcome = handlers.once(one(), async move |_| {
            if awaits {
                sleep(Duration::from_millis(5)).await;
            }
            let begun = std::time::Instant::now();
            while store.renewals() < 3 {
                std::thread::sleep(Duration::from_millis(1));
                assert!(begun.elapsed() < Duration::from_secs(60), "nothing renews the claim");
            }
            Ok::<_, Infallible>(())
        });
        let outcome = outcome.await;
        assert!(matches!(outcome, Ok(Handled::Ran(()))), "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_panics_is_a_store_that_fails_and_not_a_program_that_is_shutting_down() {
    let run = async |step, handler: Result<u8, &'static str>| {
        let handlers = Handlers::new(FaultyGuard { panicking_step: step, ..FaultyGuard::new(guard()) });
        let outcome = handlers.once(one(), async move |claim| {
            sleep(Duration::from_secs(90)).await;
            assert!(!claim.is_lost());
            handler
        });
        let outcome = outcome.await;
        handlers.shutdown(Duration::from_secs(3600)).await.unwrap();
        outcome
    };
    let outcome = run("claim", Ok(7)).await;
    assert!(matches!(&outcome, Err(HandleError::Guard(_))), "{outcome:?}");
    assert!(outcome.unwrap_err().to_string().contains("panicked"));
    let outcome = run("renew", Ok(7)).await;
    assert!(matches!(&outcome, Ok(Handled::Ran(7))), "{outcome:?}");
    let outcome = run("commit", Ok(7)).await;
    assert!(matches!(&outcome, Ok(Handled::RanUnrecorded(7, _))), "{outcome:?}");
    let outcome = run("release", Err("no")).await;
    assert!(matches!(&outcome, Err(HandleError::HandlerUnreleased("no", _))), "{outcome:?}");
}

#[tokio::test]
async fn a_handler_and_what_is_said_of_it_stand_in_the_span_of_the_request() {
    let trace = Trace::start();
    let log = || tracing::info!(target: "shared_inbox_webhooks::tests", "in the handler");
    let handlers = Handlers::new(guard());
    let failed = handlers.once(one(), async move |_| {
        log();
        Err::<(), _>("database down")
    });
    failed.instrument(tracing::info_span!("request", request_id = 1)).await.unwrap_err();
    let handlers = Handlers::new(Database::default());
    let failed = handlers.once_in_transaction(one(), move |_| {
        Box::pin(async move {
            log();
            Err::<(), _>("database down")
        })
    });
    failed.instrument(tracing::info_span!("request", request_id = 2)).await.unwrap_err();
    let lines = trace.lines();
    let spans = ["request_id=1", "request_id=1", "request_id=2", "request_id=2"];
    assert!(lines.len() == 4 && lines.iter().zip(spans).all(|(line, span)| line.contains(span)), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_renewed_late_because_a_thread_was_blocked_is_told() {
    let handlers = Handlers::new(guard());
    let trace = Trace::start();
    let outcome = handlers.once(event().delivery("/"), async |_| {
        // As long as this takes, nothing else runs on a runtime of one thread; the hands of its clock move
        // all the same.
        tokio::time::advance(Duration::from_secs(59)).await;
        Ok::<_, Infallible>(())
    });
    assert!(matches!(outcome.await, Ok(Handled::Ran(()))));
    let lines = trace.lines();
    assert!(matches!(&lines[..], [line] if line.contains("late") && line.contains("block")), "{lines:?}");
}

#[tokio::test]
async fn the_span_of_a_handler_names_the_endpoint_and_the_trace_of_the_request_and_no_text_of_the_event() {
    let trace = Trace::start();
    let handlers = Handlers::new(guard());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let delivery = event().delivery("whk_1").with_trace_context(TraceContext::parse(parent).unwrap());
    handlers.once(delivery, async |_| Err::<(), _>("database down")).await.unwrap_err();
    let lines = trace.lines();
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    let span = format!(
        "webhook{{endpoint=\"whk_1\" event={ID:?} event_type=\"webhook.test\" \
         trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\" parent_span_id=\"00f067aa0ba902b7\"}}"
    );
    assert!(line.contains(&span) && !line.contains("A test"), "{line}");
}
