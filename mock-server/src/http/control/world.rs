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
        post("/reset", "reset", "Puts the world back to its start", |control: Control, ()| async move {
            control.reset().await.map(Ack)
        })
        .about(
            "The world as it was at the start, the same keys, the clock too; faults and journal are \
             cleared.",
        ),
        list(
            "/requests",
            "list_requests",
            "The requests to the service so far, oldest first",
            |control: Control, (QueryParams(filter), QueryParams(section))| async move {
                control.find_requests(filter, section).await
            },
        )
        .about("The last 10,000, or a part of them. Keys never appear."),
        get("/requests/{id}", "get_request", "One request", |control: Control, PathId(request)| async move {
            control.request(request).await.map(Json)
        }),
        list(
            "/jobs",
            "list_jobs",
            "What is due and when, soonest first",
            |control: Control, ()| async move { Ok(Json(control.jobs().await)) },
        ),
        list(
            "/worlds",
            "list_worlds",
            "The worlds of this server, the main one first",
            |control: Control, ()| async move { Ok(Json(control.worlds().await)) },
        ),
        delete(
            "/worlds/{id}",
            "delete_world",
            "Ends a world",
            |control: Control, PathId(world)| async move { control.delete_world(world).await.map(NoContent) },
        )
        .about("Requests with its keys get 401 from now on."),
        get("/health", "health", "Returns whether the server is up", |_, ()| async {
            Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
        })
        .about("The one call that needs no token, so that a container can be probed."),
        get("/openapi.json", "openapi", "This document", |control: Control, ()| async move {
            Ok(ApiDocument(control.openapi()))
        }),
        get("/state", "get_state", "The whole world as one document", |control: Control, ()| async move {
            control.runtime.document().await.map(WorldDocument)
        }),
        put(
            "/state",
            "put_state",
            "Makes the world what a document says",
            |control: Control, RawBody(document)| async move { control.restore_document(document).await.map(Ack) },
        ),
        get(
            "/traces/{id}",
            "get_trace",
            "What led to something, and what it led to",
            |control: Control, PathId(id)| async move { Ok(Json(control.trace(id).await)) },
        )
        .about(
            "For the id of a request, a message, a note, an event, a document request, a booking or a \
             conversation: the request or control call that began it, what it made, the jobs that it left \
             behind, the events that they caused, and each attempt to deliver them. Empty for what was there \
             from the start of the world.",
        ),
        get(
            "/ready",
            "ready",
            "The addresses and the two keys of this world",
            |control: Control, ()| async move { Ok(Json(control.ready())) },
        ),
        delete(
            "/requests",
            "clear_requests",
            "Forgets the requests so far",
            |control: Control, ()| async move {
                control.clear_requests().await;
                Ok(NoContent(()))
            },
        ),
        get(
            "/events",
            "follow",
            "Follows the world's changes",
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
        )
        .about(
            "Server-sent events, one for each change, for pages and tools that \
             follow the world.",
        ),
        post(
            "/worlds",
            "create_world",
            "A new world beside this one",
            |control: Control, JsonBody(new)| async move {
                control.create_world(new).await.map(|world| Created(world.ready()))
            },
        )
        .about(
            "With its own keys, data, clock, faults, journal and rate limits. The service API stays at \
             the same address, the key says which world is meant; its control API is at its own \
             `control_url`.",
        )
        .conflict("There are 10,000 worlds already."),
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
