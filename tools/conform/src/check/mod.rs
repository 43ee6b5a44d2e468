//! State shared by the checks of a run.

pub(super) mod fixture_types;
pub(super) mod fixtures;
pub(super) mod session;
