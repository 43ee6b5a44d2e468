//! The control API over HTTP: routes a request to its call in the table.

mod actions;
mod browse;
mod call;
#[cfg(feature = "schemas")]
pub(crate) mod catalogue;
mod clock;
#[cfg(feature = "schemas")]
pub(crate) mod describe;
mod events;
mod expect;
mod faults;
mod input;
mod people;
#[cfg(feature = "schemas")]
mod schemas;
mod snapshots;
mod table;
mod webhooks;
mod world;

/// Without the feature `schemas`, nothing is described.
#[cfg(not(feature = "schemas"))]
mod describe {
    pub(super) trait DescribeInput {}
    impl<T> DescribeInput for T {}
    pub(super) trait DescribeOutput {}
    impl<T> DescribeOutput for T {}
    pub(super) struct Schemas;
    impl Schemas {
        pub(super) fn for_call<A: DescribeInput, G: DescribeOutput>() -> Self {
            Self
        }
    }
}

use std::sync::{Arc, LazyLock};

use axum::{Router, body::Body, extract::Request, response::IntoResponse};
use bytes::Bytes;
use http::request::Parts;
use http_body_util::{BodyExt, Collected};
use serde_json::Value;

use self::input::RawBody;
use super::{app::ServerState, body, response};
use crate::{
    control::Control,
    faults::ControlCall,
    ready::CONTROL_PREFIX,
    runtime::WorldRuntime,
    world::{Refusal, Result},
};

/// Returns whether a path is below the prefix.
pub(crate) fn is_control_path(path: &str) -> bool {
    path.strip_prefix(CONTROL_PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Handles a request below the prefix.
pub(crate) async fn handle(app: &ServerState, routes: &Router, request: Request) -> http::Response<Body> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().strip_prefix(CONTROL_PREFIX).unwrap_or_default();
    // A container's health check has no token.
    let probe = parts.method == http::Method::GET && path == "/health";
    let allowed =
        if probe { app.guard.check_host_and_origin(&parts) } else { app.guard.check_control(&parts) };
    if let Err(refused) = allowed {
        return refused.into_response();
    }
    let (control, path) = match find_world(app, path) {
        Ok(found) => found,
        Err(refused) => return refused.into_response(),
    };
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    parts.uri = match format!("{path}{query}").parse() {
        Ok(uri) => uri,
        Err(_) => return response::error(404, "There is nothing at this path.").map(Body::from),
    };
    parts.extensions.insert(app.stop.clone());
    // Only after the checks: without permission nobody can make the server read a large document.
    let body = match body::read(body, body::DOCUMENT_LIMIT, app.limits.client_timeout).await {
        Ok(body) => body,
        Err(refused) => return refused.into_response(),
    };
    route(routes, control, parts, body).await
}

/// Makes a control call in a world, caused by a step of a trace; returns the status of its response.
pub(crate) async fn make_call(
    app: &ServerState,
    routes: &Router,
    runtime: &Arc<WorldRuntime>,
    cause: u64,
    call: &ControlCall,
) -> u16 {
    let Ok((mut parts, body)) = to_request(call) else { return 400 };
    parts.extensions.insert(app.stop.clone());
    let control = app.control_of(runtime).caused_by(cause);
    route(routes, control, parts, body).await.status().as_u16()
}

fn to_request(call: &ControlCall) -> http::Result<(Parts, Bytes)> {
    let body = call.body.as_ref().map(ToString::to_string).unwrap_or_default();
    let request = http::Request::builder().method(call.method.as_str()).uri(call.path.as_str());
    Ok(request.body(body.into())?.into_parts())
}

impl Control {
    /// Makes a call of the control API that is data, as in a fault rule, without HTTP. For tools around the
    /// server.
    ///
    /// # Errors
    ///
    /// As the control API refuses it.
    #[doc(hidden)]
    pub async fn call(&self, call: &ControlCall) -> Result<Value> {
        static ROUTES: LazyLock<Router> = LazyLock::new(routes);
        let (parts, body) = to_request(call).map_err(|error| Refusal::new(400, error.to_string()))?;
        let response = route(&ROUTES, self.clone(), parts, body).await;
        let status = response.status();
        let body = response.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(body);
        }
        let message = body["error"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        Err(Refusal::new(status.as_u16(), message))
    }
}

/// Routes a request to its call.
async fn route(routes: &Router, control: Control, mut parts: Parts, body: Bytes) -> http::Response<Body> {
    parts.extensions.insert(RawBody(body));
    parts.extensions.insert(control);
    match tower_service::Service::call(&mut routes.clone(), Request::from_parts(parts, Body::empty())).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Returns the world of a path below the prefix, and the rest of the path.
fn find_world<'p>(app: &ServerState, path: &'p str) -> Result<(Control, &'p str)> {
    let main = app.control();
    let Some(rest) = path.strip_prefix("/worlds/") else { return Ok((main, path)) };
    match rest.split_once('/') {
        Some((id, rest)) => Ok((main.world(id)?, &path[path.len() - rest.len() - 1..])),
        None => Ok((main, path)),
    }
}

/// Returns the router of all calls, for one world.
pub(crate) fn routes() -> Router {
    table::all()
        .fold(Router::new(), |routes, call| routes.route(call.path, call.route))
        .fallback(|| async { Refusal::new(404, "There is nothing at this path.") })
        .method_not_allowed_fallback(|| async { Refusal::new(405, "This path does not take this method.") })
}
