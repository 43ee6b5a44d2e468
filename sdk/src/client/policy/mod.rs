//! The policies of the client: clock, rate limit, retries, options. Imports nothing else of the client.

mod clock;
mod limiter;
mod options;
mod retry;

pub(crate) use clock::after;
pub use clock::{BoxFuture, Clock, TokioClock};
pub(crate) use limiter::MIN_LIMIT;
pub use limiter::{
    AcquireRequest, KeyFingerprint, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter,
};
pub(crate) use options::Options;
pub use options::Verification;
pub use retry::RetryPolicy;
