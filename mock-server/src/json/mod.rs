//! Comparing, redacting and naming JSON.

pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod redact;
pub(crate) mod schema_names;
