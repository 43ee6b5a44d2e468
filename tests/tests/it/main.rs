//! The crates together, over real sockets.

mod chaos;
mod checklist;
mod conformance;
mod hand_in_hand;
mod peers;
mod soak;
#[cfg(unix)]
mod stores;
mod stories;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod worker_fleet;
