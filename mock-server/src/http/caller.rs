//! The caller of a request: the agent of its key, and the key's world.

use std::sync::Arc;

use http::HeaderMap;
use shared_inbox::{
    __spec::{Method, Operation},
    AgentId, Timestamp,
};

use super::guard;
use crate::{
    runtime::{WorldRuntime, registry::WorldRegistry},
    world::{CallInput, Initiator, KeyHash, Refusal, Result, ServiceResponse, World},
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
    /// Returns the caller whose key the request carries, with its request in the journal, and the time.
    pub(crate) fn authenticate(registry: &WorldRegistry, headers: &HeaderMap) -> Result<(Self, Timestamp)> {
        let key = guard::bearer(headers)
            .ok_or_else(|| Refusal::new(401, "Send your API key as `Authorization: Bearer <API_KEY>`."))?;
        let key = KeyHash::from_key(key);
        let known = registry.world_of(&key).and_then(|runtime| {
            let (agent, request, at) = runtime.begin_authenticated_request(&key)?;
            Some((Self { runtime, agent, request }, at))
        });
        known.ok_or_else(|| Refusal::new(401, "This API key is wrong or was revoked."))
    }

    /// Performs an operation as a request of its own.
    pub(crate) fn call(
        &self,
        operation: Operation,
        id: Option<&str>,
        input: CallInput<'_>,
    ) -> Result<ServiceResponse> {
        self.run_operation(operation, |world, now| world.call(&self.agent, operation, id, input, now))
    }

    /// Checks the plan and the rate limit, and counts the request.
    pub(crate) fn check_limits(&self) -> Result<()> {
        self.runtime.enter(|world, now| world.check_limits(&self.agent, now))
    }

    /// Runs an operation in the world, and reports a change unless it only reads.
    pub(super) fn run_operation<T>(
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
