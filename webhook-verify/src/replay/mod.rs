//! Runs an event's handler once, although the event may arrive many times.
//!
//! The service repeats an event until it gets a 2xx, for about a day, each time with a new timestamp and a
//! valid signature, so only its id shows whether an event is new. A record of ids that is written when the
//! event arrives would lose an event whose handler then fails; one that is written afterwards would let two
//! attempts run at the same time. Hence two steps: *claim*, then *commit* or *release*.
//!
//! | to run a handler | use |
//! |---|---|
//! | on a server with tokio (axum, actix-web, hyper) | [`Handlers::once`](Handlers): a task that continues when the sender hangs up |
//! | where nothing outlives the request (a function platform, a Worker) | [`once`] |
//! | with effects in a database of yours | [`once_in_transaction`], or `Handlers::once_in_transaction`: exactly once |
//!
//! | to remember events | use |
//! |---|---|
//! | in one process, until it ends | [`MemoryGuard`] |
//! | on many machines | a guard of the crate `shared-inbox-stores`, on Redis or PostgreSQL, or a [`ReplayGuard`] of yours |
//!
//! An event whose handler always fails comes again for about a day, and is then gone. With
//! `Handlers::max_attempts` it becomes a [`DeadLetter`] instead, which the store keeps, and which
//! `Handlers::retry` runs again.
//!
//! With the feature `metrics` receivers and `Handlers` count, under names that begin with
//! `shared_inbox_webhooks_` and with the label `endpoint`:
//!
//! | metric | counts |
//! |---|---|
//! | `received_total`, `verified_total` | requests that arrived, and those that are genuine |
//! | `rejected_total` | rejected requests, by `code` |
//! | `duplicates_total` | deliveries of events that had been handled, were being handled, or are dead letters |
//! | `handler_seconds` | a histogram of how long handlers ran, by `event_type` |
//! | `handler_failures_total` | runs that failed, by `reason`: `error`, `panic`, `timeout` |
//! | `claims_lost_total` | claims that another attempt took while their handler ran |
//! | `dead_letters_total` | events that became dead letters, and retries that failed |
//!
//! No guard can rule out that a process dies between a handler's last effect and the commit: the event is
//! handled again. Where that must not happen, effect and mark must commit together ([`TransactionalInbox`]),
//! or the effect must use the event's id as a unique key.

mod dead_letter;
mod guard;
#[cfg(feature = "tokio")]
mod handlers;
#[cfg(feature = "tokio")]
mod heartbeat;
mod memory;
#[cfg(feature = "tokio")]
mod retry;
mod run;
#[cfg(feature = "tokio")]
mod supervise;
mod transaction;

use std::time::Duration;

pub use dead_letter::{ClaimedLetter, CountedClaim, DeadLetter, DeadLetterGuard};
pub use guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardError, GuardFuture, ReplayGuard};
#[cfg(feature = "tokio")]
pub use handlers::{Handlers, OnStoreError, StillRunning};
pub use memory::{MemoryFull, MemoryGuard};
pub use run::{ClaimHandle, HandleError, Handled, once};
#[cfg(feature = "tokio")]
pub use supervise::OnExhausted;
pub use transaction::{InTransaction, Mark, TransactionalInbox, once_in_transaction};

/// How long the service may repeat an event: its eight pauses, each a fifth longer than planned, and the
/// attempts. A guard remembers handled events for at least as long.
pub const RETRY_WINDOW: Duration = Duration::from_secs(28 * 60 * 60);

/// How long a claim lasts unless it is renewed: six times the service's own timeout, shorter than its second
/// pause.
pub const LEASE: Duration = Duration::from_secs(60);
