//! The HTTP client: one method for each operation, with input checks, the rate limit, retries and verified
//! creates.
//!
//! Modules depend only on those above them:
//!
//! | module | holds |
//! |---|---|
//! | `policy` | settings: clock, rate limit, retries, options |
//! | `create_state` | the state of a create: what it is told apart by, the service's clock |
//! | `once` | keys under which a create happens once, and their stores |
//! | `error` | the error and its data |
//! | `config` | the API key and the base URL |
//! | `engine` | runs one request: rate limit, attempts, transport, decoding |
//! | `call` | requests that are sent by awaiting them; the identity of the key |
//! | `create` | requests that must not take effect twice |
//! | `follow` | repeated reads: changes, waits, sweeps |
//! | `handle` | the client, its builder, and a conversation |

pub(crate) mod call;
pub(crate) mod config;
pub(crate) mod create;
pub(crate) mod create_state;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod follow;
pub(crate) mod handle;
pub(crate) mod once;
pub(crate) mod policy;
