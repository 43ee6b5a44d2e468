//! What people do in the app, what its helpers do, and what customers do.

use schemars::JsonSchema;
use serde::Serialize;
use shared_inbox::BookingId;

use crate::{
    control::Control,
    server::control::{
        call::{Call, Done, Made, Shown, list, post},
        input::{Id, Input},
    },
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
        .conflict("It is not a draft, or one of the sandbox, where nobody approves."),
        post("/messages/{id}/stop", "stop", "A person stops a message in its undo window", |it: Control, (Id(id), Input(by))| async move {
            it.stop(id, by).await.map(|()| Done)
        })
        .about("It is a draft again.")
        .conflict("It is not waiting to go out."),
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
    ]
}

/// A booking that was made.
#[derive(Serialize, JsonSchema)]
struct Booked {
    /// Its id.
    id: BookingId,
}
