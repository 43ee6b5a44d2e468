//! A guard in memory whose steps fail, hang, panic or take their time, and which counts them.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shared_inbox_webhooks::replay::{
    Claim, ClaimStatus, ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard, Delivery, FencingToken,
    GuardError, GuardFuture, MemoryGuard, ReplayGuard,
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
            self.guard.claim(delivery).await
        })
    }

    fn renew<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("renew").await?;
            self.guard.renew(delivery, fence).await
        })
    }

    fn commit<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("commit").await?;
            self.guard.commit(delivery, fence).await
        })
    }

    fn release<'a>(&'a self, delivery: &'a Delivery, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("release").await?;
            self.guard.release(delivery, fence).await
        })
    }

    fn forget<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        self.guard.forget(delivery)
    }

    fn abandon(&self, delivery: &Delivery, fence: FencingToken) {
        self.calls.lock().unwrap().push("abandon");
        self.guard.abandon(delivery, fence);
    }
}

impl DeadLetterGuard for FaultyGuard {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        self.guard.claim_run(delivery)
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        Box::pin(async move {
            self.call("bury").await?;
            self.guard.bury(letter, fence).await
        })
    }

    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter> {
        self.guard.claim_dead_letter(delivery)
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        self.guard.dead_letters(limit)
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        self.guard.discard(delivery)
    }
}
