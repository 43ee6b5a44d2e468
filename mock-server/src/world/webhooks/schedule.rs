//! The retry schedule.
//!
//! The jitter is a hash of the ids instead of the generator's next number. So it does not depend on which
//! receiver responds first, and the time of a retry is known before the attempt ends.

use std::time::Duration;

use shared_inbox::{__spec::limits, EventId, WebhookId};

use crate::world::IdGenerator;

/// Returns how long to wait after failure number `failures` (from 1) of a round; `None` after the last one.
///
/// `attempts` counts the attempts of all rounds, so that a redelivery waits differently.
pub(super) fn wait(
    endpoint: &WebhookId,
    event: &EventId,
    failures: usize,
    attempts: usize,
) -> Option<Duration> {
    let about = limits::WEBHOOK_RETRIES.get(failures.checked_sub(1)?)?;
    let hash = [endpoint.as_str(), event.as_str()]
        .iter()
        .fold(IdGenerator::seeded(attempts as u64).next_u64(), |hash, id| {
            id.bytes().fold(hash, |hash, byte| IdGenerator::seeded(hash ^ u64::from(byte)).next_u64())
        });
    let part = IdGenerator::fraction_of(hash);
    Some(about.mul_f64(1.0 + limits::WEBHOOK_JITTER * (2.0 * part - 1.0)))
}
