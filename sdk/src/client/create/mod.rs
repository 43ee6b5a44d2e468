//! Calls that must not happen twice: a note, a reply, a document request. `builder` is what users see, `execute` how it is
//! carried out, `read_back` how a lost response is recovered.

mod before;
mod builder;
mod execute;
mod input;
mod match_item;
mod read_back;
mod recent_creates;
mod same_text;
mod settings;

pub use builder::CreateRequest;
pub use input::CreateInput;
pub use read_back::Lookup;
pub(crate) use read_back::find_unconfirmed;
pub(crate) use recent_creates::CreateLog;
