//! Which key a request is made with, for whoever counts elsewhere: keys are told apart there without being known.

use std::fmt;

use sha2::{Digest, Sha256};

/// A hash of an API key: tells keys apart and tells nothing of them. Written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyFingerprint([u8; 16]);

impl KeyFingerprint {
    /// Half of the hash suffices: a key is longer than can be guessed.
    pub(crate) fn of(key: &str) -> Self {
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
