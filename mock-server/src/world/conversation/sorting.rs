//! What the sorting helper finds out about a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use shared_inbox::{Timestamp, Urgency, limits};

use crate::world::{Refusal, World};

/// What the sorting helper finds; what is left out stays as it is, and null takes it away.
///
/// ```
/// use shared_inbox::Urgency;
/// use shared_inbox_mock::Sorting;
/// let found = Sorting::new().topic("billing").urgency(Urgency::High).no_risk();
/// assert_eq!(
///     serde_json::to_value(found)?,
///     serde_json::json!({ "topic": "billing", "urgency": "high", "risk": null, "held": false }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sorting {
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    pub topic: Option<Option<String>>,
    /// How urgent it is: `low`, `normal` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    pub urgency: Option<Option<Urgency>>,
    /// A warning, such as `phishing`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    pub risk: Option<Option<String>>,
    /// Up to three reasons for the warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_reasons: Option<Vec<String>>,
    /// Whether it is held as a likely scam, which is told as `scout.held`.
    #[serde(default)]
    pub held: bool,
}

/// Tells a field that is null from one that is not there.
pub(in crate::world) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    d: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(d).map(Some)
}

impl Sorting {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// It is about this.
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(Some(topic.into()));
        self
    }

    /// It is so urgent.
    pub fn urgency(mut self, urgency: Urgency) -> Self {
        self.urgency = Some(Some(urgency));
        self
    }

    /// Something looks wrong, for these reasons.
    pub fn risk<R: Into<String>>(
        mut self,
        risk: impl Into<String>,
        reasons: impl IntoIterator<Item = R>,
    ) -> Self {
        self.risk = Some(Some(risk.into()));
        self.risk_reasons = Some(reasons.into_iter().map(Into::into).collect());
        self
    }

    /// Nothing looks wrong any more.
    pub fn no_risk(mut self) -> Self {
        self.risk = Some(None);
        self
    }

    /// Holds it as a likely scam.
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }
}

impl World {
    /// The sorting helper looks at a conversation.
    pub fn sort(&mut self, id: &str, found: Sorting, now: Timestamp) -> Result<(), Refusal> {
        let at = self.conversation_or_customer(id)?;
        if matches!(&found.urgency, Some(Some(urgency)) if !Urgency::KNOWN.contains(urgency)) {
            return Err(Refusal::field("urgency", "must be one of low, normal, high"));
        }
        if found.risk_reasons.as_ref().is_some_and(|reasons| reasons.len() > limits::RISK_REASONS) {
            return Err(Refusal::field("riskReasons", "must have at most 3 items"));
        }
        self.helpers_run(at)?;
        let thread = &mut self.conversations[at];
        if let Some(topic) = found.topic {
            thread.topic = topic;
        }
        if let Some(urgency) = found.urgency {
            thread.urgency = urgency;
        }
        if let Some(risk) = found.risk {
            thread.risk = risk;
        }
        thread.risk_reasons = match (&thread.risk, found.risk_reasons) {
            (None, _) => Vec::new(),
            (Some(_), Some(reasons)) => reasons,
            (Some(_), None) => std::mem::take(&mut thread.risk_reasons),
        };
        if found.held {
            self.emit_held(at, now);
        }
        Ok(())
    }
}
