//! Running an event's handler once, although the event may arrive many times.
//!
//! The service repeats an event until it gets a 2xx, for about a day, each time with a new timestamp and a signature
//! that fits. So a fresh timestamp says nothing about whether an event is new; only its id does. A memory of ids that
//! is written when the event arrives would lose an event whose handler then failed; one that is written afterwards would
//! let two tries run side by side. Hence two steps: *claim*, then *commit* or *release*. [`once`] does both.
//!
//! What no guard can rule out: a process that dies between a handler's last effect and the commit has handled the event,
//! and nobody knows. It is handled again. Where that must not be, give the effect itself the event's id as a unique key.

mod memory;

use std::error::Error;
use std::future::Future;

pub use memory::{MemoryFull, MemoryGuard};

/// One event at one endpoint: what a guard remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delivery<'a> {
    /// Whatever tells the receiver's endpoints apart: an id, a path. Two endpoints may get the same event.
    pub endpoint: &'a str,
    /// The event's id, from [`Proof::id`](crate::Proof::id).
    pub event: &'a str,
}

/// Says whose a claim is, so that one that ran out cannot release its successor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u128);

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Yours: handle the event, then commit or release.
    Granted(Ticket),
    /// Another try of the same event is being handled right now.
    InProgress,
    /// The event has been handled.
    Done,
}

/// A memory of events, in this process ([`MemoryGuard`]) or in a store that many machines share.
///
/// Claims must run out by themselves (the *lease*), so that a machine that died does not block an event for good; what
/// was committed must be kept for at least [`RETRY_WINDOW`](MemoryGuard::RETRY_WINDOW). In a key-value store, `claim`
/// is a set-if-absent with a lifetime, `commit` a set with a longer one, `release` a compare-and-delete.
///
/// ```
/// use std::collections::HashMap;
/// use std::convert::Infallible;
/// use std::sync::Mutex;
/// use shared_inbox_webhooks::replay::{Claim, Delivery, ReplayGuard, Ticket};
///
/// /// Shows the shape; a real store also lets its entries run out.
/// #[derive(Default)]
/// struct Table(Mutex<HashMap<(String, String), Option<Ticket>>>);
///
/// fn key(delivery: Delivery<'_>) -> (String, String) {
///     (delivery.endpoint.to_owned(), delivery.event.to_owned())
/// }
///
/// impl ReplayGuard for Table {
///     type Error = Infallible;
///
///     async fn claim(&self, delivery: Delivery<'_>) -> Result<Claim, Infallible> {
///         let mut table = self.0.lock().unwrap();
///         Ok(match table.get(&key(delivery)) {
///             Some(None) => Claim::Done,
///             Some(Some(_)) => Claim::InProgress,
///             None => {
///                 let ticket = Ticket(7); // a random number
///                 table.insert(key(delivery), Some(ticket));
///                 Claim::Granted(ticket)
///             }
///         })
///     }
///
///     async fn commit(&self, delivery: Delivery<'_>) -> Result<(), Infallible> {
///         self.0.lock().unwrap().insert(key(delivery), None);
///         Ok(())
///     }
///
///     async fn release(&self, delivery: Delivery<'_>, ticket: Ticket) -> Result<(), Infallible> {
///         let mut table = self.0.lock().unwrap();
///         if table.get(&key(delivery)) == Some(&Some(ticket)) {
///             table.remove(&key(delivery));
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait ReplayGuard: Send + Sync {
    /// What can go wrong with the store.
    type Error: Error + Send + Sync + 'static;

    /// Claims a delivery, in one atomic step.
    fn claim(&self, delivery: Delivery<'_>) -> impl Future<Output = Result<Claim, Self::Error>> + Send;

    /// Notes that the event has been handled, whoever claims it by now.
    fn commit(&self, delivery: Delivery<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Gives the claim back, so that the next try is handled. Does nothing when the claim is no longer this ticket's.
    fn release(
        &self,
        delivery: Delivery<'_>,
        ticket: Ticket,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Called when a handler was dropped or panicked and nobody can wait for a release any more. Must not block. Without
    /// an implementation the claim runs out by itself.
    fn abandon(&self, _delivery: Delivery<'_>, _ticket: Ticket) {}
}

/// How a delivery went, when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a delivery in progress must not be answered with success"]
pub enum Once<T, G> {
    /// It was handled now.
    Ran(T),
    /// It was handled now, but the store could not note it: answer with success, or it comes again.
    RanUnrecorded(T, G),
    /// It had been handled before.
    AlreadyDone,
    /// Another try is being handled: not a success yet.
    InProgress,
}

impl<T, G> Once<T, G> {
    /// The HTTP status to answer with: 200, or 409 for a delivery in progress, so that the service tries again in case
    /// the other try fails.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Ran(_) | Self::RanUnrecorded(..) | Self::AlreadyDone => 200,
            Self::InProgress => 409,
        }
    }
}

/// Why a delivery was not handled. Answer with [`status`](Self::status), so that the service tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnceError<E, G> {
    /// The handler failed; the claim was given back.
    #[error("the handler of the event failed")]
    Handler(#[source] E),
    /// The store could not be asked whether the event is new; the handler did not run.
    #[error("the replay guard could not be asked, so the event was not handled")]
    Guard(#[source] G),
}

impl<E, G> OnceError<E, G> {
    /// The HTTP status to answer with: 500.
    #[must_use]
    pub fn status(&self) -> u16 {
        500
    }
}

/// Runs `handler` unless the event has been handled or is being handled.
///
/// The claim is given back when the handler fails, panics, or is dropped half-way (a sender that hangs up makes most
/// servers drop the handler).
///
/// With the features `axum` and `actix-web` the result is an answer, the bare status of [`Once::status`] or
/// [`OnceError::status`]: a route's function returns it as it is.
///
/// ```
/// use shared_inbox_webhooks::replay::{Delivery, MemoryGuard, Once, once};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let guard = MemoryGuard::new();
/// let delivery = Delivery { endpoint: "orders", event: "evt_1" };
///
/// let failed = once(&guard, delivery, async { Err::<(), _>("database down") }).await;
/// assert!(failed.is_err());                              // answer 500; the service tries again
/// let retried = once(&guard, delivery, async { Ok::<_, &str>("stored") }).await;
/// assert_eq!(retried, Ok(Once::Ran("stored")));
/// let again = once(&guard, delivery, async { Ok::<_, &str>("stored twice?") }).await;
/// assert_eq!(again, Ok(Once::AlreadyDone));
/// # }
/// ```
///
/// # Errors
/// When the handler fails, or the guard cannot be asked.
pub async fn once<G, T, E>(
    guard: &G,
    delivery: Delivery<'_>,
    handler: impl Future<Output = Result<T, E>>,
) -> Result<Once<T, G::Error>, OnceError<E, G::Error>>
where
    G: ReplayGuard,
{
    let ticket = match guard.claim(delivery).await.map_err(OnceError::Guard)? {
        Claim::Granted(ticket) => ticket,
        Claim::InProgress => return Ok(Once::InProgress),
        Claim::Done => return Ok(Once::AlreadyDone),
    };
    let mut held = Held { guard, delivery, ticket, done: false };
    match handler.await {
        Ok(value) => {
            // From here on the event is handled, also when this future is dropped while the store is slow.
            held.done = true;
            Ok(match guard.commit(delivery).await {
                Ok(()) => Once::Ran(value),
                Err(error) => Once::RanUnrecorded(value, error),
            })
        }
        Err(error) => {
            // Where the store fails too, the claim runs out by itself.
            let _ = guard.release(delivery, ticket).await;
            held.done = true;
            Err(OnceError::Handler(error))
        }
    }
}

/// Abandons the claim unless the delivery came to an end.
struct Held<'a, G: ReplayGuard> {
    guard: &'a G,
    delivery: Delivery<'a>,
    ticket: Ticket,
    done: bool,
}

impl<G: ReplayGuard> Drop for Held<'_, G> {
    fn drop(&mut self) {
        if !self.done {
            self.guard.abandon(self.delivery, self.ticket);
        }
    }
}
