//! What an owner does with a webhook, and the check of its receiver.

use schemars::JsonSchema;
use serde::Serialize;

use crate::control::{
    Control,
    call::{Accepted, Call, Done, Gone, Made, Shown, delete, get, list, paged, post},
    input::{Id, Input, Search},
};

const NOT_SENT: &str =
    "Nothing is sent to this webhook at present: it is paused or off, or the plan is `free`.";

pub(super) fn calls() -> Vec<Call> {
    vec![
        list("/webhooks", "list_webhooks", "All webhooks", |it: Control, ()| async move {
            Ok(it.webhooks().await)
        }),
        post("/webhooks", "create_webhook", "Adds a webhook", |it: Control, Input(new)| async move {
            it.create_webhook(new).await.map(Made)
        })
        .about("Its secret is shown this once. A forbidden address is a 400."),
        delete("/webhooks/{id}", "delete_webhook", "Removes a webhook", |it: Control, Id(id)| async move {
            it.delete_webhook(id).await.map(|()| Gone)
        }),
        post(
            "/webhooks/{id}/rotate",
            "rotate_webhook",
            "Gives a webhook a new secret",
            |it: Control, Id(id)| async move { it.rotate_webhook(id).await.map(Shown) },
        )
        .about("For 24 hours both sign."),
        post("/webhooks/{id}/test", "test_webhook", "Sends a test event", |it: Control, Id(id)| async move {
            it.test_webhook(id).await.map(Accepted)
        })
        .conflict(NOT_SENT),
        post(
            "/webhooks/{id}/pause",
            "pause_webhook",
            "Sends nothing until it is resumed",
            |it: Control, Id(id)| async move { it.pause_webhook(id).await.map(|()| Done) },
        )
        .conflict("The receiver turned this webhook off."),
        post(
            "/webhooks/{id}/resume",
            "resume_webhook",
            "Sends to a webhook again",
            |it: Control, Id(id)| async move { it.resume_webhook(id).await.map(|()| Done) },
        ),
        paged(
            "/webhooks/{id}/deliveries",
            "list_deliveries",
            "The log of a webhook, newest first",
            |it: Control, (Id(id), Search(filter)), part| async move {
                it.find_deliveries(id, filter, part).await
            },
        ),
        get(
            "/webhooks/{id}/deliveries/{event}",
            "get_delivery",
            "One delivery, with the exact body and headers of each try",
            |it: Control, (Id(id), Id(event))| async move { it.delivery(id, event).await.map(Shown) },
        )
        .about("Signatures are there; the secret is not."),
        post(
            "/webhooks/{id}/deliveries/{event}/redeliver",
            "redeliver",
            "Sends an event again, with the same id",
            |it: Control, (Id(id), Id(event))| async move {
                it.redeliver(id, event).await.map(|()| Accepted(Nothing {}))
            },
        )
        .conflict(NOT_SENT),
        post(
            "/webhooks/{id}/exam",
            "examine_webhook",
            "Examines a receiver",
            |it: Control, Id(id)| async move { it.check_receiver(id).await.map(Shown) },
        )
        .about("Sends it a fixed series of good and bad requests, and reports what it made of them."),
    ]
}

/// An object with nothing in it.
#[derive(Serialize, JsonSchema)]
struct Nothing {}
