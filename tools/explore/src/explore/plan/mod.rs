//! What is tried: steps at requests, at deliveries and in quiet moments, and schedules of them.

pub(super) mod op;
pub(super) mod schedule;
pub(super) mod step;
