//! A hash of an API key, for limiters that count for several keys.

use std::fmt;

use sha2::{Digest, Sha256};

/// A hash of an API key, which distinguishes keys without revealing them. Displayed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyFingerprint([u8; 16]);

impl KeyFingerprint {
    /// Half of a SHA-256 is enough: a key is too long to be guessed.
    pub(crate) fn from_key(key: &str) -> Self {
        let hash = Sha256::new().chain_update("shared-inbox rate limit\n").chain_update(key).finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&hash[..16]);
        Self(half)
    }
}

impl fmt::Display for KeyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFingerprint({self})")
    }
}
