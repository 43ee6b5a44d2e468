//! Calls that act as people, customers and the helpers of the app.

use serde::Serialize;
use shared_inbox::{BookingId, DocumentId};

use super::{
    call::{Ack, Call, Created, Json, get, list, post},
    input::{JsonBody, PathId},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        post(
            "/inbound",
            "inbound",
            "A customer's mail comes in",
            |control: Control, JsonBody(mail)| async move { control.inbound(mail).await.map(Created) },
        )
        .about(
            "`to` is an inbox's address, with or without a plus tag. It joins a conversation of that \
             inbox, or starts one. `held` is the sorting helper holding it as a likely scam.",
        ),
        list(
            "/approvals",
            "list_approvals",
            "The drafts that wait for a person, oldest first",
            |control: Control, ()| async move { Ok(Json(control.approvals().await)) },
        ),
        post(
            "/messages/{id}/approve",
            "approve",
            "A person approves a draft",
            |control: Control, (PathId(message), JsonBody(approval))| async move {
                control.approve(message, approval).await.map(Json)
            },
        )
        .about("The id of a conversation stands for its newest draft.")
        .conflict("It is not a draft, or one of the sandbox, where nobody approves."),
        post(
            "/messages/{id}/stop",
            "stop",
            "A person stops a message in its undo window",
            |control: Control, (PathId(message), JsonBody(stop))| async move {
                control.stop(message, stop).await.map(Ack)
            },
        )
        .about(
            "It is a draft again. The id of a conversation stands for its newest message in the undo \
             window.",
        )
        .conflict("It is not waiting to go out."),
        post(
            "/messages/{id}/discard",
            "discard",
            "A person throws a draft away",
            |control: Control, (PathId(message), JsonBody(discard))| async move {
                control.discard(message, discard).await.map(Ack)
            },
        )
        .about(
            "It is gone from the timeline, with its document request; a `draft-discarded` event stays. \
             The id of a conversation stands for its newest draft.",
        )
        .conflict("It is not a draft."),
        post(
            "/messages/{id}/bounce",
            "bounce",
            "A mail comes back",
            |control: Control, PathId(message)| async move { control.bounce(message).await.map(Ack) },
        )
        .about(
            "One in its undo window fails when it leaves. One that was sent fails now: a `bounced` event \
             is recorded, and it is the team's turn again.",
        )
        .conflict("It was not sent and is not about to be."),
        post(
            "/conversations/{id}/notes",
            "add_note",
            "Someone on the team writes a note",
            |control: Control, (PathId(conversation), JsonBody(note))| async move {
                control.add_note(conversation, note).await.map(Created)
            },
        ),
        post(
            "/conversations/{id}/status",
            "set_status",
            "Someone on the team sets the status",
            |control: Control, (PathId(conversation), JsonBody(change))| async move {
                control.set_status(conversation, change).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/tags",
            "edit_tags",
            "Someone on the team adds and removes tags",
            |control: Control, (PathId(conversation), JsonBody(change))| async move {
                control.edit_tags(conversation, change).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/replies",
            "reply",
            "Someone on the team replies",
            |control: Control, (PathId(conversation), JsonBody(reply))| async move {
                control.reply(conversation, reply).await.map(Created)
            },
        )
        .about(
            "It goes out when the undo window has passed; with `send` false it is a \
             draft of theirs.",
        ),
        post(
            "/conversations/{id}/drafts",
            "draft",
            "The drafting helper writes a reply",
            |control: Control, (PathId(conversation), JsonBody(draft))| async move {
                control.draft(conversation, draft).await.map(Created)
            },
        )
        .about("It waits for a person's approval.")
        .conflict("The helpers do not run in the sandbox."),
        post(
            "/conversations/{id}/sorting",
            "sort",
            "The sorting helper looks at a conversation",
            |control: Control, (PathId(conversation), JsonBody(found))| async move {
                control.sort(conversation, found).await.map(Ack)
            },
        )
        .about("What is left out stays as it is; null takes it away.")
        .conflict("The helpers do not run in the sandbox."),
        post(
            "/documents/{id}/reading",
            "read_document",
            "The document-reading helper looks at a document",
            |control: Control, (PathId(document), JsonBody(found))| async move {
                control.read_document(document, found).await.map(Ack)
            },
        )
        .about("What is left out stays as it is; a kind of null takes it away.")
        .conflict("The helpers do not run in the sandbox."),
        post(
            "/conversations/{id}/snooze",
            "snooze",
            "A person snoozes a conversation, or ends its snooze",
            |control: Control, (PathId(conversation), JsonBody(snooze))| async move {
                control.snooze(conversation, snooze).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/assign",
            "assign",
            "Gives a conversation to someone, or to nobody",
            |control: Control, (PathId(conversation), JsonBody(to))| async move {
                control.assign(conversation, to).await.map(Ack)
            },
        ),
        post(
            "/document-requests/{id}/uploads",
            "upload",
            "A customer uploads a requested document",
            |control: Control, (PathId(request), JsonBody(upload))| async move {
                control.upload(request, upload).await.map(Created)
            },
        )
        .conflict("The request is a draft: the customer has no upload link yet."),
        post(
            "/documents",
            "file_document",
            "A person puts a file into the library",
            |control: Control, JsonBody(new)| async move {
                control.file_document(new).await.map(|id| CreatedDocument { id }).map(Created)
            },
        )
        .about("Without a conversation, for those who see the inbox."),
        list(
            "/document-requests",
            "list_document_requests",
            "Every document request, oldest first",
            |control: Control, ()| async move { Ok(Json(control.document_requests().await)) },
        ),
        list(
            "/bookings",
            "list_bookings",
            "Every booking, oldest first",
            |control: Control, ()| async move { Ok(Json(control.bookings().await)) },
        ),
        post(
            "/bookings",
            "create_booking",
            "Someone books a time",
            |control: Control, JsonBody(new)| async move {
                control.create_booking(new).await.map(|id| CreatedBooking { id }).map(Created)
            },
        ),
        post(
            "/bookings/{id}/cancel",
            "cancel_booking",
            "A booking is cancelled",
            |control: Control, PathId(booking)| async move { control.cancel_booking(booking).await.map(Ack) },
        )
        .conflict("It is cancelled already."),
        list(
            "/outbox",
            "list_outbox",
            "Every mail that left or was meant to",
            |control: Control, ()| async move { Ok(Json(control.outbox().await)) },
        ),
        get(
            "/outbox/{number}",
            "get_outbox_mail",
            "One mail of the outbox",
            |control: Control, PathId(number)| async move {
                control.outbox_mail(number.parse().unwrap_or(0)).await.map(Json)
            },
        )
        .about("By its number in the outbox, from 1, with its headers and its source."),
    ]
}

/// A document that was filed.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct CreatedDocument {
    /// Its id.
    id: DocumentId,
}

/// A booking that was created.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct CreatedBooking {
    /// Its id.
    id: BookingId,
}
