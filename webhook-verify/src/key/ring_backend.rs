//! HMAC-SHA256 by `ring`, whose prepared key holds the two key blocks compressed. It does not wipe them.

use ring::hmac::{Context, HMAC_SHA256, Key as Prepared};

use crate::key::signatures::MAC;

/// Bytes that are put together before the first call into the hash, which then copies none of them.
const FIRST: usize = 256;

/// The prepared key of one secret.
#[derive(Clone)]
pub(crate) struct Key(Prepared);

impl Key {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(Prepared::new(HMAC_SHA256, bytes))
    }

    /// Returns the MAC of `id.timestamp.body`.
    pub(super) fn mac(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; MAC] {
        let head = id.len() + timestamp.len() + 2;
        let mut hashing;
        if head > FIRST {
            hashing = self.start(id, timestamp);
            hashing.update(body);
        } else {
            let mut first = [0; FIRST];
            let (with, after) = body.split_at(body.len().min(FIRST - head));
            first[..id.len()].copy_from_slice(id);
            first[id.len()] = b'.';
            first[id.len() + 1..head - 1].copy_from_slice(timestamp);
            first[head - 1] = b'.';
            first[head..head + with.len()].copy_from_slice(with);
            hashing = Hashing(Context::with_key(&self.0));
            hashing.update(&first[..head + with.len()]);
            hashing.update(after);
        }
        hashing.finish()
    }

    /// Starts on `id.timestamp.`; the body follows in pieces.
    pub(super) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        let mut hashing = Hashing(Context::with_key(&self.0));
        [id, b".", timestamp, b"."].iter().for_each(|part| hashing.update(part));
        hashing
    }
}

/// An HMAC under way.
#[derive(Clone)]
pub(crate) struct Hashing(Context);

impl Hashing {
    pub(super) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(super) fn finish(self) -> [u8; MAC] {
        let mut mac = [0; MAC];
        mac.copy_from_slice(self.0.sign().as_ref());
        mac
    }
}
