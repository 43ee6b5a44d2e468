//! The rate limit that processes share, decision by decision: each limiter stands for a process.

mod cluster;
mod decisions;
mod log;
mod rules;
mod simulation;
mod store_faults;

use std::time::Duration;

use shared_inbox_stores::{LimiterBuilder, Redis};

/// Starts building a limiter with a connection of its own.
fn process(url: impl Into<String>, timeout: Duration) -> LimiterBuilder {
    Redis::builder(url).timeout(timeout).open().expect("an address").limiter()
}
