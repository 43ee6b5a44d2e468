//! Expecting, and snapshots to compare.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::{
    Control,
    call::{Call, Done, Gone, Made, Shown, WorldDocument, delete, get, list, post},
    input::{Id, Input, Search},
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        post("/expect", "expect", "Waits until something has happened that must happen", |it: Control, Input(what)| async move {
            it.expect(what).await.map(Shown)
        })
        .about(
            "Looks at what there is since the world began, and waits as long as it may. In virtual time the clock is moved \
             on from job to job, no further than it takes. Answers when it is met; an exact number or an upper limit is \
             decided when the span is over.",
        )
        .conflict("It did not happen, or too often; the sentence says what came nearest, for a bug report."),
        list("/snapshots", "list_snapshots", "The snapshots of this world", |it: Control, ()| async move {
            Ok(it.snapshots().await)
        }),
        post("/snapshots", "take_snapshot", "Keeps the world as it is now under a name", |it: Control, Input(new): Input<NewSnapshot>| async move {
            it.take_snapshot(&new.name).await.map(Made)
        })
        .about("An older one of this name is replaced. Snapshots outlive a reset.")
        .conflict("There are 100 snapshots already."),
        get("/snapshots/{id}", "get_snapshot", "The world document of a snapshot", |it: Control, Id(name)| async move {
            it.snapshot(&name).await.map(|document| WorldDocument(document.into_bytes()))
        }),
        post("/snapshots/{id}/restore", "restore_snapshot", "Makes the world what it was at a snapshot", |it: Control, Id(name)| async move {
            it.restore_snapshot(&name).await.map(|()| Done)
        }),
        get("/snapshots/{id}/diff", "compare_snapshots", "What is different since a snapshot", |it: Control, (Id(name), Search(to)): (Id, Search<Other>)| async move {
            it.compare(&name, to.to.as_deref()).await.map(Shown)
        }),
        delete("/snapshots/{id}", "delete_snapshot", "Forgets a snapshot", |it: Control, Id(name)| async move {
            it.delete_snapshot(&name).await.map(|()| Gone)
        }),
    ]
}

/// A snapshot to take.
#[derive(Deserialize, JsonSchema)]
struct NewSnapshot {
    /// Its name: 1 to 80 letters, digits, `-`, `_` and `.`.
    name: String,
}

/// What to compare with.
#[derive(Clone, Deserialize, JsonSchema)]
struct Other {
    /// Another snapshot; the world as it is now when there is none.
    #[serde(default)]
    to: Option<String>,
}
