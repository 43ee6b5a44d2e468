//! Calls that must not happen twice: a note, a reply, a document request. `builder` is what users see,
//! `execute` how it is carried out, `read_back` how a lost response is recovered, `once` how a create with a
//! key outlives its process, `lease` who may make it.

mod builder;
mod execute;
mod input;
mod lease;
mod once;
mod read_back;
mod settings;

pub use builder::CreateRequest;
pub use input::CreateInput;
pub(crate) use lease::store_failed;
pub(crate) use once::settings as once_settings;
pub use read_back::Lookup;
pub(crate) use read_back::find_unconfirmed;
