//! What can be set: how the client tells the time, keeps to the rate limit, repeats. Imports nothing of the client.

mod clock;
mod limiter;
mod options;
mod retry;

pub use clock::{BoxFuture, Clock, TokioClock};
pub use limiter::{
    AcquireRequest, KeyFingerprint, LimitError, MemoryLimiter, Permit, PermitOutcome, Priority, RateLimiter,
};
#[cfg(feature = "redis")]
pub use limiter::{RedisLimiter, RedisLimiterBuilder, StoreError};
pub(crate) use options::Options;
pub use options::Verification;
pub use retry::RetryPolicy;
