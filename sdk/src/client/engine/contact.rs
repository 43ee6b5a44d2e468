//! Records whether the service was ever reached: until then, a failed connection is a configuration error and
//! not an outage.

use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Contact {
    ever: AtomicBool,
    /// Whether the latest attempt found no connection.
    is_lost: AtomicBool,
}

impl Contact {
    /// Records a response.
    pub(super) fn reached(&self) {
        self.ever.store(true, Ordering::Relaxed);
        self.is_lost.store(false, Ordering::Relaxed);
    }

    pub(super) fn was_ever_made(&self) -> bool {
        self.ever.load(Ordering::Relaxed)
    }

    /// Records a failed connection, and returns whether it is the first one since a response.
    pub(super) fn is_first_failure(&self) -> bool {
        !self.is_lost.swap(true, Ordering::Relaxed)
    }
}
