//! Comparing and redacting JSON.

pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod redact;
