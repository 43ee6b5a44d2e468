//! The limit on failed runs, the dead letters that it leads to, and their retries.

use std::fmt;
use std::sync::Arc;

use super::dead_letter::{DeadLetter, DeadLetterGuard};
use super::guard::{Delivery, GuardError};
use super::handlers::{Handlers, MaxAttempts};
use super::run::{ClaimHandle, HandleError, Handled};
use super::supervise::{LastRun, OnExhausted, catch_panic, step};

impl<G: DeadLetterGuard + 'static> Handlers<G> {
    /// Sets after how many failed runs an event becomes a dead letter, one at least; without a limit by
    /// default. The store counts, over all processes that share it; a run counts as failed also when its
    /// process was killed. Such an event becomes a dead letter at the service's next attempt, of which there
    /// are nine in about a day: leave some of them.
    ///
    /// A dead letter is kept with its body, its attempts and the last error until [`retry`](Self::retry) has
    /// handled it, or [`discard`](Self::discard) has removed it. How its event is answered,
    /// [`on_exhausted`](Self::on_exhausted) says. If the store cannot keep it, the attempt is answered with
    /// 500, and the letter is written later or at the next attempt.
    ///
    /// Of transactions only runs that failed are counted: one whose process was killed has changed nothing.
    /// Runs that [`OnStoreError::LetThrough`](crate::replay::OnStoreError::LetThrough) allows without the
    /// store are not counted.
    #[must_use]
    pub fn max_attempts(mut self, runs: u32) -> Self {
        let guard: Arc<dyn DeadLetterGuard> = Arc::clone(&self.shared.guard) as _;
        self.settings.max_attempts = Some(MaxAttempts { runs: runs.max(1), guard });
        self
    }

    /// Returns the dead letters of all endpoints in the guard's namespace, oldest first, no more than
    /// `limit`.
    ///
    /// # Errors
    /// When the guard cannot be reached.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, GuardError> {
        catch_panic(async { self.shared.guard.dead_letters(limit).await }).await
    }

    /// Removes a dead letter without running it. Its event counts as handled. Returns whether there was one
    /// that is not being retried.
    ///
    /// # Errors
    /// When the guard cannot be reached.
    pub async fn discard(&self, delivery: &Delivery) -> Result<bool, GuardError> {
        catch_panic(async { self.shared.guard.discard(delivery).await }).await
    }

    /// Runs a dead letter again, by the rules of [`once`](Self::once): of several at a time one runs, in a
    /// task of its own, with a claim that is renewed. After a success the dead letter is gone and its event
    /// is handled; after a failure it stays, with one attempt more and the new error. If the process dies
    /// meanwhile, it stays as it was.
    ///
    /// # Errors
    /// When there is no such dead letter, the handler fails, panics or takes too long, the guard cannot be
    /// reached, or the program is shutting down.
    pub async fn retry<T, E, F>(
        &self,
        delivery: &Delivery,
        handler: impl FnOnce(DeadLetter, ClaimHandle) -> F + Send + 'static,
    ) -> Result<Handled<T>, HandleError<E>>
    where
        T: Send + 'static,
        E: fmt::Display + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let Self { shared, settings } = self.clone();
        let wanted = delivery.clone();
        let work = async move {
            let claim = step(&wanted, "claim", async { shared.guard.claim_dead_letter(&wanted).await }).await;
            let (fence, letter) = claim.map_err(HandleError::Guard)?.ok_or(HandleError::NoDeadLetter)?;
            let (delivery, run) = (letter.delivery().clone(), letter.attempts().saturating_add(1));
            let guard: Arc<dyn DeadLetterGuard> = Arc::clone(&shared.guard) as _;
            let last = LastRun { guard, run, answer: OnExhausted::Fail };
            let handler = |claim| handler(letter, claim);
            shared.run(delivery, ClaimHandle::new(fence), handler, settings.max_run_time, Some(last)).await
        };
        self.spawn(delivery, work).await
    }
}
