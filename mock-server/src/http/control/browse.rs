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
            "Conversations of all inboxes, newest first",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.conversations(filter, section).await
            },
        )
        .about("Private ones and the sandbox included, in every view unless one is named."),
        get(
            "/conversations/{id}",
            "get_conversation",
            "A conversation, whole",
            |control: Control, PathId(conversation)| async move {
                control.conversation(conversation).await.map(Json)
            },
        )
        .about(
            "With uncut texts, what only the service knows of a message, its documents, requests and \
             bookings. The address of a customer stands for their newest one.",
        ),
        list(
            "/documents",
            "list_documents",
            "Documents of all inboxes, newest first",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.documents(filter, section).await
            },
        ),
        list("/tags", "list_tags", "All tags, counted over all inboxes", |control: Control, ()| async move {
            Ok(Json(control.tags().await))
        }),
    ]
}
