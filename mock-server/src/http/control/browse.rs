//! Reads across all inboxes: conversations, documents, requests and traces.

use super::{
    call::{Call, Json, get, list},
    input::{PathId, QueryParams},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        list(
            "/conversations",
            "list_conversations",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.conversations(filter, section).await
            },
        ),
        get("/conversations/{id}", "get_conversation", |control: Control, PathId(conversation)| async move {
            control.conversation(conversation).await.map(Json)
        }),
        list(
            "/documents",
            "list_documents",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.documents(filter, section).await
            },
        ),
        list("/tags", "list_tags", |control: Control, ()| async move { Ok(Json(control.tags().await)) }),
    ]
}
