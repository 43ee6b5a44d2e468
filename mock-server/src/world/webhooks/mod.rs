//! Webhook endpoints and what is delivered to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shared_inbox::{Event, EventId, Timestamp, UserId, WebhookId};

use super::jobs::Jobs;

/// All endpoints of a world.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Webhooks {}

/// Who may hear of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// Live endpoints or test endpoints.
    pub livemode: bool,
    /// Whose.
    pub inbox: Inbox,
}

/// Where an event happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbox {
    /// In a team inbox.
    Team,
    /// In a private inbox of this person.
    Private(UserId),
    /// In no inbox: a booking outside a conversation, a test event.
    Workspace,
}

/// A delivery to be tried over HTTP.
#[derive(Debug, Clone)]
pub struct TryRequest {
    /// The endpoint.
    pub endpoint: WebhookId,
    /// The event.
    pub event: EventId,
}

/// What came of a try.
#[derive(Debug, Clone)]
pub struct TryOutcome {
    /// The endpoint.
    pub endpoint: WebhookId,
    /// The event.
    pub event: EventId,
}

impl Webhooks {
    /// Tells every endpoint that may hear it of an event.
    pub fn emit(&mut self, _event: Event, _audience: &Audience, _jobs: &mut Jobs, _now: Timestamp) {}

    /// The request of a try that is due now, or nothing when it is not to be made any more.
    pub fn begin_try(
        &mut self,
        endpoint: &WebhookId,
        event: &EventId,
        _now: Timestamp,
    ) -> Option<TryRequest> {
        let _ = (endpoint, event);
        None
    }
}

impl super::World {
    /// Takes in what came of a try.
    pub fn finish_try(&mut self, _outcome: TryOutcome, _now: Timestamp) {}
}
