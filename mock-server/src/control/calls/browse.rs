//! Everything there is, whoever it belongs to: what a page needs that shows a workspace.

use crate::control::{
    Control,
    call::{Call, Shown, get, list, paged},
    input::{Id, Search},
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        paged(
            "/conversations",
            "list_conversations",
            "Conversations of all inboxes, newest first",
            |it: Control, Search(filter), part| async move { it.conversations(filter, part).await },
        )
        .about("Private ones and the sandbox included, in every view unless one is named."),
        get("/conversations/{id}", "get_conversation", "A conversation, whole", |it: Control, Id(id)| async move {
            it.conversation(id).await.map(Shown)
        })
        .about("With uncut texts, what only the service knows of a message, its documents, requests and bookings."),
        paged(
            "/documents",
            "list_documents",
            "Documents of all inboxes, newest first",
            |it: Control, Search(filter), part| async move { it.documents(filter, part).await },
        ),
        list("/tags", "list_tags", "All tags, counted over all inboxes", |it: Control, ()| async move {
            Ok(it.tags().await)
        }),
    ]
}
