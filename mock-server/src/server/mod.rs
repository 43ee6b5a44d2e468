//! The shell around the worlds: HTTP, clocks, faults, the journal, and what is sent out.

pub(crate) mod answer;
mod body;
pub(crate) mod caller;
pub(crate) mod clock;
pub(crate) mod connection;
mod console;
pub(crate) mod control;
pub(crate) mod deliver;
pub(crate) mod difference;
pub(crate) mod document;
pub(crate) mod exam;
pub(crate) mod faults;
mod gate;
mod guard;
pub(crate) mod hub;
pub(crate) mod journal;
mod log;
pub(crate) mod matching;
mod mcp;
mod numbers;
pub(crate) mod openapi;
pub(crate) mod realm;
mod redact;
mod rest;
pub(crate) mod snapshots;
pub(crate) mod sse;
pub(crate) mod target;
pub(crate) mod worker;

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

use crate::{control::Control, ready::Addresses, world::Refusal};
use caller::Caller;
use connection::{Limits, Phase, Reply};
use gate::Target;
use guard::Guard;
use hub::Hub;
use realm::Realm;

/// What every request needs.
pub(crate) struct App {
    hub: Arc<Hub>,
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
        hub: Hub,
        address: SocketAddr,
        token: Option<&str>,
        limits: Limits,
        log: bool,
        console: bool,
        stop: watch::Receiver<Phase>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hub: Arc::new(hub),
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
        self.control_of(self.hub.main())
    }

    /// The control of a world.
    fn control_of(&self, realm: &Arc<Realm>) -> Control {
        Control::new(Arc::clone(&self.hub), Arc::clone(realm), Arc::clone(&self.addresses))
    }

    /// The description of the service, an endpoint like the others: it needs a key, and counts.
    fn openapi(&self, method: &http::Method, caller: Result<&Caller, &Refusal>) -> Response<Bytes> {
        if method != http::Method::GET && method != http::Method::HEAD {
            return answer::wrong_method("GET, HEAD");
        }
        if let Err(refused) = caller.map_err(Refusal::clone).and_then(Caller::admit) {
            return answer::refusal(&refused);
        }
        let written = || openapi::document(&self.control().ready().base_url).to_string().into();
        answer::json(200, self.openapi.get_or_init(written).clone())
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
            return gate::handle(self, routes, request).await;
        }
        let started = std::time::Instant::now();
        let (method, path) = (request.method().clone(), path.to_owned());
        let response = if control::owns(&path) {
            // Apart, so that other requests do not carry its size along.
            let controlled = Box::pin(control::handle(self, routes, request.map(Body::new)));
            let controlled = AssertUnwindSafe(controlled);
            controlled.catch_unwind().await.unwrap_or_else(|_| answer::of_status(500).map(Body::from))
        } else {
            let page = self.console.then(|| console::answer(&method, &path)).flatten();
            page.unwrap_or_else(|| answer::error(404, "There is nothing at this path.")).map(Body::from)
        };
        if self.log {
            log::request(&method, &path, Some(response.status().as_u16()), started.elapsed(), None);
        }
        Reply::Answer(response)
    }
}
