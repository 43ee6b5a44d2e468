//! A short stand-in for one exact call, to tell whether another is the same.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a call's parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of anything that has one way of being written as JSON.
    pub(crate) fn from_parts(parts: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(Sha256::digest(serde_json::to_vec(parts)?).into()))
    }
}
