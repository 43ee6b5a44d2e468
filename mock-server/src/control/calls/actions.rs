//! What people do in the app, what its helpers do, and what customers do.

use schemars::JsonSchema;
use serde::Serialize;
use shared_inbox::{BookingId, DocumentId};

use crate::control::{
    Control,
    call::{Call, Done, Made, Shown, get, list, post},
    input::{Id, Input},
};

pub(super) fn calls() -> Vec<Call> {
    vec![
        post("/inbound", "inbound", "A customer's mail comes in", |it: Control, Input(mail)| async move {
            it.inbound(mail).await.map(Made)
        })
        .about(
            "`to` is an inbox's address, with or without a plus tag. It joins a conversation of that inbox, or starts \
             one. `held` is the sorting helper holding it as a likely scam.",
        ),
        list("/approvals", "list_approvals", "The drafts that wait for a person, oldest first", |it: Control, ()| async move {
            Ok(it.approvals().await)
        }),
        post("/messages/{id}/approve", "approve", "A person approves a draft", |it: Control, (Id(id), Input(by))| async move {
            it.approve(id, by).await.map(Shown)
        })
        .about("The id of a conversation stands for its newest draft.")
        .conflict("It is not a draft, or one of the sandbox, where nobody approves."),
        post("/messages/{id}/stop", "stop", "A person stops a message in its undo window", |it: Control, (Id(id), Input(by))| async move {
            it.stop(id, by).await.map(|()| Done)
        })
        .about("It is a draft again. The id of a conversation stands for its newest message in the undo window.")
        .conflict("It is not waiting to go out."),
        post("/messages/{id}/discard", "discard", "A person throws a draft away", |it: Control, (Id(id), Input(by))| async move {
            it.discard(id, by).await.map(|()| Done)
        })
        .about("It is gone from the timeline, with the documents that it asked for; a `draft-discarded` event stays. The \
             id of a conversation stands for its newest draft.")
        .conflict("It is not a draft."),
        post("/messages/{id}/bounce", "bounce", "A mail comes back", |it: Control, Id(id)| async move {
            it.bounce(id).await.map(|()| Done)
        })
        .about(
            "One in its undo window fails when it leaves. One that was sent fails now: a `bounced` event is recorded, \
             and it is the team's turn again.",
        )
        .conflict("It was not sent and is not about to be."),
        post("/conversations/{id}/notes", "add_note", "Someone on the team writes a note", |it: Control, (Id(id), Input(note))| async move {
            it.add_note(id, note).await.map(Made)
        }),
        post("/conversations/{id}/status", "set_status", "Someone on the team sets the status", |it: Control, (Id(id), Input(to))| async move {
            it.set_status(id, to).await.map(|()| Done)
        }),
        post("/conversations/{id}/tags", "edit_tags", "Someone on the team adds and removes tags", |it: Control, (Id(id), Input(change))| async move {
            it.edit_tags(id, change).await.map(|()| Done)
        }),
        post("/conversations/{id}/replies", "reply", "Someone on the team replies", |it: Control, (Id(id), Input(reply))| async move {
            it.reply(id, reply).await.map(Made)
        })
        .about("It goes out when the undo window has passed; with `send` false it is a draft of theirs."),
        post("/conversations/{id}/drafts", "draft", "The drafting helper writes a reply", |it: Control, (Id(id), Input(draft))| async move {
            it.draft(id, draft).await.map(Made)
        })
        .about("It waits for a person's approval.")
        .conflict("The helpers do not run in the sandbox."),
        post("/conversations/{id}/sorting", "sort", "The sorting helper looks at a conversation", |it: Control, (Id(id), Input(found))| async move {
            it.sort(id, found).await.map(|()| Done)
        })
        .about("What is left out stays as it is; null takes it away.")
        .conflict("The helpers do not run in the sandbox."),
        post("/documents/{id}/reading", "read_document", "The document-reading helper looks at a document", |it: Control, (Id(id), Input(found))| async move {
            it.read_document(id, found).await.map(|()| Done)
        })
        .about("What is left out stays as it is; a kind of null takes it away.")
        .conflict("The helpers do not run in the sandbox."),
        post("/documents", "file_document", "A person puts a file into the library", |it: Control, Input(new)| async move {
            it.file_document(new).await.map(|id| Made(DocumentFiled { id }))
        })
        .about("Without a conversation, for those who see the inbox."),
        post(
            "/conversations/{id}/snooze",
            "snooze",
            "A person snoozes a conversation, or ends its snooze",
            |it: Control, (Id(id), Input(until))| async move { it.snooze(id, until).await.map(|()| Done) },
        ),
        post(
            "/conversations/{id}/assign",
            "assign",
            "Gives a conversation to someone, or to nobody",
            |it: Control, (Id(id), Input(to))| async move { it.assign(id, to).await.map(|()| Done) },
        ),
        post(
            "/document-requests/{id}/uploads",
            "upload",
            "A customer uploads a document that was asked for",
            |it: Control, (Id(id), Input(of))| async move { it.upload(id, of).await.map(Made) },
        )
        .conflict("The request is a draft: the customer has no upload link yet."),
        list("/document-requests", "list_document_requests", "Every document request, oldest first", |it: Control, ()| async move {
            Ok(it.document_requests().await)
        }),
        list("/bookings", "list_bookings", "Every booking, oldest first", |it: Control, ()| async move {
            Ok(it.bookings().await)
        }),
        post("/bookings", "create_booking", "Someone books a time", |it: Control, Input(new)| async move {
            it.create_booking(new).await.map(|id| Made(Booked { id }))
        }),
        post("/bookings/{id}/cancel", "cancel_booking", "A booking is cancelled", |it: Control, Id(id)| async move {
            it.cancel_booking(id).await.map(|()| Done)
        })
        .conflict("It is cancelled already."),
        list("/outbox", "list_outbox", "Every mail that left or was meant to", |it: Control, ()| async move {
            Ok(it.outbox().await)
        }),
        get("/outbox/{number}", "get_outbox_mail", "One mail of the outbox", |it: Control, Id(number)| async move {
            it.outbox_mail(number.parse().unwrap_or(0)).await.map(Shown)
        })
        .about("By its number in the outbox, from 1, with its headers and its source."),
    ]
}

/// A document that was filed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FiledDocument")]
struct DocumentFiled {
    /// Its id.
    id: DocumentId,
}

/// A booking that was made.
#[derive(Serialize, JsonSchema)]
struct Booked {
    /// Its id.
    id: BookingId,
}
