//! A store in memory, for tests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::record::OnceRecord;
use super::store::{Begun, LeaseStatus, OnceStore, StoreFuture, StoredRecord, TimeSource, status};
use crate::model::shows;

/// Keeps records until the process ends: for tests. Clients that share it stand for processes that share a
/// store.
#[derive(Default)]
pub struct MemoryStore {
    entries: Mutex<HashMap<String, Entry>>,
    time: TimeSource,
}

struct Entry {
    record: OnceRecord,
    fence: u64,
    /// When the lease ends, or a record with a result is forgotten.
    until: Duration,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this clock for leases and retention, for tests: the time since some moment.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.time = TimeSource::new(now);
        self
    }

    /// Returns the entries that are not forgotten.
    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.time.now();
        entries.retain(|_, entry| !entry.record.is_finished() || entry.until > now);
        entries
    }
}

impl Entry {
    fn stored(&self, now: Duration) -> StoredRecord {
        let is_held = !self.record.is_finished() && self.until > now;
        StoredRecord::new(self.record.clone(), self.fence, is_held)
    }
}

impl OnceStore for MemoryStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let (mut entries, now) = (self.entries(), self.time.now());
            let begun = Begun::decide(entries.get(record.key()).map(|entry| entry.stored(now)), record);
            if let Begun::Granted { fence, previous } = &begun {
                let (record, fence) = (previous.as_ref().unwrap_or(record).clone(), *fence);
                entries.insert(record.key.clone(), Entry { record, fence, until: now + lease });
            }
            Ok(begun)
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let (mut entries, now) = (self.entries(), self.time.now());
            let entry = entries.get_mut(key).filter(|entry| entry.fence == fence);
            let Some(entry) = entry.filter(|entry| entry.record.can_become(record)) else {
                return Ok(LeaseStatus::Lost);
            };
            entry.record = record.unwrap_or(&entry.record).clone();
            entry.until = now + time;
            Ok(LeaseStatus::Held)
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            let now = self.time.now();
            Ok(self.entries().values().map(|entry| entry.stored(now)).collect())
        })
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let mut entries = self.entries();
            let is_held = entries.get(key).is_some_and(|entry| entry.fence == fence);
            if is_held {
                entries.remove(key);
            }
            Ok(status(is_held))
        })
    }
}

shows! { MemoryStore: ; }
