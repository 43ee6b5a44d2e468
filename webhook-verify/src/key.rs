//! A secret made ready for hashing: the two key blocks of the HMAC are computed once, not for every request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::secret::Secret;
use crate::signatures::MAC;

/// Bytes that the hash takes in one go.
const BLOCK: usize = 64;

/// The prepared key of one secret. `hmac` and `sha2` wipe it when it is dropped.
#[derive(Clone)]
pub(crate) struct Key(Hmac<Sha256>);

/// Does not compile when the features that wipe a key are off. The HMAC's state is two of the hash's and its buffer, which
/// wipe themselves; it does not carry the marker itself.
const _: fn() = || {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    wiped::<Sha256>();
};

impl Key {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self::of(secret.bytes())
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes a key of any length"))
    }

    /// The MAC of `id.timestamp.body`.
    pub(crate) fn mac(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; MAC] {
        // Every call into the hash has its price, which counts next to a small body, and so has a block that comes in two
        // parts: put everything up to the end of a block together first. Most events fit in whole.
        let mut first = [0; 8 * BLOCK];
        let (dot, head) = (id.len() + 1, id.len() + timestamp.len() + 2);
        if head > first.len() {
            let mut hashing = self.start(id, timestamp);
            hashing.update(body);
            return hashing.finish();
        }
        let (with, after) = body.split_at(body.len().min(first.len() - head));
        let end = head + with.len();
        first[..id.len()].copy_from_slice(id);
        first[id.len()] = b'.';
        first[dot..head - 1].copy_from_slice(timestamp);
        first[head - 1] = b'.';
        first[head..end].copy_from_slice(with);
        let mut mac = self.0.clone();
        mac.update(&first[..end]);
        if !after.is_empty() {
            mac.update(after);
        }
        mac.finalize().into_bytes().into()
    }

    /// Starts on `id.timestamp.`; the body follows in pieces.
    pub(crate) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        let mut mac = self.0.clone();
        [id, b".", timestamp, b"."].iter().for_each(|part| mac.update(part));
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
