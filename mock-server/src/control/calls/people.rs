//! People, inboxes, keys and the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    control::{
        Control,
        call::{Call, Done, Gone, Made, delete, list, post, put},
        input::{Id, Input},
    },
    world::Plan,
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        list("/users", "list_users", "Everyone on the team", |it: Control, ()| async move { Ok(it.users().await) }),
        post("/users", "create_user", "A new person on the team", |it: Control, Input(new)| async move {
            it.create_user(new).await.map(Made)
        }),
        list("/mailboxes", "list_mailboxes", "All inboxes", |it: Control, ()| async move { it.mailboxes().await })
            .about("Private ones and the sandbox included."),
        post("/mailboxes", "create_mailbox", "A new inbox", |it: Control, Input(new)| async move {
            it.create_mailbox(new).await.map(Made)
        })
        .about("With an `owner` it is that person's private inbox.")
        .conflict("There is an inbox with this address already."),
        list("/keys", "list_keys", "All keys, without what is secret about them", |it: Control, ()| async move {
            Ok(it.keys().await)
        }),
        post("/keys", "create_key", "A new key, shown this once", |it: Control, Input(new)| async move {
            it.create_key(new).await.map(Made)
        }),
        delete("/keys/{id}", "revoke_key", "Revokes the key of an agent", |it: Control, Id(id)| async move {
            it.revoke_key(id).await.map(|()| Gone)
        }),
        put("/plan", "set_plan", "Changes the workspace's plan", |it: Control, Input(to): Input<PlanChange>| async move {
            it.set_plan(to.plan).await.map(|()| Done)
        })
        .about("On `free` the service API answers 403 and webhooks are not sent."),
    ]
}

/// What the workspace pays for from now on.
#[derive(Deserialize, JsonSchema)]
struct PlanChange {
    /// The plan.
    plan: Plan,
}
