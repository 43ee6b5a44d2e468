//! The control API over HTTP: reads a body, calls [`Control`], writes the answer.

mod input;

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Request},
    response::{IntoResponse, Response},
    routing::{delete, get, post, put},
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

use self::input::{Id, Input, Search, Whole};
use super::{App, answer, body, connection::Phase, faults::FaultRule, sse};
use crate::{
    control::{Control, NewWorld},
    world::{
        Approval, Assignment, CreateWebhook, DeliveryFilter, InboundMail, NewBooking, NewKey, NewMailbox,
        NewUser, Plan, Refusal, Snooze, Stop, Upload,
    },
};

/// The prefix of every path of the control API.
pub(crate) const PREFIX: &str = "/_mock";

/// Answers a request below the prefix.
pub(crate) async fn handle(app: &App, routes: &Router, request: Request) -> http::Response<Body> {
    let (mut parts, body) = request.into_parts();
    if let Err(refused) = app.guard.control(&parts) {
        return refused.into_response();
    }
    let path = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let (control, path) = match of_world(app, path) {
        Ok(found) => found,
        Err(refused) => return refused.into_response(),
    };
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    parts.uri = match format!("{path}{query}").parse() {
        Ok(uri) => uri,
        Err(_) => return answer::error(404, "There is nothing at this path.").map(Body::from),
    };
    // Only now: whoever may not use the control API cannot make the server read a large document.
    let body = match body::read(body, body::DOCUMENT_LIMIT, app.limits.patience).await {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    parts.extensions.insert(Whole(body));
    parts.extensions.insert(control);
    parts.extensions.insert(app.stop.clone());
    match tower_service::Service::call(&mut routes.clone(), Request::from_parts(parts, Body::empty())).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The world that a path below the prefix is about, and the rest of the path.
fn of_world<'p>(app: &App, path: &'p str) -> Result<(Control, &'p str), Refusal> {
    let main = app.control();
    let Some(rest) = path.strip_prefix("/worlds/") else { return Ok((main, path)) };
    match rest.split_once('/') {
        Some((id, rest)) => Ok((main.world(id)?, &path[path.len() - rest.len() - 1..])),
        None => Ok((main, path)),
    }
}

/// Everything below the prefix, for one world.
pub(crate) fn routes() -> Router {
    Router::new()
        .route(
            "/health",
            get(|| async { ok(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })) }),
        )
        .route("/reset", post(|it: Control| async move { it.reset().await.map(done) }))
        .route("/state", get(state).put(restore))
        .route("/clock", get(|it: Control| async move { ok(it.clock().await) }).post(advance))
        .route("/requests", get(|it: Control| async move { ok(it.requests().await) }).delete(clear_requests))
        .route("/jobs", get(|it: Control| async move { ok(it.jobs().await) }))
        .route("/events", get(events))
        .route("/worlds", post(create_world))
        .route(
            "/worlds/{id}",
            delete(|it: Control, Id(id)| async move { it.delete_world(&id).await.map(gone) }),
        )
        .merge(people())
        .merge(actions())
        .merge(webhooks())
        .merge(faults())
        .fallback(|| async { Refusal::new(404, "There is nothing at this path.") })
        .method_not_allowed_fallback(|| async { Refusal::new(405, "This path does not take this method.") })
}

fn people() -> Router {
    Router::new()
        .route(
            "/users",
            get(|it: Control| async move { ok(it.users().await) })
                .post(|it: Control, Input(new): Input<NewUser>| async move { it.create_user(new).await.map(created) }),
        )
        .route(
            "/mailboxes",
            get(|it: Control| async move { it.mailboxes().await.map(ok) }).post(
                |it: Control, Input(new): Input<NewMailbox>| async move { it.create_mailbox(new).await.map(created) },
            ),
        )
        .route(
            "/keys",
            get(|it: Control| async move { ok(it.keys().await) })
                .post(|it: Control, Input(new): Input<NewKey>| async move { it.create_key(new).await.map(created) }),
        )
        .route("/keys/{id}", delete(|it: Control, Id(id)| async move { it.revoke_key(id).await.map(gone) }))
        .route("/plan", put(set_plan))
}

fn actions() -> Router {
    Router::new()
        .route(
            "/inbound",
            post(|it: Control, Input(mail): Input<InboundMail>| async move { it.inbound(mail).await.map(created) }),
        )
        .route(
            "/messages/{id}/approve",
            post(|it: Control, Id(id), Input(by): Input<Approval>| async move { it.approve(id, by).await.map(ok) }),
        )
        .route(
            "/messages/{id}/stop",
            post(|it: Control, Id(id), Input(by): Input<Stop>| async move { it.stop(id, by).await.map(done) }),
        )
        .route("/approvals", get(|it: Control| async move { ok(it.approvals().await) }))
        .route(
            "/conversations/{id}/snooze",
            post(|it: Control, Id(id), Input(to): Input<Snooze>| async move { it.snooze(id, to).await.map(done) }),
        )
        .route(
            "/conversations/{id}/assign",
            post(|it: Control, Id(id), Input(to): Input<Assignment>| async move { it.assign(id, to).await.map(done) }),
        )
        .route(
            "/document-requests/{id}/uploads",
            post(|it: Control, Id(id), Input(of): Input<Upload>| async move { it.upload(id, of).await.map(created) }),
        )
        .route("/bookings", post(create_booking))
        .route(
            "/bookings/{id}/cancel",
            post(|it: Control, Id(id)| async move { it.cancel_booking(id).await.map(done) }),
        )
        .route("/outbox", get(|it: Control| async move { ok(it.outbox().await) }))
}

fn webhooks() -> Router {
    Router::new()
        .route(
            "/webhooks",
            get(|it: Control| async move { ok(it.webhooks().await) }).post(
                |it: Control, Input(new): Input<CreateWebhook>| async move {
                    it.create_webhook(new).await.map(created)
                },
            ),
        )
        .route(
            "/webhooks/{id}",
            delete(|it: Control, Id(id)| async move { it.delete_webhook(id).await.map(gone) }),
        )
        .route(
            "/webhooks/{id}/rotate",
            post(|it: Control, Id(id)| async move { it.rotate_webhook(id).await.map(ok) }),
        )
        .route(
            "/webhooks/{id}/test",
            post(|it: Control, Id(id)| async move { it.test_webhook(id).await.map(accepted) }),
        )
        .route(
            "/webhooks/{id}/pause",
            post(|it: Control, Id(id)| async move { it.pause_webhook(id).await.map(done) }),
        )
        .route(
            "/webhooks/{id}/resume",
            post(|it: Control, Id(id)| async move { it.resume_webhook(id).await.map(done) }),
        )
        .route("/webhooks/{id}/deliveries", get(deliveries))
        .route(
            "/webhooks/{id}/deliveries/{event}/redeliver",
            post(|it: Control, Path((id, event)): Path<(String, String)>| async move {
                it.redeliver(id, event).await.map(|()| accepted(json!({})))
            }),
        )
        .route("/webhooks/{id}/exam", post(|it: Control, Id(id)| async move { it.exam(id).await.map(ok) }))
}

fn faults() -> Router {
    Router::new()
        .route(
            "/faults",
            get(|it: Control| async move { ok(it.faults().await) })
                .post(|it: Control, Input(rule): Input<FaultRule>| async move {
                    it.add_fault(rule).await.map(created)
                })
                .delete(clear_faults),
        )
        .route(
            "/faults/{id}",
            delete(|it: Control, Id(id)| async move { it.remove_fault(&id).await.map(gone) }),
        )
}

async fn state(it: Control) -> Result<Response, Refusal> {
    it.document().map(|document| answer::json(200, document).map(Body::from))
}

async fn restore(it: Control, Whole(document): Whole) -> Result<impl IntoResponse, Refusal> {
    it.restore(document).await.map(done)
}

async fn advance(it: Control, Input(by): Input<Advance>) -> Result<impl IntoResponse, Refusal> {
    let by = std::time::Duration::try_from_secs_f64(by.advance_seconds)
        .ok()
        .filter(|by| by.as_secs() <= MOST_SECONDS)
        .ok_or_else(|| Refusal::field("advanceSeconds", "must be from 0 to 3155760000, a hundred years"))?;
    it.advance(by).await.map(ok)
}

/// A hundred years; the clock's own range ends in 9999.
const MOST_SECONDS: u64 = 3_155_760_000;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Advance {
    advance_seconds: f64,
}

async fn clear_requests(it: Control) -> impl IntoResponse {
    it.clear_requests().await;
    StatusCode::NO_CONTENT
}

async fn clear_faults(it: Control) -> impl IntoResponse {
    it.clear_faults().await;
    StatusCode::NO_CONTENT
}

async fn events(it: Control, axum::Extension(stop): axum::Extension<watch::Receiver<Phase>>) -> Response {
    sse::follow(it.changes(), stop)
}

async fn create_world(it: Control, Input(new): Input<NewWorld>) -> Result<impl IntoResponse, Refusal> {
    it.create_world(new).await.map(|world| created(world.ready()))
}

async fn set_plan(it: Control, Input(to): Input<PlanChange>) -> Result<impl IntoResponse, Refusal> {
    it.set_plan(to.plan).await.map(done)
}

#[derive(Deserialize, JsonSchema)]
struct PlanChange {
    plan: Plan,
}

async fn create_booking(it: Control, Input(new): Input<NewBooking>) -> Result<impl IntoResponse, Refusal> {
    it.create_booking(new).await.map(|id| created(json!({ "id": id })))
}

async fn deliveries(
    it: Control,
    Id(id): Id,
    Search(filter): Search<DeliveryFilter>,
) -> Result<impl IntoResponse, Refusal> {
    it.deliveries(id, filter).await.map(ok)
}

fn ok<T: Serialize>(value: T) -> impl IntoResponse {
    Json(value)
}

fn created<T: Serialize>(value: T) -> impl IntoResponse {
    (StatusCode::CREATED, Json(value))
}

fn accepted<T: Serialize>(value: T) -> impl IntoResponse {
    (StatusCode::ACCEPTED, Json(value))
}

/// Done, and there is nothing to say about it.
fn done((): ()) -> impl IntoResponse {
    Json(json!({ "ok": true }))
}

fn gone((): ()) -> impl IntoResponse {
    StatusCode::NO_CONTENT
}
