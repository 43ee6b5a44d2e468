//! A secret made ready for hashing: the two key blocks of the HMAC are computed once, not for every request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::secret::Secret;
use crate::signatures::MAC;

/// The prepared key of one secret. `hmac` and `sha2` wipe it when it is dropped.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

impl Key {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self::of(secret.bytes())
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes a key of any length"))
    }

    /// Starts on `id.timestamp.`; the body follows.
    pub(crate) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        let mut mac = self.0.clone();
        mac.update(id);
        mac.update(b".");
        mac.update(timestamp);
        mac.update(b".");
        Hashing(mac)
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
