//! The table of all calls by family, from which the routes and the OpenAPI document are made.

use super::{actions, browse, call::Call, clock, expect, faults, people, snapshots, webhooks, world};

/// The calls of one family.
#[cfg_attr(not(feature = "schemas"), expect(dead_code, reason = "only the OpenAPI document shows the texts"))]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) calls: Vec<Call>,
}

/// Returns every call of the control API, in the order in which a reader meets them.
pub(super) fn all() -> Vec<Family> {
    vec![
        Family {
            name: "World",
            about: "The world as a whole: its document, its clock, its journal, and worlds beside it.",
            calls: world::calls().into_iter().chain(clock::calls()).collect(),
        },
        Family { name: "People", about: "People, inboxes, keys and the plan.", calls: people::calls() },
        Family {
            name: "Actions",
            about: "What people do in the app, what its helpers do, and what customers do. For the id of a conversation, the \
                    address of a customer stands for their newest one.",
            calls: actions::calls(),
        },
        Family {
            name: "Browse",
            about: "Everything there is, whoever it belongs to.",
            calls: browse::calls(),
        },
        Family { name: "Webhooks", about: "What an owner does with a webhook.", calls: webhooks::calls() },
        Family { name: "Failures", about: "Failures on demand.", calls: faults::calls() },
        Family {
            name: "Expecting",
            about: "Saying what must happen, and snapshots to come back to and to compare.",
            calls: expect::calls().into_iter().chain(snapshots::calls()).collect(),
        },
    ]
}
