//! What a user gets: report, timeline, and a test to paste.

pub(super) mod junit;
pub(super) mod replay_test;
pub(super) mod report;
pub(super) mod timeline;
