//! Limits of the memory that the snapshots of all worlds take, and their journals.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicUsize, Ordering},
};

use super::WorldRuntime;

/// The limits of a server.
#[derive(Clone)]
pub(crate) struct MemoryLimits {
    pub(super) snapshots: Arc<MemoryLimit>,
    pub(super) journals: Arc<MemoryLimit>,
}

impl MemoryLimits {
    /// The limit of a server unless it is set.
    pub(crate) const DEFAULT_BYTES: usize = 1 << 30;

    /// Splits a limit, so that snapshots leave journals their room.
    pub(crate) fn new(bytes: usize) -> Self {
        let journals = bytes / 4;
        Self { snapshots: MemoryLimit::new(bytes - journals), journals: MemoryLimit::new(journals) }
    }
}

/// A limit, and how much of it is used.
pub(crate) struct MemoryLimit {
    bytes: usize,
    used: AtomicUsize,
    worlds: Mutex<Vec<Weak<WorldRuntime>>>,
}

impl MemoryLimit {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { bytes, used: AtomicUsize::new(0), worlds: Mutex::default() })
    }

    fn worlds(&self) -> MutexGuard<'_, Vec<Weak<WorldRuntime>>> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a world, whose journal may then be shortened.
    pub(super) fn add_world(&self, world: &Arc<WorldRuntime>) {
        let mut worlds = self.worlds();
        worlds.retain(|world| world.strong_count() > 0);
        worlds.push(Arc::downgrade(world));
    }

    fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.bytes
    }

    /// Shortens the largest journal, again and again, until the limit is kept. Worlds that are busy are
    /// passed over, so it may stay exceeded until the next request ends. The caller must not hold the lock of
    /// a world.
    pub(super) fn shorten_journals(&self) {
        while self.is_exceeded() {
            let worlds: Vec<_> = self.worlds().iter().filter_map(Weak::upgrade).collect();
            let mut idle: Vec<_> = worlds.iter().filter_map(|world| world.state.try_lock().ok()).collect();
            let largest = idle.iter_mut().max_by_key(|state| state.journal.bytes());
            if !largest.is_some_and(|state| state.journal.shorten()) {
                break;
            }
        }
    }
}

/// The bytes of one journal, or of the snapshots of one world. They are free again when this is dropped.
pub(crate) struct MemoryShare {
    limit: Arc<MemoryLimit>,
    pub(super) bytes: usize,
}

impl MemoryShare {
    pub(crate) fn new(limit: &Arc<MemoryLimit>) -> Self {
        Self { limit: Arc::clone(limit), bytes: 0 }
    }

    /// Returns the limit of all shares together, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.limit.bytes
    }

    /// Changes the size, whatever the limit is.
    pub(super) fn resize(&mut self, bytes: usize) {
        self.limit.used.fetch_add(bytes, Ordering::Relaxed);
        self.limit.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// Changes the size, unless that exceeds the limit; returns whether it did.
    pub(super) fn try_resize(&mut self, bytes: usize) -> bool {
        let before = self.bytes;
        self.resize(bytes);
        let fits = bytes <= before || !self.limit.is_exceeded();
        if !fits {
            self.resize(before);
        }
        fits
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.resize(0);
    }
}
