//! Supervises a handler: renews its claim until its end has been recorded, and logs its failure.
//!
//! The handler runs in a task of its own and is supervised by another, so that a handler that blocks its thread does not block
//! the renewal.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument;

use super::RETRY_WINDOW;
use super::guard::{ClaimStatus, Delivery, GuardError, ReplayGuard};
use super::run::{ClaimGuard, HandleError, Handled};

/// The first and the longest pause between attempts to commit.
const COMMIT_BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// How many leases long a commit is repeated.
const COMMIT_LEASES: u32 = 10;

/// Waits for a handler's end, for `limit` at most, and logs its failure.
pub(super) async fn end<T, E: fmt::Display>(
    mut task: JoinHandle<Result<T, E>>,
    delivery: &Delivery,
    limit: Duration,
) -> Result<T, HandleError<E>> {
    let joined = match timeout(limit, &mut task).await {
        Ok(joined) => joined,
        Err(_) => {
            task.abort();
            match task.await {
                Err(error) if error.is_cancelled() => {
                    failed(delivery, &format_args!("it was cancelled after {limit:?}"));
                    return Err(HandleError::TimedOut(limit));
                }
                ended => ended,
            }
        }
    };
    match joined {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            failed(delivery, &format_args!("{error:#}"));
            Err(HandleError::Handler(error))
        }
        Err(error) if error.is_panic() => {
            failed(delivery, &format_args!("it panicked: {}", panic_text(&*error.into_panic())));
            Err(HandleError::Panicked)
        }
        Err(_) => Err(HandleError::ShuttingDown),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}

/// Runs a step of a guard. One that panics has failed, like one whose store is unavailable: the handler may have run.
pub(super) async fn step<T>(step: impl Future<Output = Result<T, GuardError>>) -> Result<T, GuardError> {
    let outcome = AssertUnwindSafe(step).catch_unwind().await;
    outcome
        .unwrap_or_else(|panic| Err(GuardError::new(format!("the guard panicked: {}", panic_text(&*panic)))))
}

/// A claim that is renewed while something else is waited for.
pub(super) struct Held<G> {
    guard: Arc<G>,
    delivery: Delivery,
    claim: ClaimGuard,
    lease: Duration,
    renewal: Pin<Box<dyn Future<Output = Infallible> + Send>>,
}

impl<G: ReplayGuard + 'static> Held<G> {
    pub(super) fn new(guard: Arc<G>, delivery: Delivery, claim: ClaimGuard, lease: Duration) -> Self {
        // A longer one outlasts the event's last attempt, and could not be added to a time.
        let lease = lease.clamp(Duration::from_millis(12), RETRY_WINDOW);
        let renewal = Box::pin(renew(Arc::clone(&guard), delivery.clone(), claim.clone(), lease));
        Self { guard, delivery, claim, lease, renewal }
    }

    /// Waits for `work` and renews the claim meanwhile.
    pub(super) async fn renewed_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(ended) = work.as_mut().poll(context) {
                return Poll::Ready(ended);
            }
            // Never ends.
            let _: Poll<Infallible> = self.renewal.as_mut().poll(context);
            Poll::Pending
        })
        .await
    }

    /// Records that the event has been handled. If the store cannot do it at once, it is repeated in the background, in a task
    /// that `counted` counts, so that the response is not delayed.
    pub(super) async fn commit<T>(mut self, value: T, counted: TaskTrackerToken) -> Handled<T> {
        self.claim.settle();
        match self.try_commit().await {
            Ok(ClaimStatus::Held) => Handled::Ran(value),
            Ok(ClaimStatus::Lost) => Handled::Overtaken(value),
            Err(error) => {
                let later = async move {
                    let _counted = counted;
                    self.commit_later().await;
                };
                tokio::spawn(later.in_current_span());
                Handled::RanUnrecorded(value, error)
            }
        }
    }

    async fn try_commit(&mut self) -> Result<ClaimStatus, GuardError> {
        let (guard, delivery) = (Arc::clone(&self.guard), self.delivery.clone());
        let fence = self.claim.fencing_token();
        let commit = step(async { guard.commit(&delivery, fence).await });
        let committed = self.renewed_during(commit).await;
        match &committed {
            Ok(ClaimStatus::Held) => {}
            Ok(ClaimStatus::Lost) => warn(&delivery, "commit", &"another attempt has taken the claim"),
            Err(error) => warn(&delivery, "commit", error),
        }
        committed
    }

    /// Repeats the commit until the store has responded.
    async fn commit_later(mut self) {
        let last = Instant::now() + self.lease * COMMIT_LEASES;
        let [mut pause, longest] = COMMIT_BACKOFF;
        while Instant::now() < last {
            self.renewed_during(sleep(pause)).await;
            if self.try_commit().await.is_ok() {
                return;
            }
            pause = longest.min(pause * 2);
        }
        warn(
            &self.delivery,
            "commit",
            &"given up: once the claim has expired, the event's next attempt is handled again",
        );
    }

    /// Releases the claim, so that the next attempt is handled.
    pub(super) async fn release<E>(self, failure: HandleError<E>) -> HandleError<E> {
        let Self { guard, delivery, claim, renewal, .. } = self;
        drop(renewal);
        let released = step(async { guard.release(&delivery, claim.fencing_token()).await }).await;
        match (released, failure) {
            (Ok(ClaimStatus::Held | ClaimStatus::Lost), failure) => failure,
            (Err(error), failure) => {
                warn(&delivery, "release", &error);
                match failure {
                    HandleError::Handler(failure) => HandleError::HandlerUnreleased(failure, error),
                    other => other,
                }
            }
        }
    }
}

/// Renews a claim three times in a lease, and more often when the store fails.
async fn renew<G: ReplayGuard>(
    guard: Arc<G>,
    delivery: Delivery,
    claim: ClaimGuard,
    lease: Duration,
) -> Infallible {
    let mut pause = lease / 3;
    loop {
        let due = Instant::now() + pause;
        sleep(pause).await;
        let late = due.elapsed();
        if late > lease / 3 {
            let (endpoint, event, event_type) =
                (delivery.endpoint(), delivery.event(), delivery.event_type());
            tracing::warn!(
                endpoint,
                event,
                event_type,
                ?late,
                "a webhook's claim is renewed late: do handlers block all threads of their runtime?"
            );
        }
        match step(async { guard.renew(&delivery, claim.fencing_token()).await }).await {
            Ok(ClaimStatus::Held) => pause = lease / 3,
            Ok(ClaimStatus::Lost) => {
                // A commit in flight may have been first, and reports the claim itself.
                if !claim.is_settled() {
                    claim.lose();
                    warn(&delivery, "renew", &"another attempt has taken the claim");
                }
                return pending().await;
            }
            Err(error) => {
                warn(&delivery, "renew", &error);
                pause = lease / 12;
            }
        }
    }
}

/// Logs the failure of a handler.
fn failed(delivery: &Delivery, error: &dyn fmt::Display) {
    let (endpoint, event, event_type) = (delivery.endpoint(), delivery.event(), delivery.event_type());
    tracing::error!(endpoint, event, event_type, %error, "a webhook's handler failed");
}

/// Logs a step of the guard that failed.
pub(super) fn warn(delivery: &Delivery, step: &'static str, error: &dyn fmt::Display) {
    let (endpoint, event, event_type) = (delivery.endpoint(), delivery.event(), delivery.event_type());
    tracing::warn!(endpoint, event, event_type, step, %error, "a step of a webhook's replay guard failed");
}
