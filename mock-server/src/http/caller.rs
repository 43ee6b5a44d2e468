//! Who makes a request: a key, the agent it acts as, and the world it belongs to.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value};
use shared_inbox::{AgentId, Method, Operation, Scope, Timestamp};

use super::guard;
use crate::{
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::{Initiator, CallInput, KeyHash, Refusal, Result, ServiceResponse, World},
};

/// The agent behind a valid key.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(super) runtime: Arc<WorldRuntime>,
    pub(super) agent: AgentId,
    /// The number of its request in the journal.
    pub(super) request: u64,
}

impl Caller {
    /// The one whose key the request carries, with its request in the journal; and the time.
    pub(crate) fn authenticate(registry: &WorldRegistry, headers: &HeaderMap) -> Result<(Self, Timestamp)> {
        let key = guard::bearer(headers)
            .ok_or_else(|| Refusal::new(401, "Send your API key as `Authorization: Bearer <API_KEY>`."))?;
        let key = KeyHash::of(key);
        let known = registry.world_of(&key).and_then(|runtime| {
            let (agent, request, at) = runtime.begin_authenticated_request(&key)?;
            Some((Self { runtime, agent, request }, at))
        });
        known.ok_or_else(|| Refusal::new(401, "This API key is wrong or was revoked."))
    }

    /// What the key may do.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        self.runtime.enter(|world, _| world.scopes(&self.agent).to_vec())
    }

    /// One operation of the service, a request of its own.
    pub(crate) fn call(
        &self,
        operation: Operation,
        id: Option<&str>,
        input: CallInput<'_>,
    ) -> Result<ServiceResponse> {
        self.run_operation(operation, |world, now| world.call(&self.agent, operation, id, input, now))
    }

    /// Lets a request in and counts it, whatever it asks for.
    pub(crate) fn admit(&self) -> Result<()> {
        self.runtime.enter(|world, now| world.admit(&self.agent, now))
    }

    /// One operation, as a tool, in a request that was let in.
    pub(crate) fn use_tool(
        &self,
        operation: Operation,
        arguments: Map<String, Value>,
    ) -> Result<ServiceResponse> {
        let input = CallInput::Tool(arguments);
        self.run_operation(operation, |world, now| world.perform(&self.agent, operation, None, input, now))
    }

    /// Goes into the world, and says so afterwards when it may have changed.
    fn run_operation<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut World, Timestamp) -> Result<T>,
    ) -> Result<T> {
        if operation.method() == Method::Get {
            return self.runtime.enter(work);
        }
        self.runtime.change(Initiator::Request(self.request, operation.path()), work)
    }
}
