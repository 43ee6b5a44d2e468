//! The trait of stores: records with leases that end, and fences that grow.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::record::OnceRecord;
use crate::client::policy::BoxFuture;

/// What became of [`begin`](OnceStore::begin).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Begun {
    /// The key is yours until the lease ends.
    Granted {
        /// The number of this lease, larger than those before it.
        fence: u64,
        /// The record of an owner whose lease has ended, which is still the one stored. `None`: yours was
        /// written.
        previous: Option<OnceRecord>,
    },
    /// Nothing was changed: this record has a result, a lease that runs, or another fingerprint.
    Exists(OnceRecord),
}

impl Begun {
    /// Decides by what is stored under the key of this record.
    pub(super) fn decide(stored: Option<StoredRecord>, record: &OnceRecord) -> Self {
        let is_free = |stored: &StoredRecord| {
            !stored.is_held && !stored.record.is_finished() && stored.record.fingerprint == record.fingerprint
        };
        match stored {
            Some(stored) if !is_free(&stored) => Self::Exists(stored.record),
            stored => Self::Granted {
                fence: next_fence(stored.as_ref().map_or(0, |stored| stored.fence)),
                previous: stored.map(|stored| stored.record),
            },
        }
    }
}

/// Whether a lease is still the latest one of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a lease that was lost must not be acted on"]
pub enum LeaseStatus {
    /// It is; the step was done.
    Held,
    /// Another owner has taken the key over, the record is gone, or it has a result and the step none.
    /// Nothing was changed.
    Lost,
}

/// A record in a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredRecord {
    /// The record.
    pub record: OnceRecord,
    /// The number of its latest lease.
    pub fence: u64,
    /// Whether that lease still runs.
    pub is_held: bool,
}

impl StoredRecord {
    /// Creates an entry of a list, for a store of yours.
    #[must_use]
    pub fn new(record: OnceRecord, fence: u64, is_held: bool) -> Self {
        Self { record, fence, is_held }
    }
}

/// The store of a client, and how it uses it.
pub(crate) struct OnceSettings {
    pub(crate) store: Arc<dyn OnceStore>,
    /// How long a result is kept.
    pub(crate) retention: Duration,
    pub(crate) owner: String,
}

/// The boxed future that a store's methods return.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, OnceStoreError>>;

/// A store of [records](OnceRecord): [`FileStore`](super::FileStore), [`MemoryStore`](super::MemoryStore),
/// one on PostgreSQL or Redis of the crate `shared-inbox-stores`, or one of yours.
///
/// The rules of every store:
///
/// - [`begin`](Self::begin) is one atomic step: of many at once, one is granted.
/// - A record that `begin` or [`update`](Self::update) has written survives a crash of the machine once they
///   return. One with a result may be lost: the record is then there without it.
/// - A lease that is not extended ends by the store's own clock. Its owner keeps it until another takes it
///   over.
/// - Fences of one key grow. A step with an older one returns [`LeaseStatus::Lost`] and changes nothing.
/// - A record without a result is kept until it is removed. One with a result is kept for the time that
///   `update` names.
/// - After an error the step may or may not have happened. Every step may be repeated.
pub trait OnceStore: Send + Sync + 'static {
    /// Writes the record with a lease, or takes over one whose lease has ended.
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun>;

    /// Replaces the record, if one is given, and keeps it for this time from now: one without a result is
    /// leased for it, and zero ends the lease; one with a result is forgotten after it. A record that has a
    /// result is replaced by another with a result only.
    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus>;

    /// Returns all records.
    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>>;

    /// Removes the record.
    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus>;

    /// Removes records with a result whose time is over. A store may also do so by itself.
    fn purge(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl<S: OnceStore + ?Sized> OnceStore for Arc<S> {
    fn begin<'a>(&'a self, record: &'a OnceRecord, lease: Duration) -> StoreFuture<'a, Begun> {
        (**self).begin(record, lease)
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        fence: u64,
        record: Option<&'a OnceRecord>,
        time: Duration,
    ) -> StoreFuture<'a, LeaseStatus> {
        (**self).update(key, fence, record, time)
    }

    fn list(&self) -> StoreFuture<'_, Vec<StoredRecord>> {
        (**self).list()
    }

    fn remove<'a>(&'a self, key: &'a str, fence: u64) -> StoreFuture<'a, LeaseStatus> {
        (**self).remove(key, fence)
    }

    fn purge(&self) -> StoreFuture<'_, ()> {
        (**self).purge()
    }
}

/// An error returned when a store could not be reached, or what it holds cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the store of `once` keys failed: {cause}")]
pub struct OnceStoreError {
    cause: Arc<dyn Error + Send + Sync>,
    pub(crate) is_damaged: bool,
}

impl OnceStoreError {
    /// Wraps the error of the store's client.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Arc::from(cause.into()), is_damaged: false }
    }

    /// Wraps the error of a record that is there and cannot be read: what its key stands for may have been
    /// created.
    pub fn damaged(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { is_damaged: true, ..Self::new(cause) }
    }

    /// Returns the error of the store's client, if it has this type.
    #[must_use]
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.cause.downcast_ref()
    }
}

/// Returns whether a step was done.
pub(super) fn status(is_held: bool) -> LeaseStatus {
    if is_held { LeaseStatus::Held } else { LeaseStatus::Lost }
}

/// The time of a store in this process or on this machine.
#[derive(Clone)]
pub(super) struct TimeSource(Arc<dyn Fn() -> Duration + Send + Sync>);

impl TimeSource {
    pub(super) fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(super) fn now(&self) -> Duration {
        (self.0)()
    }
}

/// Returns the fence of a lease that begins now, larger than the one before. It begins with the time, so that
/// fences grow also after a record was removed.
fn next_fence(before: u64) -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default().max(before.saturating_add(1))
}

impl Default for TimeSource {
    fn default() -> Self {
        Self::new(|| std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default())
    }
}
