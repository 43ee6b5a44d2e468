//! The state that all requests to a server share.

use std::sync::{Arc, OnceLock};

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

/// The state of a server.
pub(crate) struct App {
    pub(crate) registry: Arc<WorldRegistry>,
    pub(crate) guard: Guard,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) limits: Limits,
    pub(crate) log: bool,
    /// Whether the console is served.
    pub(crate) console: bool,
    pub(crate) stop: watch::Receiver<Phase>,
    /// The OpenAPI document, written for the first request of it.
    pub(crate) openapi: OnceLock<Bytes>,
}

impl App {
    /// Returns the control of the main world.
    pub(crate) fn control(&self) -> Control {
        self.control_of(&self.registry.main)
    }

    /// Returns the control of a world.
    pub(super) fn control_of(&self, runtime: &Arc<WorldRuntime>) -> Control {
        Control::new(Arc::clone(&self.registry), Arc::clone(runtime), Arc::clone(&self.addresses))
    }

    /// Responds with the OpenAPI document of the service, which needs a key and counts as a request.
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
