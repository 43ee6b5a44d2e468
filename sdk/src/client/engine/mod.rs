//! Runs one request: the rate limit, the attempts and the waits between them, the transport, the answer's bytes.

mod attempts;
mod core;
mod decode;
mod run;
mod transport;
mod wire;

pub(crate) use attempts::{Budget, Next, next};
pub(crate) use core::Core;
pub(crate) use decode::decode;
#[expect(unused_imports, reason = "a resend holds its place while it looks")]
pub(crate) use run::Place;
pub(crate) use wire::{Answer, Outgoing};
