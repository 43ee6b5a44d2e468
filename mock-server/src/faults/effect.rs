//! The effects of a fault on a response or on a webhook.

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared_inbox::Problems;

use super::latency::Latency;

/// What a client or a receiver gets instead of the regular response or request.
///
/// ```
/// use std::time::Duration;
/// use shared_inbox_mock::Effect;
///
/// let slow_failure = Effect::status(500).delayed(Duration::from_millis(50));
/// assert_eq!(serde_json::to_value(&slow_failure).unwrap(), serde_json::json!({ "status": 500, "delayMs": 50 }));
/// let busy = Effect::status(429).header("Retry-After", "2");
/// assert_eq!(serde_json::to_value(&busy).unwrap()["headers"]["Retry-After"], "2");
/// assert!(serde_json::from_str::<Effect>(r#"{ "status": 500, "drop": "before" }"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(try_from = "EffectFields", into = "EffectFields")]
pub struct Effect {
    pub(super) act: FaultAction,
    pub(super) latency: Option<Latency>,
    pub(super) headers: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultAction {
    /// The regular response, delayed or with other headers.
    Answer,
    Status {
        status: u16,
        when: FaultTiming,
    },
    Drop(FaultTiming),
    Truncate(usize),
    Body(String),
    /// A webhook is sent twice at once.
    Twice,
    /// A webhook comes after the next one for the same receiver.
    Swap,
    /// A webhook is sent this much later, on the world's clock.
    Late(Duration),
    /// The regular response, and control calls right before or after the request takes effect.
    Control {
        calls: Vec<ControlCall>,
        when: FaultTiming,
    },
}

/// A call of the control API that a fault rule makes.
///
/// ```
/// use shared_inbox_mock::faults::ControlCall;
///
/// let snooze = ControlCall::post("/conversations/cnv_1/snooze", serde_json::json!({ "until": null }));
/// assert_eq!(snooze.method, "POST");
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ControlCall {
    /// The HTTP method.
    pub method: String,
    /// The path behind `/_mock`, in the world of the rule; a query may follow.
    pub path: String,
    /// The JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

impl ControlCall {
    /// Returns a `POST` with this body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: "POST".to_owned(), path: path.into(), body: Some(body) }
    }
}

redacted_debug!(ControlCall { method, path });

/// Whether a fault applies before or after the request takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum FaultTiming {
    Before,
    After,
}

impl Effect {
    fn from_action(act: FaultAction) -> Self {
        Self { act, latency: None, headers: BTreeMap::new() }
    }

    /// Responds with that status and the service's error body, before anything happens.
    pub fn status(status: u16) -> Self {
        Self::from_action(FaultAction::Status { status, when: FaultTiming::Before })
    }

    /// Performs the request, then responds with that status.
    pub fn status_after(status: u16) -> Self {
        Self::from_action(FaultAction::Status { status, when: FaultTiming::After })
    }

    /// Closes the connection before anything happens. For a webhook: nothing listens at its address.
    pub fn drop_before() -> Self {
        Self::from_action(FaultAction::Drop(FaultTiming::Before))
    }

    /// Performs the request, then closes the connection without a response. For a webhook: the receiver's
    /// response is lost, so it comes again.
    pub fn drop_after() -> Self {
        Self::from_action(FaultAction::Drop(FaultTiming::After))
    }

    /// Sends the response's headers and only the first bytes of its body, then closes the connection. For a
    /// webhook: its own body is cut.
    pub fn truncate(bytes: usize) -> Self {
        Self::from_action(FaultAction::Truncate(bytes))
    }

    /// Responds with that text, and the status that the response would have had.
    pub fn body(text: impl Into<String>) -> Self {
        Self::from_action(FaultAction::Body(text.into()))
    }

    /// Sends the regular response, late.
    pub fn delay(delay: Duration) -> Self {
        Self::from_action(FaultAction::Answer).delayed(delay)
    }

    /// Sends a webhook twice.
    pub fn twice() -> Self {
        Self::from_action(FaultAction::Twice)
    }

    /// Delivers a webhook after the next one for the same receiver, or a minute later when there is none.
    pub fn swap() -> Self {
        Self::from_action(FaultAction::Swap)
    }

    /// Sends a webhook so much later, on the world's clock.
    pub fn late(by: Duration) -> Self {
        Self::from_action(FaultAction::Late(by))
    }

    /// Makes these control calls right before the request is handled, and leaves the response as it is.
    pub fn act_before(calls: impl IntoIterator<Item = ControlCall>) -> Self {
        Self::from_action(FaultAction::Control {
            calls: calls.into_iter().collect(),
            when: FaultTiming::Before,
        })
    }

    /// Makes these control calls after the request took effect and before the response, which stays as it is.
    pub fn act_after(calls: impl IntoIterator<Item = ControlCall>) -> Self {
        Self::from_action(FaultAction::Control {
            calls: calls.into_iter().collect(),
            when: FaultTiming::After,
        })
    }

    /// Delays the effect by this long, in real time.
    pub fn delayed(self, delay: Duration) -> Self {
        self.latency(Latency::fixed(delay))
    }

    setters! {
        /// Delays the effect by this latency, in real time.
        latency(latency: Latency) => latency = Some(latency);
        /// Adds a header to the response.
        header(name: impl Into<String>, value: impl Into<String>) => headers.insert(name.into(), value.into());
    }

    /// Returns the control calls that the effect makes.
    pub(crate) fn control_calls(&self) -> &[ControlCall] {
        match &self.act {
            FaultAction::Control { calls, .. } => calls,
            _ => &[],
        }
    }

    /// Adds the problems of the effect for a rule about webhooks, or about requests.
    pub(super) fn check(&self, webhook: bool, problems: &mut Problems) {
        let unsendable = |(name, value): (&String, &String)| {
            HeaderName::try_from(name.as_str()).is_err() || HeaderValue::try_from(value.as_str()).is_err()
        };
        if self.headers.iter().any(unsendable) {
            problems.push("effect.headers", "has a name or a value that no header can have");
        }
        if webhook && !self.headers.is_empty() {
            problems.push("effect.headers", "are for responses to requests, not for webhooks");
        }
        match (&self.act, webhook) {
            (FaultAction::Twice | FaultAction::Swap | FaultAction::Late(_), false) => problems.push(
                "effect",
                "`twice`, `swap` and `lateSeconds` are for webhooks; name one in `webhook`, or `*` for all",
            ),
            (FaultAction::Control { .. }, true) => {
                problems.push("effect.act", "is for requests, not for webhooks");
            }
            (FaultAction::Control { calls, .. }, false) if calls.is_empty() => {
                problems.push("effect.act", "must have a call");
            }
            (FaultAction::Body(_), true) => {
                problems.push("effect.body", "is for responses to requests, not for webhooks");
            }
            _ => {}
        }
    }
}

/// An effect as it stands in JSON.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(rename = "Effect"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EffectFields {
    /// Responds with this status and the service's error body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Goes with `status` and `act`: `after` lets the request take effect first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<FaultTiming>,
    /// The connection closes, before or after the request took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drop: Option<FaultTiming>,
    /// Sends only this many bytes of the body, then closes the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncate: Option<usize>,
    /// Responds with this text, and the status that the response would have had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// A webhook is sent twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    twice: Option<bool>,
    /// A webhook comes after the next one for the same receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swap: Option<bool>,
    /// A webhook is sent this much later, on the world's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_seconds: Option<f64>,
    /// Control calls in this world, right before the request is handled, or with `when` `after` before the
    /// response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    act: Option<Vec<ControlCall>>,
    /// A delay in real time; goes with any of the others, or alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<Latency>,
    /// Headers of the response, such as `Retry-After`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
}

/// A year of the world's clock.
const MAX_LATE_SECONDS: f64 = 31_557_600.0;

impl TryFrom<EffectFields> for Effect {
    type Error = &'static str;
    fn try_from(fields: EffectFields) -> Result<Self, Self::Error> {
        if fields.when.is_some() && fields.status.is_none() && fields.act.is_none() {
            return Err("`when` goes with `status` and `act` only");
        }
        let when = fields.when.unwrap_or(FaultTiming::Before);
        let mut acts = [
            fields.status.map(|status| FaultAction::Status { status, when }),
            fields.drop.map(FaultAction::Drop),
            fields.truncate.map(FaultAction::Truncate),
            fields.body.map(FaultAction::Body),
            fields.twice.filter(|yes| *yes).map(|_| FaultAction::Twice),
            fields.swap.filter(|yes| *yes).map(|_| FaultAction::Swap),
            fields.late_seconds.map(|seconds| {
                FaultAction::Late(
                    Duration::try_from_secs_f64(seconds.min(MAX_LATE_SECONDS)).unwrap_or_default(),
                )
            }),
            fields.act.map(|calls| FaultAction::Control { calls, when }),
        ]
        .into_iter()
        .flatten();
        let act = match (acts.next(), acts.next()) {
            (Some(FaultAction::Status { status, .. }), None) if !(200..=599).contains(&status) => {
                return Err("`status` must be from 200 to 599");
            }
            (Some(act), None) => act,
            (None, _) if fields.delay_ms.is_some() || !fields.headers.is_empty() => FaultAction::Answer,
            (None, _) => {
                return Err(
                    "needs one of `status`, `drop`, `delayMs`, `truncate`, `body` and `act`; for a webhook also `twice`, \
                            `swap` and `lateSeconds`",
                );
            }
            _ => {
                return Err(
                    "takes only one of `status`, `drop`, `truncate`, `body`, `act`, `twice`, `swap` and `lateSeconds`",
                );
            }
        };
        Ok(Self { act, latency: fields.delay_ms, headers: fields.headers })
    }
}

impl From<Effect> for EffectFields {
    fn from(effect: Effect) -> Self {
        let mut fields =
            EffectFields { delay_ms: effect.latency, headers: effect.headers, ..EffectFields::default() };
        match effect.act {
            FaultAction::Answer => {}
            FaultAction::Status { status, when } => {
                fields.status = Some(status);
                fields.when = (when == FaultTiming::After).then_some(when);
            }
            FaultAction::Drop(when) => fields.drop = Some(when),
            FaultAction::Truncate(bytes) => fields.truncate = Some(bytes),
            FaultAction::Body(text) => fields.body = Some(text),
            FaultAction::Twice => fields.twice = Some(true),
            FaultAction::Swap => fields.swap = Some(true),
            FaultAction::Late(by) => fields.late_seconds = Some(by.as_secs_f64()),
            FaultAction::Control { calls, when } => {
                fields.act = Some(calls);
                fields.when = (when == FaultTiming::After).then_some(when);
            }
        }
        fields
    }
}
