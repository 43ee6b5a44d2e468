//! Acquires a permit from any limiter: reserves a slot, waits for it, claims it.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{AcquireRequest, LimitError, Permit, Priority};
use crate::client::policy::clock::{Clock, after};

/// The result of a reservation.
pub(super) enum Reservation<S> {
    /// A slot. Dropping it gives it back.
    Reserved(S),
    /// The next slot is later than the caller waits.
    TooLong { wait: Duration },
    /// A bulk call may not reserve so far ahead, and tries again after this time.
    ComeBack { after: Duration },
}

/// A store of slots.
pub(super) trait Slots: Sync {
    type Slot: Send;

    /// Reserves a slot before `ends`.
    fn reserve(
        &self,
        request: &AcquireRequest,
        ends: Instant,
    ) -> impl Future<Output = Result<Reservation<Self::Slot>, LimitError>> + Send;

    /// Waits for a slot. Returns `None` when it can no longer be used and another is needed.
    fn claim(
        &self,
        slot: Self::Slot,
        request: &AcquireRequest,
        ends: Instant,
    ) -> impl Future<Output = Option<Permit>> + Send;

    fn clock(&self) -> &dyn Clock;

    fn bulk_queue(&self) -> &BulkQueue;
}

/// The bulk calls of this process that try again, one at a time.
#[derive(Debug, Default)]
pub(super) struct BulkQueue {
    waiting: AtomicUsize,
    turn: tokio::sync::Mutex<()>,
}

struct WaitingCall<'a>(&'a AtomicUsize);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) async fn acquire<L: Slots>(limiter: &L, request: AcquireRequest) -> Result<Permit, LimitError> {
    let (clock, queue) = (limiter.clock(), limiter.bulk_queue());
    let ends = after(clock.now(), request.max_wait);
    let mut turn = None;
    loop {
        let left = ends.saturating_duration_since(clock.now());
        let others = request.priority == Priority::Bulk && queue.waiting.load(Ordering::Relaxed) > 0;
        let reservation = match turn {
            None if others && !left.is_zero() => Reservation::ComeBack { after: Duration::ZERO },
            _ => limiter.reserve(&request, ends).await?,
        };
        match reservation {
            Reservation::Reserved(slot) => {
                turn = None;
                if let Some(permit) = limiter.claim(slot, &request, ends).await {
                    return Ok(permit);
                }
            }
            Reservation::TooLong { wait } => return Err(LimitError::busy(wait)),
            Reservation::ComeBack { after } if turn.is_some() => clock.sleep(after.min(left)).await,
            Reservation::ComeBack { .. } => {
                queue.waiting.fetch_add(1, Ordering::Relaxed);
                let waiting = WaitingCall(&queue.waiting);
                tokio::select! {
                    biased;
                    first = queue.turn.lock() => turn = Some((first, waiting)),
                    () = clock.sleep(left) => return Err(LimitError::busy(next_slot(limiter, request).await?)),
                }
            }
        }
    }
}

/// Returns how long it takes until there is a slot for a call like this, whoever else waits for it.
async fn next_slot<L: Slots>(limiter: &L, request: AcquireRequest) -> Result<Duration, LimitError> {
    match limiter.reserve(&request.max_wait(Duration::ZERO), limiter.clock().now()).await? {
        Reservation::Reserved(_) => Ok(Duration::ZERO),
        Reservation::TooLong { wait } | Reservation::ComeBack { after: wait } => Ok(wait),
    }
}
