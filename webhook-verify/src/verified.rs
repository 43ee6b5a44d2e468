//! What verification gives: values that nothing else can make, so a handler that asks for one cannot be reached by a
//! request that was not verified.

use std::fmt;

/// That one request was verified: who signed it (which secret), when, under which id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    id: &'a str,
    timestamp: u64,
    secret: usize,
}

impl<'a> Proof<'a> {
    pub(crate) fn new(id: &'a str, timestamp: u64, secret: usize) -> Self {
        Self { id, timestamp, secret }
    }

    /// The event's id: the same on every try and on a redelivery by hand.
    #[must_use]
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// When this try was sent, in seconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// Which secret matched: its place in the list given to [`Verifier::new`](crate::Verifier::new), from 0.
    ///
    /// With the new secret first and the old one second, a rotation is complete when this is never 1 any more.
    #[must_use]
    pub fn secret(&self) -> usize {
        self.secret
    }
}

/// A body that was verified, still as bytes.
#[derive(Clone, Copy)]
pub struct VerifiedBody<'a> {
    proof: Proof<'a>,
    body: &'a [u8],
}

impl<'a> VerifiedBody<'a> {
    pub(crate) fn new(proof: Proof<'a>, body: &'a [u8]) -> Self {
        Self { proof, body }
    }

    /// What was proven.
    #[must_use]
    pub fn proof(&self) -> Proof<'a> {
        self.proof
    }

    /// The bytes that were signed.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }
}

impl fmt::Debug for VerifiedBody<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedBody").field("proof", &self.proof).field("bytes", &self.body.len()).finish()
    }
}
