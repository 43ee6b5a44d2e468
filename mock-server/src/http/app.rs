//! What every request to a server shares.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use http::Response;
use tokio::sync::watch;

use super::{
    caller::Caller,
    connection::{Limits, Phase},
    guard::Guard,
    openapi, response,
};
use crate::{
    control::Control,
    ready::Addresses,
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::Refusal,
};

/// What every request needs.
pub(crate) struct App {
    pub(super) registry: Arc<WorldRegistry>,
    pub(super) guard: Guard,
    addresses: Arc<Addresses>,
    pub(super) limits: Limits,
    pub(super) log: bool,
    /// Whether the console is served.
    pub(super) console: bool,
    pub(super) stop: watch::Receiver<Phase>,
    /// The OpenAPI document, written when someone first asks for it.
    openapi: OnceLock<Bytes>,
}

impl App {
    pub(crate) fn new(
        registry: WorldRegistry,
        address: SocketAddr,
        guard: Guard,
        limits: Limits,
        log: bool,
        console: bool,
        stop: watch::Receiver<Phase>,
    ) -> Arc<Self> {
        Arc::new(Self {
            registry: Arc::new(registry),
            guard,
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
    pub(super) fn control_of(&self, runtime: &Arc<WorldRuntime>) -> Control {
        Control::new(Arc::clone(&self.registry), Arc::clone(runtime), Arc::clone(&self.addresses))
    }

    /// The description of the service, an endpoint like the others: it needs a key, and counts.
    pub(super) fn openapi(
        &self,
        method: &http::Method,
        caller: Result<&Caller, &Refusal>,
    ) -> Response<Bytes> {
        if method != http::Method::GET && method != http::Method::HEAD {
            return response::wrong_method("GET, HEAD");
        }
        if let Err(refused) = caller.map_err(Refusal::clone).and_then(Caller::admit) {
            return response::refusal(&refused);
        }
        let written = || openapi::document(&self.control().ready().base_url).to_string().into();
        response::json(200, self.openapi.get_or_init(written).clone())
    }
}
