//! Webhooks, against real receivers over real HTTP. Signatures are checked by the `standardwebhooks` crate,
//! not by ours.

mod endpoints;
mod events;
#[cfg(feature = "mcp")]
mod faults;
pub(crate) mod kit;
mod load;
mod log;
mod order;
pub(crate) mod receiver;
mod receiver_check;
mod retries;
mod slow;
mod state;
mod targets;
