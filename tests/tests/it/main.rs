//! The crates together, over real sockets.

mod chaos;
mod conformance;
mod one_build;
mod shared_clock;
mod stories;
