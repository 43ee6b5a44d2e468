//! What a run found: the report itself, as JUnit, and against an earlier one.

pub(super) mod diff;
pub(super) mod junit;
pub(super) mod report;
mod volatile;
