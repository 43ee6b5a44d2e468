//! Runs one request: the rate limit, the attempts and the waits between them, the transport, the response's
//! bytes.

mod attempts;
mod contact;
mod core;
mod decode;
mod run;
mod telemetry;
mod transport;
mod wire;

pub(crate) use attempts::{Budget, RetryDecision, decide_retry};
pub(crate) use core::Core;
pub(crate) use decode::decode;
pub(crate) use run::{HeldPermit, MAX_ATTEMPT_TIME};
pub(crate) use telemetry::{count_create, traced};
pub(crate) use wire::{HttpResponse, Outgoing};
