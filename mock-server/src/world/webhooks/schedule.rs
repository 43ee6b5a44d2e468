//! The retry schedule.
//!
//! The jitter is a hash of the ids instead of the generator's next number. So it does not depend on which receiver responds first,
//! and the time of a retry is known before the attempt ends.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(n: usize) -> (WebhookId, EventId) {
        (WebhookId::parse(format!("whk_{n}")).unwrap(), EventId::parse(format!("evt_{n}")).unwrap())
    }

    #[test]
    fn every_wait_varies_by_a_fifth_and_uses_the_whole_range() {
        for (n, about) in limits::WEBHOOK_RETRIES.iter().enumerate() {
            let parts: Vec<f64> = (0..2_000)
                .map(|i| {
                    let (endpoint, event) = ids(i);
                    let wait = wait(&endpoint, &event, n + 1, n + 1).unwrap();
                    wait.as_secs_f64() / about.as_secs_f64()
                })
                .collect();
            let (min, max) = parts.iter().fold((f64::MAX, f64::MIN), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
            assert!((0.8..0.81).contains(&min) && max <= 1.2 && max > 1.19, "wait {n}: {min} to {max}");
            let mean = parts.iter().sum::<f64>() / parts.len() as f64;
            assert!((mean - 1.0).abs() < 0.01, "wait {n}: mean {mean}");
        }
    }

    #[test]
    fn nothing_follows_the_ninth_try() {
        let (endpoint, event) = ids(1);
        assert!(wait(&endpoint, &event, 8, 8).is_some());
        assert!(wait(&endpoint, &event, 9, 9).is_none());
    }

    #[test]
    fn the_endpoint_the_event_and_the_number_all_count() {
        let ((e1, v1), (e2, v2)) = (ids(1), ids(2));
        let waits = [wait(&e1, &v1, 1, 1), wait(&e2, &v1, 1, 1), wait(&e1, &v2, 1, 1), wait(&e1, &v1, 1, 2)];
        for (i, a) in waits.iter().enumerate() {
            assert!(waits[i + 1..].iter().all(|b| a != b));
        }
    }
}
