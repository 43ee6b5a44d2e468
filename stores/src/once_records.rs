//! How a store on a server keeps the records of `once` keys.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use shared_inbox::once::{LeaseStatus, OnceRecord, OnceStoreError};

/// Returns the name of a key in a store. A key may be long and hold any characters.
pub(crate) fn key_hash(key: &str) -> String {
    Sha256::digest(key).iter().take(16).fold(String::new(), |mut name, byte| {
        _ = write!(name, "{byte:02x}");
        name
    })
}

pub(crate) fn to_json(record: &OnceRecord) -> Result<String, OnceStoreError> {
    serde_json::to_string(record).map_err(OnceStoreError::new)
}

pub(crate) fn from_json(json: &str) -> Result<OnceRecord, OnceStoreError> {
    // An error of `serde_json` can quote the text.
    serde_json::from_str(json).map_err(|_| {
        OnceStoreError::damaged("a record is damaged: what its key stands for may have been sent")
    })
}

/// Returns whether a step was done.
pub(crate) fn status(is_held: bool) -> LeaseStatus {
    if is_held { LeaseStatus::Held } else { LeaseStatus::Lost }
}
