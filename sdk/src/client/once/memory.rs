//! A store in memory, for tests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::record::OnceRecord;
use super::store::{
    Begun, LeaseStatus, OnceStore, StoreFuture, StoredRecord, TimeSource, next_fence, status,
};
use crate::model::shows;

/// Keeps records until the process ends: for tests. Clients that share it stand for processes that share a store.
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

    /// Runs a step on the entry with this fence.
    fn step(&self, key: &str, fence: u64, step: impl FnOnce(&mut Entry) -> bool) -> LeaseStatus {
        let is_done = self.entries().get_mut(key).is_some_and(|entry| entry.fence == fence && step(entry));
        status(is_done)
    }
}

impl OnceStore for MemoryStore {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        Box::pin(async move {
            let now = self.time.now();
            let mut entries = self.entries();
            let previous = match entries.get(record.key()) {
                Some(entry)
                    if entry.record.is_finished()
                        || entry.until > now
                        || entry.record.fingerprint != record.fingerprint =>
                {
                    return Ok(Begun::Exists(entry.record.clone()));
                }
                entry => entry.map(|entry| (entry.record.clone(), entry.fence)),
            };
            let fence = next_fence(previous.as_ref().map_or(0, |(_, fence)| *fence));
            let previous = previous.map(|(record, _)| record);
            let stored = previous.clone().unwrap_or_else(|| record.clone());
            entries.insert(record.key.clone(), Entry { record: stored, fence, until: now + lease });
            Ok(Begun::Granted { fence, previous })
        })
    }

    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        lease: Duration,
        record: Option<&'a OnceRecord>,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let until = self.time.now() + lease;
            Ok(self.step(key, fence, |entry| {
                if entry.record.is_finished() {
                    return false;
                }
                entry.until = until;
                if let Some(record) = record {
                    entry.record = record.clone();
                }
                true
            }))
        })
    }

    fn finish<'a>(
        &'a self,
        record: &'a OnceRecord,
        fence: u64,
        retention: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        Box::pin(async move {
            let until = self.time.now() + retention;
            Ok(self.step(record.key(), fence, |entry| {
                *entry = Entry { record: record.clone(), fence, until };
                true
            }))
        })
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        Box::pin(async {
            let now = self.time.now();
            let stored = |entry: &Entry| {
                let is_held = !entry.record.is_finished() && entry.until > now;
                StoredRecord::new(entry.record.clone(), entry.fence, is_held)
            };
            Ok(self.entries().values().map(stored).collect())
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
