//! Keys under which a create happens once, whichever process calls and whatever was killed in between.
//! `record` is what a store keeps, `store` the trait; `create::once` uses it.

mod file;
mod memory;
mod record;
mod store;

pub use file::FileStore;
pub use memory::MemoryStore;
pub(crate) use record::CreateResult;
pub use record::{Fingerprint, OnceRecord};
pub(crate) use store::OnceSettings;
pub use store::{Begun, LeaseStatus, OnceStore, OnceStoreError, StoreFuture, StoredRecord};
