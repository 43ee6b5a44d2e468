//! Tests across the crates, and of what the tests themselves stand on.

mod peers;
