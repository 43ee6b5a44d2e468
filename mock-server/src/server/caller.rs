//! Who makes a request: a key, the agent it acts as, and the world it belongs to.

use std::sync::Arc;

use http::HeaderMap;
use shared_inbox::{AgentId, Method, Operation};

use super::{guard, hub::Hub, realm::Realm, sse::Cause};
use crate::world::{Answer, CallInput, KeyHash, Refusal};

/// The agent behind a valid key.
#[derive(Clone)]
pub(crate) struct Caller {
    realm: Arc<Realm>,
    agent: AgentId,
}

impl Caller {
    /// The one whose key the request carries.
    pub(crate) fn of(hub: &Hub, headers: &HeaderMap) -> Result<Self, Refusal> {
        let key = guard::bearer(headers)
            .ok_or_else(|| Refusal::new(401, "Send your API key as `Authorization: Bearer <API_KEY>`."))?;
        let key = KeyHash::of(key);
        let known = hub.world_of(&key).and_then(|realm| {
            let agent = realm.enter(|world, _| world.authenticate(&key))?;
            Some(Self { realm, agent })
        });
        known.ok_or_else(|| Refusal::new(401, "This API key is wrong or was revoked."))
    }

    pub(crate) fn realm(&self) -> &Arc<Realm> {
        &self.realm
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// One operation of the service.
    pub(crate) fn call(
        &self,
        operation: Operation,
        id: Option<&str>,
        input: CallInput<'_>,
    ) -> Result<Answer, Refusal> {
        if operation.method() == Method::Get {
            return self.realm.enter(|world, now| world.call(&self.agent, operation, id, input, now));
        }
        self.realm.change(Cause::Request, operation.path(), |world, now| {
            world.call(&self.agent, operation, id, input, now)
        })
    }
}
