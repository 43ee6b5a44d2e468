//! The crates together, over real sockets.

mod chaos;
mod conformance;
mod hand_in_hand;
mod one_build;
mod peers;
mod soak;
mod stories;
