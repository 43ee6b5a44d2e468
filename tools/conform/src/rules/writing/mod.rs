//! Notes, status, tags and assignment.

pub(super) mod assignment;
pub(super) mod tags;
pub(super) mod writes;
