//! Tests against programs that are not ours: Node, Python, browsers, real clients, and what a newcomer meets.
//!
//! `scripts/test-peers` runs them. A test whose peer is missing fails and says what to install.

mod front_door;
mod mock;
