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
        list("/webhooks", "list_webhooks", |control: Control, ()| async move {
            Ok(Json(control.webhooks().await))
        }),
        post("/webhooks", "create_webhook", |control: Control, JsonBody(new)| async move {
            control.create_webhook(new).await.map(Created)
        }),
        delete("/webhooks/{id}", "delete_webhook", |control: Control, PathId(id)| async move {
            control.delete_webhook(id).await.map(NoContent)
        }),
        post("/webhooks/{id}/rotate", "rotate_webhook", |control: Control, PathId(id)| async move {
            control.rotate_webhook(id).await.map(Json)
        }),
        post("/webhooks/{id}/test", "test_webhook", |control: Control, PathId(id)| async move {
            control.test_webhook(id).await.map(Accepted)
        }),
        post("/webhooks/{id}/pause", "pause_webhook", |control: Control, PathId(id)| async move {
            control.pause_webhook(id).await.map(Ack)
        }),
        post("/webhooks/{id}/resume", "resume_webhook", |control: Control, PathId(id)| async move {
            control.resume_webhook(id).await.map(Ack)
        }),
        list(
            "/webhooks/{id}/deliveries",
            "list_deliveries",
            |control: Control, ((PathId(id), QueryParams(filter)), QueryParams(section))| async move {
                control.find_deliveries(id, filter, section).await
            },
        ),
        get(
            "/webhooks/{id}/deliveries/{event}",
            "get_delivery",
            |control: Control, (PathId(id), PathId(event))| async move {
                control.delivery(id, event).await.map(Json)
            },
        ),
        post("/webhooks/{id}/check", "check_receiver", |control: Control, PathId(id)| async move {
            control.check_receiver(id).await.map(Json)
        }),
        post(
            "/webhooks/{id}/deliveries/{event}/redeliver",
            "redeliver",
            |control: Control, (PathId(id), PathId(event))| async move {
                control.redeliver(id, event).await.map(|()| EmptyObject {}).map(Accepted)
            },
        ),
    ]
}

/// An empty object.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct EmptyObject {}
