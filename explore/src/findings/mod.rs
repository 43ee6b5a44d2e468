//! What a user gets: report, timeline, and a test to paste.

pub(super) mod report;
pub(super) mod timeline;
pub(super) mod write_test;
