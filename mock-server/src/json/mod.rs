//! JSON as it is read, compared and shown, whoever it belongs to.

pub(crate) mod difference;
pub(crate) mod matching;
pub(crate) mod redact;
pub(crate) mod schema_names;
