//! Acquires a permit: reserves a slot, waits for it, claims it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_inbox::rate_limit::{AcquireRequest, LimitError, Permit, Priority};
use tokio::time::{sleep, sleep_until};

use super::state::{KeyState, Refusal};

/// The bulk calls of a process try again one at a time.
pub(super) async fn acquire(state: &Arc<KeyState>, request: AcquireRequest) -> Result<Permit, LimitError> {
    let queue = state.bulk_queue();
    let now = Instant::now();
    // A year is as good as for ever.
    let ends = now.checked_add(request.max_wait).unwrap_or_else(|| now + Duration::from_secs(365 * 86_400));
    let mut turn = None;
    loop {
        let left = ends.saturating_duration_since(Instant::now());
        let others = request.priority == Priority::Bulk && queue.try_lock().is_err();
        let reservation = match turn {
            None if others && !left.is_zero() => Err(Refusal::ComeBack { after: Duration::ZERO }),
            _ => state.reserve(&request, ends).await,
        };
        match reservation {
            Ok(slot) => {
                turn = None;
                if let Some(permit) = state.claim(slot, &request).await {
                    return Ok(permit);
                }
            }
            Err(Refusal::TooLong { wait }) => return Err(LimitError::busy(wait)),
            Err(Refusal::ComeBack { after }) if turn.is_some() => sleep(after.min(left)).await,
            Err(Refusal::ComeBack { .. }) => {
                tokio::select! {
                    biased;
                    first = queue.lock() => turn = Some(first),
                    () = sleep_until((Instant::now() + left).into()) => {
                        return Err(LimitError::busy(next_slot(state, request).await));
                    }
                }
            }
        }
    }
}

/// Returns how long it takes until there is a slot for a call like this, whoever else waits for it.
async fn next_slot(state: &Arc<KeyState>, request: AcquireRequest) -> Duration {
    match state.reserve(&request.max_wait(Duration::ZERO), Instant::now()).await {
        Ok(_) => Duration::ZERO,
        Err(Refusal::TooLong { wait } | Refusal::ComeBack { after: wait }) => wait,
    }
}
