//! People, inboxes, keys and the plan.

use serde::{Deserialize, Serialize};

use super::{
    call::{Ack, Call, Created, Json, NoContent, delete, get, list, post, put},
    input::{JsonBody, PathId},
};
use crate::{control::Control, world::Plan};

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        list("/users", "list_users", |control: Control, ()| async move { Ok(Json(control.users().await)) }),
        post("/users", "create_user", |control: Control, JsonBody(new)| async move {
            control.create_user(new).await.map(Created)
        }),
        post("/mailboxes", "create_mailbox", |control: Control, JsonBody(new)| async move {
            control.create_mailbox(new).await.map(Created)
        }),
        list("/keys", "list_keys", |control: Control, ()| async move { Ok(Json(control.keys().await)) }),
        post("/keys", "create_key", |control: Control, JsonBody(new)| async move {
            control.create_key(new).await.map(Created)
        }),
        delete("/keys/{id}", "revoke_key", |control: Control, PathId(agent)| async move {
            control.revoke_key(agent).await.map(NoContent)
        }),
        list("/mailboxes", "list_mailboxes", |control: Control, ()| async move {
            control.mailboxes().await.map(Json)
        }),
        get("/plan", "get_plan", |control: Control, ()| async move {
            Ok(Json(WorkspacePlan { plan: control.plan().await }))
        }),
        put("/plan", "set_plan", |control: Control, JsonBody(to): JsonBody<WorkspacePlan>| async move {
            control.set_plan(to.plan).await.map(Ack)
        }),
    ]
}

/// What the workspace pays for.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct WorkspacePlan {
    /// The plan.
    plan: Plan,
}
