//! The rules of every limiter, for that of one process: on a paused clock.

#[macro_use]
#[path = "../../../stores/tests/suite/limiter.rs"]
mod suite;

use std::{sync::Arc, time::Duration};

use shared_inbox::rate_limit::MemoryLimiter;

async fn in_memory(limit: u32) -> suite::Case {
    let limiter = Arc::new(MemoryLimiter::new(limit));
    suite::Case { other: limiter.clone(), limiter, minute: Duration::from_secs(60), _keep: None }
}

rules!(tokio::test(start_paused = true), suite, in_memory);
