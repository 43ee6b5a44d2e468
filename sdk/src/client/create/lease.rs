//! The lease of a key: who has it may send, for as long as it runs.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::client::create_state::UnconfirmedCreate;
use crate::client::engine::Core;
use crate::client::error::{Cause, Certainty, Error, Result};
use crate::client::once::{
    CreateResult, Fingerprint, LeaseStatus, OnceRecord, OnceSettings, OnceStoreError, StoredRecord,
};
use crate::input::AddNote;
use crate::{ConversationId, TimelineItem, operation::Operation};

/// Returns the time by both clocks: the first stands still while the machine sleeps.
pub(super) fn lease_time(core: &Core) -> (Instant, SystemTime) {
    (core.clock.now(), SystemTime::now())
}

/// An error of the store, while nothing was sent.
pub(crate) fn store_failed(error: OnceStoreError) -> Error {
    Error::new(Cause::OnceStore(error), Certainty::NotSent)
}

/// The lease of a key, as its owner knows it. Given back when the owner's future is dropped.
pub(crate) struct Lease {
    once: Arc<OnceSettings>,
    core: Arc<Core>,
    /// As this owner has begun it.
    record: OnceRecord,
    fence: u64,
    length: Duration,
    /// When it was last known to run for its whole length.
    since: Mutex<(Instant, SystemTime)>,
    is_over: AtomicBool,
}

/// What other keys have made, by their records.
#[derive(Default)]
pub(super) struct OtherKeys {
    items: HashSet<String>,
    /// Of other words than this key's.
    fingerprints: HashSet<Fingerprint>,
    /// Whether one of them may have made an item of the same words that no response has named.
    pub(super) is_shared: bool,
}

impl OtherKeys {
    /// Returns whether one of them has made this item.
    pub(super) fn have_made(&self, key: &str) -> bool {
        self.items.contains(key)
    }

    /// Returns whether a note has the words of one of them. The response to a note does not name it.
    pub(super) fn have_words_of(&self, item: &TimelineItem, conversation: &ConversationId) -> bool {
        let note = item.as_note().map(|note| AddNote::new(note.body.clone()));
        let fingerprint = |body: Vec<u8>| Fingerprint::new(Operation::AddNote, conversation, &body);
        let fingerprint = note.and_then(|note| serde_json::to_vec(&note).ok()).map(fingerprint);
        fingerprint.is_some_and(|fingerprint| self.fingerprints.contains(&fingerprint))
    }
}

impl Lease {
    pub(super) fn new(
        once: &Arc<OnceSettings>,
        core: &Arc<Core>,
        record: OnceRecord,
        fence: u64,
        length: Duration,
        since: (Instant, SystemTime),
    ) -> Self {
        let (once, core) = (Arc::clone(once), Arc::clone(core));
        Self { once, core, record, fence, length, since: Mutex::new(since), is_over: AtomicBool::new(false) }
    }

    /// Returns what other keys have made. To be called when an item shows: whoever has made it wrote a record
    /// before.
    pub(super) async fn others(&self, create: &UnconfirmedCreate) -> Result<OtherKeys> {
        let mut others = OtherKeys::default();
        for StoredRecord { record, is_held, .. } in self.once.store.list().await.map_err(store_failed)? {
            let is_like = record.key != self.record.key && record.fingerprint == self.record.fingerprint;
            match record.result {
                Some(CreateResult { item: Some(item), .. }) => _ = others.items.insert(item),
                Some(_) => others.is_shared |= is_like && create.may_be_as_late_as(record.since),
                None => others.is_shared |= is_like && is_held && record.create.is_some(),
            }
            if record.fingerprint != self.record.fingerprint {
                others.fingerprints.insert(record.fingerprint);
            }
        }
        Ok(others)
    }

    /// Makes sure that the lease runs for longer than this, right before a request is sent.
    pub(super) async fn ensure(&self, time: Duration) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Error::new(Cause::LeaseLost, Certainty::NotSent));
        }
        // Less than the whole, whatever the time of a request.
        let time = time.min(self.length / 2);
        if self.left() > time {
            return Ok(());
        }
        self.renew(None).await?;
        // The store can have been slow.
        let late = || store_failed(OnceStoreError::new("it took too long to renew a lease"));
        if self.left() > time { Ok(()) } else { Err(late()) }
    }

    /// Returns how long the lease runs for sure.
    fn left(&self) -> Duration {
        let (since, since_local) = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, now_local) = lease_time(&self.core);
        let passed = now.saturating_duration_since(since);
        // A clock that was set back says nothing.
        let passed = passed.max(now_local.duration_since(since_local).unwrap_or(self.length));
        self.length.saturating_sub(passed)
    }

    pub(super) async fn renew(&self, record: Option<&OnceRecord>) -> Result<()> {
        let now = lease_time(&self.core);
        match self.once.store.update(&self.record.key, self.fence, record, self.length).await {
            Ok(LeaseStatus::Held) => {
                *self.since.lock().unwrap_or_else(PoisonError::into_inner) = now;
                Ok(())
            }
            Ok(LeaseStatus::Lost) => {
                self.end();
                Err(Error::new(Cause::LeaseLost, Certainty::NotSent))
            }
            Err(error) => Err(store_failed(error)),
        }
    }

    /// Renews the lease for as long as this future runs.
    pub(super) async fn keep<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            result = work => result,
            never = self.beat() => match never {},
        }
    }

    /// The time is real, like that of a request. A failure shows right before the next request, or at the
    /// end.
    async fn beat(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.length / 3).await;
            _ = self.renew(None).await;
        }
    }

    /// Records the result. If that fails, the next call with this key finds the item in the conversation.
    pub(super) async fn finish(
        &self,
        record: OnceRecord,
        item: Option<String>,
        value: &impl serde::Serialize,
    ) {
        let Ok(response) = serde_json::to_value(value) else { return };
        let record = OnceRecord { create: None, result: Some(CreateResult { item, response }), ..record };
        self.end();
        match self.once.store.update(&record.key, self.fence, Some(&record), self.once.retention).await {
            Ok(LeaseStatus::Held) => {}
            Ok(_) => tracing::warn!("a lease ended before the result of its create was recorded"),
            Err(error) => tracing::warn!(%error, "the result of a create was not recorded"),
        }
    }

    /// Ends the lease and keeps the record, for the next call to look.
    pub(super) async fn release(&self, record: Option<&OnceRecord>) {
        self.end();
        _ = self.once.store.update(&self.record.key, self.fence, record, Duration::ZERO).await;
    }

    /// Removes the record of a create that did not happen.
    pub(super) async fn remove(&self) {
        self.end();
        _ = self.once.store.remove(&self.record.key, self.fence).await;
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (*self.is_over.get_mut(), tokio::runtime::Handle::try_current()) {
            let (once, key, fence) =
                (Arc::clone(&self.once), std::mem::take(&mut self.record.key), self.fence);
            runtime.spawn(async move { once.store.update(&key, fence, None, Duration::ZERO).await });
        }
    }
}
