//! A secret made ready for hashing.

pub(crate) mod secret;
pub(crate) mod signatures;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::key::secret::Secret;
use crate::key::signatures::MAC;

/// The prepared key of one secret, cloned for each request. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(Hmac::new_from_slice(secret.bytes()).expect("HMAC takes keys of any length"))
    }

    /// Starts on `id.timestamp.`; the body follows, in any number of pieces.
    pub(crate) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        let mac = self.0.clone();
        Hashing(mac.chain_update(id).chain_update(b".").chain_update(timestamp).chain_update(b"."))
    }

    /// Returns the MAC of `id.timestamp.body`.
    pub(crate) fn mac(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; MAC] {
        let mut hashing = self.start(id, timestamp);
        hashing.update(body);
        hashing.finish()
    }
}

/// An HMAC under way.
#[derive(Clone)]
pub(crate) struct Hashing(Hmac<Sha256>);

impl Hashing {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> [u8; MAC] {
        self.0.finalize().into_bytes().into()
    }
}
