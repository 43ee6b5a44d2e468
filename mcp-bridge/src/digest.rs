//! A short stand-in for one exact call, to tell whether another is the same.

use sha2::{Digest as _, Sha256};

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of a text or of bytes.
    pub(crate) fn new(content: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(content).into())
    }

    pub(crate) fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
