//! What holds for every request: input, errors, limits.

pub(super) mod errors;
pub(super) mod inputs;
pub(super) mod operations;
