//! Supervises a handler: renews its claim until its end has been recorded, and logs its failure.
//!
//! The handler runs in a task of its own and is supervised by another, so that a handler that blocks its thread does not block
//! the renewal.

use std::convert::Infallible;
use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::task_tracker::TaskTrackerToken;

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
            failed(delivery, &format_args!("it panicked: {}", panic_text(error)));
            Err(HandleError::Panicked)
        }
        Err(_) => Err(HandleError::ShuttingDown),
    }
}

fn panic_text(error: JoinError) -> String {
    let payload = error.into_panic();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text").to_owned()
}

/// A claim that is renewed while something else is waited for.
pub(super) struct Held<G> {
    guard: Arc<G>,
    delivery: Delivery,
    claim: ClaimGuard,
    renewal: Pin<Box<dyn Future<Output = Infallible> + Send>>,
}

impl<G: ReplayGuard + 'static> Held<G> {
    pub(super) fn new(guard: Arc<G>, delivery: Delivery, claim: ClaimGuard) -> Self {
        let renewal = Box::pin(renew(Arc::clone(&guard), delivery.clone(), claim.clone()));
        Self { guard, delivery, claim, renewal }
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
                tokio::spawn(async move {
                    let _counted = counted;
                    self.commit_later().await;
                });
                Handled::RanUnrecorded(value, error)
            }
        }
    }

    async fn try_commit(&mut self) -> Result<ClaimStatus, GuardError> {
        let (guard, delivery) = (Arc::clone(&self.guard), self.delivery.clone());
        let fence = self.claim.fencing_token();
        let committed = self.renewed_during(guard.commit(&delivery, fence)).await;
        match &committed {
            Ok(ClaimStatus::Held) => {}
            Ok(ClaimStatus::Lost) => warn(&delivery, "commit", &"the claim had gone to another try"),
            Err(error) => warn(&delivery, "commit", error),
        }
        committed
    }

    /// Repeats the commit until the store has responded.
    async fn commit_later(mut self) {
        let last = Instant::now() + self.guard.lease_time().saturating_mul(COMMIT_LEASES);
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
            &"given up: when its claim runs out, the event is handled again if it comes again",
        );
    }

    /// Releases the claim, so that the next attempt is handled.
    pub(super) async fn release<E>(self, failure: HandleError<E>) -> HandleError<E> {
        let Self { guard, delivery, claim, renewal } = self;
        drop(renewal);
        match (guard.release(&delivery, claim.fencing_token()).await, failure) {
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
async fn renew<G: ReplayGuard>(guard: Arc<G>, delivery: Delivery, claim: ClaimGuard) -> Infallible {
    let lease = guard.lease_time().max(Duration::from_millis(12));
    let mut pause = lease / 3;
    loop {
        let due = Instant::now() + pause;
        sleep(pause).await;
        let late = due.elapsed();
        if late > lease / 3 {
            let error = format!("{late:?} late: do handlers block the threads of their runtime?");
            warn(&delivery, "renew", &error);
        }
        match guard.renew(&delivery, claim.fencing_token()).await {
            Ok(ClaimStatus::Held) => pause = lease / 3,
            Ok(ClaimStatus::Lost) => {
                // A commit in flight may have been first, and reports the claim itself.
                if !claim.is_settled() {
                    claim.lose();
                    warn(&delivery, "renew", &"the claim has gone to another try");
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

/// Logs a step that the store could not do.
pub(super) fn warn(delivery: &Delivery, step: &'static str, error: &dyn fmt::Display) {
    let (endpoint, event, event_type) = (delivery.endpoint(), delivery.event(), delivery.event_type());
    tracing::warn!(endpoint, event, event_type, step, %error, "a webhook's claim");
}
