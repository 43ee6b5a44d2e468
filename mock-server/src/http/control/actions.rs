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
        post("/inbound", "inbound", |control: Control, JsonBody(mail)| async move {
            control.inbound(mail).await.map(Created)
        }),
        list("/approvals", "list_approvals", |control: Control, ()| async move {
            Ok(Json(control.approvals().await))
        }),
        post(
            "/messages/{id}/approve",
            "approve",
            |control: Control, (PathId(message), JsonBody(approval))| async move {
                control.approve(message, approval).await.map(Json)
            },
        ),
        post(
            "/messages/{id}/stop",
            "stop",
            |control: Control, (PathId(message), JsonBody(stop))| async move {
                control.stop(message, stop).await.map(Ack)
            },
        ),
        post(
            "/messages/{id}/discard",
            "discard",
            |control: Control, (PathId(message), JsonBody(discard))| async move {
                control.discard(message, discard).await.map(Ack)
            },
        ),
        post("/messages/{id}/bounce", "bounce", |control: Control, PathId(message)| async move {
            control.bounce(message).await.map(Ack)
        }),
        post(
            "/conversations/{id}/notes",
            "add_note",
            |control: Control, (PathId(conversation), JsonBody(note))| async move {
                control.add_note(conversation, note).await.map(Created)
            },
        ),
        post(
            "/conversations/{id}/status",
            "set_status",
            |control: Control, (PathId(conversation), JsonBody(change))| async move {
                control.set_status(conversation, change).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/tags",
            "edit_tags",
            |control: Control, (PathId(conversation), JsonBody(change))| async move {
                control.edit_tags(conversation, change).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/replies",
            "reply",
            |control: Control, (PathId(conversation), JsonBody(reply))| async move {
                control.reply(conversation, reply).await.map(Created)
            },
        ),
        post(
            "/conversations/{id}/drafts",
            "draft",
            |control: Control, (PathId(conversation), JsonBody(draft))| async move {
                control.draft(conversation, draft).await.map(Created)
            },
        ),
        post(
            "/conversations/{id}/sorting",
            "sort",
            |control: Control, (PathId(conversation), JsonBody(found))| async move {
                control.sort(conversation, found).await.map(Ack)
            },
        ),
        post(
            "/documents/{id}/reading",
            "read_document",
            |control: Control, (PathId(document), JsonBody(found))| async move {
                control.read_document(document, found).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/snooze",
            "snooze",
            |control: Control, (PathId(conversation), JsonBody(snooze))| async move {
                control.snooze(conversation, snooze).await.map(Ack)
            },
        ),
        post(
            "/conversations/{id}/assign",
            "assign",
            |control: Control, (PathId(conversation), JsonBody(to))| async move {
                control.assign(conversation, to).await.map(Ack)
            },
        ),
        post(
            "/document-requests/{id}/uploads",
            "upload",
            |control: Control, (PathId(request), JsonBody(upload))| async move {
                control.upload(request, upload).await.map(Created)
            },
        ),
        post("/documents", "file_document", |control: Control, JsonBody(new)| async move {
            control.file_document(new).await.map(|id| CreatedDocument { id }).map(Created)
        }),
        list("/document-requests", "list_document_requests", |control: Control, ()| async move {
            Ok(Json(control.document_requests().await))
        }),
        list("/bookings", "list_bookings", |control: Control, ()| async move {
            Ok(Json(control.bookings().await))
        }),
        post("/bookings", "create_booking", |control: Control, JsonBody(new)| async move {
            control.create_booking(new).await.map(|id| CreatedBooking { id }).map(Created)
        }),
        post("/bookings/{id}/cancel", "cancel_booking", |control: Control, PathId(booking)| async move {
            control.cancel_booking(booking).await.map(Ack)
        }),
        list(
            "/outbox",
            "list_outbox",
            |control: Control, ()| async move { Ok(Json(control.outbox().await)) },
        ),
        get("/outbox/{number}", "get_outbox_mail", |control: Control, PathId(number)| async move {
            control.outbox_mail(number.parse().unwrap_or(0)).await.map(Json)
        }),
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
