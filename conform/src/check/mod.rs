//! What a check has in its hands.

pub(super) mod fixtures;
pub(super) mod kept;
pub(super) mod session;
