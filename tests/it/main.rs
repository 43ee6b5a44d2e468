//! The crates together, over real sockets.

mod chaos;
#[rustfmt::skip]
mod copied_tests;
mod environment;
#[cfg(unix)]
mod once_kills;
mod redteam;
mod shared_clock;
mod stories;
