//! Comparing, redacting and reading JSON.

pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod read;
pub(crate) mod redact;
