//! Keys under which a create happens once, whichever process calls and whatever was killed in between.
//! `record` is what a store keeps, `store` the trait, `suite` its rules; `create::once` uses it.

mod file;
mod memory;
#[cfg(feature = "sqlx")]
mod postgres;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod store;
#[cfg(feature = "suite")]
pub mod suite;

pub use file::FileStore;
pub use memory::MemoryStore;
#[cfg(feature = "sqlx")]
pub use postgres::PostgresStore;
pub(crate) use record::CreateResult;
pub use record::{Fingerprint, OnceRecord};
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub(crate) use store::OnceSettings;
pub use store::{Begun, LeaseStatus, OnceStore, OnceStoreError, StoreFuture, StoredRecord};
