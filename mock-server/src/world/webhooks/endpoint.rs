//! Webhook endpoints: address, subscription and signing keys.

use serde::{Deserialize, Serialize};
use shared_inbox::{__spec::limits, Timestamp, UserId};
use shared_inbox_webhooks::{Event, Secret};

use super::{Audience, EventSource};

/// The inboxes whose events an endpoint receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WebhookScope {
    /// Team inboxes, and what concerns the whole workspace.
    Team,
    /// The private inboxes of its owner, and nothing else.
    Private,
}

/// Whether events are sent to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WebhookState {
    /// Events are sent.
    On,
    /// Nothing is sent until someone resumes it: paused by hand, or after a day of failures.
    Paused,
    /// The receiver returned 410: it wants no more events.
    Off,
}

/// Which clock the `webhook-timestamp` header is read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TimestampSource {
    /// The mock's, like every other time.
    #[default]
    Mock,
    /// This machine's: for a receiver that checks the time and does not know that the mock's clock was moved.
    Real,
}

#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Endpoint {
    /// Its place in the list: ids are random.
    pub(super) number: u64,
    pub(super) url: String,
    pub(super) livemode: bool,
    pub(super) scope: WebhookScope,
    pub(super) owner: Option<UserId>,
    /// The kinds it subscribes to; all when `None`.
    pub(super) events: Option<Vec<String>>,
    #[serde(default)]
    pub(super) timestamps: TimestampSource,
    pub(super) state: WebhookState,
    pub(super) keys: SigningKeys,
    /// The first failure since the last success.
    pub(super) failing_since: Option<Timestamp>,
    /// Why the latest attempt failed, while attempts fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_error: Option<String>,
    /// Whether the last attempt got no response in time; such endpoints share a queue of their own.
    #[serde(default)]
    pub(super) slow: bool,
}

impl Endpoint {
    /// Returns whether an event is sent to this endpoint: state, mode, scope and kind.
    pub(super) fn subscribes_to(&self, event: &Event, audience: &Audience) -> bool {
        let inbox = match (&audience.inbox, self.scope) {
            (EventSource::Team | EventSource::Workspace, WebhookScope::Team) => true,
            (EventSource::Private(owner), WebhookScope::Private) => self.owner.as_ref() == Some(owner),
            _ => false,
        };
        let kind = event.kind.event_type();
        inbox
            && self.state == WebhookState::On
            && self.livemode == audience.livemode
            && self.events.as_ref().is_none_or(|events| events.iter().any(|name| name == kind))
    }

    /// Records a failure at `at`; returns whether there was no success for a day.
    pub(super) fn failed(&mut self, at: Timestamp) -> bool {
        let since = *self.failing_since.get_or_insert(at);
        at.duration_since(since) >= limits::WEBHOOK_PAUSE_AFTER
    }
}

/// The secrets that sign the requests to an endpoint. Part of the world document, so that a restored world
/// signs the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct SigningKeys {
    #[serde(with = "secret_as_text")]
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    current: Secret,
    /// The secret before the last rotation. It stays after its time, because a receiver check shows whether
    /// the receiver has forgotten it.
    previous: Option<Previous>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Previous {
    #[serde(with = "secret_as_text")]
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    secret: Secret,
    until: Timestamp,
}

impl SigningKeys {
    pub(crate) fn new(current: Secret) -> Self {
        Self { current, previous: None }
    }

    pub(crate) fn rotate(&mut self, next: Secret, now: Timestamp) {
        let secret = std::mem::replace(&mut self.current, next);
        self.previous = Some(Previous { secret, until: now + limits::SECRET_OVERLAP });
    }

    pub(crate) fn current(&self) -> &Secret {
        &self.current
    }

    /// Returns the secret before the last rotation, and whether it still signs at `at`.
    pub(crate) fn previous(&self, at: Timestamp) -> Option<(&Secret, bool)> {
        self.previous.as_ref().map(|previous| (&previous.secret, at < previous.until))
    }

    /// Returns the secrets that sign an attempt at `at`, the newer first.
    pub(crate) fn signing(&self, at: Timestamp) -> impl Iterator<Item = Secret> {
        let previous = self.previous(at).filter(|(_, signs)| *signs).map(|(secret, _)| secret);
        std::iter::once(&self.current).chain(previous).cloned()
    }
}

redacted_debug!(SigningKeys {});

mod secret_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use shared_inbox_webhooks::Secret;

    pub(super) fn serialize<S: Serializer>(secret: &Secret, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&secret.reveal())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Secret, D::Error> {
        Secret::parse(&String::deserialize(d)?).map_err(D::Error::custom)
    }
}
