//! What the service returns, field by field.
//!
//! The structs are `#[non_exhaustive]`, so that a new field of the service breaks nobody: a test builds one
//! with `new`, which takes the fields that are always there, and sets the others. `Debug` shows ids, states
//! and numbers: never an email's words, a name or an address.

mod conversation;
mod document;
mod people;
mod receipt;
mod timeline;

pub use conversation::{Contact, Conversation, ConversationSummary};
pub use document::{Document, DocumentFields, Nullable};
pub use people::{Agent, Assignee, Mailbox, Me, Tag, Team, TeamMember};
pub use receipt::{Ack, ReplyResult, SandboxReceipt};
pub use timeline::{Attachment, Message, Note, Sender, TimelineEvent, TimelineItem};

/// `Debug` by allowlist: only the fields named here are shown.
macro_rules! shows {
    ($($name:ident: $($field:ident)*;)*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}
pub(crate) use shows;

/// Gives each struct a `new` that takes these fields, and the values of the others.
macro_rules! constructors {
    ($($name:ident($($arg:ident: $type:ty),*) $({ $($field:ident: $value:expr),* })?;)*) => {$(
        impl $name {
            /// Creates a value with these fields. The others are empty, and can be set afterwards.
            #[must_use]
            pub fn new($($arg: $type),*) -> Self {
                Self { $($arg: $arg.into(),)* $($($field: $value),*)? }
            }
        }
    )*};
}
pub(crate) use constructors;

/// Setters of a builder: each takes a value, or nothing, sets a field and returns the builder.
macro_rules! setters {
    ($($(#[$attr:meta])* $name:ident($($arg:ident: $type:ty)?) $($field:ident).+ = $value:expr;)*) => {$(
        $(#[$attr])*
        pub fn $name(mut self $(, $arg: $type)?) -> Self {
            self.$($field).+ = $value;
            self
        }
    )*};
}
pub(crate) use setters;

/// Gives each struct the derives of a wire type: JSON with camelCase names.
macro_rules! wire {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(feature = "__schemas", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub struct $name { $($body)* }
    )*};
}
pub(crate) use wire;
