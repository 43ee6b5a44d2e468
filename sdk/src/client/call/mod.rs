//! Requests that are sent by awaiting them: what is common to all, the settings of each, the key's identity,
//! and raw requests.

mod builder;
mod list;
mod options;
mod payload;
mod raw;
mod response;
mod settings;

pub use builder::Request;
pub(crate) use builder::{check_scope, identity, read};
pub use list::List;
pub(crate) use options::{call_options, single_call_options};
pub(crate) use payload::{body, invalid, label, outgoing};
pub use raw::{RawRequest, RawResponse};
pub use response::Response;
pub(crate) use settings::list_filters;
