//! A call is a small builder that is made by awaiting it: what is common to all of them, what can be set on each, the key's
//! own identity, and the door to endpoints that this crate does not know.

mod builder;
mod identity;
mod options;
mod payload;
mod raw;
mod settings;

pub use builder::Call;
pub(crate) use builder::read;
pub(crate) use identity::{check_scope, identity};
pub(crate) use options::call_options;
pub(crate) use payload::{Payload, body, invalid, label, outgoing};
pub use raw::{Raw, RawAnswer};
pub(crate) use settings::list_filters;
