//! What the tests of all crates share. It depends on none of them, so that each can use it.
#![forbid(unsafe_code)]

pub mod peers;
#[cfg(unix)]
pub mod proxy;
#[cfg(unix)]
pub mod stores;
