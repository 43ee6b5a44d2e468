//! Webhooks, against real receivers over real HTTP. Signatures are checked by the `standardwebhooks` crate, not by ours.

mod endpoints;
mod events;
mod exam;
mod kit;
mod lanes;
mod load;
mod log;
mod luck;
pub(crate) mod receiver;
mod retries;
mod slow;
mod state;
mod targets;
