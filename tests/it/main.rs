//! The crates together, over real sockets.

mod chaos;
#[rustfmt::skip]
mod copied_tests;
#[cfg(unix)]
mod once_kills;
mod receivers;
mod redteam;
mod shared_clock;
mod soak;
mod stories;
