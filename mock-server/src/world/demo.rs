//! The built-in demo workspace: small, and worth looking at.

use shared_inbox::Timestamp;

use super::World;

impl World {
    /// The demo workspace as it stands at `now`.
    pub fn demo(now: Timestamp) -> World {
        World::bare(2, now)
    }
}
