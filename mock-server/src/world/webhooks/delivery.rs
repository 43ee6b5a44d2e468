//! Deliveries of events to endpoints with every attempt, and the requests and outcomes of attempts.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use shared_inbox::{__spec::limits, EventId, Timestamp, WebhookId};

use super::endpoint::{SigningKeys, TimestampSource};

/// The outcome of a delivery so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DeliveryOutcome {
    /// An attempt is still to come.
    Pending,
    /// An attempt got a 2xx in time.
    Delivered,
    /// Every attempt failed, and none will follow.
    Failed,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Attempt {
    /// When it was sent, on the mock's clock.
    pub at: Timestamp,
    /// The status of the response.
    pub status: Option<u16>,
    /// Why there was no response.
    pub error: Option<String>,
    /// How long it took, in real milliseconds.
    pub duration_ms: u64,
    /// The fault rule that fired for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_id: Option<String>,
    /// The headers that sign it; absent for attempts of older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignatureHeaders>,
    /// The response of the receiver, for as long as it is stored. Like the journal it is what the server saw,
    /// and not part of the world document.
    #[serde(skip)]
    pub(crate) response: Option<Arc<ReceiverResponse>>,
    /// Its number in the order of everything that happened in the world.
    #[serde(skip)]
    pub(crate) number: u64,
}

/// The response of a receiver besides the status.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ReceiverResponse {
    pub(crate) headers: BTreeMap<String, String>,
    /// The first 4 KiB of the body, as text.
    pub(crate) body: String,
    /// Whether the body was longer.
    pub(crate) cut: bool,
}

redacted_debug!(ReceiverResponse { cut });

impl ReceiverResponse {
    fn size(&self) -> usize {
        self.body.len() + self.headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }
}

/// The stored responses of receivers: the latest that fit.
#[derive(Clone, Default)]
pub(super) struct StoredResponses {
    /// The delivery and the number of an attempt, and the size of its response.
    attempts: VecDeque<(WebhookId, EventId, usize, usize)>,
    bytes: usize,
}

/// How many bytes of receivers' responses are stored.
const MAX_RESPONSE_BYTES: usize = 32 << 20;

impl super::Webhooks {
    /// Stores the response to the latest attempt of a delivery, and drops the oldest beyond the limit.
    pub(super) fn keep_response(&mut self, id: &WebhookId, event: &EventId) {
        let latest = |delivery: &mut Delivery| {
            let size = delivery.attempts.last()?.response.as_ref()?.size();
            Some((delivery.attempts.len() - 1, size))
        };
        let Some((index, size)) = self.delivery_mut(id, event).and_then(latest) else { return };
        self.responses.attempts.push_back((id.clone(), event.clone(), index, size));
        self.responses.bytes += size;
        while self.responses.bytes > MAX_RESPONSE_BYTES {
            let Some((id, event, index, size)) = self.responses.attempts.pop_front() else { break };
            self.responses.bytes -= size;
            let made = self.delivery_mut(&id, &event).and_then(|delivery| delivery.attempts.get_mut(index));
            if let Some(made) = made {
                made.response = None;
            }
        }
    }
}

impl Attempt {
    /// Returns the attempt as lists show it, without its signature.
    pub(super) fn unsigned(&self) -> Self {
        Self { signed: None, response: None, ..self.clone() }
    }
}

/// The headers that sign one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SignatureHeaders {
    /// `webhook-timestamp`.
    pub timestamp: String,
    /// `webhook-signature`.
    pub signature: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Delivery {
    pub(super) outcome: DeliveryOutcome,
    /// While it is pending: when the next attempt is due, or was, if it is under way.
    pub(super) next_attempt_at: Option<Timestamp>,
    pub(super) attempts: Vec<Attempt>,
    /// How many of the attempts were made before the event was redelivered; a redelivery starts the schedule
    /// anew.
    #[serde(default)]
    pub(super) earlier: usize,
    /// Whether a fault has delayed the next attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) held: bool,
}

impl Delivery {
    pub(super) fn due(at: Timestamp) -> Self {
        Self {
            outcome: DeliveryOutcome::Pending,
            next_attempt_at: Some(at),
            attempts: Vec::new(),
            earlier: 0,
            held: false,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.outcome == DeliveryOutcome::Pending
    }

    /// Returns whether the log still shows it: 30 days from the event or the latest attempt.
    pub(super) fn in_log(&self, created: Timestamp, now: Timestamp) -> bool {
        let latest = self.attempts.last().map_or(created, |last| last.at.max(created));
        self.is_pending() || now.duration_since(latest) <= limits::DELIVERY_LOG
    }

    pub(super) fn end(&mut self, outcome: DeliveryOutcome) {
        self.outcome = outcome;
        self.next_attempt_at = None;
    }
}

/// Identifies an attempt in this process, so that an outcome is not recorded for another one: the world may
/// have been reset or replaced while the attempt was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptToken(u64);

impl AttemptToken {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// An attempt that is to be made now.
#[derive(Clone)]
#[non_exhaustive]
pub struct AttemptRequest {
    pub(super) token: AttemptToken,
    /// The endpoint that it goes to.
    pub endpoint: WebhookId,
    /// The event that it delivers.
    pub event: EventId,
    /// When it was due, on the mock's clock.
    pub due: Timestamp,
    /// The kind of event.
    pub(crate) kind: String,
    /// Whether a fault has delayed it before.
    pub(crate) held: bool,
    /// Its number in the order of everything that happens in the world.
    pub(crate) number: u64,
    pub(crate) url: String,
    pub(crate) body: Bytes,
    pub(crate) keys: SigningKeys,
    pub(crate) timestamps: TimestampSource,
    pub(crate) slow: bool,
}

// The receiver's address may carry a password of its own, so it is left out.
redacted_debug!(AttemptRequest { endpoint, event, due });

/// The outcome of an attempt.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AttemptOutcome {
    pub(super) token: AttemptToken,
    pub(super) endpoint: WebhookId,
    pub(super) event: EventId,
    pub(super) made: Attempt,
    pub(super) timed_out: bool,
}

impl AttemptOutcome {
    /// Records that the attempt made for `request` at `at` got `status` after `duration_ms`.
    pub fn answered(request: &AttemptRequest, at: Timestamp, status: u16, duration_ms: u64) -> Self {
        let made = Attempt {
            at,
            status: Some(status),
            error: None,
            duration_ms,
            fault_id: None,
            signed: None,
            response: None,
            number: request.number,
        };
        Self::new(request, made, false)
    }

    pub(crate) fn new(request: &AttemptRequest, made: Attempt, timed_out: bool) -> Self {
        let (endpoint, event) = (request.endpoint.clone(), request.event.clone());
        Self { token: request.token, endpoint, event, made, timed_out }
    }
}
