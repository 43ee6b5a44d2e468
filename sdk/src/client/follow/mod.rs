//! Looking again and again: at a list, for what is different; at a conversation, until something has happened.

mod changes;
mod wait;

pub use changes::{Change, Changes, Gap};
pub use wait::{ForReply, UntilSent, Wait};
