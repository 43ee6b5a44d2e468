//! The crates together, over real sockets.

mod chaos;
mod conformance;
#[cfg(unix)]
mod once_kills;
mod one_build;
mod receivers;
mod shared_clock;
mod soak;
mod stories;
