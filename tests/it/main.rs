//! The crates together, over real sockets.

mod chaos;
#[rustfmt::skip]
mod copied_tests;
mod redteam;
mod shared_clock;
mod stories;
