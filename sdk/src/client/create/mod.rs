//! Calls that must not happen twice: a note, a reply, a document request. `builder` is what users see, `verified` how it is
//! carried out, `look` how a lost answer is settled.

mod before;
mod builder;
mod created;
mod expected;
mod ledger;
mod look;
mod settings;
mod verified;
mod words;

pub use builder::Create;
pub use created::Created;
pub(crate) use ledger::Ledgers;
pub use look::Lookup;
pub(crate) use look::find_unconfirmed;
