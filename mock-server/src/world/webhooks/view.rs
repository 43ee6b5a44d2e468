//! Inputs and outputs of the control API for webhooks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_inbox::{EventId, Problems, Timestamp, UserId, WebhookId};
use shared_inbox_webhooks::EventKind;

use super::{Attempt, DeliveryOutcome, TimestampSource, WebhookScope, WebhookState};

/// The longest address of a receiver, in characters.
const MAX_URL_CHARS: usize = 2_048;

/// A webhook to add.
///
/// ```
/// use shared_inbox_mock::{CreateWebhook, MockServer, webhooks::{DeliveryFilter, DeliveryOutcome}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mock = MockServer::builder().manual_clock().start().await;
/// // Nothing listens there, so the event is tried again and again.
/// let new = CreateWebhook::new("http://127.0.0.1:9/hook").events(["client.replied"]);
/// let webhook = mock.control().create_webhook(new).await?;
/// mock.control().test_webhook(&webhook.id).await?;
///
/// // A whole day of it, at once.
/// mock.control().advance(std::time::Duration::from_secs(30 * 3600)).await?;
/// let failed = DeliveryFilter::default().outcome(DeliveryOutcome::Failed);
/// assert_eq!(mock.control().deliveries(&webhook.id, failed).await?[0].attempts.len(), 9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CreateWebhook {
    /// The address of the receiver.
    pub url: String,
    /// Whether it gets live events, or those of the sandbox.
    pub livemode: bool,
    /// The inboxes whose events it receives.
    pub scope: WebhookScope,
    /// Who made it; needed for [`WebhookScope::Private`].
    pub owner: Option<UserId>,
    /// The kinds of event it subscribes to; all when `None`.
    #[cfg_attr(feature = "schemas", schemars(extend("items" = crate::json::words::item(EventKind::TYPES))))]
    pub events: Option<Vec<String>>,
    /// Which clock its `webhook-timestamp` header shows.
    #[serde(default)]
    pub timestamps: TimestampSource,
}

impl CreateWebhook {
    /// Returns a webhook for the live events of all team inboxes.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            livemode: true,
            scope: WebhookScope::Team,
            owner: None,
            events: None,
            timestamps: TimestampSource::Mock,
        }
    }

    /// Subscribes to the private inboxes of this person instead.
    pub fn private(mut self, owner: UserId) -> Self {
        (self.scope, self.owner) = (WebhookScope::Private, Some(owner));
        self
    }

    setters! {
        /// Subscribes to the sandbox instead.
        test() => livemode = false;
        /// Is owned by this person, who is notified when it is paused or turned off.
        owner(owner: UserId) => owner = Some(owner);
        /// Shows this clock in its `webhook-timestamp` header.
        timestamps(clock: TimestampSource) => timestamps = clock;
    }

    /// Subscribes to these kinds of event only.
    pub fn events<T: Into<String>>(mut self, events: impl IntoIterator<Item = T>) -> Self {
        self.events = Some(events.into_iter().map(Into::into).collect());
        self
    }

    pub(super) fn check(&self) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let web = ["http://", "https://"].iter().any(|scheme| {
            self.url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if !web {
            problems.push("url", "must start with https://");
        } else if self.url.chars().count() > MAX_URL_CHARS {
            problems.push("url", format!("must be at most {MAX_URL_CHARS} characters"));
        }
        if self.scope == WebhookScope::Private && self.owner.is_none() {
            problems.push("owner", "is required for the scope private");
        }
        if self.events.as_ref().is_some_and(Vec::is_empty) {
            problems.push("events", "must have at least 1 item (leave it out to hear all events)");
        }
        for (i, name) in self.events.iter().flatten().enumerate() {
            if !EventKind::TYPES.contains(&name.as_str()) {
                let known = EventKind::TYPES.join(", ");
                problems.push(format!("events[{i}]"), format!("must be one of {known}"));
            }
        }
        problems.or(())
    }
}

// The address may carry a password of the receiver's, so it is left out.
redacted_debug!(CreateWebhook { livemode, scope, owner, events });

/// A webhook that was added.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CreatedWebhook {
    /// Its id.
    pub id: WebhookId,
    /// The secret that signs its requests, shown only once.
    pub secret: String,
}

redacted_debug!(CreatedWebhook { id });

/// A webhook in the list of the control API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WebhookView {
    /// Its id.
    pub id: WebhookId,
    /// The address of the receiver.
    pub url: String,
    /// Whether it gets live events, or those of the sandbox.
    pub livemode: bool,
    /// The inboxes whose events it receives.
    pub scope: WebhookScope,
    /// The person who owns it, if one was named.
    pub owner: Option<UserId>,
    /// The kinds of event it subscribes to.
    pub events: Vec<String>,
    /// Which clock its `webhook-timestamp` header shows.
    pub timestamps: TimestampSource,
    /// Whether events are sent to it.
    pub state: WebhookState,
    /// When the first attempt failed since the last one that succeeded; null while none has.
    #[serde(default, rename = "failingSince")]
    pub failing_since: Option<Timestamp>,
    /// Why the latest attempt failed, while attempts fail.
    #[serde(default, rename = "lastError")]
    pub last_error: Option<String>,
}

redacted_debug!(WebhookView { id, livemode, scope, owner, events, state });

/// The new secret of a webhook.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RotatedSecret {
    /// The new secret, shown only once; the old one also signs for 24 hours.
    pub secret: String,
}

redacted_debug!(RotatedSecret {});

/// A test event that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TestEvent {
    /// The id of the event.
    pub event_id: EventId,
}

/// Which deliveries to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DeliveryFilter {
    /// Those that stand so.
    #[serde(default)]
    pub outcome: Option<DeliveryOutcome>,
    /// Those of events of this kind.
    #[serde(default, rename = "type")]
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = crate::json::words::or_null(EventKind::TYPES))))]
    pub event_type: Option<String>,
}

impl DeliveryFilter {
    setters! {
        /// Those that stand so.
        outcome(outcome: DeliveryOutcome) => outcome = Some(outcome);
        /// Those of events of this kind.
        event_type(event_type: impl Into<String>) => event_type = Some(event_type.into());
    }
}

/// One event in the log of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeliveryView {
    /// The id of the event.
    pub event_id: EventId,
    /// Its kind.
    #[serde(rename = "type")]
    pub event_type: String,
    /// When it happened.
    pub created_at: Timestamp,
    /// How its delivery stands.
    pub outcome: DeliveryOutcome,
    /// When it is tried next, or again.
    pub next_attempt_at: Option<Timestamp>,
    /// Every attempt so far, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One event in the log of a webhook, with exactly what was sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeliveryDetail {
    /// The id of the event.
    pub event_id: EventId,
    /// Its kind.
    #[serde(rename = "type")]
    pub event_type: String,
    /// When it happened.
    pub created_at: Timestamp,
    /// How its delivery stands.
    pub outcome: DeliveryOutcome,
    /// When it is tried next, or again.
    pub next_attempt_at: Option<Timestamp>,
    /// Every attempt so far, oldest first.
    pub attempts: Vec<AttemptDetail>,
    /// The exact body of every attempt.
    pub body: String,
}

redacted_debug!(DeliveryDetail { event_id, event_type, outcome });

/// An attempt with its headers, and the response of the receiver.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AttemptDetail {
    /// Its number in the order of everything that happened in the world, as
    /// [`TraceStep`](crate::journal::TraceStep) has one. Not part of the JSON.
    #[serde(skip)]
    pub number: u64,
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
    /// Its headers, as they were sent; none for an attempt of an older document.
    pub headers: Option<BTreeMap<String, String>>,
    /// The headers of the response; none without a response of the receiver, or when they are no longer
    /// kept.
    pub response_headers: Option<BTreeMap<String, String>>,
    /// The body of the response, as text; at most its first 4 KiB.
    pub response_body: Option<String>,
    /// Whether that body was longer.
    pub response_cut: bool,
}

redacted_debug!(AttemptDetail { at, status, error });

impl AttemptDetail {
    pub(super) fn from_attempt(made: &Attempt, event: &EventId) -> Self {
        let headers = |signed: &super::SignatureHeaders| {
            [
                ("content-type", "application/json"),
                ("user-agent", USER_AGENT),
                ("webhook-id", event.as_str()),
                ("webhook-timestamp", &signed.timestamp),
                ("webhook-signature", &signed.signature),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
        };
        let Attempt { at, status, error, duration_ms, fault_id, signed, response, number } = made.clone();
        Self {
            number,
            at,
            status,
            error,
            duration_ms,
            fault_id,
            headers: signed.as_ref().map(headers),
            response_headers: response.as_ref().map(|response| response.headers.clone()),
            response_body: response.as_ref().map(|response| response.body.clone()),
            response_cut: response.is_some_and(|response| response.cut),
        }
    }
}

/// The user agent of webhook requests.
pub(crate) const USER_AGENT: &str = concat!("shared-inbox-mock/", env!("CARGO_PKG_VERSION"));
