//! The state that all requests to a server share.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::Response;
use serde_json::Value;
use tokio::sync::watch;

use super::{
    caller::Caller,
    connection::{Limits, Phase},
    guard::Guard,
    response,
};
use crate::{
    control::Control,
    ready::Addresses,
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::Refusal,
};

/// The state of a server.
pub(crate) struct ServerState {
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

impl ServerState {
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
        if let Err(refused) = caller.map_err(Refusal::clone).and_then(Caller::check_limits) {
            return response::refusal(&refused);
        }
        response::json(200, self.openapi.get_or_init(|| self.service_document().into()).clone())
    }

    /// Returns the OpenAPI document with this server's address. `examples/write_documents` writes the
    /// embedded one.
    fn service_document(&self) -> String {
        let embedded = include_str!("../../documents/openapi.json");
        let mut document: Value = serde_json::from_str(embedded).unwrap_or_default();
        document["servers"][0]["url"] = self.control().ready().base_url.into();
        document.to_string()
    }
}
