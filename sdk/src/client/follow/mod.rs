//! Repeated reads: following changes of a list, waiting for something in a conversation, and reading all of a
//! list in slices.

mod changes;
mod memory;
mod sweep;
mod wait;

use std::time::Duration;

use crate::client::engine::Core;
use crate::client::error::Error;

const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// Returns whether it can be read again after this failure.
fn can_pass(error: &Error, core: &Core) -> bool {
    error.is_retryable() && !core.was_never_reached(error)
}

/// Returns how long to wait after a failure that can pass; `before` is the wait after the previous one.
fn backoff(before: Duration, error: &Error) -> Duration {
    let asked = error.retry_after().unwrap_or_default();
    let pause = (before * 2).max(asked).clamp(MIN_BACKOFF, MAX_BACKOFF);
    tracing::warn!(seconds = pause.as_secs(), "error.type" = %error.error_type(), "could not read the list; trying again");
    pause
}

pub use changes::Changes;
pub use memory::{Change, Gap};
pub use sweep::{ListSlice, Sweep};
pub use wait::Wait;
