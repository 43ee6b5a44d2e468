//! Acquires a permit from any limiter: reserves a slot, waits for it, claims it.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::schedule::Refusal;
use super::{AcquireRequest, LimitError, Permit, Priority};
use crate::client::policy::clock::{Clock, after};

/// A store of slots.
pub(super) trait Slots: Sync {
    /// Dropping it gives it back.
    type Slot: Send;

    /// Reserves a slot before `ends`.
    fn reserve(
        &self,
        request: &AcquireRequest,
        ends: Instant,
    ) -> impl Future<Output = Result<Self::Slot, Refusal>> + Send;

    /// Waits for a slot. Returns `None` when it can no longer be used and another is needed.
    fn claim(
        &self,
        slot: Self::Slot,
        request: &AcquireRequest,
        ends: Instant,
    ) -> impl Future<Output = Option<Permit>> + Send;

    fn clock(&self) -> &dyn Clock;

    /// Returns the queue of the bulk calls of this process that try again, one at a time.
    fn bulk_queue(&self) -> &Mutex<()>;
}

pub(super) async fn acquire<L: Slots>(limiter: &L, request: AcquireRequest) -> Result<Permit, LimitError> {
    let (clock, queue) = (limiter.clock(), limiter.bulk_queue());
    let ends = after(clock.now(), request.max_wait);
    let mut turn = None;
    loop {
        let left = ends.saturating_duration_since(clock.now());
        let others = request.priority == Priority::Bulk && queue.try_lock().is_err();
        let reservation = match turn {
            None if others && !left.is_zero() => Err(Refusal::ComeBack { after: Duration::ZERO }),
            _ => limiter.reserve(&request, ends).await,
        };
        match reservation {
            Ok(slot) => {
                turn = None;
                if let Some(permit) = limiter.claim(slot, &request, ends).await {
                    return Ok(permit);
                }
            }
            Err(Refusal::TooLong { wait }) => return Err(LimitError::busy(wait)),
            Err(Refusal::ComeBack { after }) if turn.is_some() => clock.sleep(after.min(left)).await,
            Err(Refusal::ComeBack { .. }) => {
                tokio::select! {
                    biased;
                    first = queue.lock() => turn = Some(first),
                    () = clock.sleep(left) => return Err(LimitError::busy(next_slot(limiter, request).await)),
                }
            }
        }
    }
}

/// Returns how long it takes until there is a slot for a call like this, whoever else waits for it.
async fn next_slot<L: Slots>(limiter: &L, request: AcquireRequest) -> Duration {
    match limiter.reserve(&request.max_wait(Duration::ZERO), limiter.clock().now()).await {
        Ok(_) => Duration::ZERO,
        Err(Refusal::TooLong { wait } | Refusal::ComeBack { after: wait }) => wait,
    }
}
