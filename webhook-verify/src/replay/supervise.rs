//! Supervises a handler: renews its claim until its end has been recorded, and logs its failure.
//!
//! The handler runs in a task of its own and is supervised by another, so that a handler that blocks its
//! thread does not block the renewal.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use super::RETRY_WINDOW;
use super::dead_letter::{DeadLetter, DeadLetterGuard};
use super::guard::{ClaimStatus, Delivery, GuardError, ReplayGuard};
use super::run::{ClaimHandle, HandleError, Handled};
use crate::meter;

/// Logs with the endpoint, the event and its type, as the span of a handler has them: a subscriber may filter
/// that out.
macro_rules! log {
    ($level:ident, $delivery:expr, $($rest:tt)*) => {{
        let (endpoint, event, event_type) = ($delivery.endpoint(), $delivery.event(), $delivery.event_type());
        tracing::event!(tracing::Level::$level, endpoint, event, event_type, $($rest)*)
    }};
}

/// The first and the longest pause between attempts to record an end.
const COMMIT_BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// For how many leases that is repeated.
const COMMIT_LEASES: u32 = 10;

/// Why a run failed.
pub(super) struct Failure<E> {
    pub(super) error: HandleError<E>,
    /// What the handler failed with; nothing when it is the program that ends.
    pub(super) text: Option<String>,
}

/// Runs a handler in a task of its own, for `limit` at most. Measures the run, and logs its failure.
pub(super) async fn run_task<T: Send + 'static, E: fmt::Display + Send + 'static>(
    handler: impl Future<Output = Result<T, E>> + Send + 'static,
    delivery: &Delivery,
    limit: Duration,
) -> Result<T, Failure<E>> {
    let start = Instant::now();
    let mut task = tokio::spawn(handler.in_current_span());
    let joined = match timeout(limit, &mut task).await {
        Ok(joined) => Some(joined),
        Err(_) => {
            task.abort();
            Some(task.await).filter(|ended| !ended.as_ref().is_err_and(JoinError::is_cancelled))
        }
    };
    meter::handled(Some(delivery.endpoint()), delivery.event_type().unwrap_or_default(), start.elapsed());
    let (error, reason, text) = match joined {
        Some(Ok(Ok(value))) => return Ok(value),
        Some(Ok(Err(error))) => {
            let text = format!("{error:#}");
            (HandleError::Handler(error), "error", text)
        }
        Some(Err(ended)) => match ended.try_into_panic() {
            Ok(panic) => (HandleError::Panicked, "panic", format!("it panicked: {}", panic_text(&*panic))),
            Err(_) => return Err(Failure { error: HandleError::ShuttingDown, text: None }),
        },
        None => (HandleError::TimedOut(limit), "timeout", format!("it was cancelled after {limit:?}")),
    };
    meter::failed(Some(delivery.endpoint()), reason);
    log!(ERROR, delivery, error = %text, "a webhook's handler failed");
    Err(Failure { error, text: Some(text) })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}

/// Runs a step of a guard. One that panics has failed, like one whose store is unavailable: the handler may
/// have run.
pub(super) async fn catch_panic<T>(
    step: impl Future<Output = Result<T, GuardError>>,
) -> Result<T, GuardError> {
    let outcome = AssertUnwindSafe(step).catch_unwind().await;
    outcome
        .unwrap_or_else(|panic| Err(GuardError::new(format!("the guard panicked: {}", panic_text(&*panic)))))
}

/// Runs a step of a guard, and logs its failure.
pub(super) async fn step<T>(
    delivery: &Delivery,
    name: &'static str,
    step: impl Future<Output = Result<T, GuardError>>,
) -> Result<T, GuardError> {
    catch_panic(step).await.inspect_err(|error| warn(delivery, name, error))
}

/// A claim that is renewed while something else is waited for.
pub(super) struct RenewingClaim<G> {
    guard: Arc<G>,
    tasks: TaskTracker,
    delivery: Delivery,
    claim: ClaimHandle,
    /// Whether the handler has ended.
    is_settled: Arc<AtomicBool>,
    lease: Duration,
    renewal: Pin<Box<dyn Future<Output = Infallible> + Send>>,
}

/// How an event is answered that has become a dead letter, in the run that made it one and whenever it comes
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnExhausted {
    /// With a success: [`Handled::DeadLettered`], 200. The service has delivered it and does not repeat it.
    #[default]
    Acknowledge,
    /// With a failure, without another run: 500. The service shows it as failed, and pauses a webhook that
    /// has had nothing but failures for a day.
    Fail,
}

impl OnExhausted {
    pub(super) fn answer<T, E>(self, failure: HandleError<E>) -> Result<Handled<T>, HandleError<E>> {
        match self {
            Self::Acknowledge => Ok(Handled::DeadLettered),
            Self::Fail => Err(failure),
        }
    }
}

/// The last run that an event may have: its failure makes the event a dead letter.
pub(super) struct LastRun {
    pub(super) guard: Arc<dyn DeadLetterGuard>,
    pub(super) run: u32,
    pub(super) answer: OnExhausted,
}

impl<G: ReplayGuard + 'static> RenewingClaim<G> {
    pub(super) fn new(guard: Arc<G>, tasks: TaskTracker, delivery: Delivery, claim: ClaimHandle) -> Self {
        // A longer one outlasts the event's last attempt, and could not be added to a time.
        let lease = guard.lease_time().clamp(Duration::from_millis(12), RETRY_WINDOW);
        let is_settled = Arc::<AtomicBool>::default();
        let renewal =
            renew(Arc::clone(&guard), delivery.clone(), claim.clone(), Arc::clone(&is_settled), lease);
        Self { guard, tasks, delivery, claim, is_settled, lease, renewal: Box::pin(renewal) }
    }

    /// Waits for `work` and renews the claim meanwhile.
    pub(super) async fn renewed_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        match select(pin!(work), &mut self.renewal).await {
            Either::Left((ended, _)) => ended,
            Either::Right((never, _)) => match never {},
        }
    }

    /// Records how a run ended.
    pub(super) async fn settle<T, E>(
        self,
        ended: Result<T, Failure<E>>,
        last: Option<LastRun>,
    ) -> Result<Handled<T>, HandleError<E>> {
        match (ended, last) {
            (Ok(value), _) => Ok(match self.record(None).await {
                Ok(ClaimStatus::Held) => Handled::Ran(value),
                Ok(ClaimStatus::Lost) => Handled::Overtaken(value),
                Err(error) => Handled::RanUnrecorded(value, error),
            }),
            (Err(Failure { error, text: Some(text) }), Some(LastRun { guard, run, answer })) => {
                let letter = DeadLetter::new(self.delivery.clone(), run, &text);
                match self.record(Some((guard, letter))).await {
                    Ok(ClaimStatus::Held) => answer.answer(error),
                    _ => Err(error),
                }
            }
            (Err(failure), _) => Err(self.release(failure.error).await),
        }
    }

    /// Records an end: as a commit, or as a dead letter. If the store cannot do it at once, it is repeated in
    /// the background, so that the response is not delayed.
    async fn record(mut self, burial: Option<Burial>) -> Result<ClaimStatus, GuardError> {
        self.is_settled.store(true, Ordering::Relaxed);
        let recorded = self.try_record(burial.as_ref()).await;
        if recorded.is_err() {
            let counted = self.tasks.token();
            let later = async move {
                let _counted = counted;
                self.record_later(burial).await;
            };
            tokio::spawn(later.in_current_span());
        }
        recorded
    }

    async fn try_record(&mut self, burial: Option<&Burial>) -> Result<ClaimStatus, GuardError> {
        let (guard, delivery) = (Arc::clone(&self.guard), self.delivery.clone());
        let fence = self.claim.fencing_token();
        let name = if burial.is_some() { "bury" } else { "commit" };
        let recording = step(&delivery, name, async {
            match burial {
                Some((guard, letter)) => guard.bury(letter, fence).await,
                None => guard.commit(&delivery, fence).await,
            }
        });
        let recorded = self.renewed_during(recording).await;
        match (&recorded, burial) {
            (Ok(ClaimStatus::Held), Some((_, letter))) => log_dead_letter(letter),
            (Ok(ClaimStatus::Lost), _) => log_lost(&self.claim, &delivery, name),
            _ => {}
        }
        recorded
    }

    /// Repeats the step until the store has responded.
    async fn record_later(mut self, burial: Option<Burial>) {
        let last = Instant::now() + self.lease * COMMIT_LEASES;
        let [mut pause, longest] = COMMIT_BACKOFF;
        while Instant::now() < last {
            self.renewed_during(sleep(pause)).await;
            if self.try_record(burial.as_ref()).await.is_ok() {
                return;
            }
            pause = longest.min(pause * 2);
        }
        let given_up = "given up: once the claim has expired, the event's next attempt is handled again";
        warn(&self.delivery, "record", &given_up);
    }

    /// Releases the claim, so that the next attempt is handled.
    async fn release<E>(self, failure: HandleError<E>) -> HandleError<E> {
        let Self { guard, delivery, claim, renewal, .. } = self;
        drop(renewal);
        let releasing = async { guard.release(&delivery, claim.fencing_token()).await };
        let released = step(&delivery, "release", releasing).await;
        if let Ok(ClaimStatus::Lost) = released {
            log_lost(&claim, &delivery, "release");
        }
        match (released, failure) {
            (Err(error), HandleError::Handler(failure)) => HandleError::HandlerUnreleased(failure, error),
            (_, failure) => failure,
        }
    }
}

/// Renews a claim three times in a lease, and more often when the store fails.
async fn renew<G: ReplayGuard>(
    guard: Arc<G>,
    delivery: Delivery,
    claim: ClaimHandle,
    is_settled: Arc<AtomicBool>,
    lease: Duration,
) -> Infallible {
    let mut pause = lease / 3;
    loop {
        let due = Instant::now() + pause;
        sleep(pause).await;
        let late = due.elapsed();
        if late > lease / 3 {
            let text = "a webhook's claim is renewed late: do handlers block all threads of their runtime?";
            log!(WARN, delivery, ?late, "{text}");
        }
        let renewal = async { guard.renew(&delivery, claim.fencing_token()).await };
        match step(&delivery, "renew", renewal).await {
            Ok(ClaimStatus::Held) => pause = lease / 3,
            Ok(ClaimStatus::Lost) => {
                // A commit in flight may have been first, and reports the claim itself.
                if !is_settled.load(Ordering::Relaxed) {
                    log_lost(&claim, &delivery, "renew");
                }
                return pending().await;
            }
            Err(_) => pause = lease / 12,
        }
    }
}

/// A dead letter to be kept, and the guard that keeps it.
type Burial = (Arc<dyn DeadLetterGuard>, DeadLetter);

/// Logs a step that found that another attempt has taken the claim. The first one to find it counts it.
fn log_lost(claim: &ClaimHandle, delivery: &Delivery, step: &'static str) {
    if claim.lose() {
        meter::claim_lost(Some(delivery.endpoint()));
    }
    warn(delivery, step, &"another attempt has taken the claim");
}

/// Counts and logs an event that has become a dead letter.
pub(super) fn log_dead_letter(letter: &DeadLetter) {
    meter::dead_letter(Some(letter.delivery().endpoint()));
    log!(ERROR, letter.delivery(), attempts = letter.attempts(), "a webhook's event is a dead letter");
}

/// Logs a step of the guard that failed.
pub(super) fn warn(delivery: &Delivery, step: &'static str, error: &dyn fmt::Display) {
    log!(WARN, delivery, step, %error, "a step of a webhook's replay guard failed");
}
