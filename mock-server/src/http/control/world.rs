//! Calls for the whole world: its document, its journal, and other worlds.

use serde::Serialize;

use super::{
    call::{
        Ack, ApiDocument, Call, Created, EventStream, Json, NoContent, WorldDocument, delete, get, list,
        post, put,
    },
    events::{self, FollowedWorld},
    input::{Extension, JsonBody, PathId, QueryParams, RawBody},
};
use crate::control::Control;

/// Returns the calls of this family.
pub(super) fn calls() -> Vec<Call> {
    vec![
        post("/reset", "reset", |control: Control, ()| async move { control.reset().await.map(Ack) }),
        list(
            "/requests",
            "list_requests",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.find_requests(filter, section).await
            },
        ),
        get("/requests/{id}", "get_request", |control: Control, PathId(request)| async move {
            control.request(request).await.map(Json)
        }),
        list("/jobs", "list_jobs", |control: Control, ()| async move { Ok(Json(control.jobs().await)) }),
        list(
            "/worlds",
            "list_worlds",
            |control: Control, ()| async move { Ok(Json(control.worlds().await)) },
        ),
        delete("/worlds/{id}", "delete_world", |control: Control, PathId(world)| async move {
            control.delete_world(world).await.map(NoContent)
        }),
        get("/health", "health", |_, ()| async {
            Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
        }),
        get(
            "/openapi.json",
            "openapi",
            |control: Control, ()| async move { Ok(ApiDocument(control.openapi())) },
        ),
        get("/state", "get_state", |control: Control, ()| async move {
            control.runtime.document().await.map(WorldDocument)
        }),
        put("/state", "put_state", |control: Control, RawBody(document)| async move {
            control.restore_document(document).await.map(Ack)
        }),
        get("/traces/{id}", "get_trace", |control: Control, PathId(id)| async move {
            Ok(Json(control.trace(id).await))
        }),
        list(
            "/unused",
            "list_unused",
            |control: Control, ()| async move { Ok(Json(control.unused().await)) },
        ),
        get("/ready", "ready", |control: Control, ()| async move { Ok(Json(control.ready())) }),
        delete("/requests", "clear_requests", |control: Control, ()| async move {
            control.clear_requests().await;
            Ok(NoContent(()))
        }),
        get(
            "/events",
            "follow",
            |control: Control,
             (QueryParams(following), Extension(stop)): (QueryParams<events::FollowQuery>, _)| async move {
                let follow = |world: Option<&str>, control: &Control| FollowedWorld {
                    world: world.map(str::to_owned),
                    changes: control.changes(),
                    requests: following.requests.then(|| control.runtime.follow_journal()),
                };
                let (mut followed, mut unknown) = (vec![follow(None, &control)], Vec::new());
                for id in following.worlds.split(',').filter(|id| !id.is_empty()) {
                    match control.world(id) {
                        Ok(world) => followed.push(follow(Some(id), &world)),
                        Err(_) => unknown.push(id.to_owned()),
                    }
                }
                Ok(EventStream(events::follow(followed, unknown, stop)))
            },
        ),
        post("/worlds", "create_world", |control: Control, JsonBody(new)| async move {
            control.create_world(new).await.map(|world| Created(world.ready()))
        }),
    ]
}

/// The health of the server.
#[derive(Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Health {
    /// `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}
