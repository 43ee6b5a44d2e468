//! What users hold: the client and its builder, and one conversation.

mod builder;
mod client;
mod inbox;
mod thread;

pub use builder::ClientBuilder;
pub use client::Client;
pub use thread::ConversationHandle;
