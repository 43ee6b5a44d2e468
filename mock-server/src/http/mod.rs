//! The server over HTTP: connections, the service (REST and MCP), the control API, the console.

mod app;
mod body;
mod caller;
pub(crate) mod connection;
mod console;
pub(crate) mod control;
pub(crate) mod guard;
mod log;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod response;
mod rest;
mod service;

/// Without the feature `mcp` there is no endpoint.
#[cfg(not(feature = "mcp"))]
mod mcp {
    use bytes::Bytes;
    use http::{Response, request::Parts};

    use super::{caller::Caller, response};
    use crate::world::Result;

    pub(super) async fn handle(_: Caller, _: Parts, _: Result<Bytes>) -> Response<Bytes> {
        response::error(
            404,
            "This server was built without MCP: the feature `mcp` of shared-inbox-mock is off.",
        )
    }
}

use std::{panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use axum::{Router, body::Body};
use futures_util::FutureExt;
use http::Request;
use hyper::body::Incoming;
use tokio::net::TcpListener;

pub(crate) use app::ServerState;
use connection::HttpReply;
use service::ServiceTarget;

/// Serves until the server stops.
///
/// Boxed, so that it is compiled here, and not again in every program and test that starts a server.
pub(crate) fn serve(
    app: Arc<ServerState>,
    listener: TcpListener,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let (stop, routes) = (app.stop.clone(), control::routes());
    Box::pin(connection::serve(listener, app.limits, stop, control::is_control_path, move |request| {
        let (app, routes) = (Arc::clone(&app), routes.clone());
        async move { handle(&app, &routes, request).await }
    }))
}

async fn handle(app: &ServerState, routes: &Router, request: Request<Incoming>) -> HttpReply {
    let path = request.uri().path();
    if let Some(target) = ServiceTarget::parse(path) {
        return service::handle(app, routes, target, request).await;
    }
    let started = std::time::Instant::now();
    let (method, path) = (request.method().clone(), path.to_owned());
    let response = if control::is_control_path(&path) {
        // Boxed, so that the future of other requests stays small.
        let controlled = Box::pin(control::handle(app, routes, request.map(Body::new)));
        let controlled = AssertUnwindSafe(controlled);
        controlled.catch_unwind().await.unwrap_or_else(|_| response::for_status(500).map(Body::from))
    } else {
        let page = app.console.then(|| console::respond(&method, &path)).flatten();
        page.unwrap_or_else(|| response::error(404, "There is nothing at this path.")).map(Body::from)
    };
    if app.log {
        log::request(&method, &path, Some(response.status().as_u16()), started.elapsed(), None);
    }
    HttpReply::Response(response)
}
