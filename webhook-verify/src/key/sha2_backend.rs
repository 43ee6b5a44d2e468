//! HMAC-SHA256 with the two key blocks compressed once, not for every request.
//!
//! On the compression function of `sha2` and not on `hmac`, for two reasons. `hmac` leaves the padded key on the stack when
//! it is made; here the one block that ever holds it is wiped. And next to a body of a few hundred bytes it costs more to
//! clone, buffer and wipe its state than to hash; here a small message is padded in place and compressed in one call. A
//! property test holds the result to that of `hmac`.

use sha2::block_api::compress256;
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::key::signatures::MAC;

/// Bytes that the hash takes in one go.
const BLOCK: usize = 64;
/// Bytes that are put together before the first call into the hash. Most events fit in whole.
const FIRST: usize = 4 * BLOCK;
/// What the padding takes at least: a bit, and the length.
const PADDING: usize = 9;

type State = [u32; 8];

/// What SHA-256 starts from.
const START: State =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The prepared key of one secret: what the hash has come to after its inner and its outer key block. Wiped when dropped.
#[derive(Clone)]
pub(crate) struct Key {
    inner: State,
    outer: State,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

impl Key {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        if bytes.len() <= BLOCK {
            block[..bytes.len()].copy_from_slice(bytes);
        } else {
            block[..MAC].copy_from_slice(&Sha256::digest(bytes));
        }
        let mut key = Self { inner: START, outer: START };
        block.iter_mut().for_each(|byte| *byte ^= 0x36);
        compress256(&mut key.inner, std::slice::from_ref(&block));
        block.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
        compress256(&mut key.outer, std::slice::from_ref(&block));
        block.zeroize();
        key
    }

    /// Returns the MAC of `id.timestamp.body`.
    pub(super) fn mac(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; MAC] {
        let head = id.len() + timestamp.len() + 2;
        if head > FIRST {
            let mut hashing = self.start(id, timestamp);
            hashing.update(body);
            return hashing.finish();
        }
        let mut first = [0; FIRST];
        let (with, after) = body.split_at(body.len().min(FIRST - head));
        let end = head + with.len();
        first[..id.len()].copy_from_slice(id);
        first[id.len()] = b'.';
        first[id.len() + 1..head - 1].copy_from_slice(timestamp);
        first[head - 1] = b'.';
        first[head..end].copy_from_slice(with);
        let mut state = self.inner;
        if end + PADDING <= FIRST {
            let padded = pad(&mut first, end, end);
            compress256(&mut state, blocks(&first[..padded]));
        } else {
            let (whole, rest) = blocks_and_rest(&first[..end]);
            compress256(&mut state, whole);
            // What is left of the first blocks is the end of the message: there is more only where they are full.
            let (whole, rest) = if after.is_empty() { (&[][..], rest) } else { blocks_and_rest(after) };
            compress256(&mut state, whole);
            let mut last = [0; 2 * BLOCK];
            last[..rest.len()].copy_from_slice(rest);
            let padded = pad(&mut last, rest.len(), end + after.len());
            compress256(&mut state, blocks(&last[..padded]));
        }
        self.end(&state)
    }

    /// Starts on `id.timestamp.`; the body follows in pieces.
    pub(super) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        let mut hashing =
            Hashing { key: self.clone(), state: self.inner, open: [0; BLOCK], filled: 0, length: 0 };
        [id, b".", timestamp, b"."].iter().for_each(|part| hashing.update(part));
        hashing
    }

    /// Returns the outer hash over the inner one's result.
    fn end(&self, inner: &State) -> [u8; MAC] {
        let mut block = [0; BLOCK];
        block[..MAC].copy_from_slice(&bytes(inner));
        pad(&mut block, MAC, MAC);
        let mut state = self.outer;
        compress256(&mut state, std::slice::from_ref(&block));
        bytes(&state)
    }
}

/// An HMAC under way.
#[derive(Clone)]
pub(crate) struct Hashing {
    key: Key,
    state: State,
    open: [u8; BLOCK],
    filled: usize,
    length: usize,
}

impl Hashing {
    pub(super) fn update(&mut self, mut piece: &[u8]) {
        self.length += piece.len();
        if self.filled > 0 {
            let (fits, after) = piece.split_at(piece.len().min(BLOCK - self.filled));
            self.open[self.filled..self.filled + fits.len()].copy_from_slice(fits);
            self.filled += fits.len();
            piece = after;
            if self.filled < BLOCK {
                return;
            }
            compress256(&mut self.state, std::slice::from_ref(&self.open));
        }
        let (whole, rest) = blocks_and_rest(piece);
        compress256(&mut self.state, whole);
        self.open[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    pub(super) fn finish(mut self) -> [u8; MAC] {
        let mut last = [0; 2 * BLOCK];
        last[..self.filled].copy_from_slice(&self.open[..self.filled]);
        let padded = pad(&mut last, self.filled, self.length);
        compress256(&mut self.state, blocks(&last[..padded]));
        self.key.end(&self.state)
    }
}

/// Ends a message whose last `end` bytes stand at the start of `buffer`, which is zero behind them: a bit, and how many bits
/// were hashed, the key's block among them. Says where the padding ends.
fn pad(buffer: &mut [u8], end: usize, length: usize) -> usize {
    let padded = (end + PADDING).next_multiple_of(BLOCK);
    let bits = (BLOCK as u64 + length as u64) * 8;
    buffer[end] = 0x80;
    buffer[padded - 8..padded].copy_from_slice(&bits.to_be_bytes());
    padded
}

fn blocks(bytes: &[u8]) -> &[[u8; BLOCK]] {
    blocks_and_rest(bytes).0
}

fn blocks_and_rest(bytes: &[u8]) -> (&[[u8; BLOCK]], &[u8]) {
    bytes.as_chunks()
}

fn bytes(state: &State) -> [u8; MAC] {
    let mut bytes = [0; MAC];
    for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    bytes
}
