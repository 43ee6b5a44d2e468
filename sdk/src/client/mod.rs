//! The HTTP client: one method for each operation, with input checks, the rate limit, retries and verified creates.
//!
//! Modules depend only on those above them:
//!
//! | module | holds |
//! |---|---|
//! | `policy` | settings: clock, rate limit, retries, options |
//! | `error` | the error and its data |
//! | `config` | the API key and the base URL |
//! | `engine` | runs one request: rate limit, attempts, transport, decoding |
//! | `call` | requests that are sent by awaiting them; the identity of the key |
//! | `create` | requests that must not take effect twice |
//! | `follow` | repeated reads: changes, waits, sweeps |
//! | `handle` | the client, its builder, and a conversation |

mod call;
mod config;
mod create;
mod engine;
mod error;
mod follow;
mod handle;
mod policy;

pub use call::{List, RawRequest, RawResponse, Request, Response};
pub use config::{ApiKey, InvalidApiKey};
pub use create::{CreateInput, CreateRequest, Lookup};
pub use error::{Certainty, Error, ErrorKind, Result, UnconfirmedCreate};
pub use follow::{Change, Changes, MissedWindow, ReferenceWait, ReplyWait, SentWait, Slice, Sweep, Wait};
pub use handle::{Client, ClientBuilder, ConversationHandle};
pub use policy::{
    AcquireRequest, BoxFuture, Clock, KeyFingerprint, LimitError, MemoryLimiter, Permit, PermitOutcome,
    Priority, RateLimiter, RetryPolicy, TokioClock, Verification,
};
#[cfg(feature = "redis")]
pub use policy::{RedisLimiter, RedisLimiterBuilder, StoreError};
