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
        list("/users", "list_users", "Everyone on the team", |control: Control, ()| async move {
            Ok(Json(control.users().await))
        }),
        post(
            "/users",
            "create_user",
            "A new person on the team",
            |control: Control, JsonBody(new)| async move { control.create_user(new).await.map(Created) },
        ),
        post("/mailboxes", "create_mailbox", "A new inbox", |control: Control, JsonBody(new)| async move {
            control.create_mailbox(new).await.map(Created)
        })
        .about("With an `owner` it is that person's private inbox.")
        .conflict("There is an inbox with this address already."),
        list(
            "/keys",
            "list_keys",
            "All keys, without what is secret about them",
            |control: Control, ()| async move { Ok(Json(control.keys().await)) },
        ),
        post(
            "/keys",
            "create_key",
            "A new key, shown this once",
            |control: Control, JsonBody(new)| async move { control.create_key(new).await.map(Created) },
        ),
        delete(
            "/keys/{id}",
            "revoke_key",
            "Revokes the key of an agent",
            |control: Control, PathId(agent)| async move { control.revoke_key(agent).await.map(NoContent) },
        ),
        list("/mailboxes", "list_mailboxes", "All inboxes", |control: Control, ()| async move {
            control.mailboxes().await.map(Json)
        })
        .about("Private ones and the sandbox included."),
        get("/plan", "get_plan", "The workspace's plan", |control: Control, ()| async move {
            Ok(Json(WorkspacePlan { plan: control.plan().await }))
        }),
        put(
            "/plan",
            "set_plan",
            "Changes the workspace's plan",
            |control: Control, JsonBody(to): JsonBody<WorkspacePlan>| async move {
                control.set_plan(to.plan).await.map(Ack)
            },
        )
        .about("On `free` the service API returns 403 and webhooks are not sent."),
    ]
}

/// What the workspace pays for.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct WorkspacePlan {
    /// The plan.
    plan: Plan,
}
