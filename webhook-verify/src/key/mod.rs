//! A secret made ready for hashing.

pub(crate) mod secret;
pub(crate) mod signatures;

use derive_where::derive_where;
use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key::secret::Secret;

/// The HMAC of a request. Compared in constant time.
pub(crate) type Tag = CtOutput<Hmac<Sha256>>;

/// The prepared key of one secret, cloned for each request. Wiped when dropped.
#[derive(Clone)]
#[derive_where(Debug)]
pub(crate) struct Key(#[derive_where(skip)] Hmac<Sha256>);

impl Key {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(Hmac::new_from_slice(secret.bytes()).expect("HMAC takes keys of any length"))
    }

    /// Returns the HMAC of `id.timestamp.body`.
    pub(crate) fn sign(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> Tag {
        let mut hmac = self.0.clone();
        [id, b".", timestamp, b".", body].iter().for_each(|part| hmac.update(part));
        hmac.finalize()
    }
}
