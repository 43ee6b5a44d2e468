//! Looking again and again: at a list, for what is different; at a conversation, until something has happened; at slice
//! after slice of a list, until all of it was seen.

mod changes;
mod memory;
mod sweep;
mod wait;

use std::time::Duration;

use crate::client::error::Error;

const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// How long to wait after a failure, when so long was waited after the one before.
fn backoff(before: Duration, error: &Error) -> Duration {
    let asked = error.retry_after().unwrap_or_default();
    (before * 2).max(asked).clamp(MIN_BACKOFF, MAX_BACKOFF)
}

pub use changes::Changes;
pub use memory::{Change, MissedWindow};
pub use sweep::{Slice, Sweep};
pub use wait::{ReferenceWait, ReplyWait, SentWait, Wait};
