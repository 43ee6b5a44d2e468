//! The server over HTTP: connections, the service (REST and MCP), the control API, the console.

mod body;
mod caller;
pub(crate) mod connection;
mod console;
pub(crate) mod control;
pub(crate) mod events;
mod guard;
mod log;
mod mcp;
pub(crate) mod openapi;
pub(crate) mod response;
mod rest;
mod service;

use std::{
    net::SocketAddr,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use axum::{Router, body::Body};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::{net::TcpListener, sync::watch};

use self::{
    caller::Caller,
    connection::{Limits, Phase, Reply},
    guard::Guard,
    service::Target,
};
use crate::{
    control::Control,
    ready::Addresses,
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::Refusal,
};

/// What every request needs.
pub(crate) struct App {
    registry: Arc<WorldRegistry>,
    guard: Guard,
    addresses: Arc<Addresses>,
    limits: Limits,
    log: bool,
    /// Whether the console is served.
    console: bool,
    stop: watch::Receiver<Phase>,
    /// The OpenAPI document, written when someone first asks for it.
    openapi: OnceLock<Bytes>,
}

impl App {
    pub(crate) fn new(
        registry: WorldRegistry,
        address: SocketAddr,
        token: Option<&str>,
        limits: Limits,
        log: bool,
        console: bool,
        stop: watch::Receiver<Phase>,
    ) -> Arc<Self> {
        Arc::new(Self {
            registry: Arc::new(registry),
            guard: Guard::new(address, token),
            addresses: Arc::new(Addresses::new(address)),
            limits,
            log,
            console,
            stop,
            openapi: OnceLock::new(),
        })
    }

    /// The control of the main world.
    pub(crate) fn control(&self) -> Control {
        self.control_of(self.registry.main())
    }

    /// The control of a world.
    fn control_of(&self, runtime: &Arc<WorldRuntime>) -> Control {
        Control::new(Arc::clone(&self.registry), Arc::clone(runtime), Arc::clone(&self.addresses))
    }

    /// The description of the service, an endpoint like the others: it needs a key, and counts.
    fn openapi(&self, method: &http::Method, caller: Result<&Caller, &Refusal>) -> Response<Bytes> {
        if method != http::Method::GET && method != http::Method::HEAD {
            return response::wrong_method("GET, HEAD");
        }
        if let Err(refused) = caller.map_err(Refusal::clone).and_then(Caller::admit) {
            return response::refusal(&refused);
        }
        let written = || openapi::document(&self.control().ready().base_url).to_string().into();
        response::json(200, self.openapi.get_or_init(written).clone())
    }

    /// Serves until it is told to stop.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let (stop, routes) = (self.stop.clone(), control::routes());
        connection::serve(listener, self.limits, stop, control::owns, move |request| {
            let (app, routes) = (Arc::clone(&self), routes.clone());
            async move { app.handle(&routes, request).await }
        })
        .await;
    }

    async fn handle(&self, routes: &Router, request: Request<Incoming>) -> Reply {
        let path = request.uri().path();
        if Target::of(path).is_some() {
            return service::handle(self, routes, request).await;
        }
        let started = std::time::Instant::now();
        let (method, path) = (request.method().clone(), path.to_owned());
        let response = if control::owns(&path) {
            // Apart, so that other requests do not carry its size along.
            let controlled = Box::pin(control::handle(self, routes, request.map(Body::new)));
            let controlled = AssertUnwindSafe(controlled);
            controlled.catch_unwind().await.unwrap_or_else(|_| response::of_status(500).map(Body::from))
        } else {
            let page = self.console.then(|| console::respond(&method, &path)).flatten();
            page.unwrap_or_else(|| response::error(404, "There is nothing at this path.")).map(Body::from)
        };
        if self.log {
            log::request(&method, &path, Some(response.status().as_u16()), started.elapsed(), None);
        }
        Reply::Answer(response)
    }
}
