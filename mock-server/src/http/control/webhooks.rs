//! Calls for webhooks, and the check of a receiver.

use serde::Serialize;

use super::{
    call::{Accepted, Ack, Call, Created, Json, NoContent, delete, get, list, post},
    input::{JsonBody, PathId, QueryParams},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        list("/webhooks", "list_webhooks", "All webhooks", |control: Control, ()| async move {
            Ok(Json(control.webhooks().await))
        }),
        post("/webhooks", "create_webhook", "Adds a webhook", |control: Control, JsonBody(new)| async move {
            control.create_webhook(new).await.map(Created)
        })
        .about("Its secret is shown this once. A forbidden address is a 400."),
        delete(
            "/webhooks/{id}",
            "delete_webhook",
            "Removes a webhook",
            |control: Control, PathId(id)| async move { control.delete_webhook(id).await.map(NoContent) },
        ),
        post(
            "/webhooks/{id}/rotate",
            "rotate_webhook",
            "Gives a webhook a new secret",
            |control: Control, PathId(id)| async move { control.rotate_webhook(id).await.map(Json) },
        )
        .about("For 24 hours both sign."),
        post(
            "/webhooks/{id}/test",
            "test_webhook",
            "Sends a test event",
            |control: Control, PathId(id)| async move { control.test_webhook(id).await.map(Accepted) },
        )
        .conflict(
            "Nothing is sent to this webhook at present: it is paused or off, or \
             the plan is `free`.",
        ),
        post(
            "/webhooks/{id}/pause",
            "pause_webhook",
            "Sends nothing until it is resumed",
            |control: Control, PathId(id)| async move { control.pause_webhook(id).await.map(Ack) },
        )
        .conflict("The receiver turned this webhook off."),
        post(
            "/webhooks/{id}/resume",
            "resume_webhook",
            "Sends to a webhook again",
            |control: Control, PathId(id)| async move { control.resume_webhook(id).await.map(Ack) },
        ),
        list(
            "/webhooks/{id}/deliveries",
            "list_deliveries",
            "The log of a webhook, newest first",
            |control: Control, ((PathId(id), QueryParams(filter)), QueryParams(section))| async move {
                control.find_deliveries(id, filter, section).await
            },
        ),
        get(
            "/webhooks/{id}/deliveries/{event}",
            "get_delivery",
            "One delivery, with the exact body and headers of each attempt",
            |control: Control, (PathId(id), PathId(event))| async move {
                control.delivery(id, event).await.map(Json)
            },
        )
        .about("Signatures are there; the secret is not."),
        post(
            "/webhooks/{id}/check",
            "check_receiver",
            "Checks the receiver of a webhook",
            |control: Control, PathId(id)| async move { control.check_receiver(id).await.map(Json) },
        )
        .about(
            "Sends a fixed series of good and bad requests, and reports how the \
             receiver responded to each.",
        ),
        post(
            "/webhooks/{id}/deliveries/{event}/redeliver",
            "redeliver",
            "Sends an event again, with the same id",
            |control: Control, (PathId(id), PathId(event))| async move {
                control.redeliver(id, event).await.map(|()| EmptyObject {}).map(Accepted)
            },
        )
        .conflict(
            "Nothing is sent to this webhook at present: it is paused or off, or \
             the plan is `free`.",
        ),
    ]
}

/// An empty object.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct EmptyObject {}
