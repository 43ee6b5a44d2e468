//! The table of all calls, from which the routes and the OpenAPI document are made.

use super::{actions, browse, call::Call, clock, expect, faults, people, snapshots, webhooks, world};

/// Returns every call of the control API.
pub(super) fn all() -> impl Iterator<Item = Call> {
    let families = [
        world::calls(),
        clock::calls(),
        people::calls(),
        actions::calls(),
        browse::calls(),
        webhooks::calls(),
        faults::calls(),
        expect::calls(),
        snapshots::calls(),
    ];
    families.into_iter().flatten()
}
