//! Snapshots of the world, to restore and to compare.

use serde::Deserialize;

use super::{
    call::{Ack, Call, Created, Json, NoContent, WorldDocument, delete, get, list, post},
    input::{JsonBody, PathId, QueryParams},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        list("/snapshots", "list_snapshots", |control: Control, ()| async move {
            Ok(Json(control.snapshots().await))
        }),
        post("/snapshots/{id}/restore", "restore_snapshot", |control: Control, PathId(name)| async move {
            control.restore_snapshot(name).await.map(Ack)
        }),
        delete("/snapshots/{id}", "delete_snapshot", |control: Control, PathId(name)| async move {
            control.delete_snapshot(name).await.map(NoContent)
        }),
        post(
            "/snapshots",
            "take_snapshot",
            |control: Control, JsonBody(new): JsonBody<NewSnapshot>| async move {
                control.take_snapshot(&new.name).await.map(Created)
            },
        ),
        get("/snapshots/{id}", "get_snapshot", |control: Control, PathId(name)| async move {
            control.snapshot(&name).await.map(|document| WorldDocument(document.into_bytes()))
        }),
        get(
            "/snapshots/{id}/diff",
            "compare_snapshots",
            |control: Control, (PathId(name), QueryParams(to)): (PathId, QueryParams<Other>)| async move {
                control.compare(&name, to.to.as_deref()).await.map(Json)
            },
        ),
    ]
}

/// A snapshot to take.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct NewSnapshot {
    /// Its name: 1 to 80 letters, digits, `-`, `_` and `.`.
    name: String,
}

/// What to compare with.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Other {
    /// Another snapshot; the world as it is now when there is none.
    to: Option<String>,
}
