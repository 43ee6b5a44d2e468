//! A secret made ready for hashing, by whichever backend is the fastest on this CPU.

#[cfg(feature = "ring")]
mod ring_backend;
pub(crate) mod secret;
mod sha2_backend;
pub(crate) mod signatures;

use crate::key::secret::Secret;
use crate::key::signatures::MAC;

/// Who computes HMAC-SHA256. Not a part of the API: for this crate's tests and benchmarks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The crate `sha2`.
    Sha2,
    /// The crate `ring`.
    #[cfg(feature = "ring")]
    Ring,
}

impl Backend {
    /// Those that were compiled in.
    pub const ALL: &[Self] = &[
        Self::Sha2,
        #[cfg(feature = "ring")]
        Self::Ring,
    ];

    /// The fastest one here. With SHA instructions both use them, and `sha2` with less around; without, `ring` has the better code.
    #[must_use]
    pub fn fastest() -> Self {
        #[cfg(feature = "ring")]
        if !has_sha_instructions() {
            return Self::Ring;
        }
        Self::Sha2
    }
}

#[cfg(feature = "ring")]
fn has_sha_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// The prepared key of one secret.
#[derive(Clone)]
pub(crate) enum Key {
    Sha2(sha2_backend::Key),
    #[cfg(feature = "ring")]
    Ring(ring_backend::Key),
}

impl Key {
    pub(crate) fn new(secret: &Secret, backend: Backend) -> Self {
        Self::of(secret.bytes(), backend)
    }

    pub(crate) fn of(bytes: &[u8], backend: Backend) -> Self {
        match backend {
            Backend::Sha2 => Self::Sha2(sha2_backend::Key::new(bytes)),
            #[cfg(feature = "ring")]
            Backend::Ring => Self::Ring(ring_backend::Key::new(bytes)),
        }
    }

    /// Returns the MAC of `id.timestamp.body`.
    pub(crate) fn mac(&self, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; MAC] {
        match self {
            Self::Sha2(key) => key.mac(id, timestamp, body),
            #[cfg(feature = "ring")]
            Self::Ring(key) => key.mac(id, timestamp, body),
        }
    }

    /// Starts on `id.timestamp.`; the body follows in pieces.
    pub(crate) fn start(&self, id: &[u8], timestamp: &[u8]) -> Hashing {
        match self {
            Self::Sha2(key) => Hashing::Sha2(key.start(id, timestamp)),
            #[cfg(feature = "ring")]
            Self::Ring(key) => Hashing::Ring(key.start(id, timestamp)),
        }
    }
}

/// An HMAC under way.
#[derive(Clone)]
pub(crate) enum Hashing {
    Sha2(sha2_backend::Hashing),
    #[cfg(feature = "ring")]
    Ring(ring_backend::Hashing),
}

impl Hashing {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Sha2(hashing) => hashing.update(piece),
            #[cfg(feature = "ring")]
            Self::Ring(hashing) => hashing.update(piece),
        }
    }

    pub(crate) fn finish(self) -> [u8; MAC] {
        match self {
            Self::Sha2(hashing) => hashing.finish(),
            #[cfg(feature = "ring")]
            Self::Ring(hashing) => hashing.finish(),
        }
    }
}
