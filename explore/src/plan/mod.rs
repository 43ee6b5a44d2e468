//! What is tried: steps, schedules, and how to make them smaller.

pub(super) mod chance;
pub(super) mod generator;
pub(super) mod op;
pub(super) mod schedule;
pub(super) mod shrink;
pub(super) mod step;
