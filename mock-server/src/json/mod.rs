//! Comparing and redacting JSON, and explaining what is wrong with it.

pub(crate) mod difference;
pub(crate) mod explain;
pub(crate) mod matching;
pub(crate) mod redact;
