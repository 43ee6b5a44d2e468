//! The HTTP client: one method for each operation, and the care around it (input checks, rate limit, retries, verified
//! creates) that makes it safe to leave alone with a customer's inbox.
//!
//! Each room stands on those above it and knows nothing of those below:
//!
//! | room | holds |
//! |---|---|
//! | `policy` | what can be set: clock, rate limit, retries, options |
//! | `error` | the error, and what it carries |
//! | `config` | the key, and where the service is |
//! | `engine` | runs one request: limit, attempts, transport, decoding |
//! | `call` | a call that is made by awaiting it; the key's own identity |
//! | `create` | calls that must not happen twice |
//! | `follow` | looking again and again: changes, waits, sweeps |
//! | `handle` | what users hold: client, conversation, builder |

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
