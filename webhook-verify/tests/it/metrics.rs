//! What is counted with the feature `metrics`, read by a recorder as a program would install one.

use std::sync::Arc;
use std::time::Duration;

use metrics_util::debugging::DebuggingRecorder;
use shared_inbox_tests::counted;
use shared_inbox_webhooks::replay::{
    Claim, Delivery, GuardFuture, HandleError, Handled, Handlers, Mark, OnExhausted, ReplayGuard,
    TransactionalInbox,
};
use shared_inbox_webhooks::{Event, testing};
use tokio::time::sleep;

use crate::faulty_guard::guard;
use crate::fixture::{BODY, builder, current};
use crate::replay::one;

#[tokio::test]
async fn a_genuine_request_counts_as_verified_also_when_it_is_rejected() {
    let recorder = DebuggingRecorder::new();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let receiver = builder().require_live().build();
    let event: Event = serde_json::from_str(BODY).unwrap();
    let request = testing::signed_at(
        &current(),
        &event,
        std::time::UNIX_EPOCH + Duration::from_secs(crate::fixture::NOW),
    );
    for tampered in [false, true] {
        let mut request = request.to_http::<http_body_util::Full<bytes::Bytes>>("/");
        if tampered {
            *request.body_mut() = "{}".into();
        }
        receiver.receive::<Event, _>(request).await.unwrap_err();
    }
    let counts = [
        ("shared_inbox_webhooks_received_total endpoint=", 2),
        ("shared_inbox_webhooks_verified_total endpoint=", 1),
        ("shared_inbox_webhooks_rejected_total code=signature_mismatch endpoint=", 1),
        ("shared_inbox_webhooks_rejected_total code=wrong_mode endpoint=", 1),
    ];
    assert_eq!(counted(&recorder), counts.map(|(name, count)| (name.to_owned(), count)).into());
}

#[tokio::test]
async fn runs_failures_dead_letters_and_repeats_are_counted() {
    let recorder = DebuggingRecorder::new();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let handlers = Handlers::new(guard()).max_attempts(2);
    let event = one().with_event_type("webhook.test");
    for _ in 0..3 {
        _ = handlers.once(event.clone(), async |_| Err::<(), _>("database down")).await;
    }
    let retried = handlers.retry(&event, async |_, _| Ok::<_, String>(()));
    assert!(matches!(retried.await, Ok(Handled::Ran(()))));
    let again = handlers.once(event.clone(), async |_| Ok::<_, String>(())).await;
    assert!(matches!(again, Ok(Handled::AlreadyDone)), "{again:?}");
    let counts = [
        ("dead_letters_total endpoint=orders", 1),
        ("duplicates_total endpoint=orders", 2),
        ("handler_failures_total endpoint=orders reason=error", 2),
        ("handler_seconds endpoint=orders event_type=webhook.test", 3),
    ];
    let counts = counts.map(|(name, count)| (format!("shared_inbox_webhooks_{name}"), count));
    assert_eq!(counted(&recorder), counts.into());
}

/// A renewal may notice it, the commit, or the release of a handler that failed.
#[tokio::test(start_paused = true)]
async fn a_claim_that_another_attempt_took_is_counted_once_whatever_notices_it() {
    for (run_time, succeeds) in [(0, true), (0, false), (90, true), (90, false)] {
        let recorder = DebuggingRecorder::new();
        let _recording = metrics::set_default_local_recorder(&recorder);
        let guard = Arc::new(guard());
        let handlers = Handlers::new(Arc::clone(&guard));
        let handled = handlers.once(one(), async move |claim| {
            guard.abandon(&one(), claim.fencing_token());
            assert!(matches!(guard.claim(&one()).await, Ok(Claim::Granted(_))));
            sleep(Duration::from_secs(run_time)).await;
            if succeeds { Ok(()) } else { Err("database down") }
        });
        assert_eq!(matches!(handled.await, Ok(Handled::Overtaken(()))), succeeds);
        let counted = counted(&recorder);
        let lost = counted.get("shared_inbox_webhooks_claims_lost_total endpoint=orders");
        assert_eq!(lost, Some(&1), "after {run_time} seconds, {succeeds}: {counted:?}");
    }
}

/// An inbox in which every event is a dead letter.
struct DeadInbox;

impl TransactionalInbox for DeadInbox {
    type Transaction = ();

    fn begin(&self) -> GuardFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn mark<'a>(&'a self, (): &'a mut (), _: &'a Delivery) -> GuardFuture<'a, Mark> {
        Box::pin(async { Ok(Mark::DeadLettered) })
    }

    fn commit(&self, (): ()) -> GuardFuture<'_, ()> {
        unreachable!("nothing was handled")
    }
}

#[tokio::test]
async fn a_dead_letter_that_comes_again_is_a_duplicate_in_a_transaction_too() {
    for on_exhausted in [OnExhausted::Acknowledge, OnExhausted::Fail] {
        let recorder = DebuggingRecorder::new();
        let _recording = metrics::set_default_local_recorder(&recorder);
        let handlers = Handlers::new(DeadInbox).on_exhausted(on_exhausted);
        let handled = handlers.once_in_transaction(one(), |()| Box::pin(async { Ok::<_, String>(()) })).await;
        match on_exhausted {
            OnExhausted::Acknowledge => assert!(matches!(handled, Ok(Handled::DeadLettered)), "{handled:?}"),
            _ => assert!(matches!(handled, Err(HandleError::DeadLettered)), "{handled:?}"),
        }
        assert_eq!(
            counted(&recorder).get("shared_inbox_webhooks_duplicates_total endpoint=orders"),
            Some(&1)
        );
    }
}
