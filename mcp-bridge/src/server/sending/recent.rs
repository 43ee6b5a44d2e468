//! The recent creates, so that a model that repeats a call does not repeat an email: within two minutes, the same call with the
//! same text is a repeat.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use shared_inbox::create::UnconfirmedCreate;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::digest::Digest;

/// How long a create is remembered.
const CREATE_TTL: Duration = Duration::from_secs(120);

#[derive(Default)]
pub(super) enum CreateOutcome {
    /// Nothing yet, or nothing that is remembered.
    #[default]
    None,
    /// It was made, then, with this result.
    Made(Instant, Value),
    /// Its answer was lost, and it could not be found out whether it was made.
    Unknown(Instant, UnconfirmedCreate),
}

#[derive(Default)]
pub(super) struct RecentCreates {
    slots: Mutex<HashMap<Digest, Arc<AsyncMutex<CreateOutcome>>>>,
}

impl RecentCreates {
    /// Returns the slot for this create. While one caller holds it, others with the same create wait for its result.
    pub(super) async fn slot(&self, create: Digest, now: Instant) -> OwnedMutexGuard<CreateOutcome> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.retain(|_, slot| {
                // A slot that is in use is kept; an empty or old one is removed.
                Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|outcome| outcome.is_fresh(now))
            });
            Arc::clone(slots.entry(create).or_default())
        };
        let mut slot = slot.lock_owned().await;
        // Time has passed while waiting, but an outcome that was written meanwhile is fresh all the more.
        if !slot.is_fresh(now) {
            *slot = CreateOutcome::None;
        }
        slot
    }
}

impl CreateOutcome {
    fn is_fresh(&self, now: Instant) -> bool {
        match self {
            CreateOutcome::None => false,
            CreateOutcome::Made(at, _) | CreateOutcome::Unknown(at, _) => {
                now.saturating_duration_since(*at) < CREATE_TTL
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn create(text: &str) -> Digest {
        Digest::from_parts(&text).expect("a text is JSON")
    }

    #[tokio::test]
    async fn a_create_is_remembered_for_two_minutes() {
        let (recent, now) = (RecentCreates::default(), Instant::now());
        *recent.slot(create("a"), now).await = CreateOutcome::Made(now, json!(1));
        let later = now + Duration::from_secs(119);
        assert!(
            matches!(*recent.slot(create("a"), later).await, CreateOutcome::Made(_, ref v) if *v == json!(1))
        );
        assert!(matches!(*recent.slot(create("b"), later).await, CreateOutcome::None));
        assert!(matches!(*recent.slot(create("a"), now + CREATE_TTL).await, CreateOutcome::None));
    }

    #[tokio::test]
    async fn what_is_old_is_forgotten() {
        let (recent, now) = (RecentCreates::default(), Instant::now());
        for i in 0..50 {
            *recent.slot(create(&i.to_string()), now).await = CreateOutcome::Made(now, json!(i));
        }
        drop(recent.slot(create("x"), now + CREATE_TTL).await);
        assert_eq!(recent.slots.lock().unwrap().len(), 1);
    }
}
