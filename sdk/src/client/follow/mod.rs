//! Looking again and again: at a list, for what is different; at a conversation, until something has happened; at slice
//! after slice of a list, until all of it was seen.

mod changes;
mod memory;
mod sweep;
mod wait;

pub use changes::Changes;
pub use memory::{Change, Gap};
pub use sweep::{Slice, Sweep};
pub use wait::{ForReply, UntilSent, Wait};
