//! What the tests of all crates share. It depends on none of them, so that each can use it.
#![forbid(unsafe_code)]

mod counters;
pub mod peers;
mod polling;
#[cfg(unix)]
pub mod proxy;
#[cfg(unix)]
pub mod stores;

pub use counters::counted;
pub use polling::until;
