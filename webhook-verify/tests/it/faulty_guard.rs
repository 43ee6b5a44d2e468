//! A guard in memory whose steps fail, hang, panic, take their time or break a rule, and which counts them.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, CountedClaim, DeadLetter, DeadLetterGuard, Delivery, FencingToken, GuardError,
    GuardFuture, MemoryGuard, ReplayGuard,
};
use tokio::time::{Instant, sleep};

#[derive(Default)]
pub(crate) struct FaultyGuard {
    pub(crate) guard: MemoryGuard,
    pub(crate) failing_step: &'static str,
    /// How many of its calls fail.
    pub(crate) failures: AtomicUsize,
    pub(crate) hanging_step: &'static str,
    pub(crate) panicking_step: &'static str,
    pub(crate) commit_time: Duration,
    /// The rule of a guard that it breaks.
    pub(crate) broken_rule: &'static str,
    pub(crate) calls: Mutex<Vec<&'static str>>,
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("connection reset")]
pub(crate) struct StoreDown;

/// A guard that goes by tokio's time, which tests can stop.
pub(crate) fn guard() -> MemoryGuard {
    let start = Instant::now();
    MemoryGuard::new().clock(move || start.elapsed())
}

impl FaultyGuard {
    pub(crate) fn new(guard: MemoryGuard) -> Self {
        Self { guard, ..Self::default() }
    }

    pub(crate) fn failing(failing_step: &'static str, times: usize) -> Self {
        Self { failing_step, failures: times.into(), ..Self::new(guard()) }
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) fn renewals(&self) -> usize {
        self.calls().iter().filter(|step| **step == "renew").count()
    }

    async fn call(&self, step: &'static str) -> Result<(), GuardError> {
        self.calls.lock().unwrap().push(step);
        assert_ne!(self.panicking_step, step, "by mistake");
        if self.hanging_step == step {
            pending::<()>().await;
        }
        if step == "commit" && !self.commit_time.is_zero() {
            sleep(self.commit_time).await;
        }
        let one_less = |left: usize| left.checked_sub(1);
        let fails = self.failing_step == step
            && self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok();
        if fails { Err(GuardError::new(StoreDown)) } else { Ok(()) }
    }
}

impl ReplayGuard for FaultyGuard {
    fn lease_time(&self) -> Duration {
        self.guard.lease_time()
    }

    fn claim<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, Claim> {
        Box::pin(async {
            self.call("claim").await?;
            Ok(match (self.guard.claim(delivery).await?, self.broken_rule) {
                (Claim::Granted(_), "one fence for all") => Claim::Granted(FencingToken::new(1)),
                (Claim::InProgress, "two at once") => Claim::Granted(FencingToken::new(u64::MAX)),
                (claim, _) => claim,
            })
        })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("renew").await?;
            match self.broken_rule {
                "renews in words alone" => Ok(ClaimStatus::Held),
                _ => self.guard.renew(delivery, fence).await,
            }
        })
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("commit").await?;
            let status = self.guard.commit(delivery, fence).await?;
            Ok(if self.broken_rule == "commits for anyone" { ClaimStatus::Held } else { status })
        })
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("release").await?;
            match self.broken_rule {
                "keeps what is given back" => Ok(ClaimStatus::Held),
                _ => self.guard.release(delivery, fence).await,
            }
        })
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        match self.broken_rule {
            "never forgets" => Box::pin(async { Ok(false) }),
            _ => self.guard.forget(delivery),
        }
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        self.calls.lock().unwrap().push("abandon");
        self.guard.abandon(delivery, fence);
    }
}

impl DeadLetterGuard for FaultyGuard {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        Box::pin(async {
            let counted = self.guard.claim_run(delivery).await?;
            Ok(match (counted.claim, self.broken_rule) {
                (Claim::Granted(fence), "counts no runs") => {
                    CountedClaim::granted(fence, 1, counted.has_lapsed)
                }
                (Claim::Granted(fence), "never tells of a run that lapsed") => {
                    CountedClaim::granted(fence, counted.run, false)
                }
                (Claim::DeadLettered, "answers for a dead letter as if it were handled") => {
                    Claim::Done.into()
                }
                _ => counted,
            })
        })
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("bury").await?;
            let status = match self.broken_rule {
                "keeps dead letters in words alone" => self.guard.release(letter.delivery(), fence).await?,
                "keeps no body" => {
                    let bare = Delivery::new(letter.delivery().endpoint(), letter.delivery().event());
                    let bare = DeadLetter::new(bare, letter.attempts(), letter.error());
                    self.guard.bury(&bare, fence).await?
                }
                _ => self.guard.bury(letter, fence).await?,
            };
            Ok(if self.broken_rule == "buries for anyone" { ClaimStatus::Held } else { status })
        })
    }

    fn claim_dead_letter<'a>(
        &'a self,
        delivery: &'a Delivery,
    ) -> GuardFuture<'a, Option<(FencingToken, DeadLetter)>> {
        self.guard.claim_dead_letter(delivery)
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        Box::pin(async move {
            let mut letters = self.guard.dead_letters(limit).await?;
            if self.broken_rule == "lists the newest first" {
                letters.reverse();
            }
            Ok(letters)
        })
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        match self.broken_rule {
            "discards in words alone" => Box::pin(async { Ok(true) }),
            _ => self.guard.discard(delivery),
        }
    }
}
