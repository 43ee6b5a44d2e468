//! A call is a small builder that is made by awaiting it: what is common to all of them, what can be set on each, the key's
//! own identity, and the door to endpoints that this crate does not know.

mod builder;
mod identity;
mod list;
mod options;
mod payload;
mod raw;
mod response;
mod settings;

pub use builder::Request;
pub(crate) use builder::read;
pub(crate) use identity::{check_scope, identity};
pub use list::List;
pub(crate) use options::call_options;
pub(crate) use payload::{body, invalid, label, outgoing};
pub use raw::{RawRequest, RawResponse};
pub use response::Response;
pub(crate) use settings::list_filters;
