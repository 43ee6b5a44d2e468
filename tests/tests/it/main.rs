//! The crates together, over real sockets.

mod chaos;
mod hand_in_hand;
mod stories;
