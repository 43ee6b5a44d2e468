//! Runs one request: the rate limit, the attempts and the waits between them, the transport, the response's bytes.

mod attempts;
mod contact;
mod core;
mod decode;
mod reads;
mod run;
mod service_clock;
mod transport;
mod wire;

pub(crate) use attempts::{Budget, Next, next};
pub(crate) use core::Core;
pub(crate) use decode::decode;
pub(crate) use reads::{dated_at, item_keys};
pub(crate) use run::HeldPermit;
pub(crate) use service_clock::ServiceClock;
pub(crate) use wire::{HttpResponse, Outgoing};
