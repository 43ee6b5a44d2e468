//! Events whose handler always fails: counted by the store, kept as dead letters, run again when somebody
//! asks for it.

use std::sync::Arc;

use derive_where::derive_where;
use serde::de::DeserializeOwned;

use super::guard::{Claim, ClaimStatus, Delivery, FencingToken, GuardFuture, ReplayGuard};
use crate::verified::{MatchedSignature, ParseError, VerifiedBody};

/// The most bytes of an error's text that are kept.
const MAX_ERROR_BYTES: usize = 4096;

/// An event that is not delivered any more because its handler failed too often. It is kept until it has been
/// handled by a retry, or discarded.
///
/// `Debug` shows neither the body nor the error.
#[derive(Clone, PartialEq, Eq)]
#[derive_where(Debug)]
pub struct DeadLetter {
    delivery: Delivery,
    attempts: u32,
    #[derive_where(skip)]
    error: String,
}

impl DeadLetter {
    /// Creates a dead letter, for a guard of yours. The body is that of the delivery; of a long error the
    /// beginning is kept.
    #[must_use]
    pub fn new(delivery: Delivery, attempts: u32, error: &str) -> Self {
        // PostgreSQL takes no NUL in a text.
        let end = (0..=MAX_ERROR_BYTES.min(error.len())).rev().find(|end| error.is_char_boundary(*end));
        let error = error[..end.unwrap_or(0)].replace('\0', "\u{fffd}");
        Self { delivery, attempts, error }
    }

    /// Returns the event and its endpoint: what a retry asks for.
    #[must_use]
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Returns the body, byte for byte. Empty where the delivery did not [know](Delivery::with_body) it.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.delivery.body().unwrap_or_default()
    }

    /// Returns how many runs have failed, retries included.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns what the last run failed with.
    #[must_use]
    pub fn error(&self) -> &str {
        &self.error
    }

    /// Reads the body again, usually into an [`Event`](crate::Event).
    ///
    /// # Errors
    /// When it is not of that shape.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ParseError> {
        let matched = MatchedSignature::new(self.delivery.event(), 0, 0);
        Ok(VerifiedBody::new(matched, None, self.body()).parse::<T>()?.into_inner())
    }
}

/// A claim, and how many runs there have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountedClaim {
    /// The result of the claim.
    pub claim: Claim,
    /// The number of the run that was granted, from 1: those before it failed, or never ended.
    pub run: u32,
    /// Whether the run before it never ended: its claim expired, because its process was killed or stood
    /// still.
    pub has_lapsed: bool,
}

impl CountedClaim {
    /// Creates the result of a claim that was granted as this run.
    #[must_use]
    pub fn granted(fence: FencingToken, run: u32, has_lapsed: bool) -> Self {
        Self { claim: Claim::Granted(fence), run, has_lapsed }
    }
}

impl From<Claim> for CountedClaim {
    fn from(claim: Claim) -> Self {
        Self { claim, run: 0, has_lapsed: false }
    }
}

/// A dead letter that was claimed for a retry; `None` when there is none, or it is being retried now.
pub type ClaimedLetter = Option<(FencingToken, DeadLetter)>;

/// A guard that counts the runs of an event, and keeps events that failed too often, as all guards of this
/// project do.
///
/// The rules of every such guard:
///
/// - An event has a dead letter or none. While it has one, no claim is granted but that of a retry:
///   [`Claim::DeadLettered`].
/// - To bury an event and to release its claim is one atomic step, and so is to commit a retry and to remove
///   the dead letter: whoever dies in between, the event is either still claimed or a dead letter, never
///   neither.
/// - A retry that is released, or whose claim expires, leaves the dead letter as it was.
/// - A dead letter is kept until then, however long that takes.
/// - After an error the step may or may not have happened. Every step may be repeated.
pub trait DeadLetterGuard: ReplayGuard {
    /// Claims a delivery as [`claim`](ReplayGuard::claim) does, and counts the run. A run is forgotten with
    /// its event, or once it has been [forgotten](ReplayGuard::forget).
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim>;

    /// Keeps the dead letter, in the place of an older one of the same event, and releases the claim. Burying
    /// again with the same fence returns [`ClaimStatus::Held`] too: the first response may have been lost.
    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus>;

    /// Claims an event that is a dead letter, for a retry.
    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter>;

    /// Returns the dead letters, oldest first, no more than `limit`.
    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>>;

    /// Removes a dead letter and counts its event as handled. Returns whether there was one that is not being
    /// retried.
    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool>;
}

impl<G: DeadLetterGuard + ?Sized> DeadLetterGuard for Arc<G> {
    fn claim_run<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, CountedClaim> {
        (**self).claim_run(delivery)
    }

    fn bury<'a>(&'a self, letter: &'a DeadLetter, fence: FencingToken) -> GuardFuture<'a, ClaimStatus> {
        (**self).bury(letter, fence)
    }

    fn claim_dead_letter<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, ClaimedLetter> {
        (**self).claim_dead_letter(delivery)
    }

    fn dead_letters(&self, limit: usize) -> GuardFuture<'_, Vec<DeadLetter>> {
        (**self).dead_letters(limit)
    }

    fn discard<'a>(&'a self, delivery: &'a Delivery) -> GuardFuture<'a, bool> {
        (**self).discard(delivery)
    }
}
