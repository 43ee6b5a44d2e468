//! The client, its builder, and the handle of one conversation.

mod builder;
mod client;
mod conversation;
mod inbox;
mod once;

pub use builder::ClientBuilder;
pub use client::Client;
pub use conversation::ConversationHandle;
pub use once::UnfinishedRecord;
